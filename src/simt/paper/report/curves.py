"""The losses of every training as small panels, one a method; the page draws them as SVG."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

from simt.pages.colours import on_both
from simt.paper.report.runs import FinishedRun

WIDTH, HEIGHT = 300, 170  # of the drawing, without its labels
_POINTS = 80  # of a curve, at most
_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#a0522d",
            "#7f9c1f", "#d6478b", "#4f8f8f", "#8a8a8a")  # fmt: skip

Losses = Sequence[tuple[int, float]]  # update, loss


@dataclass(frozen=True)
class TrainingCurve:
    """A training: the points of a line, and marks where it was validated, in units of drawing."""

    name: str
    colour: str
    line: str
    marks: tuple[tuple[float, float], ...]
    last: str  # the validation loss at the end


@dataclass(frozen=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True)
class TrainingPanel:
    """All trainings of a method on a pair; their losses are of one kind."""

    title: str
    curves: tuple[TrainingCurve, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def training_panels(runs: Iterable[FinishedRun]) -> list[TrainingPanel]:
    """A panel for each pair and method."""
    groups: dict[tuple[str, str], list[FinishedRun]] = {}
    for one in runs:
        groups.setdefault((one.run.pair, one.run.method), []).append(one)
    return [_panel(f"{method} on {pair}", group) for (pair, method), group in groups.items()]


def _panel(title: str, runs: Sequence[FinishedRun]) -> TrainingPanel:
    trained = [thinned(_losses(one, "loss")) for one in runs]
    valid = [_losses(one, "valid_loss") for one in runs]
    scale = Scale.around([point for some in (*trained, *valid) for point in some])
    variants = list(dict.fromkeys(one.run.variant for one in runs))
    curves = [
        TrainingCurve(
            name=one.name,
            colour=on_both(_COLOURS[variants.index(one.run.variant) % len(_COLOURS)]),
            line=" ".join(f"{x:.1f},{y:.1f}" for x, y in map(scale.place, line)),
            marks=tuple(map(scale.place, marks)),
            last=f"{marks[-1][1]:.2f}" if marks else "none",
        )
        for one, line, marks in zip(runs, trained, valid, strict=True)
    ]
    return TrainingPanel(title, tuple(curves), scale.x_ticks(), scale.y_ticks())


def _losses(one: FinishedRun, key: str) -> list[tuple[int, float]]:
    return [(row["update"], row[key]) for row in one.history if key in row]


def thinned(losses: Losses, points: int = _POINTS) -> list[tuple[int, float]]:
    """At most so many points, each the mean of its neighbourhood."""
    size = -(-len(losses) // points) or 1
    parts = [losses[start : start + size] for start in range(0, len(losses), size)]
    return [(part[-1][0], fmean(loss for _, loss in part)) for part in parts]


@dataclass(frozen=True)
class Scale:
    """Updates from left to right, losses on a logarithmic scale from bottom to top."""

    last_update: int
    low: float
    high: float

    @classmethod
    def around(cls, losses: Losses) -> "Scale":
        """A scale on which all losses have a place."""
        values = [loss for _, loss in losses if loss > 0]
        return cls(
            max((update for update, _ in losses), default=1),
            0.9 * min(values, default=1.0),
            1.1 * max(values, default=1.0),
        )

    def place(self, point: tuple[int, float]) -> tuple[float, float]:
        """Where an update and its loss are drawn."""
        update, loss = point
        fraction = log(max(loss, self.low) / self.low) / log(self.high / self.low)
        return round(WIDTH * update / self.last_update, 1), round(HEIGHT * (1 - fraction), 1)

    def x_ticks(self) -> tuple[Tick, ...]:
        """Beginning, middle and end."""
        updates = sorted({0, self.last_update // 2, self.last_update})
        return tuple(Tick(self.place((update, 1.0))[0], str(update)) for update in updates)

    def y_ticks(self) -> tuple[Tick, ...]:
        """The 1, 2 and 5 of each power of ten."""
        steps = [base * 10.0**power for power in range(-3, 4) for base in (1, 2, 5)]
        inside = [step for step in steps if self.low <= step <= self.high]
        return tuple(Tick(self.place((0, step))[1], f"{step:g}") for step in inside)
