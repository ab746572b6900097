"""The paper's figures and tables, for any study: rows of scores in, files out.

To add one: a function in ``figures`` or ``tables``, an entry here, and an entry under ``paper`` in
params.yaml that says which points it gets. Importing this loads neither matplotlib nor pandas:
Snakemake asks for the names at every parse.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.paper import figures, schematics, settings_table, tables
from simt.paper.algorithm import decision_rule
from simt.paper.captions import figure_caption, table_caption
from simt.paper.comparison import beside_paper
from simt.paper.material import Material, gather
from simt.paper.panels import Sheet
from simt.paper.tabular import Table, as_csv, as_latex, as_markdown
from simt.params import Params

FIGURES: dict[str, Callable[[Material], Sheet]] = {
    "fig01-paradigms": schematics.paradigms,
    "fig02-framework": schematics.framework,
    "fig03-bleu-al": figures.bleu_al,
    "fig04-comet-al": figures.comet_al,
    "fig05-alignments": figures.alignments,
    "fig06-prohibition": figures.prohibition,
    "fig07-offline-models": figures.offline_models,
    "fig08-ablations": figures.ablations,
    "fig09-lambda": figures.penalty_weight,
    "fig10-appendix-bleu-al": figures.bleu_al,
    "fig11-appendix-comet-al": figures.comet_al,
    "fig12-long-short": figures.long_short,
    "fig13-prohibition-alignments": figures.alignments,
}
TABLES: dict[str, Callable[[Material], Table]] = {
    "tab01-confidence": tables.confidence,
    "tab02-sizes": tables.sizes,
    "tab03-offline-ability": tables.offline_ability,
    "tab04-settings": settings_table.settings,
    "tab05-numbers": partial(tables.numbers, which=slice(0, 1)),
    "tab06-numbers": partial(tables.numbers, which=slice(1, 2)),
    "tab07-numbers": partial(tables.numbers, which=slice(2, None)),
    "tab08-appendix-numbers": tables.numbers,
    "tab09-length-groups": tables.length_groups,
    "tab10-beside-paper": lambda material: beside_paper(material, TABLES),
    "alg01-decision-rule": decision_rule,
}
FIGURE_FORMATS = ("pdf", "svg", "png")
TABLE_FORMATS = ("tex", "md", "csv")
CAPTION_FORMAT = "json"  # beside each figure and table: its points and their signatures

# Without dates and versions, the same numbers give the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def draw_figure(
    name: str,
    params: Params,
    study_name: str,
    results: Path,
    out: Path,
    with_paper_numbers: bool,
) -> list[Path]:
    """The files of a figure, written into the folder ``out``: PDF, SVG, PNG and its caption.

    ``results`` is the folder above points/, runs/ and corpora/. ``with_paper_numbers`` lays the
    paper's own numbers under ours where pair and system match.
    """
    function = _registered(name, FIGURES, "figure")
    drawing = params.paper.figures[name]
    material = gather(params, study_name, drawing, results, with_paper_numbers)
    sheet = function(material)
    from simt.paper.canvas import in_style, render

    paths = []
    with in_style():
        figure = render(sheet)
        for format_ in FIGURE_FORMATS:
            paths.append(out / f"{name}.{format_}")
            with atomic_file(paths[-1], "wb") as stream:
                figure.savefig(stream, format=format_, metadata=_METADATA[format_])
    return [*paths, _write_caption(out, name, figure_caption(name, material, sheet))]


def draw_table(
    name: str,
    params: Params,
    study_name: str,
    results: Path,
    out: Path,
    with_paper_numbers: bool,
) -> list[Path]:
    """The files of a table, written into the folder ``out``: LaTeX, Markdown, CSV, caption."""
    function = _registered(name, TABLES, "table")
    drawing = params.paper.tables[name]
    material = gather(params, study_name, drawing, results, with_paper_numbers)
    table = function(material)
    texts = {"tex": as_latex(table, name), "md": as_markdown(table), "csv": as_csv(table)}
    paths = []
    for format_ in TABLE_FORMATS:
        paths.append(out / f"{name}.{format_}")
        with atomic_file(paths[-1]) as stream:
            stream.write(texts[format_])
    return [*paths, _write_caption(out, name, table_caption(name, material, table))]


def _registered(
    name: str, functions: Mapping[str, Callable[[Material], Any]], kind: str
) -> Callable[[Material], Any]:
    if name not in functions:
        raise SimtError(f"there is no {kind} {name!r}; there are {', '.join(functions)}")
    return functions[name]


def _write_caption(out: Path, name: str, caption: Mapping[str, Any]) -> Path:
    path = out / f"{name}.{CAPTION_FORMAT}"
    with atomic_file(path) as stream:
        json.dump(caption, stream, indent=1, ensure_ascii=False, allow_nan=False)
        stream.write("\n")
    return path
