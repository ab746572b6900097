"""Which part of the plane a panel shows, and which part of that it shows enlarged.

Curves of quality rise steeply and then crowd together below the best systems: what is compared
there would be the size of a line. It is enlarged in the empty corner below the curves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from simt.paper.panels import Curve, Inset, Limits, Panel, by_seed

_CROWDED = 0.25  # of the axis: the upper half of all marks within less is enlarged
_FEWEST_MARKS = 12
_X_MARGIN, _Y_MARGIN = 0.04, 0.06
_BOTTOM, _RIGHT = 0.15, 0.985  # of the corner, as fractions of the axes: its tick labels need room
_TICKS = 0.09  # to the left of the corner
_GAP = 0.06  # to what lies above it
_LEAST_WIDTH, _LEAST_HEIGHT = 0.3, 0.26
_LEFTS = [step / 40 for step in range(14, 28)]


class _Box(NamedTuple):
    left: float
    bottom: float
    width: float
    height: float


def framed(panel: Panel, x_end: float | None = None) -> Panel:
    """The panel with limits for both axes, which end at ``x_end`` if given, and with an inset."""
    if not panel.marks:
        return panel
    xs = [mark.x.value for curve in panel.curves for mark in curve.marks]
    xs += [x for reference in panel.reference_lines for x in reference.xs]
    ys = [mark.y.value for mark in panel.marks] + [
        y for reference in panel.reference_lines for y in reference.ys
    ]
    x_limits = _with_margin(min(xs, default=0.0), max(xs, default=1.0), _X_MARGIN)
    if x_end is not None:
        x_limits = (min(xs) - _X_MARGIN * (x_end - min(xs)), x_end)
    return enlarged(
        replace(panel, x_limits=x_limits, y_limits=_with_margin(min(ys), max(ys), _Y_MARGIN))
    )


def _with_margin(low: float, high: float, fraction: float) -> Limits:
    room = fraction * (high - low) or 1.0  # equal values: else the axis would show thousandths
    return low - room, high + room


def with_same_limits(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Framed panels whose axes all show the same."""
    frames = [(one.x_limits, one.y_limits) for one in panels if one.x_limits and one.y_limits]
    if not frames:
        return tuple(panels)
    x_limits, y_limits = (
        (min(low for low, _ in limits), max(high for _, high in limits))
        for limits in zip(*frames, strict=True)
    )
    return tuple(
        enlarged(replace(one, x_limits=x_limits, y_limits=y_limits)) if one.marks else one
        for one in panels
    )


def enlarged(panel: Panel) -> Panel:
    """The panel with an inset of where its upper marks are crowded, if there is room for one."""
    window = _crowded(panel)
    corner = None if window is None else _free_corner(panel)
    if window is None or corner is None:
        return replace(panel, inset=None)
    return replace(panel, inset=Inset(corner, *window))


def _crowded(panel: Panel) -> tuple[Limits, Limits] | None:
    """Where the upper half of the marks is, if that is a small part of the y-axis.

    Also where each curve is at its best, if it is still small then: a part of a curve misleads.
    """
    assert panel.x_limits is not None
    assert panel.y_limits is not None
    last = panel.x_limits[1]
    marks = [m for curve in panel.curves for m in curve.marks if m.x.value <= last]
    ys = sorted(mark.y.value for mark in marks)
    if len(ys) < _FEWEST_MARKS:
        return None
    middle = ys[len(ys) // 2]
    levels = [level.marks[0].y.value for level in panel.levels if level.marks]
    top = max([ys[-1], *levels])
    lowest = top - _CROWDED * (panel.y_limits[1] - panel.y_limits[0])
    floors = (min([middle, *_bests(panel)]), middle)
    floor = next((one for one in floors if one >= lowest), None)
    if floor is None or floor == ys[0]:  # too much, or everything: the panel shows it as large
        return None
    xs = [mark.x.value for mark in marks if mark.y.value >= floor]
    return _with_margin(min(xs), max(xs), _X_MARGIN), _with_margin(floor, top, 0.1)


def _bests(panel: Panel) -> Iterator[float]:
    """How high every seed of every curve comes."""
    for curve in panel.curves:
        for marks in by_seed(curve.marks).values():
            yield max(mark.y.value for mark in marks)


def _free_corner(panel: Panel) -> _Box | None:
    """The largest box at the lower right that nothing is drawn in."""
    boxes = []
    for left in _LEFTS:
        lowest = min(_heights(panel, left - _TICKS), default=1.0)
        box = _Box(left, _BOTTOM, _RIGHT - left, lowest - _GAP - _BOTTOM)
        if box.width >= _LEAST_WIDTH and box.height >= _LEAST_HEIGHT:
            boxes.append(box)
    return max(boxes, key=lambda box: box.width * min(box.height, 0.6), default=None)


def _heights(panel: Panel, left: float) -> Iterator[float]:
    """How high everything is drawn right of a place, both as fractions of the axes."""
    assert panel.x_limits is not None
    assert panel.y_limits is not None
    (x_low, x_high), (y_low, y_high) = panel.x_limits, panel.y_limits
    begin = x_low + left * (x_high - x_low)
    lines = [_line(curve) for curve in panel.curves]
    lines += [
        sorted(zip(reference.xs, reference.ys, strict=True)) for reference in panel.reference_lines
    ]
    for line in lines:
        for y in _ys_beyond(line, begin):
            yield (y - y_low) / (y_high - y_low)
    for level in panel.levels:
        for mark in level.marks:
            yield (mark.y.value - y_low) / (y_high - y_low)


def _line(curve: Curve) -> list[tuple[float, float]]:
    return sorted((mark.x.value, mark.y.value) for mark in curve.marks)


def _ys_beyond(line: Sequence[tuple[float, float]], begin: float) -> Iterator[float]:
    """The ys of the points of a line beyond a place, and its y at that place."""
    yield from (y for x, y in line if x >= begin)
    for (x, y), (next_x, next_y) in pairwise(line):
        if x < begin < next_x:
            yield y + (next_y - y) * (begin - x) / (next_x - x)
