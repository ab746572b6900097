"""JoeyNMT's own training loop, a few updates at a time.

Run by the interpreter of .venv-joeynmt; ``simt bench train --against`` starts it with a folder
that holds ``job.json`` (sizes, settings) and either ``batches.npz`` (padded ids of ready batches)
or ``train.source`` and ``train.target`` (text, of which JoeyNMT makes batches as it always does).

Nothing of JoeyNMT is imitated: its builder makes the model, its TrainManager the optimiser and
the schedule, and ``train_and_validate`` does every update. Only the iterator over the batches is
ours, and it is what pauses the loop: it waits for a line on standard input that asks for a trial,
hands out its batches, and answers with the seconds when the loop comes back for more.
"""

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import joeynmt
import numpy as np
import torch
from joeynmt.batch import Batch
from joeynmt.config import parse_train_args
from joeynmt.datasets import PlaintextDataset
from joeynmt.model import build_model
from joeynmt.tokenizers import BasicTokenizer
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


class PausingBatches(ABC):
    """The training text as JoeyNMT sees it: its data set and its iterator in one."""

    def __init__(self, replies: IO[str]) -> None:
        self.replies = replies

    def make_iter(self, **_: Any) -> "PausingBatches":
        return self

    @property
    def batch_sampler(self) -> Any:
        """Who is given a seed, and asked for what a checkpoint needs."""
        return SimpleNamespace(set_seed=lambda seed: None, get_state=lambda: None)

    @abstractmethod
    def of_turn(self, order: dict[str, int]) -> Iterator[Any]:
        """The batches of one trial."""

    def __iter__(self) -> Iterator[Any]:
        for line in sys.stdin:
            started, tokens = time.perf_counter(), 0
            for batch in self.of_turn(json.loads(line)):
                tokens += batch.ntokens
                yield batch
            seconds = time.perf_counter() - started  # the loop has come back for more
            self.reply({"tokens": tokens, "seconds": seconds, "peak_mb": peak_mb()})

    def reply(self, values: dict[str, Any]) -> None:
        print(json.dumps(values), file=self.replies, flush=True)


class GivenBatches(PausingBatches):
    """The very batches that the others train on."""

    def __init__(self, folder: Path, job: dict[str, Any], replies: IO[str]) -> None:
        super().__init__(replies)
        self.arrays = dict(np.load(folder / "batches.npz"))
        # Our ids of special words are others than JoeyNMT's.
        self.translated = np.arange(max(job["source_words"], job["target_words"]))
        self.translated[[job["ids"][name] for name in IDS]] = list(IDS.values())

    def of_turn(self, order: dict[str, int]) -> Iterator[Any]:
        return map(self.make_batch, range(order["first"], order["first"] + order["updates"]))

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


class OwnBatches(PausingBatches):
    """JoeyNMT's own data set, sampler and loader, on text that needs no more than a split."""

    def __init__(self, folder: Path, job: dict[str, Any], model: Any, replies: IO[str]) -> None:
        super().__init__(replies)
        vocabularies = {"source": model.src_vocab, "target": model.trg_vocab}
        self.text = PlaintextDataset(
            path=str(folder / "train"),
            src_lang="source",
            trg_lang="target",
            has_trg=True,
            has_prompt=dict.fromkeys(vocabularies, False),
            tokenizer={
                side: BasicTokenizer(level="word", max_length=job["training"]["max_tokens"])
                for side in vocabularies
            },
            sequence_encoder={side: words.sentences_to_ids for side, words in vocabularies.items()},
        )

    def make_iter(self, **settings: Any) -> PausingBatches:
        self.loader = self.text.make_iter(**settings)
        self.endless = chain.from_iterable(repeat(self.loader))
        return self

    @property
    def batch_sampler(self) -> Any:
        return self.loader.batch_sampler

    def of_turn(self, order: dict[str, int]) -> Iterator[Any]:
        return islice(self.endless, order["updates"])


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
    batches: PausingBatches
    if job["batches"] == "given":
        batches = GivenBatches(folder, job, replies)
    else:
        batches = OwnBatches(folder, job, model, replies)
    parameters = sum(weight.numel() for weight in model.parameters())
    batches.reply({"version": joeynmt.__version__, "parameters": parameters})
    manager.train_and_validate(train_data=batches, valid_data=SimpleNamespace())


if __name__ == "__main__":
    main()
