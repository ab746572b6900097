"""Figures drawn with matplotlib, which only this module and the sketchpad import."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import ceil, inf
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from simt.paper.bands import seed_band
from simt.paper.notes import panel_notes
from simt.paper.panels import Curve, FigureSpec, Inset, Mark, Panel, ReferenceLine, by_seed
from simt.paper.sketches import TrainingStep
from simt.paper.sketchpad import drawers, legend_styles
from simt.paper.style import (
    COLUMN_INCHES,
    FRAME_GREY,
    INK,
    JOIN_GREY,
    PAGE_INCHES,
    PAPER,
    STYLE_FILES,
    Style,
)
from simt.params import Face

Axes = Any  # matplotlib has no types here

_PANEL_INCHES = 1.95
_INSET_PANEL_INCHES = 2.3
_SKETCH_INCHES = 2.35
_STEP_RATIOS = [1.75, 1.0]  # the passes of a training step need more room than its numbers
_NOTE_SIZE = 5.5
_CHARACTERS_PER_INCH = 26  # of a note
_PANELS_PER_ROW = 3


def in_style(face: Face = "sans") -> AbstractContextManager[None]:
    """matplotlib's own defaults under our style files, whatever the user has set."""
    files = ["default", *map(str, STYLE_FILES[face])]
    context: AbstractContextManager[None] = matplotlib.style.context(files)
    return context


def render(spec: FigureSpec) -> Figure:
    """The figure of a spec; call it, and save the figure, within ``in_style()``."""
    draws = [draw for sketch in spec.sketches for draw in drawers(sketch)]
    draws += [partial(_draw_panel, panel=panel) for panel in spec.panels]
    columns = min(len(draws), _PANELS_PER_ROW)
    rows = ceil(len(draws) / columns)
    width = COLUMN_INCHES if len(draws) == 1 else PAGE_INCHES
    notes = _notes(spec, width)
    extra = 0.14 * _legend_rows(spec, width) + 0.09 * len(notes) + 0.1
    height = _SKETCH_INCHES if spec.sketches else _PANEL_INCHES
    if any(panel.inset for panel in spec.panels):
        height = max(height, _INSET_PANEL_INCHES)
    figure = Figure(figsize=(width, rows * height + extra))
    ratios = _STEP_RATIOS if _is_step(spec) else [1.0] * columns
    grid = figure.subplots(rows, columns, squeeze=False, width_ratios=ratios)
    for number, axes in enumerate(grid.flat):
        if number < len(draws):
            draws[number](axes)
        else:
            axes.set_axis_off()
    _share_labels(grid, spec)
    _add_legend(figure, spec, width)
    if notes:
        text = "\n".join(notes)
        figure.supxlabel(text, x=0.01, ha="left", size=_NOTE_SIZE, color=INK, linespacing=1.15)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, and alike in every format
    return figure


def picture_facts(figure: Figure) -> dict[str, Any]:
    """What a page must know of a picture: its width, and whether colours in it are numbers."""
    return {
        "width_inches": figure.get_figwidth(),
        "has_colour_scale": any(axes.images for axes in figure.axes),
    }


def _is_step(spec: FigureSpec) -> bool:
    return len(spec.sketches) == 1 and isinstance(spec.sketches[0], TrainingStep)


# --- one panel ----------------------------------------------------------------------------------


def _draw_panel(axes: Axes, panel: Panel) -> None:
    _draw_lines(axes, panel)
    if panel.has_named_levels:
        _name_levels(axes, panel)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(panel.y.label)
    if panel.marks:
        _set_scales(axes, panel)
        if panel.inset is not None:
            _draw_inset(axes, panel, panel.inset)
    else:
        axes.text(0.5, 0.5, "no points", transform=axes.transAxes, ha="center", color=INK)
        axes.set(xticks=[], yticks=[])


def _draw_lines(axes: Axes, panel: Panel) -> None:
    """Everything with a place in the panel, broad lines under thin ones."""
    for reference in panel.reference_lines:
        _draw_reference_line(axes, reference)
    for level in panel.levels:
        _draw_level(axes, level)
    if panel.is_joined:
        axes.plot(*_mean_by_x(panel.marks), color=JOIN_GREY, linewidth=0.8, zorder=1.5)
    for curve in sorted(panel.curves, key=lambda curve: not curve.style.is_main):
        _draw_curve(axes, curve, seed_size=3.4 if panel.is_joined else 2.2)


def _set_scales(axes: Axes, panel: Panel) -> None:
    _set_ticks(axes, panel, most=7)
    axes.set(xlim=panel.x_limits, ylim=panel.y_limits)


def _set_ticks(axes: Axes, panel: Panel, most: int) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    if panel.x.is_doubling:
        places = sorted({mark.x.value for mark in panel.marks})
        axes.set_xscale("log", base=2)
        axes.set_xticks(places, [f"{place:,.0f}" for place in places])
        axes.minorticks_off()
    if panel.y.is_fraction:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))


def _draw_inset(axes: Axes, panel: Panel, inset: Inset) -> None:
    """The enlarged part in its corner, and a frame around where it is from."""
    corner = axes.inset_axes(inset.corner, xlim=inset.x_limits, ylim=inset.y_limits)
    _draw_lines(corner, panel)
    _set_ticks(corner, panel, most=4)
    corner.set(xlim=inset.x_limits, ylim=inset.y_limits)
    corner.tick_params(labelsize=5.5, length=1.5, pad=1.5)
    corner.spines[:].set(visible=True, color=FRAME_GREY, linewidth=0.5)
    (left, right), (bottom, top) = inset.x_limits, inset.y_limits
    axes.indicate_inset((left, bottom, right - left, top - bottom),
                        edgecolor=FRAME_GREY, alpha=1.0, linewidth=0.5)  # fmt: skip


def _draw_curve(axes: Axes, curve: Curve, seed_size: float) -> None:
    """One seed: a line through its marks. Several: their marks, their mean and what lies around."""
    seeds = by_seed(curve.marks)
    if len(seeds) <= 1:
        axes.plot(*_xy(curve.marks), **_line(curve.style), **_marker(curve.style))
    else:
        for marks in seeds.values():
            axes.plot(*_xy(marks), linestyle="", alpha=0.55, **_marker(curve.style, size=seed_size))
        band = seed_band(curve.marks)
        if band is not None:
            axes.fill_between(
                band.xs, band.low, band.high, color=curve.style.colour, alpha=0.18, linewidth=0
            )
            axes.plot(band.xs, band.mean, **_line(curve.style))


def _xy(marks: Sequence[Mark]) -> tuple[list[float], list[float]]:
    ordered = sorted((mark.x.value, mark.y.value) for mark in marks)
    return [x for x, _ in ordered], [y for _, y in ordered]


def _mean_by_x(marks: Sequence[Mark]) -> tuple[list[float], list[float]]:
    """The mean y at each x."""
    ys: dict[float, list[float]] = {}
    for x, y in zip(*_xy(marks), strict=True):
        ys.setdefault(x, []).append(y)
    return list(ys), [sum(some) / len(some) for some in ys.values()]


def _draw_level(axes: Axes, level: Curve) -> None:
    """A horizontal line at the mean over seeds, from end to end."""
    values = [mark.y.value for mark in level.marks]
    if not values:
        return
    axes.axhline(_mean_y(level), **_line(level.style, width=0.8), zorder=1.7)  # under its name
    if len(values) > 1:
        axes.axhspan(min(values), max(values), color=level.style.colour, alpha=0.1, linewidth=0)


def _mean_y(level: Curve) -> float:
    return sum(mark.y.value for mark in level.marks) / len(level.marks)


def _name_levels(axes: Axes, panel: Panel) -> None:
    """The name on each line, at the left, where curves are low; beside each other if close."""
    if panel.y_limits is None:  # without a mark there is neither a scale nor a level
        return
    closest = 0.05 * (panel.y_limits[1] - panel.y_limits[0])
    left, before = 0.015, -inf
    for level in sorted((level for level in panel.levels if level.marks), key=_mean_y):
        left = left + 0.22 if _mean_y(level) - before < closest else 0.015
        before = _mean_y(level)
        axes.annotate(
            level.style.label, (left, before), xycoords=("axes fraction", "data"), va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.92},
            color=level.style.colour, size=6, zorder=4,
        )  # fmt: skip


def _draw_reference_line(axes: Axes, reference: ReferenceLine) -> None:
    """Under our curves, but for a star, which is one point that must be seen."""
    size, depth = (6.5, 4) if reference.style.marker == "*" else (2.6, 1.5)
    axes.plot(
        reference.xs, reference.ys,
        **_line(reference.style, width=0.7), **_marker(reference.style, size=size),
        zorder=depth,
    )  # fmt: skip


def _line(style: Style, width: float | None = None) -> dict[str, Any]:
    if width is None and style.is_main:
        width = 1.7
    chosen = {} if width is None else {"linewidth": width}
    return {"color": style.colour, "linestyle": style.dashes, "label": style.label, **chosen}


def _marker(style: Style, size: float | None = None) -> dict[str, Any]:
    """A filled marker has a thin white edge, so that it stands out from the line under it."""
    if size is None and style.is_main:
        size = 4.8
    chosen: dict[str, Any] = {} if size is None else {"markersize": size}
    if style.is_filled:
        chosen |= {"markerfacecolor": style.colour, "markeredgecolor": "white"}
        chosen["markeredgewidth"] = 0.35
    else:
        chosen |= {"markerfacecolor": "white", "markeredgecolor": style.colour}
    return {"marker": style.marker, **chosen}


# --- around the panels --------------------------------------------------------------------------


def _share_labels(grid: Any, spec: FigureSpec) -> None:
    """The y-label only at the left, where all panels have the same."""
    if not spec.sketches and len({panel.y.label for panel in spec.panels}) == 1:
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")


def _handles(spec: FigureSpec) -> dict[str, Any]:
    """A sample of each line, once, in the order of the panels: systems, lines, then others."""
    styles: dict[str, tuple[Style, float | None]] = {}
    for style, width in (*_sketch_styles(spec), *_panel_styles(spec.panels)):
        styles.setdefault(style.label, (style, width))
    styles.pop("", None)
    return {
        label: Line2D([], [], **_line(style, width), **_marker(style))
        for label, (style, width) in styles.items()
    }


def _sketch_styles(spec: FigureSpec) -> Iterator[tuple[Style, float | None]]:
    for sketch in spec.sketches:
        for style in legend_styles(sketch) if sketch.sentence else ():
            yield style, 1.1


def _panel_styles(panels: Sequence[Panel]) -> Iterator[tuple[Style, float | None]]:
    """Every style with the width of its line: of curves, of levels, of reference lines."""
    curves = (curve for panel in panels for curve in panel.curves)
    levels = (level for panel in panels if not panel.has_named_levels for level in panel.levels)
    yield from ((curve.style, None) for curve in curves if curve.marks)
    yield from ((level.style, 0.8) for level in levels if level.marks)
    for style in (line.style for panel in panels for line in panel.reference_lines):
        is_paper = style.label == PAPER.label  # its markers are those of the systems
        yield replace(style, marker="") if is_paper else style, 0.7


def _legend_rows(spec: FigureSpec, width: float) -> int:
    return ceil(len(_handles(spec)) / (4 if width == COLUMN_INCHES else 8))


def _add_legend(figure: Figure, spec: FigureSpec, width: float) -> None:
    """One legend above all panels: nothing is hidden."""
    handles = _handles(spec)
    if handles:
        columns = ceil(len(handles) / _legend_rows(spec, width))
        lines = list(handles.values())
        figure.legend(handles=lines, loc="outside upper center", ncols=columns)


def _notes(spec: FigureSpec, width: float) -> list[str]:
    """The small print of all panels, in lines that fit."""
    said = [(sketch.title, list(sketch.notes)) for sketch in spec.sketches]
    said += [(panel.title, panel_notes(panel)) for panel in spec.panels]
    places: dict[str, list[str]] = {}  # what is alike in several panels is said once
    for title, own in said:
        head, *_ = title.split(" ")
        for note in own:
            unbroken = note.replace(" = ", "\u00a0=\u00a0")
            places.setdefault(unbroken, []).append(head if head.startswith("(") else title)
    notes = [
        f"{', '.join(heads)}: {note}" if len(said) > 1 else note for note, heads in places.items()
    ]
    wrapped = (textwrap.wrap(note, int(width * _CHARACTERS_PER_INCH)) for note in notes)
    return [line for lines in wrapped for line in lines]
