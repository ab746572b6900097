"""Every number that the paper prints, beside ours and with the difference.

Where the paper's tables have a column of their own in one of ours, it is compared line by line; at
the same knob value two systems differ in latency too, so that BLEU is also compared at the paper's
lagging, by straight lines between our points.
"""

from collections.abc import Callable, Iterator, Mapping
from statistics import fmean

from simt.curve import interpolated
from simt.paper.figure_data import FigureData, KnobName, gather
from simt.paper.figures import MAXIMAL_KNOB
from simt.paper.reference import ANALYSIS_PAIR, paper_number
from simt.paper.rows import Gap, Place
from simt.paper.tabular import Block, Cell, Column, Measured, Table, TableRow, cell_text
from simt.runs import Run
from simt.systems import label_of

_COLUMNS = (
    Column("table", "Table"),
    Column("row", "Row"),
    Column("setting", "Setting"),
    Column("score", "Score"),
    Column("ours", "Ours", 2),
    Column("paper", "Paper", 2),
    Column("difference", "Difference", 2),
)


def beside_paper(data: FigureData, tables: Mapping[str, Callable[[FigureData], Table]]) -> Table:
    """All numbers of the paper for which the study has a run, from the tables that hold them."""
    groups: dict[str, list[tuple[TableRow, ...]]] = {}
    for name in data.drawing.also:
        drawing = data.params.paper.tables[name]
        own = gather(data.params, drawing, True)
        table = tables[name](own)
        for block in table.blocks:
            lines = tuple(_compared(name, table, block))
            if lines:
                groups.setdefault(block.pair, []).append(lines)
    if ANALYSIS_PAIR in data.pairs:
        groups.setdefault(ANALYSIS_PAIR, []).append((_maximal_lagging(data),))
    blocks = [Block(pair, data.direction(pair), tuple(found)) for pair, found in groups.items()]
    return Table(data.drawing.title, _COLUMNS, tuple(blocks))


def _maximal_lagging(data: FigureData) -> TableRow:
    """The one lagging that the paper prints in its text on λ."""
    variant = "bi-w1.0"
    seeds = data.study.seeds_of("sm2", variant)
    runs = [Run(ANALYSIS_PAIR, "sm2", variant, seed) for seed in seeds]
    places = [Place(run, "test", MAXIMAL_KNOB) for run in runs]
    found = [data.rows.look_up(place, "al_token") for place in places]
    ours = [number.value for number in found if not isinstance(number, Gap)]
    theirs = paper_number("max_al", "lambda=1.0", "al_at_gamma_0.99")
    knob = data.knob_name(places[0])
    label = label_of(f"sm2/{variant}")
    return _line("fig09-lambda", label, knob, "AL", fmean(ours) if ours else None, theirs, 1.0)


def _compared(name: str, table: Table, block: Block) -> Iterator[TableRow]:
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
    name: str, block: Block, row: TableRow, places: Mapping[str, int]
) -> Iterator[TableRow]:
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


def _line(
    name: str, row: Cell, knob: Cell, score: str, ours: float | None, theirs: float, scale: float
) -> TableRow:
    setting = str(knob) if isinstance(knob, KnobName) else ""
    difference = None if ours is None else (ours - theirs) * scale
    scaled = None if ours is None else ours * scale
    label = cell_text(row, _COLUMNS[1])
    kind = "Figure" if name.startswith("fig") else "Table"
    return (f"{kind} {int(name[3:5])}", label, setting, score, scaled, theirs * scale, difference)


def _value(cell: Cell) -> float | None:
    """A number of ours, the mean over seeds."""
    return fmean(one.value for _, one in cell.values) if isinstance(cell, Measured) else None
