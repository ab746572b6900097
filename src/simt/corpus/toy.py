"""The files of a toy corpus, whose sentences come from the package toy_grammar."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.pairs import SPLITS
from simt.problems import no_such
from simt.progress import progress_bar
from toy_grammar import ToyPair, generate_pairs


def write_toy_corpus(folder: Path, seed: int, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Write the files of each split, and give what was written.

    train, valid and test are plain text. aligned is tokenised, as published gold sets are,
    and has its links beside it in aligned.talp: ``0-0`` sure, ``1p2`` possible, 0-based.
    """
    for split in sizes:
        if split not in SPLITS:
            raise SimtError(f"toy corpus: {no_such('split', split, SPLITS)}")
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
