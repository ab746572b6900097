"""How much disk a study takes: before anything is made, by what its settings say."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from simt.cost import pair_text, parameter_count
from simt.params import Params
from simt.runs import run_settings, study_runs
from simt.settings import RunSettings
from simt.training.checkpoint import KEPT

_BYTES_A_WEIGHT = 4
_IN_CHECKPOINT = 3  # the weights, and Adam's two means of each
# Unpacked, a text is three times its archive, which often has other languages, too; it is there
# again as words, and as ids.
_TEXT_PER_DOWNLOAD = 4


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


def disk_need(params: Params, study: str) -> DiskNeed:
    """What a study will take, by its settings."""
    sizes = {}
    for run in study_runs(params.studies[study]):
        settings = run_settings(params, run)
        weights = _BYTES_A_WEIGHT * parameter_count(settings, pair_text(params, run.pair))
        sizes[run] = (weights, training_bytes(settings, weights))
    pairs = [pair for pair in params.studies[study].runs if params.pairs[pair].toy is None]
    downloads = {
        pair: [one.bytes for one in params.pairs[pair].downloads.values()] for pair in pairs
    }
    known = sum(size for found in downloads.values() for size in found if size is not None)
    return DiskNeed(
        weights=sum(weights for weights, _ in sizes.values()),
        training=max(training for _, training in sizes.values()),
        text=_TEXT_PER_DOWNLOAD * known,
        unknown=tuple(pair for pair, found in downloads.items() if not any(found)),
    )


def training_bytes(settings: RunSettings, weights: int) -> int:
    """What a training keeps to resume from when it has kept all that it may."""
    return weights * (KEPT * _IN_CHECKPOINT + settings.training.average_snapshots)


def folder_bytes(folder: Path) -> int:
    """What the files of a folder take on the disk; those that go meanwhile do not count."""
    return sum(_size(Path(place) / name) for place, _, names in os.walk(folder) for name in names)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0


def told(size: float) -> str:
    """Bytes for people."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"


def unknown_sizes(pairs: Iterable[str]) -> str:
    """What the estimate leaves out, as the end of a sentence; nothing where it is all known."""
    named = ", ".join(pairs)
    return f", without the text of {named}, whose size is not known" if named else ""
