"""A figure as data: what each panel shows, before anything is drawn.

Every mark on paper is one point of ``results/points``, and knows which.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simt.paper.figure_data import FigureData, Missing, System, merge_seeds
from simt.paper.rows import ALL, Gap, Number, Place
from simt.paper.sketches import Sketch
from simt.paper.style import Style, style_of
from simt.params import Knob
from simt.systems import label_of


class Axis(NamedTuple):
    """Which score an axis shows, and its label; ``is_fraction`` prints 0.5 as 50 %.

    Where an axis ``is_doubling``, twice as much is always as far, and each value has its tick.
    """

    metric: str
    label: str
    is_fraction: bool = False
    is_doubling: bool = False


class Mark(NamedTuple):
    """One measured point."""

    place: Place
    x: Number
    y: Number


def by_seed(marks: Sequence[Mark]) -> dict[int, list[Mark]]:
    """The marks of each seed, from the shortest lag to the longest."""
    seeds: dict[int, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: (mark.x.value, mark.y.value)):
        seeds.setdefault(mark.place.run.seed, []).append(mark)
    return dict(sorted(seeds.items()))


class Curve(NamedTuple):
    """The marks of one system, of all its seeds."""

    name: str  # in plain text
    style: Style
    marks: tuple[Mark, ...]


class ReferenceLine(NamedTuple):
    """Numbers that are not of our systems: the paper's, or the oracle's."""

    style: Style
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    origin: str


Limits = tuple[float, float]


class Inset(NamedTuple):
    """A part of a panel, drawn enlarged in a free corner of it."""

    corner: tuple[float, float, float, float]  # left, bottom, width, height: fractions of the axes
    x_limits: Limits
    y_limits: Limits


@dataclass(frozen=True)
class Panel:
    """One pair of axes. ``levels`` are drawn as horizontal lines at their y.

    Lines are told apart by the legend or, where ``has_named_levels``, by a label on each line.
    """

    title: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...] = ()
    levels: tuple[Curve, ...] = ()
    reference_lines: tuple[ReferenceLine, ...] = ()
    missing: tuple[Missing, ...] = ()
    remarks: tuple[str, ...] = ()
    x_limits: Limits | None = None  # a remark names what lies beyond
    y_limits: Limits | None = None
    inset: Inset | None = None
    has_named_levels: bool = False
    is_joined: bool = False  # a line leads from curve to curve

    @property
    def marks(self) -> list[Mark]:
        """Every mark of the panel."""
        return [mark for curve in (*self.curves, *self.levels) for mark in curve.marks]


class FigureSpec(NamedTuple):
    """A whole figure: schematics first, then panels with axes."""

    panels: tuple[Panel, ...]
    sketches: tuple[Sketch, ...] = ()


class Shown(NamedTuple):
    """A system, its name and style, and the group of sentences."""

    system: System
    name: str
    style: Style
    group: str = ALL


def shown(system: System) -> Shown:
    """A system under its usual name and style."""
    return Shown(system, label_of(system.key), style_of(system.key))


class Collected(NamedTuple):
    """Curves, and what should have been on them."""

    curves: tuple[Curve, ...]
    missing: tuple[Missing, ...]


def collect(
    data: FigureData,
    pair: str,
    wanted: Iterable[Shown],
    axes: tuple[Axis, Axis],
    is_shown: Callable[[Knob], bool],
) -> Collected:
    """A curve for each system with the marks that there are; ``is_shown`` chooses the knobs."""
    curves: list[Curve] = []
    missing: list[Missing] = []
    for system, name, style, group in wanted:
        marks: list[Mark] = []
        for place in data.places(pair, system, is_shown, group):
            found = data.look_up(place, *(axis.metric for axis in axes))
            if isinstance(found, Gap):
                missing.append(missing_at(data, place, name, found))
            else:
                marks.append(Mark(place, *found))
        curves.append(Curve(name, style, tuple(marks)))
    return Collected(tuple(curves), merge_seeds(missing, data.study.seeds))


def missing_at(data: FigureData, place: Place, name: str, gap: Gap) -> Missing:
    """What is missing at a place, in a reader's words."""
    run = place.run
    return Missing(run.pair, name, data.knob_name(place), run.seed, gap.reason)
