"""Every number that the paper prints, beside ours and with the difference.

Where the paper's tables have a column of their own in one of ours, it is compared line by line; at
the same knob value two systems differ in latency too, so that BLEU is also compared at the paper's
lagging, by straight lines between our points.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from statistics import fmean

from simt.paper.figures import MAXIMAL_KNOB
from simt.paper.material import KnobName, Material, gather
from simt.paper.reference import ANALYSIS_PAIR, PAPER_PAIRS, paper_number
from simt.paper.rows import Gap, Place
from simt.paper.style import label_of
from simt.paper.tabular import Block, Cell, Column, Measured, Table, cell_text
from simt.runs import Run

Line = tuple[Cell, ...]
_COLUMNS = (
    Column("table", "Table"),
    Column("row", "Row"),
    Column("setting", "Setting"),
    Column("score", "Score"),
    Column("ours", "Ours", 2),
    Column("paper", "Paper", 2),
    Column("difference", "Difference", 2),
)


def beside_paper(material: Material, tables: Mapping[str, Callable[[Material], Table]]) -> Table:
    """All numbers of the paper for which the study has a run, from the tables that hold them."""
    groups: dict[str, list[tuple[Line, ...]]] = {}
    for name in material.drawing.also:
        drawing = material.params.paper.tables[name]
        own = gather(material.params, material.study_name, drawing, material.results, True)
        table = tables[name](own)
        for block in table.blocks:
            lines = tuple(_compared(name, table, block))
            if lines:
                groups.setdefault(block.pair, []).append(lines)
    if ANALYSIS_PAIR in material.pairs:
        groups.setdefault(ANALYSIS_PAIR, []).append((_maximal_lagging(material),))
    blocks = [Block(pair, material.direction(pair), tuple(found)) for pair, found in groups.items()]
    return Table(material.drawing.title, _COLUMNS, tuple(blocks) or (_nothing(material),))


def _maximal_lagging(material: Material) -> Line:
    """The one lagging that the paper prints in its text on λ."""
    variant = "bi-w1.0"
    runs = [Run(ANALYSIS_PAIR, "sm2", variant, seed) for seed in material.study.seeds]
    places = [Place(run, "test", MAXIMAL_KNOB) for run in runs]
    found = [material.rows.look_up(place, "al_token") for place in places]
    ours = [number.value for number in found if not isinstance(number, Gap)]
    theirs = paper_number("max_al", "lambda=1.0", "al_at_gamma_0.99")
    knob = material.knob_name(places[0])
    label = label_of(f"sm2/{variant}")
    return _line("fig09-lambda", label, knob, "AL", fmean(ours) if ours else None, theirs, 1.0)


def _nothing(material: Material) -> Block:
    pairs = ", ".join(PAPER_PAIRS)
    return Block("", "", (), (f"no pair of study {material.study_name} is the paper's: {pairs}",))


def _compared(name: str, table: Table, block: Block) -> Iterator[Line]:
    """A line for each number of the paper in a block."""
    places = {column.key: place for place, column in enumerate(table.columns)}
    for row in block.rows:
        knob = row[places["knob"]] if "knob" in places else ""
        for key, place in places.items():
            theirs = row[place]
            if key.startswith("paper_") and isinstance(theirs, float):
                our_place = places[key.removeprefix("paper_")]
                column = table.columns[our_place]
                ours = _value(row[our_place])
                score = column.heading.split(" (")[0]
                yield _line(name, row[0], knob, score, ours, theirs, column.scale)
        yield from _at_their_latency(name, block, row, places)


def _at_their_latency(
    name: str, block: Block, row: Line, places: Mapping[str, int]
) -> Iterator[Line]:
    """Our BLEU where we lag as much as the paper does."""
    latency = next((key for key in places if key in ("al_token", "al_word")), "")
    if f"paper_{latency}" not in places or "paper_bleu" not in places:
        return
    at, theirs = row[places[f"paper_{latency}"]], row[places["paper_bleu"]]
    if not isinstance(at, float) or not isinstance(theirs, float):
        return
    points = sorted(
        (x, y)
        for other in block.rows
        if other[0] == row[0]
        for x, y in [(_value(other[places[latency]]), _value(other[places["bleu"]]))]
        if x is not None and y is not None
    )
    score = f"SacreBLEU at AL {at:g}"
    yield _line(name, row[0], row[places["knob"]], score, interpolated(points, at), theirs, 1.0)


def interpolated(points: list[tuple[float, float]], at: float) -> float | None:
    """The y at a place between two points; None beyond the last one."""
    for (x, y), (next_x, next_y) in pairwise(points):
        if x <= at <= next_x and x < next_x:
            return y + (next_y - y) * (at - x) / (next_x - x)
    return None


def _line(
    name: str, row: Cell, knob: Cell, score: str, ours: float | None, theirs: float, scale: float
) -> Line:
    setting = str(knob) if isinstance(knob, KnobName) else ""
    difference = None if ours is None else (ours - theirs) * scale
    scaled = None if ours is None else ours * scale
    label = cell_text(row, _COLUMNS[1])
    return (name.split("-")[0], label, setting, score, scaled, theirs * scale, difference)


def _value(cell: Cell) -> float | None:
    """A number of ours, the mean over seeds."""
    return fmean(one.value for _, one in cell.values) if isinstance(cell, Measured) else None
