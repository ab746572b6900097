"""Runs as trainings and scoring leave them behind, without any training."""

from pathlib import Path

from simt.atomic import write_json
from simt.likeness import run_of
from simt.params import Params
from simt.products import HISTORY_FILE
from simt.record import FAILURE_FILE, STOP_FILE, work_folder
from simt.runs import Point, Run, point_settings, run_settings, scoring_settings
from simt.training.history import History
from tests.samples.markers import mark
from tests.samples.results import entry


def begin_run(params: Params, run: Run, updates: int) -> Path:
    """The rows of the first ``updates`` of a training; gives its folder in work/."""
    work = work_folder(run_settings(params, run), run.folder)
    write_rows(work / HISTORY_FILE, 1, updates)
    return work


def write_rows(path: Path, first: int, last: int, tokens_per_s: float = 1000.0) -> None:
    """One row an update, and a validation behind the last; the loss of update u is 10/u."""
    history = History(path)
    for update in range(first, last + 1):
        values = {"loss": 10 / update, "lr": 1e-3, "epoch": 0, "seconds": 2.0 * update}
        history.add(update, values | {"tokens_per_s": tokens_per_s})
    history.add(last, {"valid_loss": 5 / last})


def fail_run(params: Params, run: Run, updates: int, why: str) -> None:
    write_json(begin_run(params, run, updates) / FAILURE_FILE, {"why": why})


def stop_run(params: Params, run: Run, updates: int) -> None:
    (begin_run(params, run, updates) / STOP_FILE).touch()


def finish_run(params: Params, run: Run, updates: int = 3) -> None:
    write_rows(run.folder / HISTORY_FILE, 1, updates)
    outcome = {
        "commit": "0123456789abcdef", "revision": 1, "device": "cpu", "devices": 1,
        "parameters": 1234, "trained_parameters": 1234, "updates": updates,
        "target_tokens": 400 * updates, "training_seconds": 2.0 * updates,
        "validation": {"loss": 1.25},
    }  # fmt: skip
    write_json(run.folder / "run.json", outcome)
    mark(run.folder, run_settings(params, run), {"model.pt": f"model of {updates} updates"})


def score_run(params: Params, run: Run, shift: float = 0.0, updates: int = 3) -> None:
    """Scores of a run on the test set, at all its knob values, after so many updates."""
    point = Point(run, "test")
    points = [
        entry(params, point, knob, shift, None) for knob in point_settings(params, point).knobs
    ]
    scores = {"points": points, "missing": {}, "main_latency": "al_token"}
    write_json(point.folder / "scores.json", scores)
    (point.folder / "instances.jsonl").write_text('{"index": 0}\n', encoding="utf-8")
    text = f"text of {updates} updates"
    mark(
        point.folder, point_settings(params, point),
        {"instances.jsonl": text}, {"run/model.pt": f"model of {updates} updates"},
    )  # fmt: skip
    mark(
        point.folder, scoring_settings(params, point),
        {"scores.json": "numbers"}, {"point/instances.jsonl": text}, "scoring.json",
    )  # fmt: skip


def mark_recorded(params: Params, job: str) -> None:
    """The settings that a job has left, if it is about a run, where its time was recorded."""
    rule, _, subject = job.partition("/")
    if (run := run_of(job)) is None or run.pair not in params.pairs:
        return
    mark(run.folder, run_settings(params, run))
    if rule != "train":
        point = Point.parse(subject)
        mark(point.folder, point_settings(params, point))
