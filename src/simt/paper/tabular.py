"""A table as data, and as Markdown and CSV.

Markdown is rounded for reading, as LaTeX is; the CSV has every digit, and a column of its own for
the deviation over seeds.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple

from simt.paper.figure_data import KnobName, Missing
from simt.paper.rows import Number, Place

NOTHING = "–"


class Measured(NamedTuple):
    """One number of a table: its value for each seed, and where each was measured."""

    metric: str
    values: tuple[tuple[Place, Number], ...]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return fmean(number.value for _, number in self.values)

    @property
    def deviation(self) -> float | None:
        """The sample deviation over the seeds; None with one."""
        numbers = [number.value for _, number in self.values]
        return stdev(numbers) if len(numbers) > 1 else None


class Formula(NamedTuple):
    """Text with mathematics in it, and the same in LaTeX."""

    text: str
    latex: str


Cell = str | float | KnobName | Formula | Measured | None  # a plain number is the paper's


TableRow = tuple[Cell, ...]
Groups = tuple[tuple[TableRow, ...], ...]  # with a rule between them


class Column(NamedTuple):
    """A column: its name in the CSV, its heading, and the decimals of its numbers."""

    key: str
    heading: str
    decimals: int | None = None  # None: text
    scale: float = 1.0  # of what is printed, not of the CSV
    width: float | None = None  # at most, as a fraction of the page; longer text has several lines


@dataclass(frozen=True)
class Block:
    """The rows of one pair, or of all ("" then); a rule separates their groups."""

    pair: str
    heading: str
    groups: Groups
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[TableRow]:
        """All rows."""
        return [row for group in self.groups for row in group]


@dataclass(frozen=True)
class Table:
    """A whole table: a block for each pair, and what is missing in all of them."""

    title: str
    columns: tuple[Column, ...]
    blocks: tuple[Block, ...]
    missing: tuple[Missing, ...] = ()

    @property
    def measured(self) -> list[Measured]:
        """Every measured number."""
        return [
            cell
            for block in self.blocks
            for row in block.rows
            for cell in row
            if isinstance(cell, Measured)
        ]


# --- cells --------------------------------------------------------------------------------------


def cell_text(cell: Cell, column: Column) -> str:
    """A cell for a reader."""
    if cell is None:
        return NOTHING
    if isinstance(cell, Formula):
        return cell.text
    if isinstance(cell, str | KnobName):
        return str(cell)
    value = cell.mean if isinstance(cell, Measured) else cell
    text = _rounded(value, column)
    if isinstance(cell, Measured) and cell.deviation is not None:
        text += f" ± {_rounded(cell.deviation, column)}"
    return text


def _rounded(value: float, column: Column) -> str:
    places = column.decimals or 0
    return f"{round(value * column.scale, places) + 0.0:.{places}f}"  # + 0.0: no "-0.00"


# --- Markdown -----------------------------------------------------------------------------------


def as_markdown(table: Table) -> str:
    """The table in Markdown, its columns aligned in the source too."""
    parts = [f"**{table.title}**"]
    for block in table.blocks:
        if block.heading:
            parts.append(f"*{block.heading}*")
        parts.append(_markdown_block(table.columns, block))
        parts += [f"<small>{note}</small>" for note in block.notes]
    return "\n\n".join(parts) + "\n"


def _markdown_block(columns: Sequence[Column], block: Block) -> str:
    lines = [[column.heading for column in columns]]
    for row in block.rows:
        cells = [cell_text(cell, column) for cell, column in zip(row, columns, strict=True)]
        lines.append([cell.replace("|", "\\|") for cell in cells])
    widths = [max(3, *map(len, cells)) for cells in zip(*lines, strict=True)]
    rule = [
        "-" * width if column.decimals is None else "-" * (width - 1) + ":"
        for column, width in zip(columns, widths, strict=True)
    ]
    head, *body = [_padded(line, columns, widths) for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def _padded(line: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> list[str]:
    return [
        text.ljust(width) if column.decimals is None else text.rjust(width)
        for text, column, width in zip(line, columns, widths, strict=True)
    ]


# --- CSV ----------------------------------------------------------------------------------------


def as_csv(table: Table) -> str:
    """The table with every digit; a second column for the deviation where there are seeds."""
    is_seeded = [_is_seeded(table, place) for place in range(len(table.columns))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    has_pairs = any(block.pair for block in table.blocks)
    header = ["pair"][: int(has_pairs)]
    for column, two in zip(table.columns, is_seeded, strict=True):
        header += [column.key, f"{column.key}_deviation"][: 1 + two]
    writer.writerow(header)
    for block in table.blocks:
        for row in block.rows:
            line = [block.pair][: int(has_pairs)]
            for cell, column, two in zip(row, table.columns, is_seeded, strict=True):
                line += _csv_cells(cell, column)[: 1 + two]
            writer.writerow(line)
    return stream.getvalue()


def _is_seeded(table: Table, place: int) -> bool:
    """Whether a column has a deviation in some row."""
    cells = (row[place] for block in table.blocks for row in block.rows)
    return any(isinstance(cell, Measured) and cell.deviation is not None for cell in cells)


def _csv_cells(cell: Cell, column: Column) -> list[str]:
    """Value and deviation, empty where there is none; what has no decimals is a whole number."""
    if isinstance(cell, Measured):
        deviation = "" if cell.deviation is None else repr(cell.deviation)
        return [_digits(cell.mean, column), deviation]
    if isinstance(cell, float):
        return [_digits(cell, column), ""]
    if isinstance(cell, KnobName):
        return [cell.value, ""]
    return [cell.text if isinstance(cell, Formula) else cell or "", ""]


def _digits(value: float, column: Column) -> str:
    return str(int(value)) if column.decimals == 0 and value.is_integer() else repr(value)
