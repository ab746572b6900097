"""Figures drawn with matplotlib, which only this module and the sketchpad import."""

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from simt.paper.bands import by_seed, seed_band
from simt.paper.notes import panel_notes
from simt.paper.panels import Curve, Mark, Panel, Sheet, Trace
from simt.paper.sketches import TrainingStep
from simt.paper.sketchpad import drawers, legend_looks
from simt.paper.style import COLUMN_INCHES, INK, JOIN_GREY, PAGE_INCHES, PAPER, STYLE_FILE, Look

Axes = Any  # matplotlib has no types here

_PANEL_INCHES = 1.95
_SKETCH_INCHES = 2.35
_STEP_SHARES = [1.75, 1.0]  # the passes of a training step need more room than its numbers
_NOTE_SIZE = 5.5
_CHARACTERS_PER_INCH = 26  # of a note
_PANELS_PER_ROW = 3


def in_style() -> AbstractContextManager[None]:
    """matplotlib's own defaults under our style file, whatever the user has set."""
    context: AbstractContextManager[None] = matplotlib.style.context(["default", str(STYLE_FILE)])
    return context


def render(sheet: Sheet) -> Figure:
    """The figure of a sheet; call it, and save the figure, within ``in_style()``."""
    draws = [draw for sketch in sheet.sketches for draw in drawers(sketch)]
    draws += [partial(_draw_panel, panel=panel) for panel in sheet.panels]
    columns = min(len(draws), _PANELS_PER_ROW)
    rows = ceil(len(draws) / columns)
    width = COLUMN_INCHES if len(draws) == 1 else PAGE_INCHES
    notes = _notes(sheet, width)
    extra = 0.14 * _legend_rows(sheet, width) + 0.09 * len(notes) + 0.1
    height = _SKETCH_INCHES if sheet.sketches else _PANEL_INCHES
    figure = Figure(figsize=(width, rows * height + extra))
    shares = _STEP_SHARES if _is_step(sheet) else [1.0] * columns
    grid = figure.subplots(rows, columns, squeeze=False, width_ratios=shares)
    for number, axes in enumerate(grid.flat):
        if number < len(draws):
            draws[number](axes)
        else:
            axes.set_axis_off()
    _share_labels(grid, sheet)
    _add_legend(figure, sheet, width)
    if notes:
        text = "\n".join(notes)
        figure.supxlabel(text, x=0.01, ha="left", size=_NOTE_SIZE, color=INK, linespacing=1.15)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, and alike in every format
    return figure


def _is_step(sheet: Sheet) -> bool:
    return len(sheet.sketches) == 1 and isinstance(sheet.sketches[0], TrainingStep)


# --- one panel ----------------------------------------------------------------------------------


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for trace in panel.traces:
        _draw_trace(axes, trace)
    lowest = min((_mean_y(level) for level in panel.levels if level.marks), default=0.0)
    for level in panel.levels:
        _draw_level(axes, level)
        if panel.has_named_levels and level.marks:
            is_lowest = len(panel.levels) > 1 and _mean_y(level) == lowest
            _name_level(axes, level, is_below=is_lowest)
    if panel.is_joined:
        axes.plot(*_mean_by_x(panel.marks), color=JOIN_GREY, linewidth=0.8, zorder=1.5)
    for curve in panel.curves:
        _draw_curve(axes, curve, seed_size=3.4 if panel.is_joined else 2.2)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x.label)
    axes.set_ylabel(panel.y.label)
    if panel.marks:
        _set_scales(axes, panel)
    else:
        axes.text(0.5, 0.5, "no points", transform=axes.transAxes, ha="center", color=INK)
        axes.set(xticks=[], yticks=[])


def _set_scales(axes: Axes, panel: Panel) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    if panel.y.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    xs = [mark.x.value for curve in panel.curves for mark in curve.marks]
    xs += [x for trace in panel.traces for x in trace.xs]
    ys = {mark.y.value for mark in panel.marks} | {y for trace in panel.traces for y in trace.ys}
    if panel.x_end is not None:
        axes.set_xlim(min(xs) - 0.04 * (panel.x_end - min(xs)), panel.x_end)
    if len(ys) == 1:  # else the axis would show thousandths
        room = 0.05 if panel.y.is_share else 1.0
        axes.set_ylim(min(ys) - room, min(ys) + room)


def _draw_curve(axes: Axes, curve: Curve, seed_size: float) -> None:
    """One seed: a line through its marks. Several: their marks, their mean and what lies around."""
    seeds = by_seed(curve.marks)
    if len(seeds) <= 1:
        axes.plot(*_xy(curve.marks), **_line(curve.look), **_marker(curve.look))
    else:
        for marks in seeds.values():
            axes.plot(*_xy(marks), linestyle="", alpha=0.55, **_marker(curve.look, size=seed_size))
        band = seed_band(curve.marks)
        if band is not None:
            axes.fill_between(
                band.xs, band.low, band.high, color=curve.look.colour, alpha=0.18, linewidth=0
            )
            axes.plot(band.xs, band.mean, **_line(curve.look))


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
    axes.axhline(_mean_y(level), **_line(level.look, width=0.8))
    if len(values) > 1:
        axes.axhspan(min(values), max(values), color=level.look.colour, alpha=0.1, linewidth=0)


def _mean_y(level: Curve) -> float:
    return sum(mark.y.value for mark in level.marks) / len(level.marks)


def _name_level(axes: Axes, level: Curve, is_below: bool) -> None:
    """The name on the line, at the left, where curves are low; the lowest line has it below."""
    axes.annotate(
        level.look.label, (0.015, _mean_y(level)), xycoords=("axes fraction", "data"),
        xytext=(0, -1.5 if is_below else 1.5), textcoords="offset points",
        va="top" if is_below else "bottom", color=level.look.colour, size=6,
    )  # fmt: skip


def _draw_trace(axes: Axes, trace: Trace) -> None:
    """Under our curves, but for a star, which is one point that must be seen."""
    size, depth = (6.5, 4) if trace.look.marker == "*" else (2.6, 1.5)
    axes.plot(
        trace.xs, trace.ys, **_line(trace.look, width=0.7), **_marker(trace.look, size=size),
        zorder=depth,
    )  # fmt: skip


def _line(look: Look, width: float | None = None) -> dict[str, Any]:
    chosen = {} if width is None else {"linewidth": width}
    return {"color": look.colour, "linestyle": look.dashes, "label": look.label, **chosen}


def _marker(look: Look, size: float | None = None) -> dict[str, Any]:
    """A filled marker has a thin white edge, so that it stands out from the line under it."""
    chosen: dict[str, Any] = {} if size is None else {"markersize": size}
    if look.is_filled:
        chosen |= {"markerfacecolor": look.colour, "markeredgecolor": "white"}
        chosen["markeredgewidth"] = 0.35
    else:
        chosen |= {"markerfacecolor": "white", "markeredgecolor": look.colour}
    return {"marker": look.marker, **chosen}


# --- around the panels --------------------------------------------------------------------------


def _share_labels(grid: Any, sheet: Sheet) -> None:
    """The y-label only at the left, where all panels have the same."""
    if not sheet.sketches and len({panel.y.label for panel in sheet.panels}) == 1:
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")


def _handles(sheet: Sheet) -> dict[str, Any]:
    """A sample of each line, once, in the order of the panels: systems, lines, then others."""
    panels = sheet.panels
    looks: dict[str, tuple[Look, float]] = {}
    for sketch in sheet.sketches:
        for look in legend_looks(sketch) if sketch.sentence else ():
            looks.setdefault(look.label, (look, 1.1))
    for panel in panels:
        for curve in panel.curves:
            if curve.marks:
                looks.setdefault(curve.look.label, (curve.look, 1.1))
    for panel in panels:
        for level in panel.levels:
            if level.marks and not panel.has_named_levels:
                looks.setdefault(level.look.label, (level.look, 0.8))
    for panel in panels:
        for trace in panel.traces:
            is_paper = trace.look.label == PAPER.label  # its markers are those of the systems
            look = replace(trace.look, marker="") if is_paper else trace.look
            looks.setdefault(look.label, (look, 0.7))
    looks.pop("", None)
    return {
        label: Line2D([], [], **_line(look, width), **_marker(look))
        for label, (look, width) in looks.items()
    }


def _legend_rows(sheet: Sheet, width: float) -> int:
    return ceil(len(_handles(sheet)) / (4 if width == COLUMN_INCHES else 8))


def _add_legend(figure: Figure, sheet: Sheet, width: float) -> None:
    """One legend above all panels: nothing is hidden."""
    handles = _handles(sheet)
    if handles:
        columns = ceil(len(handles) / _legend_rows(sheet, width))
        lines = list(handles.values())
        figure.legend(handles=lines, loc="outside upper center", ncols=columns)


def _notes(sheet: Sheet, width: float) -> list[str]:
    """The small print of all panels, in lines that fit."""
    said = [(sketch.title, list(sketch.notes)) for sketch in sheet.sketches]
    said += [(panel.title, panel_notes(panel)) for panel in sheet.panels]
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
