"""The paper's figures and tables, for any study: rows of scores in, files out.

To add one: a function in ``figures`` or ``tables``, an entry here, and an entry under ``paper`` in
params.yaml that says which points it gets. Importing this loads neither matplotlib nor pandas:
Snakemake asks for the names at every parse.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.paper import figures, schematics, settings_table, tables
from simt.paper.algorithm import decision_rule
from simt.paper.captions import figure_caption, table_caption
from simt.paper.comparison import beside_paper
from simt.paper.figure_data import FigureData, gather
from simt.paper.latex import as_latex
from simt.paper.panels import FigureSpec
from simt.paper.scale import scale
from simt.paper.tabular import Table, as_csv, as_markdown
from simt.params import Face, Params
from simt.problems import no_such
from simt.products import CAPTION_FORMAT, FIGURE_FORMATS, TABLE_FORMATS
from simt.runs import raise_if_left_out

FIGURES: dict[str, Callable[[FigureData], FigureSpec]] = {
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
    "scale-bleu": scale,
}
TABLES: dict[str, Callable[[FigureData], Table]] = {
    "tab01-confidence": tables.confidence,
    "tab02-sizes": tables.sizes,
    "tab03-offline-ability": tables.offline_ability,
    "tab04-settings": settings_table.settings,
    "tab05-numbers": tables.numbers,
    "tab06-numbers": tables.numbers,
    "tab07-numbers": tables.numbers,
    "tab08-appendix-numbers": tables.numbers,
    "tab09-length-groups": tables.length_groups,
    "tab10-beside-paper": lambda data: beside_paper(data, TABLES),
    "alg01-decision-rule": decision_rule,
}

# Without dates and versions, the same numbers give the same bytes.
_METADATA: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


def data_of(name: str, params: Params, with_paper_numbers: bool) -> FigureData:
    """What a figure or table is drawn from.

    ``with_paper_numbers`` lays the paper's own numbers under ours where pair and system match.
    """
    drawings = {**params.paper.figures, **params.paper.tables}
    _registered(name, {**FIGURES, **TABLES})
    data = gather(params, drawings[name], with_paper_numbers)
    raise_if_left_out(params, name, data.drawing)
    return data


def draw_figure(name: str, data: FigureData, out: Path, face: Face = "sans") -> list[Path]:
    """The files of a figure, written into the folder ``out``: PDF, SVG, PNG and its caption."""
    from simt.paper.canvas import in_style, picture_facts, render

    spec = _registered(name, FIGURES)(data)
    paths = []
    with in_style(face):
        figure = render(spec)
        for format_ in FIGURE_FORMATS:
            paths.append(out / f"{name}.{format_}")
            with atomic_file(paths[-1], "wb") as stream:
                figure.savefig(stream, format=format_, metadata=_METADATA[format_])
    caption = {**figure_caption(name, data, spec), "picture": picture_facts(figure)}
    return [*paths, _write_caption(out, name, caption)]


def draw_table(name: str, data: FigureData, out: Path) -> list[Path]:
    """The files of a table, written into the folder ``out``: LaTeX, Markdown, CSV, caption."""
    table = _registered(name, TABLES)(data)
    texts = {"tex": as_latex(table, name), "md": as_markdown(table), "csv": as_csv(table)}
    paths = []
    for format_ in TABLE_FORMATS:
        paths.append(out / f"{name}.{format_}")
        with atomic_file(paths[-1]) as stream:
            stream.write(texts[format_])
    return [*paths, _write_caption(out, name, table_caption(name, data, table))]


def _registered(
    name: str, functions: Mapping[str, Callable[[FigureData], Any]]
) -> Callable[[FigureData], Any]:
    if name not in functions:
        raise SimtError(no_such("figure or table", name, list(functions)))
    return functions[name]


def _write_caption(out: Path, name: str, caption: Mapping[str, Any]) -> Path:
    path = out / f"{name}.{CAPTION_FORMAT}"
    with atomic_file(path) as stream:
        json.dump(caption, stream, indent=1, ensure_ascii=False, allow_nan=False)
        stream.write("\n")
    return path
