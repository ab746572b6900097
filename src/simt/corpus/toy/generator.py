"""Endless sentence pairs from a seed, and the files of a toy corpus."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import IO, Any

from simt.atomic import atomic_file
from simt.corpus.toy.draw import DeadEndError, Draw
from simt.corpus.toy.sentences import KINDS
from simt.corpus.toy.words import MARKS, ToyPair, finished_pair
from simt.errors import SimtError
from simt.progress import progress_bar

SPLITS = ("train", "valid", "test", "aligned")
SHORTEST_WORDS, LONGEST_WORDS = 4, 25


def generate_pairs(seed: int, split: str, count: int, start: int = 0) -> Iterator[ToyPair]:
    """Pairs number ``start`` to ``start + count`` of a split, one at a time."""
    _check(split, count)
    if start < 0:
        raise SimtError(f"toy corpus: start is {start}; give 0 or more")
    return _generate(seed, split, range(start, start + count))


def _check(split: str, count: int) -> None:
    if split not in SPLITS:
        raise SimtError(f"toy corpus: '{split}' is not a split; there are {', '.join(SPLITS)}")
    if count < 1:
        raise SimtError(f"toy corpus: the size of {split} is {count}; give 1 or more")


def _generate(seed: int, split: str, numbers: range) -> Iterator[ToyPair]:
    generator = Random()
    for number in numbers:
        generator.seed(f"toy-deen {seed} {split} {number}")
        yield _make_pair(generator.random)


def _make_pair(random: Callable[[], float]) -> ToyPair:
    """The first good sentence that the random numbers lead to."""
    while True:
        draw = Draw(random)
        kind, mark = draw.pick(KINDS)
        try:
            phrase = kind(draw)
        except DeadEndError:
            continue
        pair = finished_pair(phrase.german, phrase.english, mark)
        if _has_good_length(pair.source_words) and _has_good_length(pair.target_words):
            return pair


def _has_good_length(words: tuple[str, ...]) -> bool:
    spoken = len(words) - sum(words.count(mark) for mark in MARKS)
    return spoken >= SHORTEST_WORDS and len(words) <= LONGEST_WORDS


def write_toy_corpus(folder: Path, seed: int, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Write the files of each split, and give what was written.

    train, valid and test are plain text. aligned is tokenised, as published gold sets are,
    and has its links beside it in aligned.talp: ``0-0`` sure, ``1p2`` possible, 0-based.
    """
    for split, count in sizes.items():
        _check(split, count)
    splits = {split: _write_split(folder, seed, split, count) for split, count in sizes.items()}
    return {"seed": seed, "splits": splits}


def _write_split(folder: Path, seed: int, split: str, count: int) -> dict[str, int]:
    """Write one split; its number of pairs and of words, punctuation included."""
    endings = ("de", "en", "talp") if split == "aligned" else ("de", "en")
    source_words = target_words = 0
    with ExitStack() as stack:
        files = [stack.enter_context(atomic_file(folder / f"{split}.{e}")) for e in endings]
        bar = stack.enter_context(progress_bar(total=count, desc=f"toy {split}", unit="pair"))
        for pair in generate_pairs(seed, split, count):
            _write_pair(files, pair, is_aligned=split == "aligned")
            source_words += len(pair.source_words)
            target_words += len(pair.target_words)
            bar.update()
    return {"pairs": count, "source_words": source_words, "target_words": target_words}


def _write_pair(files: list[IO[str]], pair: ToyPair, is_aligned: bool) -> None:
    lines: tuple[str, ...] = (pair.source, pair.target)
    if is_aligned:
        lines = (" ".join(pair.source_words), " ".join(pair.target_words), pair.alignment)
    for stream, line in zip(files, lines, strict=True):
        stream.write(line + "\n")
