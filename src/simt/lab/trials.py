"""Candidates that train in alternation, and what can be said of their speed afterwards.

Each trial of a candidate comes right after a trial of the baseline. Whatever else the machine does
then hits both, and their ratio means something even where tokens a second do not.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from simt.progress import progress_bar


@dataclass(frozen=True)
class Trial:
    """How many target tokens were trained on, and how long that took."""

    tokens: int
    seconds: float

    @property
    def speed(self) -> float:
        """Target tokens a second, EOS counted and padding not."""
        return self.tokens / self.seconds


class Candidate(Protocol):
    """Something that trains."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> int:
        """How many weights it has."""
        ...

    def run_trial(self, first: int, updates: int) -> Trial:
        """So many updates, from batch ``first`` of the first epoch on."""
        ...

    def peak_mb(self) -> float:
        """The most memory that a process needs which does nothing else."""
        ...


@dataclass(frozen=True)
class Spread:
    """The median of a measurement, and what 10 % and 90 % of all trials stay below."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        low, median, high = np.percentile(values, (10, 50, 90))
        return cls(float(median), float(low), float(high))

    def inverse(self) -> "Spread":
        """The same, seen from the other side of a ratio."""
        return Spread(1 / self.median, 1 / self.high, 1 / self.low)

    def text(self, digits: int) -> str:
        return f"{self.median:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


@dataclass(frozen=True)
class SpeedRow:
    """What was measured of one candidate."""

    name: str
    parameters: int
    tokens_per_s: Spread
    ratio: Spread  # of its speed to that of the baseline
    peak_mb: float | None  # None: not measured
    peak_fraction: float | None = None  # of the FLOP/s that the machine reaches in large products

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def run_trials(
    baseline: Candidate,
    others: Sequence[Candidate],
    first_batches: Sequence[int],
    updates: int,
    title: str,
    has_memory: bool,
) -> list[SpeedRow]:
    """One row a candidate, the baseline's first."""
    speeds: dict[str, list[float]] = {each.name: [] for each in (baseline, *others)}
    ratios: dict[str, list[float]] = {name: [] for name in speeds}
    for each in (baseline, *others):
        each.run_trial(first_batches[0], updates)  # the first trial also makes Adam's moments
    candidates = others or [baseline]
    bar = progress_bar(total=len(first_batches) * len(candidates), desc=title, unit="trial")
    with bar:
        for first in first_batches:
            for each in candidates:
                ours, theirs = (one.run_trial(first, updates) for one in (baseline, each))
                speeds[baseline.name].append(ours.speed)
                speeds[each.name].append(theirs.speed)
                ratios[each.name].append(theirs.speed / ours.speed)
                bar.update()
    ratios[baseline.name] = [1.0]
    return [
        SpeedRow(
            name=each.name,
            parameters=each.parameters,
            tokens_per_s=Spread.of(speeds[each.name]),
            ratio=Spread.of(ratios[each.name]),
            peak_mb=each.peak_mb() if has_memory else None,
        )
        for each in (baseline, *others)
    ]


def table(rows: Sequence[SpeedRow]) -> str:
    """The rows for a person; the first is the baseline."""
    cells = [["", "target tokens/s", f"× {rows[0].name}", "of peak", "parameters", "peak memory"]]
    for number, row in enumerate(rows):
        cells.append(
            [
                row.name,
                row.tokens_per_s.text(0),
                row.ratio.text(2) if number else "1",
                "" if row.peak_fraction is None else f"{row.peak_fraction:.0%}",
                f"{row.parameters:,}",
                "" if row.peak_mb is None else f"{row.peak_mb:.0f} MB",
            ]
        )
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    )
