"""The report of a study: one page that needs no server and no network.

Nothing is computed here: figures, tables, claims, costs and the records of runs are read and laid
out. ``page.html`` is the page, ``style.css`` how it looks, the scripts are what moves.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from simt.atomic import atomic_file
from simt.cost import study_cost
from simt.errors import SimtError
from simt.pages import shared_file, templates_in
from simt.paper.claims_report import (
    SCALE_EXPLAINED,
    SCALE_TITLE,
    ClaimsReport,
    claims_by_scale,
    scale_name,
)
from simt.paper.main_result import main_results
from simt.paper.report import words
from simt.paper.report.curves import training_panels
from simt.paper.report.drawings import all_signatures, shown_figures, shown_tables
from simt.paper.report.files import Files
from simt.paper.report.pictures import theme_colours
from simt.paper.report.policy_viewer import viewer_data
from simt.paper.report.runs import provenance, read_runs
from simt.params import Params
from simt.products import CLAIMS_FILE
from simt.runs import MAIN_FIGURE, why_left_out
from simt.wording import count

_HERE = Path(__file__).parent


def write_report(params: Params, to: Path) -> None:
    """Write the page of a study whose figures, tables and claims are done."""
    page = render_page(params)
    with atomic_file(to) as stream:
        stream.write(page)


def render_page(params: Params) -> str:
    """The page as HTML, the same for the same results."""
    files = Files(params.study)
    figures, tables = shown_figures(files, params), shown_tables(files, params)
    result = next((one for one in figures if one.name == MAIN_FIGURE), None)
    study = params.chosen_study
    runs = read_runs(files, study)
    claims = _claims_report(files)
    return (
        _templates()
        .get_template("page.html")
        .render(
            study=study,
            params=params,
            result=result,
            main_results=main_results(params),
            figures=[figure for figure in figures if figure != result],
            tables=tables,
            colours=Markup(theme_colours(figure.picture for figure in figures)),
            signatures=all_signatures([*figures, *tables]),
            claims_report=claims,
            by_scale=claims_by_scale(claims["scales"]),
            scale_title=SCALE_TITLE,
            scale_explained=SCALE_EXPLAINED,
            runs=runs,
            resumed=sum(one.was_resumed for one in runs),
            made_by=provenance(runs),
            panels=training_panels(runs),
            cost=study_cost(params),
            viewer=viewer_data(files, params),
            why_no_viewer=why_left_out(params, study, params.paper.policy_viewer),
        )
    )


def _claims_report(files: Files) -> dict[str, Any]:
    """What ``simt.paper.claims_report`` wrote."""
    path = files.paper / CLAIMS_FILE
    report: dict[str, Any] = files.json(path)
    if report.keys() < {field.name for field in fields(ClaimsReport)}:
        raise SimtError(
            f"{path} is from an older version: remove it and make it again with: "
            f"snakemake --config study={files.study} -- {path}"
        )
    return report


def _templates() -> Environment:
    """Everything is escaped but our own style and script."""
    templates = templates_in(_HERE)
    templates.filters.update(
        hours=words.hours, many=words.many, signed=words.signed, count=count,
        direction=words.direction, scale_name=scale_name,
    )  # fmt: skip
    own = {name: (_HERE / name).read_text(encoding="utf-8") for name in _OWN_FILES}
    own |= {name: shared_file(name) for name in ("base.css", "switch.js")}
    templates.globals.update(own_files={name: Markup(text) for name, text in own.items()})
    return templates


_OWN_FILES = ("style.css", "enlarge.js", "claims.js", "policies.js", "policy_viewer.js")
