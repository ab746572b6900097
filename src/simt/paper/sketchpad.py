"""Schematics drawn with matplotlib: grids of states, and a training step."""

import textwrap
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any

from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.patches import FancyBboxPatch, Rectangle

from simt.paper.sketches import DecisionPath, Grid, Region, Sketch, State, TrainingStep
from simt.paper.style import (
    ALLOWED_BLUE,
    CONFIDENCE,
    EMPTY_GREY,
    FULL_SOURCE,
    INK,
    MIXTURE,
    PREFIX,
    Style,
)

Axes = Any  # matplotlib has no types here

# From nearly white to the dark blue of Okabe and Ito: lightness alone tells low from high.
_CONFIDENCE_COLOURS = LinearSegmentedColormap.from_list(
    "confidence", ["#f2f6fa", "#9cc3e0", "#2f7fb8", "#08335a"]
)
_CELL = 0.9  # of the room that a state has


def drawers(sketch: Sketch) -> list[Callable[[Axes], None]]:
    """What is drawn for a sketch, each on axes of its own."""
    if isinstance(sketch, Grid):
        return [partial(_draw_grid, grid=sketch)]
    return [partial(_draw_passes, step=sketch), partial(_draw_numbers, step=sketch)]


def legend_styles(sketch: Sketch) -> list[Style]:
    """The lines and marks of a sketch that a legend must tell apart."""
    if isinstance(sketch, Grid):
        return [path.style for path in sketch.paths] + [one.style for one in sketch.regions]
    return [FULL_SOURCE, PREFIX, CONFIDENCE, MIXTURE]


def _say_nothing_is_there(axes: Axes) -> None:
    axes.text(0.5, 0.5, "no sentence", transform=axes.transAxes, ha="center", color=INK)
    axes.set(xticks=[], yticks=[])


# --- states -------------------------------------------------------------------------------------


def _draw_grid(axes: Axes, grid: Grid) -> None:
    axes.set_title(grid.title)
    if grid.sentence is None:
        _say_nothing_is_there(axes)
        return
    rows, columns = len(grid.sentence.target), len(grid.sentence.source)
    every = set(product(range(1, rows + 1), range(1, columns + 1)))
    plain = every - grid.allowed - grid.values.keys()
    _fill(axes, plain, facecolor="white", edgecolor=EMPTY_GREY, linewidth=0.5)
    _fill(axes, grid.allowed, facecolor=ALLOWED_BLUE, edgecolor="none")
    for state, value in grid.values.items():
        _fill(axes, [state], facecolor=_CONFIDENCE_COLOURS(value), edgecolor="none")
    for region in grid.regions:
        _draw_outline(axes, region)
    for path in grid.paths:
        _draw_path(axes, path)
    _label_states(axes, grid)
    if grid.values_label:
        colours = ScalarMappable(Normalize(0, 1), _CONFIDENCE_COLOURS)
        bar = axes.figure.colorbar(colours, ax=axes, shrink=0.7, aspect=16, pad=0.03)
        bar.set_label(grid.values_label)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)


def _fill(axes: Axes, states: Iterable[State], **styles: Any) -> None:
    cells = [
        Rectangle((column - _CELL / 2, row - _CELL / 2), _CELL, _CELL) for row, column in states
    ]
    axes.add_collection(PatchCollection(cells, **styles))


def _draw_outline(axes: Axes, region: Region) -> None:
    """A line between the states that belong to a region and those that do not."""
    sides = []
    for row, column in region.states:
        top, left = row - 0.5, column - 0.5
        for neighbour, side in (
            ((row - 1, column), ((left, top), (left + 1, top))),
            ((row + 1, column), ((left, top + 1), (left + 1, top + 1))),
            ((row, column - 1), ((left, top), (left, top + 1))),
            ((row, column + 1), ((left + 1, top), (left + 1, top + 1))),
        ):
            if neighbour not in region.states:
                sides.append(side)
    colour = region.style.colour
    axes.add_collection(LineCollection(sides, colors=colour, linewidths=1.1, capstyle="round"))


def _draw_path(axes: Axes, path: DecisionPath) -> None:
    """A line from state to state, with a mark wherever something was written."""
    rows, columns = zip(*path.states(), strict=True)
    axes.plot(columns, rows, color=path.style.colour, linewidth=1.1, zorder=3)
    written = range(1, len(path.delays) + 1)
    axes.plot(
        path.delays, written, linestyle="", marker=path.style.marker, markersize=3.6, zorder=4,
        markerfacecolor=path.style.colour, markeredgecolor="white", markeredgewidth=0.5,
    )  # fmt: skip


def _label_states(axes: Axes, grid: Grid) -> None:
    assert grid.sentence is not None
    source, target = grid.sentence.source, grid.sentence.target
    axes.set_xlim(0.45, len(source) + 0.55)
    axes.set_ylim(len(target) + 0.55, 0.45)
    axes.set_xticks(range(1, len(source) + 1), source, rotation=55, ha="right", size=5.5)
    axes.set_yticks(range(1, len(target) + 1), target, size=5.5)
    for label in axes.get_xticklabels():
        label.set_rotation_mode("anchor")
    axes.set_xlabel("READ →  source tokens, j")
    axes.set_ylabel("target tokens, i  ← WRITE")
    axes.tick_params(length=0, pad=1.5)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


# --- a training step ----------------------------------------------------------------------------


def _draw_passes(axes: Axes, step: TrainingStep) -> None:
    """The two passes of a training step, and what is taken of them; lengths are arbitrary."""
    axes.set_title("(a) two passes with the same weights")
    axes.set_axis_off()
    axes.set_xlim(-1, 112)
    axes.set_ylim(-2, 60)
    if step.sentence is None:
        axes.text(56, 30, "no sentence", ha="center", color=INK)
        return
    source = step.sentence.source
    for y, style, name, tokens, given in (
        (47, FULL_SOURCE, "whole source $x$", source, ""),
        (15, PREFIX, "prefix", source[: step.prefix], rf"$x_{{\leq j}}$, $j={step.prefix}$"),
    ):
        _draw_tokens(axes, y, style, f"{name} {given}".strip(), tokens)
        _draw_box(axes, 33, y, 15, "encoder", style.colour)
        _draw_box(axes, 53, y, 15, "decoder", style.colour)
        _draw_arrow(axes, (28, y), (33, y))
        _draw_arrow(axes, (48, y), (53, y))
    for x in (40.5, 60.5):
        axes.plot([x, x], [21, 41], color=INK, linewidth=0.7, linestyle=(0, (2, 2)))
    axes.text(50, 31, r"$y_{<i}$", size=6.5, ha="center", va="center")
    _draw_arrow(axes, (52, 28.5), (56, 20))
    _draw_arrow(axes, (52, 33.5), (56, 42))
    _draw_outputs(axes)


def _draw_outputs(axes: Axes) -> None:
    """From the decoder's states to the three losses."""
    _draw_arrow(axes, (68, 47), (74, 47))
    axes.text(77, 47, "$p_i$", ha="center", va="center", color=FULL_SOURCE.colour)
    _draw_arrow(axes, (80, 47), (98, 47))
    axes.text(99, 47, r"$L_\mathrm{omt}$", va="center")
    _draw_arrow(axes, (68, 17), (74, 17))
    axes.text(77, 17, "$p_{ij}$", ha="center", va="center", color=PREFIX.colour)
    _draw_arrow(axes, (68, 12), (72, 6))
    _draw_box(axes, 72, 4, 14, "confidence", CONFIDENCE.colour)
    _draw_arrow(axes, (86, 4), (89, 4))
    axes.text(92, 4, "$c_{ij}$", ha="center", va="center", color=CONFIDENCE.colour)
    _draw_arrow(axes, (95, 4), (99, 4))
    axes.text(100, 4, r"$\lambda L_C$", va="center")
    _draw_box(axes, 68, 32, 31, r"$c_{ij}\,p_{ij} + (1-c_{ij})\,p_i$", MIXTURE.colour)
    _draw_arrow(axes, (77, 44), (79, 37))
    _draw_arrow(axes, (78, 20), (80, 27))
    _draw_arrow(axes, (92, 7.5), (90, 27))
    _draw_arrow(axes, (99, 32), (102, 32))
    axes.text(103, 32, "$L_S$", va="center")


def _draw_tokens(axes: Axes, y: float, style: Style, name: str, tokens: Iterable[str]) -> None:
    """The tokens that a pass is given, in a box as high as they need."""
    lines = textwrap.wrap(" ".join(tokens), 21)
    height = 4.2 * len(lines) + 3
    axes.add_patch(_rounded(0, y - height / 2, 28, height, style.colour))
    axes.text(1.5, y, "\n".join(lines), va="center", size=5.5, linespacing=1.25)
    axes.text(0, y + height / 2 + 1, name, color=style.colour, va="bottom", size=6)


def _draw_box(axes: Axes, x: float, y: float, width: float, text: str, colour: str) -> None:
    axes.add_patch(_rounded(x, y - 4.5, width, 9, colour))
    axes.text(x + width / 2, y, text, ha="center", va="center", size=6)


def _rounded(x: float, y: float, width: float, height: float, colour: str) -> FancyBboxPatch:
    return FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0,rounding_size=1.5", facecolor="white",
        edgecolor=colour, linewidth=0.8,
    )  # fmt: skip


def _draw_arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "mutation_scale": 5, "color": INK, "linewidth": 0.6,
             "shrinkA": 0, "shrinkB": 0}  # fmt: skip
    axes.annotate("", end, start, arrowprops=style)


def _draw_numbers(axes: Axes, step: TrainingStep) -> None:
    """The numbers of every target token."""
    axes.set_title(f"(b) after training, j = {step.prefix}")
    if step.sentence is None:
        _say_nothing_is_there(axes)
        return
    rows = range(1, len(step.sentence.target) + 1)
    axes.hlines(rows, step.full, step.partial, color=EMPTY_GREY, linewidth=1.0, zorder=1)
    for style, values in (
        (FULL_SOURCE, step.full),
        (PREFIX, step.partial),
        (CONFIDENCE, step.confidence),
        (MIXTURE, step.mixture),
    ):
        axes.plot(
            values, rows, linestyle="", marker=style.marker, markersize=4.2,
            markerfacecolor=style.colour if style.is_filled else "white",
            markeredgecolor="white" if style.is_filled else style.colour,
            markeredgewidth=0.35 if style.is_filled else 0.7,
        )  # fmt: skip
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(len(rows) + 0.6, 0.4)
    axes.set_yticks(rows, step.sentence.target, size=5.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("probability of the target token; confidence")
    axes.set_ylabel("target tokens, i")
