"""Figures and tables as they were drawn, each with what stands in the .json beside it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from simt.errors import SimtError
from simt.paper.report.captions import figure_text, table_text
from simt.paper.report.files import Files
from simt.paper.report.pictures import inline_svg
from simt.params import Params
from simt.products import CAPTION_FORMAT, FIGURE_FORMATS, TABLE_FORMATS
from simt.runs import study_drawings

_PAGE_WIDE_INCHES = 4.2  # a figure that is wider takes both columns
_KINDS = {"fig": "Figure", "tab": "Table", "alg": "Algorithm"}
_FORMATS = {"pdf": "PDF", "svg": "SVG", "png": "PNG", "tex": "TeX", "md": "Markdown", "csv": "CSV",
            "json": "JSON"}  # fmt: skip
Signatures = Mapping[str, Sequence[str]]  # by score: every way in which it was computed


@dataclass(frozen=True)
class Drawn:
    """What a figure and a table have in common."""

    name: str  # of its files
    number: str  # in the paper
    title: str
    text: str  # of the caption, after the title
    files: Mapping[str, str]  # by format: where each is, seen from the page
    signatures: Signatures


@dataclass(frozen=True)
class ShownFigure(Drawn):
    """A figure as a picture in the page."""

    picture: Markup
    is_wide: bool
    has_colour_scale: bool  # colours stand for numbers, and must stay what they are


@dataclass(frozen=True)
class ShownTable(Drawn):
    """A table as cells, a block for each pair; see ``simt.paper.captions``."""

    blocks: Sequence[Mapping[str, Any]]


def shown_figures(files: Files, params: Params) -> list[ShownFigure]:
    """Every figure that the study has, in the order of the paper."""
    drawings = study_drawings(params, params.chosen_study, "figures")
    return [_figure(files, name) for name in drawings]


def shown_tables(files: Files, params: Params) -> list[ShownTable]:
    """Every table that the study has, in the order of the paper."""
    drawings = study_drawings(params, params.chosen_study, "tables")
    return [_table(files, name) for name in drawings]


def all_signatures(drawings: Iterable[Drawn]) -> Signatures:
    """Every signature in the report, by score."""
    return _merged(drawing.signatures for drawing in drawings)


def _figure(files: Files, name: str) -> ShownFigure:
    caption = files.json(files.paper / "figures" / f"{name}.json")
    svg = files.text(files.paper / "figures" / f"{name}.svg")
    facts = _up_to_date(files, name, caption, "picture")
    panels = caption["panels"]
    curves = [curve for panel in panels for curve in panel["curves"] + panel["lines"]]
    said = [
        *(curve["name"] for curve in curves),
        *(note for one in panels for note in one["notes"]),
    ]
    describes = "; ".join([caption["entry"]["title"], *dict.fromkeys(said)])
    return ShownFigure(
        **_head(caption, "figures", FIGURE_FORMATS),
        text=figure_text(caption),
        signatures=_merged(panel["signatures"] for panel in panels),
        picture=Markup(inline_svg(svg, name, describes)),
        is_wide=facts["width_inches"] > _PAGE_WIDE_INCHES,
        has_colour_scale=facts["has_colour_scale"],
    )


def _up_to_date(files: Files, name: str, caption: Mapping[str, Any], key: str) -> Any:
    """A part of a caption that those of older versions lack."""
    if key not in caption:
        raise SimtError(
            f"the caption of {name} is from an older version: draw it again with: "
            f"snakemake --config study={files.study} --forcerun -- {name}"
        )
    return caption[key]


def _table(files: Files, name: str) -> ShownTable:
    caption = files.json(files.paper / "tables" / f"{name}.json")
    return ShownTable(
        **_head(caption, "tables", TABLE_FORMATS),
        text=table_text(caption),
        signatures=_merged([caption["signatures"]]),
        blocks=_up_to_date(files, name, caption, "blocks"),
    )


def _head(caption: Mapping[str, Any], folder: str, formats: Iterable[str]) -> dict[str, Any]:
    name = caption["name"]
    number = printed_label(name)
    title = caption["entry"]["title"].removeprefix(f"{number}: ")
    files = {_FORMATS[one]: f"{folder}/{name}.{one}" for one in (*formats, CAPTION_FORMAT)}
    return {"name": name, "number": number, "title": title, "files": files}


def printed_label(name: str) -> str:
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
