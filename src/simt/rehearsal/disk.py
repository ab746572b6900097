"""How much disk a study takes: before anything is made, by what its settings say."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simt.cost import pair_text, parameter_count
from simt.disk import WEIGHT, resumable_bytes, text_bytes
from simt.params import Params
from simt.runs import run_settings, study_runs


@dataclass(frozen=True)
class DiskNeed:
    """Bytes that a study takes."""

    weights: int  # of all its runs
    training: int  # of the largest run while it is trained, to resume from
    text: int  # of corpora whose downloads say their size
    unknown: tuple[str, ...]  # pairs of which nobody says it

    @property
    def least(self) -> int:
        """With one training at a time."""
        return self.weights + self.training + self.text


def disk_need(params: Params) -> DiskNeed:
    """What a study will take, by its settings."""
    sizes = {}
    for run in study_runs(params.chosen_study):
        settings = run_settings(params, run)
        weights = WEIGHT * parameter_count(settings, pair_text(params, run.pair))
        sizes[run] = (weights, resumable_bytes(settings, weights))
    pairs = [pair for pair in params.chosen_study.runs if params.pairs[pair].toy is None]
    texts = {pair: text_bytes(params, pair) for pair in pairs}
    return DiskNeed(
        weights=sum(weights for weights, _ in sizes.values()),
        training=max(training for _, training in sizes.values()),
        text=sum(size or 0 for size in texts.values()),
        unknown=tuple(pair for pair, size in texts.items() if size is None),
    )


def folder_bytes(folder: Path) -> int:
    """What the files of a folder take on the disk; those that go meanwhile do not count."""
    return sum(_size(Path(place) / name) for place, _, names in os.walk(folder) for name in names)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0


def unknown_sizes(pairs: Iterable[str]) -> str:
    """What the estimate leaves out, as the end of a sentence; nothing where it is all known."""
    named = ", ".join(pairs)
    return f", without the text of {named}, whose size is not known" if named else ""
