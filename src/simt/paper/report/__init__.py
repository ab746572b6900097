"""The report of a study: one page that needs no server and no network.

Nothing is computed here: figures, tables, claims, costs and the records of runs are read and laid
out. ``page.html`` is the page, ``style.css`` how it looks, ``theatre.js`` what moves.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from simt.atomic import atomic_file
from simt.cost import study_cost
from simt.paper.report import words
from simt.paper.report.curves import training_panels
from simt.paper.report.drawings import all_signatures, shown_figures, shown_tables
from simt.paper.report.files import Files
from simt.paper.report.runs import read_runs, what_made_them
from simt.paper.report.theatre import stage
from simt.params import Params

_HERE = Path(__file__).parent


def write_report(params: Params, study_name: str, to: Path) -> None:
    """Write the page of a study whose figures, tables and claims are done."""
    page = render_page(params, study_name)
    with atomic_file(to) as stream:
        stream.write(page)


def render_page(params: Params, study_name: str) -> str:
    """The page as HTML, the same for the same results."""
    files = Files(study_name)
    figures, tables = shown_figures(files), shown_tables(files)
    runs = read_runs(files, params.studies[study_name])
    return (
        _templates()
        .get_template("page.html")
        .render(
            study_name=study_name,
            study=params.studies[study_name],
            params=params,
            figures=figures,
            tables=tables,
            signatures=all_signatures([*figures, *tables]),
            ledger=files.json(files.paper / "claims.json"),
            runs=runs,
            made_by=what_made_them(runs),
            panels=training_panels(runs),
            cost=study_cost(params, study_name),
            stage=stage(files, params),
        )
    )


def _templates() -> Environment:
    """Everything is escaped but our own style and script."""
    templates = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        hours=words.hours, many=words.many, signed=words.signed, count=words.count,
        direction=words.direction,
    )  # fmt: skip
    own = {name: Markup((_HERE / name).read_text(encoding="utf-8")) for name in _OWN_FILES}
    templates.globals.update(own_files=own)
    return templates


_OWN_FILES = ("style.css", "theatre.js", "switch.js")
