"""The record of a study, mirrored into MLflow; the only module that imports it.

One experiment a study; in it a run for each pair and method, and below that one for each training.
The files below results/ are the record, and nothing reads the mirror back. Mirroring again changes
nothing: a run is found by its name and settings, rows that the store has are left out, and only
files that changed are sent. A run that no longer agrees with its record is deleted and made anew.
"""

import gc
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.entities import Run as MlflowRun
from mlflow.exceptions import MlflowException

from simt.errors import SimtError
from simt.instances import INSTANCES_FILE
from simt.params import Params
from simt.record import RunRecord, State, file_digest, point_file, points_table, read_record
from simt.runs import RESULTS, Run, run_settings, study_runs

METRICS_A_CALL = 1000  # MLflow takes no more
POLL_S = 5.0
_STATUS: dict[State, str] = {
    "running": "RUNNING", "finished": "FINISHED", "failed": "FAILED", "killed": "KILLED",
}  # fmt: skip
_FILES_TAG = "simt.files"
_PAPER = "figures and tables"
_MODEL_TRAINING = {"mlflow.experimentKind": "custom_model_development"}  # what the pages look like


class StoreError(SimtError):
    """The store does not take the record."""


@contextmanager
def _store_errors(store: str) -> Iterator[None]:
    try:
        yield
    except (MlflowException, OSError) as error:
        raise StoreError(
            f"the MLflow store {store} does not take the record: {_first_line(error)}\n"
            "Nothing is lost, the record is in results/: run simt track again when it is back."
        ) from None


@contextmanager
def _little_garbage() -> Iterator[None]:
    """MLflow is so large that looking through it for garbage would take a third of the time."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def mirror_study(params: Params, study: str, store: str, artifacts: Path, is_over: bool) -> str:
    """A line that says what the store now holds.

    ``store`` is MLflow's address of a database or a server. ``artifacts`` is for files, unless a
    server keeps them. ``is_over`` says that no run is being trained any more.
    """
    logging.getLogger("alembic").setLevel(logging.WARNING)  # not every table that it makes
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    with _store_errors(store), _little_garbage():
        mirror = _Mirror.open(MlflowClient(store), params, study, store, artifacts)
        states = mirror.take_in(is_over)
    counts = [f"{states.count(state)} {state}" for state in _STATUS if state in states]
    return f"study {study}: {', '.join(counts) or 'nothing yet'}, mirrored into {store}"


def follow_study(
    params: Params,
    study: str,
    store: str,
    artifacts: Path,
    wait: Callable[[float], bool],
    say: Callable[[str], None],
) -> None:
    """Mirror a study again and again until ``wait``, given seconds, says that it is over.

    A store that is away is waited for; only at the end is that an error.
    """
    is_over, complaint = False, ""
    while not is_over:
        is_over = wait(POLL_S)
        try:
            said = mirror_study(params, study, store, artifacts, is_over)
        except StoreError as error:
            if is_over:
                raise
            said = str(error).splitlines()[0]
        if said != complaint:
            say(said)
        complaint = said


# --- one run in the store -----------------------------------------------------------------------


@dataclass
class _Entry:
    """A run of MLflow: what it was told, and the last step of each of its metrics."""

    id: str
    start_ms: int
    status: str
    tags: dict[str, str]
    has_params: bool
    last_steps: dict[str, int]

    @classmethod
    def of(cls, run: MlflowRun) -> "_Entry":
        return cls(
            id=run.info.run_id,
            start_ms=run.info.start_time,
            status=run.info.status,
            tags=dict(run.data.tags),
            has_params=bool(run.data.params),
            last_steps={metric.key: metric.step for metric in run.data.to_proto().metrics},
        )

    @property
    def files(self) -> dict[str, str]:
        """The digests of the files that the run was mirrored from, by name."""
        return dict(json.loads(self.tags.get(_FILES_TAG, "{}")))

    def contradicts(self, files: dict[str, str]) -> bool:
        """Whether a file that the run was mirrored from has changed since."""
        return any(self.files.get(name, digest) != digest for name, digest in files.items())


@dataclass
class _Mirror:
    """A study in the store, by the names that we gave its runs."""

    client: MlflowClient
    params: Params
    study: str
    experiment: str
    entries: dict[str, _Entry]

    @classmethod
    def open(
        cls, client: MlflowClient, params: Params, study: str, store: str, artifacts: Path
    ) -> "_Mirror":
        found = client.get_experiment_by_name(study)
        if found is not None and found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        if found is None:
            place = None if store.startswith("http") else (artifacts / study).absolute().as_uri()
            experiment = client.create_experiment(study, place, tags=_MODEL_TRAINING)
        else:
            experiment = found.experiment_id
        runs = _all_runs(client, experiment)
        entries = {run.data.tags["simt.name"]: _Entry.of(run) for run in runs}
        return cls(client, params, study, experiment, entries)

    def take_in(self, is_over: bool) -> list[State]:
        """Bring every run up to the record; gives their states."""
        now = time.time()
        runs = study_runs(self.params.studies[self.study])
        found = [read_record(self.params, run, now, is_over) for run in runs]
        records = [record for record in found if record is not None]
        groups: dict[str, list[RunRecord]] = {}
        for record in records:
            groups.setdefault(_group_name(record.run), []).append(record)
        for name, group in groups.items():
            self._take_in_group(name, group)
        self._set_aside({_run_name(record) for record in records}, now)
        self._take_in_paper()
        return [record.state for record in records]

    def _take_in_group(self, name: str, records: list[RunRecord]) -> None:
        """The runs of a pair and method, below a run that holds them together."""
        if name not in self.entries:
            start = min(_start_ms(record) for record in records)
            tags = {"pair": records[0].run.pair, "method": records[0].run.method}
            self._create(name, name, start, tags)
        for record in records:
            self._take_in_run(record)
        ended = max(record.changed for record in records)
        state = _state_of_all([record.state for record in records])
        self._describe(self.entries[name], records)
        self._set_status(self.entries[name], state, ended)

    # --- a training -----------------------------------------------------------------------------

    def _take_in_run(self, record: RunRecord) -> None:
        name, files = _run_name(record), _complete_files(record)
        entry = self.entries.get(name)
        if entry is not None and entry.contradicts(files):
            self.client.delete_run(entry.id)
            entry = None
        if entry is None:
            entry = self._create_run(name, record)
        if not entry.has_params:
            params = [Param(key, str(value)) for key, value in _flat(record.settings)]
            self.client.log_batch(entry.id, params=params)
        self._send_numbers(entry, record)
        self._describe(entry, [record], _outcome_tags(record) | {_FILES_TAG: json.dumps(files)})
        self._set_status(entry, record.state, record.changed)

    def _create_run(self, name: str, record: RunRecord) -> _Entry:
        run = record.run
        tags = {
            "fidelity": self._fidelity(record),
            "is_current": "yes",
            "mlflow.parentRunId": self.entries[_group_name(run)].id,
            "revision": str(record.settings["revision"]),
        }
        return self._create(
            name, f"{run.method} {run.variant} seed{run.seed}", _start_ms(record), tags
        )

    def _fidelity(self, record: RunRecord) -> str:
        """The presets under which the run has the settings that it was made with."""
        names = [
            name
            for name, params in self.params.presets.items()
            if json.loads(run_settings(params, record.run).as_json()) == record.settings
        ]
        return ", ".join(names) or "none of today's"

    def _send_numbers(self, entry: _Entry, record: RunRecord) -> None:
        """Rows, points and their files, as far as they are not known to be complete."""
        if "history" not in entry.files:
            self._log_rows(entry, record.rows())
            if record.facts:
                self._log_rows(entry, [(0, None, record.model_values())])
        for split, folder in record.points.items():
            if split not in entry.files:
                self._log_rows(entry, record.point_rows(split))
                for path in (folder / INSTANCES_FILE, point_file(folder)):
                    if path.exists():
                        self.client.log_artifact(entry.id, str(path), split)

    def _describe(
        self, entry: _Entry, records: list[RunRecord], tags: dict[str, str] | None = None
    ) -> None:
        """Tags, and the points as a table, where MLflow shows a text about a run."""
        table = points_table(records)
        self._set_tags(entry, (tags or {}) | ({"mlflow.note.content": table} if table else {}))

    def _log_rows(self, entry: _Entry, rows: Sequence[tuple[int, float | None, Any]]) -> None:
        """Send the values that the store does not have yet, in order."""
        metrics = [
            Metric(key, value, entry.start_ms + round(1000 * (seconds or 0)), step)
            for step, seconds, values in rows
            for key, value in values.items()
            if step > entry.last_steps.get(key, -inf)
        ]
        for first in range(0, len(metrics), METRICS_A_CALL):
            self.client.log_batch(entry.id, metrics=metrics[first : first + METRICS_A_CALL])
        entry.last_steps |= {metric.key: metric.step for metric in metrics}

    # --- what is above trainings ----------------------------------------------------------------

    def _take_in_paper(self) -> None:
        """Figures and tables as files of a run of their own."""
        folder = RESULTS / "paper" / self.study
        drawn = sorted([*folder.glob("figures/*.png"), *folder.glob("tables/*.md")])
        if not drawn:
            return
        times = [path.stat().st_mtime for path in drawn]
        if _PAPER not in self.entries:
            self._create(_PAPER, f"{self.study} {_PAPER}", round(1000 * min(times)), {})
        entry = self.entries[_PAPER]
        files = {path.name: file_digest(path) for path in drawn}
        for path in drawn:
            if entry.files.get(path.name) != files[path.name]:
                self.client.log_artifact(entry.id, str(path), path.parent.name)
        self._set_tags(entry, {_FILES_TAG: json.dumps(files)})
        self._set_status(entry, "finished", max(times))

    def _set_aside(self, current: set[str], now: float) -> None:
        """Runs that results/ no longer has, as settings changed: kept to compare, but closed."""
        for name, entry in self.entries.items():
            if "is_current" in entry.tags:
                self._set_tags(entry, {"is_current": "yes" if name in current else "no"})
                if name not in current and entry.status == "RUNNING":
                    self._set_status(entry, "killed", now)

    # --- calls ----------------------------------------------------------------------------------

    def _create(self, name: str, shown: str, start_ms: int, tags: dict[str, str]) -> _Entry:
        tags = {**tags, "simt.name": name}
        run = self.client.create_run(self.experiment, start_ms, tags, run_name=shown)
        self.entries[name] = _Entry.of(run)
        return self.entries[name]

    def _set_tags(self, entry: _Entry, tags: dict[str, str]) -> None:
        new = {key: value for key, value in tags.items() if entry.tags.get(key) != value}
        if new:
            self.client.log_batch(entry.id, tags=[RunTag(*item) for item in new.items()])
            entry.tags |= new

    def _set_status(self, entry: _Entry, state: State, end: float) -> None:
        status = _STATUS[state]
        if entry.status == status:
            return
        if state == "running":
            self.client.update_run(entry.id, status=status)
        else:
            self.client.set_terminated(entry.id, status, round(1000 * end))
        entry.status = status


def _all_runs(client: MlflowClient, experiment: str) -> Iterator[MlflowRun]:
    """Every run that we made in an experiment."""
    token: str | None = None
    while True:
        page = client.search_runs([experiment], page_token=token)
        yield from (run for run in page if "simt.name" in run.data.tags)
        token = page.token
        if not token:
            return


def _state_of_all(states: list[State]) -> State:
    """Of a group: running while any is; otherwise the worst."""
    order: tuple[State, ...] = ("running", "failed", "killed", "finished")
    return next(state for state in order if state in states)


def _group_name(run: Run) -> str:
    return f"{run.pair} {run.method}"


def _run_name(record: RunRecord) -> str:
    """Tells a run from all others, also from those of its name with other settings."""
    return f"{record.run} {record.digest}"


def _complete_files(record: RunRecord) -> dict[str, str]:
    """The files whose numbers are complete, with their digests."""
    files = {split: point_file(folder) for split, folder in record.points.items()}
    if record.state == "finished":
        files["history"] = record.history
    return {name: file_digest(path) for name, path in files.items()}


def _outcome_tags(record: RunRecord) -> dict[str, str]:
    """What there is to say of how a run was made and how it ended."""
    commit = record.facts.get("commit")
    return {
        **({"commit": commit, "mlflow.source.git.commit": commit} if commit else {}),
        **({"device": record.facts["device"]} if record.facts else {}),
        **({"failure": record.failure} if record.failure else {}),
    }


def _start_ms(record: RunRecord) -> int:
    """When the training began, as far as its files say."""
    rows = record.rows()
    seconds = (rows[-1][1] or 0.0) if rows else 0.0
    return round(1000 * (record.changed - seconds))


def _flat(settings: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Settings under names such as ``training.updates``; a method's own under its name."""
    for key, value in settings.items():
        place = str(settings["method"]) if key == "method_settings" else f"{path}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{place}.")
        else:
            yield place, value
