"""A figure as data: what each panel shows, before anything is drawn.

Every mark on paper is one point of ``results/points``, and knows which.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from simt.paper.material import Material, Missing, System, merge_seeds
from simt.paper.rows import ALL, Gap, Number, Place
from simt.paper.sketches import Sketch
from simt.paper.style import Look, label_of, look_of
from simt.params import Knob


class Axis(NamedTuple):
    """Which score an axis shows, and its label; ``is_share`` prints 0.5 as 50 %."""

    metric: str
    label: str
    is_share: bool = False


class Mark(NamedTuple):
    """One measured point."""

    place: Place
    x: Number
    y: Number


class Curve(NamedTuple):
    """The marks of one system, of all its seeds."""

    name: str  # in plain text
    look: Look
    marks: tuple[Mark, ...]


class Trace(NamedTuple):
    """Numbers that are not of our systems: the paper's, or the oracle's."""

    look: Look
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    origin: str


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
    traces: tuple[Trace, ...] = ()
    missing: tuple[Missing, ...] = ()
    remarks: tuple[str, ...] = ()
    x_end: float | None = None  # where the axis is cut; a remark names what lies beyond
    has_named_levels: bool = False
    is_joined: bool = False  # a line leads from curve to curve

    @property
    def marks(self) -> list[Mark]:
        """Every mark of the panel."""
        return [mark for curve in (*self.curves, *self.levels) for mark in curve.marks]


class Sheet(NamedTuple):
    """A whole figure: schematics first, then panels with axes."""

    panels: tuple[Panel, ...]
    sketches: tuple[Sketch, ...] = ()


class Shown(NamedTuple):
    """A system, its name and look, and the group of sentences."""

    system: System
    name: str
    look: Look
    group: str = ALL


def shown(system: System) -> Shown:
    """A system under its usual name and look."""
    return Shown(system, label_of(system.key), look_of(system.key))


class Collected(NamedTuple):
    """Curves, and what should have been on them."""

    curves: tuple[Curve, ...]
    missing: tuple[Missing, ...]


def collect(
    material: Material,
    pair: str,
    wanted: Iterable[Shown],
    axes: tuple[Axis, Axis],
    is_shown: Callable[[Knob], bool],
) -> Collected:
    """A curve for each system with the marks that there are; ``is_shown`` chooses the knobs."""
    curves: list[Curve] = []
    missing: list[Missing] = []
    for system, name, look, group in wanted:
        marks: list[Mark] = []
        for place in material.places(pair, system, is_shown, group):
            found = material.look_up(place, *(axis.metric for axis in axes))
            if isinstance(found, Gap):
                missing.append(missing_at(material, place, name, found))
            else:
                marks.append(Mark(place, *found))
        curves.append(Curve(name, look, tuple(marks)))
    return Collected(tuple(curves), merge_seeds(missing, material.study.seeds))


def missing_at(material: Material, place: Place, name: str, gap: Gap) -> Missing:
    """What is missing at a place, in a reader's words."""
    run = place.run
    return Missing(run.pair, name, material.knob_name(place), run.seed, gap.reason)
