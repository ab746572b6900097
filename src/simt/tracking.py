"""The record of a study, mirrored into MLflow; the only module that imports it.

One experiment a study; in it a run for each training, named as in the figures, one for each curve
that several trainings make up, and one with the report. The files below results/ are the record,
and nothing reads the mirror back. Mirroring again changes nothing: a run is found by its name and
settings, rows that the store has are left out, and only files that changed are sent. A run that no
longer agrees with its record is deleted and made anew.
"""

import gc
import json
import logging
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from mlflow import MlflowClient
from mlflow.entities import Metric, Param, RunTag
from mlflow.entities import Run as MlflowRun
from mlflow.exceptions import MlflowException

from simt.errors import SimtError
from simt.markers import file_digest
from simt.mlflow_view import MAIN, view_addresses, view_tags
from simt.params import Params
from simt.products import INSTANCES_FILE
from simt.record import (
    MetricRow,
    RunRecord,
    RunState,
    UnreadableRecordError,
    curve_rows,
    point_file,
    points_table,
    read_record,
    settings_digest,
)
from simt.runs import Run, compared_runs, paper_folder, run_settings, study_runs
from simt.systems import ONE_MODEL_PER_POINT, colour_of, label_of, system_key, training_label

METRICS_A_CALL = 1000  # MLflow takes no more
POLL_S = 5.0  # between two looks at a study
LOOKING = 0.05  # the fraction of the time that looks may take: a large study has many files
_STATUS: dict[RunState, str] = {
    "running": "RUNNING", "finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED",
    "killed": "KILLED",
}  # fmt: skip
_FILES_TAG = "simt.files"
_PARTS_TAG = "trainings"  # which ones a curve is made of
_PAPER = "report"
_MODEL_TRAINING = {"mlflow.experimentKind": "custom_model_development"}  # what the pages look like
_PAPER_NOTE = "Open report.html under Artifacts: claims, figures, tables, and the policy viewer."
_VIEW = "SM² against the baselines"
_NOTE = (
    f'The saved view "{_VIEW}" shows the systems of Figure 3: BLEU against average lagging (AL), '
    "and BLEU at the same AL. Clear its search box to see every training."
)


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


@dataclass(frozen=True)
class Store:
    """MLflow's address of a database or a server, where files go, and where the pages are.

    ``artifacts`` is for files, unless a server keeps them. ``pages`` may be empty: not known.
    """

    address: str
    artifacts: Path
    pages: str

    @property
    def has_own_artifacts(self) -> bool:
        """Whether it is a server, which keeps files itself."""
        return self.address.startswith("http")


def mirror_study(params: Params, store: Store, is_over: bool) -> str:
    """Says what the store now holds, and where to look at it.

    ``is_over`` says that no run is being trained any more.
    """
    logging.getLogger("alembic").setLevel(logging.WARNING)  # not every table that it makes
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    with _store_errors(store.address), _little_garbage():
        mirror = _Mirror.open(MlflowClient(store.address), params, store)
        taken = mirror.take_in(is_over)
    states = [record.state for record in taken.records]
    counts = [f"{states.count(state)} {state}" for state in _STATUS if state in states]
    runs = ", ".join(counts) or "nothing yet"
    said = f"study {params.study}: {runs}, mirrored into {store.address}"
    pages = view_addresses(store.pages, mirror.experiment, mirror.pairs) if store.pages else []
    left_out = [f"{run} is left out: {why}" for run, why in taken.left_out.items()]
    return "\n".join([said, *left_out, *(f"{_VIEW}: {page}" for page in pages)])


def follow_study(
    params: Params,
    store: Store,
    wait: Callable[[float], bool],
    say: Callable[[str], None],
) -> None:
    """Mirror a study again and again until ``wait``, given seconds, says that it is over.

    A store that is away is waited for; only at the end is that an error.
    """
    is_over, complaint, pause_s = False, "", POLL_S
    while not is_over:
        is_over = wait(pause_s)
        began = time.monotonic()
        try:
            said = mirror_study(params, store, is_over)
        except StoreError as error:
            if is_over:
                raise
            said = str(error).splitlines()[0]
        pause_s = max(POLL_S, (time.monotonic() - began) / LOOKING)
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


class _Taken(NamedTuple):
    """The runs that a look has brought up to the record, and why others are left out."""

    records: list[RunRecord]
    left_out: dict[str, str]


@dataclass
class _Mirror:
    """A study in the store, by the names that we gave its runs."""

    client: MlflowClient
    params: Params
    experiment: str
    tags: dict[str, str]
    created_ms: int
    entries: dict[str, _Entry]

    @classmethod
    def open(cls, client: MlflowClient, params: Params, store: Store) -> "_Mirror":
        study = params.study
        found = client.get_experiment_by_name(study)
        if found is not None and found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        if found is None:
            artifacts = (store.artifacts / study).absolute().as_uri()
            place = None if store.has_own_artifacts else artifacts
            found = client.get_experiment(client.create_experiment(study, place, _MODEL_TRAINING))
        runs = _all_runs(client, found.experiment_id)
        entries = {run.data.tags["simt.name"]: _Entry.of(run) for run in runs}
        tags, created_ms = dict(found.tags), found.creation_time or 0
        return cls(client, params, found.experiment_id, tags, created_ms, entries)

    @property
    def pairs(self) -> list[str]:
        """The pairs of the study."""
        return list(self.params.chosen_study.runs)

    def take_in(self, is_over: bool) -> "_Taken":
        """Bring every run up to the record, but for those of which a file cannot be read."""
        now = time.time()
        taken = _Taken([], {})
        for run in study_runs(self.params.chosen_study):
            try:
                record = read_record(self.params, run, now, is_over)
                if record is not None:
                    self._take_in_run(record)
                    taken.records.append(record)
            except UnreadableRecordError as error:
                taken.left_out[str(run)] = str(error)
        curves = self._take_in_curves(taken.records)
        current = {_run_name(record) for record in taken.records} | curves
        unknown = {name for name in self.entries if name.partition(" ")[0] in taken.left_out}
        self._set_aside(current | unknown, now)
        self._take_in_paper()
        self._take_in_views()
        return taken

    # --- a training -----------------------------------------------------------------------------

    def _take_in_run(self, record: RunRecord) -> None:
        """All is read first: a file that cannot be read leaves the store as it is."""
        name, files = _run_name(record), record.complete_files()
        entry = self.entries.get(name)
        is_other = entry is not None and entry.contradicts(files)
        known = {} if entry is None or is_other else entry.files
        numbers, table = _new_numbers(record, known), points_table([record])
        if entry is not None and is_other:
            self.client.delete_run(entry.id)
            entry = None
        if entry is None:
            entry = self._create_run(name, record)
        if not entry.has_params:
            params = [Param(key, str(value)) for key, value in _flat(record.settings)]
            self.client.log_batch(entry.id, params=params)
        self._send_numbers(entry, record, numbers)
        is_whole = record.run.method not in ONE_MODEL_PER_POINT
        label = training_label(record.run.method, record.run.variant)
        tags = self._names(record.run, label, is_whole) | _outcome_tags(record)
        self._describe(entry, table, tags | {_FILES_TAG: json.dumps(files)})
        self._set_status(entry, record.state, record.changed)

    def _create_run(self, name: str, record: RunRecord) -> _Entry:
        tags = {
            "fidelity": self._fidelity(record),
            "is_current": "yes",
            "revision": str(record.settings["revision"]),
        }
        return self._create(name, str(record.run), _start_ms(record), tags)

    def _names(self, run: Run, label: str, is_curve: bool) -> dict[str, str]:
        """What a run is called and how it is found: by its pair, or as a system to compare."""
        study = self.params.chosen_study
        parts = [
            label,
            *([run.pair] if len(study.runs) > 1 else []),
            *([f"seed {run.seed}"] if len(study.seeds) > 1 else []),
        ]
        is_main = is_curve and run in compared_runs(self.params, study)
        return {
            "mlflow.runName": ", ".join(parts),
            "mlflow.runColor": colour_of(system_key(run.method, run.variant)),
            "pair": run.pair,
            "view": MAIN if is_main else "other",
        }

    def _fidelity(self, record: RunRecord) -> str:
        """The presets under which the run has the settings that it was made with."""
        names = [
            name
            for name, params in self.params.presets.items()
            if run_settings(params, record.run).as_values() == record.settings
        ]
        return ", ".join(names) or "none of today's"

    def _send_numbers(
        self, entry: _Entry, record: RunRecord, numbers: dict[str, list[MetricRow]]
    ) -> None:
        """Rows of the training, points, and the files of these."""
        for name, rows in numbers.items():
            self._log_rows(entry, rows)
            if name in record.points:
                folder = record.points[name]
                for path in (folder / INSTANCES_FILE, point_file(folder)):
                    if path.exists():
                        self.client.log_artifact(entry.id, str(path), name)

    def _describe(self, entry: _Entry, table: str, tags: dict[str, str]) -> None:
        """Tags, and the points as a table, where MLflow shows a text about a run."""
        self._set_tags(entry, tags | ({"mlflow.note.content": table} if table else {}))

    def _log_rows(self, entry: _Entry, rows: Sequence[MetricRow]) -> None:
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

    def _take_in_curves(self, records: Sequence[RunRecord]) -> set[str]:
        """The curves that several trainings make up, as runs of their own; gives their names."""
        curves: dict[tuple[str, str, int], list[RunRecord]] = {}
        for record in records:
            run = record.run
            if run.method in ONE_MODEL_PER_POINT and "test" in record.points:
                curves.setdefault((run.pair, run.method, run.seed), []).append(record)
        return {self._take_in_curve(curve) for curve in curves.values()}

    def _take_in_curve(self, records: list[RunRecord]) -> str:
        """One curve; with other points it is another one, and its name says so."""
        run = records[0].run
        digests = {str(one.run): file_digest(point_file(one.points["test"])) for one in records}
        name = f"{run.pair}/{run.method}/seed{run.seed} {settings_digest(digests)}"
        labels = [training_label(one.run.method, one.run.variant) for one in records]
        start_ms = min(_start_ms(record) for record in records)
        entry = self.entries.get(name)
        if entry is None:
            entry = self._create(name, name, start_ms, {_PARTS_TAG: ", ".join(labels)})
        self._log_rows(entry, curve_rows(records))
        names = self._names(run, label_of(system_key(run.method, run.variant)), True)
        self._describe(entry, points_table(records), names)
        state = _state_of_all([record.state for record in records])
        self._set_status(entry, state, max(record.changed for record in records))
        return name

    def _take_in_paper(self) -> None:
        """The report, figures and tables as files of a run of their own."""
        folder = paper_folder(self.params.study)
        above = [path for path in (folder / "report.html", folder / "claims.md") if path.exists()]
        drawn = [*above, *sorted([*folder.glob("figures/*.png"), *folder.glob("tables/*.md")])]
        if not drawn:
            return
        times = [path.stat().st_mtime for path in drawn]
        if _PAPER not in self.entries:
            self._create(_PAPER, _PAPER, round(1000 * min(times)), {"view": "other"})
        entry = self.entries[_PAPER]
        files = {path.name: file_digest(path) for path in drawn}
        for path in drawn:
            if entry.files.get(path.name) != files[path.name]:
                place = None if path in above else path.parent.name
                self.client.log_artifact(entry.id, str(path), place)
        note = {"mlflow.note.content": _PAPER_NOTE}
        self._set_tags(entry, note | {_FILES_TAG: json.dumps(files)})
        self._set_status(entry, "finished", max(times))

    def _take_in_views(self) -> None:
        """What the page shows first, and how to read it."""
        note = _NOTE
        if _PAPER in self.entries:
            run = self.entries[_PAPER].id
            page = f"#/experiments/{self.experiment}/runs/{run}/artifacts/report.html"
            note = f"[The report of the study]({page}) has its claims, figures and tables. {_NOTE}"
        tags = {"mlflow.note.content": note} | view_tags(_VIEW, self.pairs, self.created_ms)
        for key, value in tags.items():
            if self.tags.get(key) != value:
                self.client.set_experiment_tag(self.experiment, key, value)

    def _set_aside(self, current: set[str], now: float) -> None:
        """Runs that results/ no longer has, as settings changed: kept to compare, but closed.

        A curve with other points than now is of no use any more.
        """
        for name, entry in self.entries.items():
            is_current = name in current
            if _PARTS_TAG in entry.tags and not is_current:
                self.client.delete_run(entry.id)
            elif "is_current" in entry.tags:
                old = {"is_current": "no", "view": "other"}
                self._set_tags(entry, {"is_current": "yes"} if is_current else old)
                if not is_current and entry.status == "RUNNING":
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

    def _set_status(self, entry: _Entry, state: RunState, end: float) -> None:
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


def _state_of_all(states: list[RunState]) -> RunState:
    """Of a group: running while any is; otherwise the worst."""
    order: tuple[RunState, ...] = ("running", "failed", "killed", "stopped", "finished")
    return next(state for state in order if state in states)


def _run_name(record: RunRecord) -> str:
    """Tells a run from all others, also from those of its name with other settings."""
    return f"{record.run} {record.digest}"


def _new_numbers(record: RunRecord, known: Container[str]) -> dict[str, list[MetricRow]]:
    """The rows of the training and of each split, but for files that are known to be complete."""
    numbers = {split: record.point_rows(split) for split in record.points if split not in known}
    if "history" in known:
        return numbers
    of_model = [(0, None, record.model_values())] if record.facts else []
    return {"history": [*record.rows(), *of_model], **numbers}


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
