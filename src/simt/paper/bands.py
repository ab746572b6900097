"""Several seeds as one line with a band around it, at equal latency."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simt.paper.panels import Mark, by_seed
from simt.scoring.quality import Floats
from simt.scoring.significance import interpolate

_STEPS = 60


class SeedBand(NamedTuple):
    """Mean, lowest and highest y over the seeds, at latencies that every seed reaches."""

    xs: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]


def seed_band(marks: Sequence[Mark]) -> SeedBand | None:
    """The band of a system; None where its seeds have no latency in common.

    Between knob values by straight lines, as in ``simt.scoring.significance``: seeds are compared
    at the same lagging, never at the same knob value.
    """
    curves = [seed_curve(some) for some in by_seed(marks).values()]
    first, last = max(x[0, 0] for x, _ in curves), min(x[0, -1] for x, _ in curves)
    if last <= first:
        return None
    xs = np.linspace(first, last, _STEPS)
    rows = np.concatenate([interpolate(x, y, xs) for x, y in curves])
    return SeedBand(
        xs.tolist(),
        rows.mean(axis=0).tolist(),
        rows.min(axis=0).tolist(),
        rows.max(axis=0).tolist(),
    )


def seed_curve(marks: Sequence[Mark]) -> tuple[Floats, Floats]:
    """Latencies and scores of one seed, each as a row."""
    x, y = (
        np.array([[getattr(mark, name).value for mark in marks]], dtype=np.float64)
        for name in ("x", "y")
    )
    return x, y
