"""What a study found as a small folder, to be kept in git or sent to somebody.

Everything in it is copied from ``results/paper`` or says how that was made. It has no model, no
text of a corpus, and nothing about the machine but its kind of device.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from simt.atomic import atomic_file, atomic_folder, read_object, write_json
from simt.check import check_stage
from simt.errors import SimtError
from simt.paper.claims_report import OUTCOMES
from simt.paper.main_result import main_results
from simt.paper.report.files import Files
from simt.paper.report.runs import FinishedRun, provenance, read_runs
from simt.paper.report.words import hours
from simt.params import Params
from simt.products import CAPTION_FORMAT, CLAIMS_FILE, CURVES_FILE, SETTINGS_FILE
from simt.runs import MAIN_FIGURE, Kind, study_drawings
from simt.steps import OF_SENTENCES, Steps
from simt.wording import count

PROVENANCE_FILE = "provenance.json"  # also tells that a folder may be replaced
_DRAWN_AS: Mapping[Kind, str] = {"figures": "png", "tables": "md"}
_COPIED = ("claims.md", CLAIMS_FILE, CURVES_FILE)
_PAGE = "README.md"
_WRITTEN = (_PAGE, SETTINGS_FILE, PROVENANCE_FILE, *_COPIED)
_MAIN_PICTURE = f"figures/{MAIN_FIGURE}.png"


def publish(params: Params, to: Path) -> None:
    """Write the folder ``to``; the study must be complete and match params.yaml."""
    _refuse_to_replace_others(to, params.study)
    check_stage(params, "paper", is_deep=True)
    files, study = Files(params.study), params.chosen_study
    runs = read_runs(files, study)
    drawings = {
        f"{kind}/{name}.{ending}": drawing.title
        for kind, ending in _DRAWN_AS.items()
        for name, drawing in study_drawings(params, study, kind).items()
        if name not in OF_SENTENCES
        and _is_for_others(files.json(files.paper / kind / f"{name}.{CAPTION_FORMAT}"))
    }
    made_by = _provenance(params, runs)
    with atomic_folder(to) as folder:
        for name in (*drawings, *_COPIED):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(files.paper / name, folder / name)
        with atomic_file(folder / _PAGE) as stream:
            stream.write(_page(params, files, drawings, made_by, to))
        settings = Steps(params).report().settings
        write_json(folder / SETTINGS_FILE, settings.as_values())
        write_json(folder / PROVENANCE_FILE, made_by)


def _refuse_to_replace_others(to: Path, study_name: str) -> None:
    """Stop at a folder with anything but an earlier publication of this study: it is replaced."""
    if not to.exists() or not any(to.iterdir()):
        return
    made_by = read_object(to / PROVENANCE_FILE)
    if made_by is None:
        raise SimtError(
            f"{to} is not empty and was not written by simt publish: give another folder"
        )
    if made_by.get("study") != study_name:
        raise SimtError(
            f"{to} has the results of study {made_by.get('study')}, not of {study_name}: "
            f"give another folder"
        )
    drawn = (path for kind, ending in _DRAWN_AS.items() for path in to.glob(f"{kind}/*.{ending}"))
    written = {*(to / name for name in _WRITTEN), *drawn}
    others = sorted(path for path in to.rglob("*") if path.is_file() and path not in written)
    if others:
        raise SimtError(
            f"{to} is replaced as a whole, but {others[0]} was not written by simt publish: "
            f"move it, or give another folder"
        )


def _is_for_others(caption: Mapping[str, Any]) -> bool:
    """Whether a drawing has numbers, and no text of the corpus: its licence may not allow that."""
    panels = caption.get("panels")  # of figures only
    if panels is None:
        return True
    has_text = any(panel.get("sentence") for panel in panels)
    return not has_text and any(panel["signatures"] for panel in panels)


def _provenance(params: Params, runs: Sequence[FinishedRun]) -> dict[str, Any]:
    """By what the study was made, and how much it took."""
    records = [one.record for one in runs]
    return {
        "study": params.study,
        "fidelity": params.fidelity,
        "seeds": list(params.chosen_study.seeds),
        "made_by": provenance(runs),
        "trainings": len(runs),
        "resumed_trainings": sum(one.was_resumed for one in runs),
        "training_device_hours": round(
            sum(one["training_seconds"] * one["devices"] for one in records) / 3600, 4
        ),
    }


# --- its page ---------------------------------------------------------------------------------


def _page(
    params: Params, files: Files, drawings: Mapping[str, str], made_by: Mapping[str, Any], to: Path
) -> str:
    here, study = Path.cwd(), params.chosen_study
    inside = to.relative_to(here) if to.is_relative_to(here) else to
    place = inside.name if inside.is_absolute() else inside.as_posix()  # no paths of this machine
    parts = [
        f"# Study {files.study}",
        *main_results(params),
        "Which differences are more than chance is told with the claims.",
        f"![{drawings[_MAIN_PICTURE]}]({_MAIN_PICTURE})" if _MAIN_PICTURE in drawings else "",
        "## Claims of the paper",
        *_claims(files.json(files.paper / CLAIMS_FILE)),
        "[claims.md](claims.md) has the numbers behind each verdict, "
        f"{'the verdicts by amount of training and text, ' if study.pairs.scale else ''}"
        "and what would decide the undecided.",
        "## Figures and tables",
        "\n".join(f"- [{title}]({path})" for path, title in drawings.items()),
        "Left out are figures without a number, and what shows a sentence of the corpus, whose "
        "licence may not allow it.",
        "[curves.csv](curves.csv) has every point of every curve, seed by seed.",
        "## How it was made",
        "\n".join(f"- {line}" for line in _facts(made_by)),
        f"[settings.json](settings.json) has all settings. To make it again:\n\n"
        f"```sh\nsnakemake --config study={files.study}\n"
        f"simt publish --study {files.study} --to {place}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _claims(report: Mapping[str, Any]) -> Iterator[str]:
    """The claims by verdict, in the words of the report."""
    by_wording: dict[str, list[str]] = {}
    for one in sorted(report["claims"], key=lambda one: OUTCOMES.index(one["verdict"])):
        line = f"- {one['sentence']} ({one['where']})"
        by_wording.setdefault(one["wording"], []).append(line)
    for wording, lines in by_wording.items():
        yield f"**{wording[0].upper()}{wording[1:]}** ({len(lines)})\n\n" + "\n".join(lines)


def _facts(made_by: Mapping[str, Any]) -> Iterator[str]:
    seeds = ", ".join(map(str, made_by["seeds"]))
    yield f"fidelity {made_by['fidelity']}, seeds {seeds}"
    resumed = made_by["resumed_trainings"]
    trainings = count(made_by["trainings"], "training")
    stopped = f", of which {resumed} {'was' if resumed == 1 else 'were'} stopped and went on"
    yield f"{trainings}{stopped if resumed else ''}"
    yield f"{hours(made_by['training_device_hours'])} of training on one device"
    for name, values in made_by["made_by"].items():
        yield f"{name}: {', '.join(f'`{value}`' for value in values)}"
