"""Do results/ and params.yaml agree?

Each folder keeps the settings it was made with; a folder is done when they are those of
params.yaml and everything it was made from is done too. Times of files play no part, so this
also holds after files have been pulled from elsewhere.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from simt.errors import SimtError
from simt.params import Params
from simt.runs import (
    CORPUS_FOLDERS,
    RESULTS,
    SCORING_FILE,
    SETTINGS_FILE,
    THEATRE_FILE,
    Point,
    Run,
    corpus_folder,
    corpus_settings,
    estimator_folder,
    has_estimator,
    point_settings,
    read_settings,
    run_settings,
    scoring_settings,
    shown_files,
    staged_points,
    start_run,
    study_points,
    study_runs,
)
from simt.settings import Settings

State = Literal["done", "to do", "stale"]
DRAWN_FORMATS = {"figures": "pdf", "tables": "tex"}  # each is drawn in others too
PAPER_FILES = ("curves.csv", "claims.json", "report.html")  # besides figures and tables


@dataclass(frozen=True)
class Status:
    """Whether a step's results are there and current, and if not, why."""

    state: State
    why: str = ""


@dataclass(frozen=True)
class Step:
    """One folder of results, the settings it should have, and what it is made from."""

    stage: Literal["corpora", "runs", "points"]
    name: str
    folder: Path
    settings: Settings
    needs: tuple["Step", ...]
    marker: str = SETTINGS_FILE

    @cached_property
    def status(self) -> Status:
        """Compared once: many steps lean on the same corpus."""
        found = read_settings(self.folder / self.marker)
        return _status(found, json.loads(self.settings.as_json()), self.needs)


def _status(found: dict[str, Any] | None, wanted: dict[str, Any], needs: Iterable[Step]) -> Status:
    """Whether something is there, as wanted, and made from what is done."""
    if found is None:
        return Status("to do")
    if differences := list(_differences(found, wanted)):
        return Status("stale", "; ".join(differences))
    for need in needs:
        if need.status.state != "done":
            return Status("stale", f"{need.name} is {need.status.state}")
    return Status("done")


def study_steps(params: Params, study_name: str) -> list[Step]:
    """Every step of a study up to its points, each after those that it needs."""
    study = params.studies[study_name]
    corpora = {pair: _corpus_steps(params, pair) for pair in study.runs}
    estimators = {
        pair: _estimator_step(params, pair, steps[1])
        for pair, steps in corpora.items()
        if has_estimator(params, pair)
    }
    runs: dict[Run, Step] = {}
    for run in sorted(study_runs(study), key=lambda run: start_run(params, run) is not None):
        runs[run] = _run_step(params, run, corpora[run.pair][-1], runs)
    points = [
        step
        for point in study_points(params, study)
        for step in _point_steps(params, point, runs[point.run], estimators.get(point.run.pair))
    ]
    points += [
        _states_step(params, point, runs[point.run]) for point in staged_points(params, study)
    ]
    of_pairs = [step for steps in corpora.values() for step in steps]
    return [*of_pairs, *estimators.values(), *runs.values(), *points]


def _corpus_steps(params: Params, pair: str) -> list[Step]:
    steps: list[Step] = []
    for step in CORPUS_FOLDERS:
        settings = corpus_settings(params, pair, step)
        name, folder = f"{pair} {step}", corpus_folder(pair, step)
        steps.append(Step("corpora", name, folder, settings, tuple(steps[-1:])))
    return steps


def _estimator_step(params: Params, pair: str, text: Step) -> Step:
    settings = params.scoring.estimator
    return Step("corpora", f"{pair} estimator", estimator_folder(pair), settings, (text,))


def _run_step(params: Params, run: Run, corpus: Step, runs: dict[Run, Step]) -> Step:
    start = start_run(params, run)
    needs = (corpus,) if start is None else (corpus, runs[start])
    return Step("runs", str(run), run.folder, run_settings(params, run), needs)


def _point_steps(params: Params, point: Point, run: Step, estimator: Step | None) -> list[Step]:
    """Decoding, and the scores of what was decoded; on valid there is nothing to score."""
    decoding = Step("points", str(point), point.folder, point_settings(params, point), (run,))
    if point.split == "valid":
        return [decoding]
    scoring = scoring_settings(params, point)
    judges = [estimator] if estimator and scoring.comet else []
    name, needs = f"{point} scores", (decoding, *judges)
    return [decoding, Step("points", name, point.folder, scoring, needs, SCORING_FILE)]


def _states_step(params: Params, point: Point, run: Step) -> Step:
    choice = params.paper.theatre.choice
    return Step("points", f"{point} states", point.folder, choice, (run,), THEATRE_FILE)


def drawing_statuses(
    params: Params, study_name: str, kind: str, steps: list[Step]
) -> dict[Path, Status]:
    """Whether each of the figures, or of the tables, is there and current, by its file."""
    study, drawings = params.studies[study_name], getattr(params.paper, kind)
    folder = RESULTS / "paper" / study_name / kind
    by_marker = {step.folder / step.marker: step for step in steps}
    statuses = {}
    for name, drawing in drawings.items():
        path = folder / f"{name}.{DRAWN_FORMATS[kind]}"
        needs = [by_marker[file] for file in shown_files(params, study, drawing)]
        wanted = {"entry": json.loads(drawing.as_json()), "fidelity": params.fidelity}
        statuses[path] = _status(_told_beside(path, wanted), wanted, needs)
    return statuses


def _told_beside(path: Path, keys: Iterable[str]) -> dict[str, Any] | None:
    """Some of what stands beside a figure or table; None where it, or that, is not there."""
    caption = read_settings(path.with_suffix(".json"))
    if caption is None or not path.exists():
        return None
    return {key: caption.get(key) for key in keys}


def _differences(found: Any, wanted: Any, path: str = "") -> Iterator[str]:
    """Where two settings differ, as ``training.updates 800 -> 900``."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in sorted(found.keys() | wanted.keys()):
            place = f"{path}.{key}" if path else key
            yield from _differences(found.get(key), wanted.get(key), place)
    elif found != wanted:
        yield f"{path} {_short(found)} -> {_short(wanted)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."


def check_stage(params: Params, study_name: str, stage: str) -> str:
    """A line that says all is well up to a stage; otherwise an error that lists what is not."""
    stages = ("corpora", "runs", "points", "paper")
    wanted = stages[: stages.index(stage) + 1]
    steps = [step for step in study_steps(params, study_name) if step.stage in wanted]
    lines = _not_current(
        f"folders of study {study_name}", [(step.folder, step.status) for step in steps]
    )
    if stage == "paper":
        paper = _paper_statuses(params, study_name, steps)
        lines += _not_current("files of the paper", list(paper.items()))
    if lines:
        raise SimtError("\n".join([*lines, _remedy(params, study_name, stage)]))
    return f"study {study_name}: all {len(steps)} folders up to {stage} are those of params.yaml"


def _remedy(params: Params, study_name: str, stage: str) -> str:
    choices = f"study={study_name} fidelity={params.fidelity}"
    return (
        "Bring them up to date with: "
        f"snakemake --profile workflow/profiles/local --config {choices} -- {stage}"
    )


def _not_current(what: str, statuses: list[tuple[Path, Status]]) -> list[str]:
    """A line for each path that is not done, below a headline; none where all are."""
    wrong = [(path, status) for path, status in statuses if status.state != "done"]
    lines = [f"  {path}: {status.state} {status.why}".rstrip() for path, status in wrong]
    return [f"{len(wrong)} of {len(statuses)} {what} are not current:", *lines] if wrong else []


def _paper_statuses(params: Params, study_name: str, steps: list[Step]) -> dict[Path, Status]:
    """Every figure and table; of what else is written, only whether it is there."""
    statuses: dict[Path, Status] = {}
    for kind in DRAWN_FORMATS:
        statuses |= drawing_statuses(params, study_name, kind, steps)
    for name in PAPER_FILES:
        path = RESULTS / "paper" / study_name / name
        statuses[path] = Status("done" if path.exists() else "to do")
    return statuses
