"""JoeyNMT's own training loop on batches that someone else made, a few updates at a time.

Run by the interpreter of .venv-joeynmt; ``simt bench train --against`` starts it with a folder
that holds ``job.json`` (sizes, settings) and ``batches.npz`` (padded ids).

Nothing of JoeyNMT is imitated: its builder makes the model, its TrainManager the optimiser and
the schedule, and ``train_and_validate`` does every update. Only the iterator over its batches is
ours, and it is what pauses the loop: it waits for a line on standard input that says which
batches come next, hands them out, and answers with the seconds when the loop asks for one more.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import joeynmt
import numpy as np
import torch
from joeynmt.batch import Batch
from joeynmt.config import parse_train_args
from joeynmt.model import build_model
from joeynmt.training import TrainManager
from joeynmt.vocabulary import Vocabulary

CPU = torch.device("cpu")
NEVER = 10**9
# The order is fixed by JoeyNMT: its special words have the ids 0 to 3.
SPECIALS = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
IDS = {name: number for number, name in enumerate(SPECIALS)}


def make_vocabulary(words: int) -> Any:
    """A vocabulary of ``words`` words in all; only their number matters."""
    special = SimpleNamespace(
        **{f"{name}_token": word for name, word in SPECIALS.items()},
        **{f"{name}_id": number for name, number in IDS.items()},
        sep_token=None,
        sep_id=None,
        lang_tags=[],
    )
    return Vocabulary([f"word{number}" for number in range(len(SPECIALS), words)], special)


def make_model(job: dict[str, Any]) -> Any:
    """JoeyNMT's Transformer of the given size: post-norm, embeddings tied as the job says."""
    size, dropout = job["model"], job["training"]["dropout"]

    def side(layers: int) -> dict[str, Any]:
        return {
            "type": "transformer",
            "num_layers": layers,
            "num_heads": size["heads"],
            "hidden_size": size["width"],
            "ff_size": size["ffn"],
            "dropout": dropout,
            "layer_norm": "post",
            "embeddings": {"embedding_dim": size["width"], "scale": True, "dropout": dropout},
        }

    settings = {
        "encoder": side(size["encoder_layers"]),
        "decoder": side(size["decoder_layers"]),
        "tied_embeddings": job["is_joint"],
        "tied_softmax": True,
        "initializer": "xavier_uniform",
        "bias_initializer": "zeros",
        "embed_initializer": "xavier_uniform",
    }
    source = make_vocabulary(job["source_words"])
    target = source if job["is_joint"] else make_vocabulary(job["target_words"])
    model = build_model(settings, src_vocab=source, trg_vocab=target)
    model.loss_function = ("crossentropy", job["training"]["label_smoothing"])
    return model


def make_manager(model: Any, job: dict[str, Any], folder: Path) -> Any:
    """Its TrainManager with the job's Adam, schedule and smoothing; never validates."""
    training = job["training"]
    settings = {
        "normalization": "tokens",
        "label_smoothing": training["label_smoothing"],
        "optimizer": "adamw",
        "adam_betas": training["adam_betas"],
        "weight_decay": training["weight_decay"],
        "learning_rate": training["peak_lr"],
        "learning_rate_min": 0.0,
        "learning_rate_warmup": training["warmup_updates"],
        "scheduling": "warmupinversesquareroot",
        "clip_grad_norm": training["clip_norm"] or None,
        "batch_size": training["batch_tokens"],
        "batch_type": "token",
        "epochs": 1,
        "validation_freq": NEVER,
    }
    return TrainManager(
        rank=0,
        model=model,
        model_dir=folder / "joeynmt",
        device=CPU,
        autocast={"device_type": "cpu", "enabled": False},
        train_args=parse_train_args(settings),
    )


class Batches:
    """The training text as JoeyNMT sees it: its data set and its iterator in one."""

    def __init__(self, folder: Path, job: dict[str, Any], replies: IO[str]) -> None:
        self.arrays = dict(np.load(folder / "batches.npz"))
        self.replies = replies
        # Our ids of special words are others than JoeyNMT's.
        self.translated = np.arange(max(job["source_words"], job["target_words"]))
        self.translated[[job["ids"][name] for name in IDS]] = list(IDS.values())
        self.batch_sampler = self  # asked for its seed and its state

    def make_iter(self, **_: Any) -> "Batches":
        return self

    def set_seed(self, seed: int) -> None:
        """The order of the batches is not random here."""

    def get_state(self) -> None:
        """Nothing that a checkpoint would need."""

    def __iter__(self) -> Iterator[Any]:
        for line in sys.stdin:
            order = json.loads(line)
            started, tokens = time.perf_counter(), 0
            for index in range(order["first"], order["first"] + order["updates"]):
                batch = self.make_batch(index)
                tokens += batch.ntokens
                yield batch
            seconds = time.perf_counter() - started  # the loop has come back for more
            self.reply({"tokens": tokens, "seconds": seconds, "peak_mb": peak_mb()})

    def make_batch(self, index: int) -> Any:
        """What JoeyNMT's collate function would make of the same sentences."""
        source, target = (
            self.translated[self.arrays[f"{side}{index}"]] for side in ("source", "target")
        )
        target = np.pad(target, ((0, 0), (1, 0)), constant_values=IDS["bos"])
        return Batch(
            src=torch.from_numpy(source),
            src_length=torch.from_numpy((source != IDS["pad"]).sum(1)),
            src_prompt_mask=None,
            trg=torch.from_numpy(target),
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=CPU,
            pad_index=IDS["pad"],
            eos_index=IDS["eos"],
        )

    def reply(self, values: dict[str, Any]) -> None:
        print(json.dumps(values), file=self.replies, flush=True)


def peak_mb() -> float:
    """The most memory that this process ever held; 0 where there is no /proc."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    status = dict(line.split(":", 1) for line in lines)
    return int(status["VmHWM"].split()[0]) * 1024 / 1e6


def main() -> None:
    """Train until standard input ends."""
    # What JoeyNMT prints must not come between the replies.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    torch.set_num_threads(job["threads"])
    torch.manual_seed(job["seed"])
    model = make_model(job)
    manager = make_manager(model, job, folder)
    batches = Batches(folder, job, replies)
    parameters = sum(weight.numel() for weight in model.parameters())
    batches.reply({"version": joeynmt.__version__, "parameters": parameters})
    manager.train_and_validate(train_data=batches, valid_data=SimpleNamespace())


if __name__ == "__main__":
    main()
