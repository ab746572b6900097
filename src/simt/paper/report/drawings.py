"""Figures and tables as they were drawn, each with what stands in the .json beside it."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simt.paper import FIGURES, TABLES
from simt.paper.report.files import Files

_PAGE_WIDE_PT = 300  # a figure that is wider takes both columns
_KINDS = {"fig": "Figure", "tab": "Table", "alg": "Algorithm"}
Signatures = Mapping[str, Sequence[str]]  # by score: every way in which it was computed


@dataclass(frozen=True)
class Drawn:
    """What a figure and a table have in common."""

    name: str  # of its files
    number: str  # in the paper
    title: str
    signatures: Signatures
    points: int


@dataclass(frozen=True)
class ShownFigure(Drawn):
    """A figure as a picture in the page."""

    address: str  # data:…
    describes: str  # what the picture shows, for those who do not see it
    is_wide: bool


@dataclass(frozen=True)
class Block:
    """The rows of one pair; a column of numbers is set flush right."""

    heading: str
    columns: tuple[str, ...]
    is_number: tuple[bool, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ShownTable(Drawn):
    """A table as cells."""

    blocks: tuple[Block, ...]


def shown_figures(files: Files) -> list[ShownFigure]:
    """Every figure, in the order of the paper."""
    return [_figure(files, name) for name in FIGURES]


def shown_tables(files: Files) -> list[ShownTable]:
    """Every table, in the order of the paper."""
    return [_table(files, name) for name in TABLES]


def all_signatures(drawings: Iterable[Drawn]) -> Signatures:
    """Every signature in the report, by score."""
    return _merged(drawing.signatures for drawing in drawings)


def _figure(files: Files, name: str) -> ShownFigure:
    caption = files.json(files.paper / "figures" / f"{name}.json")
    svg = files.text(files.paper / "figures" / f"{name}.svg")
    panels = caption["panels"]
    curves = [curve for panel in panels for curve in panel["curves"] + panel["lines"]]
    said = [
        *(curve["name"] for curve in curves),
        *(note for one in panels for note in one["notes"]),
    ]
    return ShownFigure(
        **_head(caption),
        signatures=_merged(panel["signatures"] for panel in panels),
        points=sum(len(curve["points"]) for curve in curves),
        # A data: address of its own keeps the ids of one picture apart from those of another.
        address=f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
        describes="; ".join([caption["entry"]["title"], *dict.fromkeys(said)]),
        is_wide=_width_pt(svg) > _PAGE_WIDE_PT,
    )


def _width_pt(svg: str) -> float:
    width = re.search(r'<svg[^>]*\bwidth="([0-9.]+)pt"', svg)
    assert width is not None, "matplotlib gives a width in points"
    return float(width[1])


def _table(files: Files, name: str) -> ShownTable:
    caption = files.json(files.paper / "tables" / f"{name}.json")
    return ShownTable(
        **_head(caption),
        signatures=_merged([caption["signatures"]]),
        points=len(caption["points"]),
        blocks=tuple(read_markdown(files.text(files.paper / "tables" / f"{name}.md"))),
    )


def _head(caption: Mapping[str, Any]) -> dict[str, Any]:
    name = caption["name"]
    number = paper_number(name)
    title = caption["entry"]["title"].removeprefix(f"{number}: ")
    return {"name": name, "number": number, "title": title}


def paper_number(name: str) -> str:
    """What a drawing is in the paper: ``fig03-bleu-al`` is Figure 3; others go by their names."""
    named = re.match(r"([a-z]+)([0-9]+)", name)
    if named is None or named[1] not in _KINDS:
        return name
    return f"{_KINDS[named[1]]} {int(named[2])}"


def _merged(several: Iterable[Signatures]) -> Signatures:
    merged: dict[str, dict[str, None]] = {}
    for signatures in several:
        for score, ways in signatures.items():
            merged.setdefault(score, {}).update(dict.fromkeys(ways))
    return {score: list(ways) for score, ways in merged.items()}


# --- tables in Markdown ---------------------------------------------------------------------------


def read_markdown(text: str) -> list[Block]:
    """The blocks of a table, as ``simt.paper.tabular`` writes them in Markdown."""
    blocks: list[Block] = []
    heading = ""
    for part in text.strip().split("\n\n"):
        if part.startswith("|"):
            blocks.append(_block(heading, part))
            heading = ""
        elif part.startswith("<small>"):
            note = part.removeprefix("<small>").removesuffix("</small>")
            blocks[-1] = replace(blocks[-1], notes=(*blocks[-1].notes, note))
        elif not part.startswith("**"):
            heading = part.strip("*")
    return blocks


def _block(heading: str, lines: str) -> Block:
    columns, rule, *rows = (_cells(line) for line in lines.splitlines())
    return Block(heading, columns, tuple(cell.endswith(":") for cell in rule), tuple(rows))


def _cells(line: str) -> tuple[str, ...]:
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in cells)
