"""A tiny quality estimator for the toy study, trained with unbabel-comet's own classes.

COMET-Kiwi is gated, and knows nothing of toy sentences. This one has its form (``UnifiedMetric``,
hypothesis and source in one sequence, no reference) and is scored by the same code, but it is
trained from nothing on translations that were corrupted on purpose, and it is named so that nobody
takes it for the other. It tells good toy translations from bad ones; it means nothing elsewhere.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from simt.atomic import atomic_file, atomic_folder
from simt.corpus.formats import read_part
from simt.errors import SimtError
from simt.pairs import PrepareSettings
from simt.scoring.comet import CHECKPOINT, ENCODER, HPARAMS, NAME_FILE
from simt.settings import TOY_ESTIMATOR, EstimatorSettings

FEWEST_PAIRS = 50


@dataclass(frozen=True)
class EstimatorSize:
    """How large the network is and how long it learns: under a minute for 4,000 pairs."""

    pieces: int = 2000
    width: int = 64
    ffn: int = 128
    heads: int = 4
    layers: int = 1
    hidden: int = 64
    max_tokens: int = 256
    corrupted_per_pair: int = 3
    epochs: int = 5
    batch: int = 32
    peak_lr: float = 2e-3
    warmup_fraction: float = 0.1


# --- corrupted translations ---------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """A translation and how much of it is right, from 0 to 1."""

    source: str
    translation: str
    score: float


def corrupt(words: Sequence[str], severity: float, vocabulary: Sequence[str], rng: Random) -> str:
    """The words with about ``severity`` of them dropped, replaced, doubled or swapped."""
    corrupted: list[str] = []
    for word in words:
        if rng.random() >= severity:
            corrupted.append(word)
            continue
        kind = rng.choice(("drop", "replace", "replace", "double", "swap"))
        if kind == "replace":
            corrupted.append(rng.choice(vocabulary))
        elif kind == "double":
            corrupted += [word, word]
        elif kind == "swap":
            corrupted.insert(max(len(corrupted) - rng.randint(1, 3), 0), word)
    return " ".join(corrupted)


def corrupted_examples(
    pairs: Sequence[tuple[str, str]], per_pair: int, rng: Random
) -> list[Example]:
    """Every pair as it is, and ``per_pair`` times corrupted; some are cut short or mixed up.

    The score is 1 - edit distance in words / the longer of both lengths.
    """
    vocabulary = sorted({word for _, target in pairs for word in target.split()})
    examples = []
    for source, target in pairs:
        examples.append(Example(source, target, 1.0))
        for _ in range(per_pair):
            kind = rng.random()
            if kind < 0.1:  # another sentence's translation
                translation = rng.choice(pairs)[1]
            elif kind < 0.2:  # the output ended early
                words = target.split()
                translation = " ".join(words[: rng.randint(1, len(words))])
            else:
                translation = corrupt(target.split(), rng.random() ** 1.5, vocabulary, rng)
            examples.append(Example(source, translation, word_similarity(translation, target)))
    return examples


def word_similarity(translation: str, target: str) -> float:
    """1 - Levenshtein distance in words / the longer of both lengths."""
    ours, theirs = translation.split(), target.split()
    if not ours and not theirs:
        return 1.0
    previous = list(range(len(theirs) + 1))
    for row, word in enumerate(ours, 1):
        current = [row]
        for place, other in enumerate(theirs, 1):
            changed = previous[place - 1] + (word != other)
            current.append(min(changed, previous[place] + 1, current[-1] + 1))
        previous = current
    return 1 - previous[-1] / max(len(ours), len(theirs))


# --- training -------------------------------------------------------------------------------------


def make_estimator(
    settings: EstimatorSettings, prepared: PrepareSettings, raw: Path, to: Path
) -> float:
    """Train the toy quality estimator on training pairs of a corpus, as people write them.

    The mean loss of the last epoch.
    """
    drops: Counter[str] = Counter()
    (part, *_) = prepared.splits.train
    read = read_part(part, raw, prepared.source, prepared.target, drops)
    pairs = [(pair.source, pair.references[0]) for pair in islice(read, settings.pairs)]
    with atomic_folder(to / "toy-estimator") as folder:
        return train_estimator(pairs, settings.seed, folder)


def train_estimator(
    pairs: Sequence[tuple[str, str]], seed: int, folder: Path, size: EstimatorSize | None = None
) -> float:
    """The mean loss of the last epoch; the model lies in ``folder`` for ``simt.scoring.comet``.

    The same pairs, seed and torch version give the same scores. The global random state and the
    number of threads are left as they were.
    """
    if len(pairs) < FEWEST_PAIRS:
        raise SimtError(f"an estimator needs at least {FEWEST_PAIRS} pairs, not {len(pairs)}")
    size = size or EstimatorSize()
    rng = Random(f"estimator {seed}")
    with _own_random_state(seed):
        _write_encoder(pairs, folder / ENCODER, size)
        model = _make_model(folder, size)
        loss = _train(model, corrupted_examples(pairs, size.corrupted_per_pair, rng), size, rng)
        _write_model(model, folder)
    return loss


@contextmanager
def _own_random_state(seed: int) -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def _write_encoder(pairs: Sequence[tuple[str, str]], folder: Path, size: EstimatorSize) -> None:
    """Tokeniser and configuration of a small XLM-RoBERTa, learnt from the text of the pairs."""
    import sentencepiece

    transformers: Any = import_module("transformers")  # untyped
    with TemporaryDirectory(prefix="simt-estimator-") as scratch:
        pieces = Path(scratch, "sentencepiece.bpe.model")
        with pieces.open("wb") as stream:  # given a name, it would note that in the model
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter([text for pair in pairs for text in pair]),
                model_writer=stream, vocab_size=size.pieces, hard_vocab_limit=False,
                unk_id=0, bos_id=1, eos_id=2, pad_id=-1, num_threads=1, minloglevel=2,
            )  # fmt: skip
        tokeniser = transformers.XLMRobertaTokenizerFast(vocab_file=str(pieces))
        tokeniser.save_pretrained(folder)
    transformers.XLMRobertaConfig(
        vocab_size=len(tokeniser), hidden_size=size.width, intermediate_size=size.ffn,
        num_hidden_layers=size.layers, num_attention_heads=size.heads,
        max_position_embeddings=size.max_tokens + 2, type_vocab_size=1,
        pad_token_id=1, bos_token_id=0, eos_token_id=2,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    ).save_pretrained(folder)  # fmt: skip


def _make_model(folder: Path, size: EstimatorSize) -> Any:
    from comet.models import UnifiedMetric

    return UnifiedMetric(
        nr_frozen_epochs=0, keep_embeddings_frozen=False, pretrained_model=str(folder / ENCODER),
        sent_layer="mix", layer_transformation="softmax", layer_norm=False, word_layer=size.layers,
        dropout=0.0, hidden_sizes=[size.hidden], input_segments=["mt", "src"],
        word_level_training=False, load_pretrained_weights=False, local_files_only=True,
    )  # fmt: skip


def _train(model: Any, examples: Sequence[Example], size: EstimatorSize, rng: Random) -> float:
    import torch

    batches = [
        model.prepare_sample(batch, stage="fit") for batch in _batches(examples, size.batch, rng)
    ]
    total = size.epochs * len(batches)
    optimiser = torch.optim.AdamW(model.parameters(), lr=size.peak_lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: _rate(step / total, size.warmup_fraction)
    )
    model.train()
    losses: list[float] = []
    for _ in range(size.epochs):
        rng.shuffle(batches)
        losses = []
        for inputs, target in batches:
            loss = model.compute_loss(model.forward(**inputs[0]), target)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
    return sum(losses) / len(losses)


def _batches(
    examples: Sequence[Example], size: int, rng: Random
) -> list[list[dict[str, str | float]]]:
    """Examples of about the same length together."""
    shuffled = rng.sample(examples, len(examples))
    shuffled.sort(key=lambda one: len(one.source) + len(one.translation))
    samples: list[dict[str, str | float]] = [
        {"src": one.source, "mt": one.translation, "score": one.score} for one in shuffled
    ]
    return [samples[first : first + size] for first in range(0, len(samples), size)]


def _rate(progress: float, warmup: float) -> float:
    """The fraction of the peak learning rate: up in a line, down in half a cosine."""
    if progress < warmup:
        return progress / warmup
    return 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))


def _write_model(model: Any, folder: Path) -> None:
    """The files of a model on the hub, and the name that nobody can mistake."""
    import torch
    import yaml

    hparams = {**model.hparams, "class_identifier": "unified_metric", "pretrained_model": ENCODER}
    for flag in ("load_pretrained_weights", "local_files_only"):
        hparams.pop(flag, None)
    with atomic_file(folder / HPARAMS) as stream:
        yaml.safe_dump(hparams, stream)
    with atomic_file(folder / NAME_FILE) as stream:
        about = "trained on corrupted toy translations; not COMET-Kiwi, and no use elsewhere"
        json.dump({"name": TOY_ESTIMATOR, "about": about}, stream)
    checkpoint = {
        "state_dict": model.state_dict(),
        "hyper_parameters": hparams,
        # What Lightning wants to see, so that comet's own commands read the model, too.
        "pytorch-lightning_version": version("pytorch-lightning"),
        "hparams_name": "kwargs",
        "epoch": 0,
        "global_step": 0,
        "loops": {},
    }
    with atomic_file(folder / CHECKPOINT, "wb") as stream:
        torch.save(checkpoint, stream)
