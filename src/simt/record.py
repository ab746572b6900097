"""What a run has left below results/, as plain values for a mirror.

Training appends rows to a file in work/ and moves it beside the model in the end; decoding and
scoring add points. These files are the record: whatever is shown elsewhere is made from them.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

from simt.atomic import read_object
from simt.curve import bleu_at_latencies
from simt.errors import PERMIT, SimtError
from simt.markers import (
    EARLIER,
    Marker,
    UnreadableMarkerError,
    file_digest,
    read_marker,
    readable_marker,
)
from simt.params import Params
from simt.products import (
    CONFIDENCE_FILE,
    HISTORY_FILE,
    INSTANCES_FILE,
    MODEL_FILE,
    RUN_FILE,
    SCORES_FILE,
    SCORING_FILE,
    SETTINGS_FILE,
    WORK_FOLDER,
)
from simt.runs import RESULTS, Run, run_settings
from simt.settings import RunSettings
from simt.systems import training_label

RunState = Literal["running", "finished", "failed", "stopped", "killed"]
MetricRow = tuple[
    int, float | None, dict[str, float]
]  # step, seconds since the start, values by name

FAILURE_FILE = "failure.json"
STOP_FILE = "stopped"  # empty: somebody asked the training to stop, and it has
_NUMBERS = (SCORES_FILE, CONFIDENCE_FILE)  # of a point
SILENCE_S = 1800  # a record that has not grown for so long is of a run that is no more

_NOT_SHOWN = ("update", "epoch", "seconds")
_OF_SPEED = ("tokens_per_s", "peak_memory_mb")
_NOT_COMPARED = (
    "yaal_",
    "dsptv_",
    "ap_",
    "dal_",
    "atd_",
    "cw_",
    "max_cw_",
)  # beside AL; they are in scores.json
_OF_MODEL = ("parameters", "trained_parameters", "target_tokens", "training_seconds")


class UnreadableRecordError(SimtError):
    """A file of a run that is gone or damaged; the message names it and the remedy."""


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """A block that reads a file of the record, whatever may be in it."""
    try:
        yield
    except PermissionError as error:
        why = f"{path} cannot be read: {error.strerror}; {PERMIT}"
        raise UnreadableRecordError(why) from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = "it is missing" if isinstance(error, FileNotFoundError) else "it is damaged"
        remedy = "simt check points says how to make it again"
        raise UnreadableRecordError(f"{path} cannot be read, {why}: {remedy}") from None


@dataclass(frozen=True)
class RunRecord:
    """A run that has been begun: its settings, how far it came, and where its files are."""

    run: Run
    settings: dict[str, Any]
    state: RunState
    changed: float  # time of its newest row
    failure: str  # why it failed, if it did
    facts: dict[str, Any]  # run.json; empty before the end
    history: Path
    points: dict[str, Path]  # folders, by split

    @property
    def digest(self) -> str:
        """Tells apart runs of the same name that were made with other settings."""
        return settings_digest(self.settings)

    def rows(self) -> list[MetricRow]:
        """The rows of the training, in order."""
        with _reading(self.history):
            return list(_history_rows(self.history)) if self.history.exists() else []

    def point_rows(self, split: str) -> list[MetricRow]:
        """A row for each point with a numeric knob, then the numbers to compare systems by.

        Steps are hundredths of the latency, so that also a chart of quality by step has the shape
        of the curve.
        """
        with _reading(point_file(self.points[split])):
            return list(_point_rows(split, [self.points[split]]))

    def model_values(self) -> dict[str, float]:
        """What is known of the finished model."""
        with _reading(self.run.folder / RUN_FILE):
            values = {f"model/{name}": float(self.facts[name]) for name in _OF_MODEL}
            losses = {f"model/valid_{name}": v for name, v in self.facts["validation"].items()}
            return values | losses

    def complete_files(self) -> dict[str, str]:
        """The digests of the files whose numbers are complete, by split; ``history`` is one too."""
        files = {split: point_file(folder) for split, folder in self.points.items()}
        if self.state == "finished":
            files["history"] = self.history
        digests = {}
        for name, path in files.items():
            with _reading(path):
                digests[name] = file_digest(path)
        return digests


def settings_digest(settings: dict[str, Any]) -> str:
    """Also the name of a run's folder in work/."""
    line = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def work_folder(settings: RunSettings, folder: Path) -> Path:
    """Where a run keeps what it needs to resume."""
    return folder / WORK_FOLDER / settings_digest(settings.as_values())


def read_record(params: Params, run: Run, now: float, is_over: bool) -> RunRecord | None:
    """What there is of a run; None before its first row.

    ``is_over`` says that nothing is being trained any more. Otherwise a run without a model is
    taken to be running as long as its record grows, unless it has noted how it ended.
    """
    trained = _trained(run.folder / SETTINGS_FILE)
    if trained is None:
        return _unfinished(run, run_settings(params, run), now, is_over)
    history = run.folder / HISTORY_FILE
    with _reading(history):
        changed = history.stat().st_mtime
    return RunRecord(
        run=run,
        settings=trained.settings,
        state="finished",
        changed=changed,
        failure="",
        facts=read_object(run.folder / RUN_FILE) or {},
        history=history,
        points=points_of(run, trained),
    )


def _trained(path: Path) -> Marker | None:
    """The marker of a finished training; None before that, and of an earlier version's."""
    try:
        return read_marker(path)
    except UnreadableMarkerError as error:
        if str(error) == EARLIER:
            return None
        remedy = "`simt check runs` says how to make the run again"
        raise UnreadableRecordError(f"{path.parent} is damaged, {error}: {remedy}") from None
    except SimtError as error:  # one that may not be read
        raise UnreadableRecordError(str(error)) from None


def _unfinished(run: Run, settings: RunSettings, now: float, is_over: bool) -> RunRecord | None:
    work = work_folder(settings, run.folder)
    files = [path for name in (HISTORY_FILE, FAILURE_FILE) if (path := work / name).exists()]
    if not files:
        return None
    stopped = [path] if (path := work / STOP_FILE).exists() else []
    changed = max(path.stat().st_mtime for path in files + stopped)
    failure = (read_object(work / FAILURE_FILE) or {}).get("why", "")
    ended: RunState = "failed" if failure else "stopped" if stopped else "killed"
    is_silent = is_over or now - changed > SILENCE_S
    return RunRecord(
        run=run,
        settings=settings.as_values(),
        state=ended if failure or stopped or is_silent else "running",
        changed=changed,
        failure=failure,
        facts={},
        history=work / HISTORY_FILE,
        points={},
    )


def points_of(run: Run, trained: Marker) -> dict[str, Path]:
    """The splits on which a run was scored, or looked at, with the model that it has now."""
    folder = RESULTS / "points" / str(run)
    found = [path.parent for name in _NUMBERS for path in sorted(folder.glob(f"*/{name}"))]
    return {point.name: point for point in found if _is_of_model(point, trained)}


def _is_of_model(folder: Path, trained: Marker) -> bool:
    """Whether the numbers of a point are of this training: from a retrained one, they are not."""
    decoded = readable_marker(folder / SETTINGS_FILE)
    if decoded is None or not decoded.is_made_from(trained.digests("run", (MODEL_FILE,))):
        return False
    if point_file(folder).name == CONFIDENCE_FILE:
        return True
    scored = readable_marker(folder / SCORING_FILE)
    return scored is not None and scored.is_made_from(decoded.digests("point", (INSTANCES_FILE,)))


def point_file(folder: Path) -> Path:
    """The numbers of a point: its scores, or what confidence was worth."""
    scores = folder / SCORES_FILE
    return scores if scores.exists() else folder / CONFIDENCE_FILE


def _history_rows(path: Path) -> Iterator[MetricRow]:
    """Whole lines only: a training may be writing the next one."""
    seconds = 0.0
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line.endswith("\n"):
                row = json.loads(line)
                seconds = row.get("seconds", seconds)
                values = {_name(key): v for key, v in row.items() if key not in _NOT_SHOWN}
                yield row["update"], seconds, values


def _name(key: str) -> str:
    if key.startswith("valid_"):
        return f"valid/{key.removeprefix('valid_')}"
    return f"speed/{key}" if key in _OF_SPEED else f"train/{key}"


def _point_rows(split: str, folders: Sequence[Path]) -> Iterator[MetricRow]:
    found = [json.loads(point_file(folder).read_text(encoding="utf-8")) for folder in folders]
    if "points" not in found[0]:
        yield 0, None, _values(split, found[0])
        return
    latency = found[0]["main_latency"]
    points = [point for one in found for point in one["points"]]
    last = -inf
    for point in _simultaneous(points, latency):
        lag = point["scores"][latency]["value"] or 0.0
        step = round(100 * lag)
        last = step if step > last else int(last) + 1  # no two points in one place
        place = {f"{split}/AL": lag, f"{split}/knob": point["knob"]}
        yield last, None, place | _values(split, point["scores"])
    if split == "test":
        yield 0, None, _comparable(points, latency)


def _simultaneous(points: Sequence[dict[str, Any]], latency: str) -> list[dict[str, Any]]:
    """The points that do not wait for the whole source, by latency."""
    chosen = [point for point in points if point["knob"] != "full"]
    return sorted(chosen, key=lambda point: point["scores"][latency]["value"] or 0.0)


def _comparable(points: Sequence[dict[str, Any]], latency: str) -> dict[str, float]:
    """Numbers to compare systems by: BLEU at some latencies, and with the whole source."""
    places = [
        (point["scores"][latency]["value"], point["scores"]["bleu"]["value"])
        for point in _simultaneous(points, latency)
        if None not in (point["scores"][latency]["value"], point["scores"]["bleu"]["value"])
    ]
    values = bleu_at_latencies(places)
    for point in points:
        if point["knob"] == "full" and point["scores"]["bleu"]["value"] is not None:
            values["bleu_full_source"] = point["scores"]["bleu"]["value"]
    return values


def _values(group: str, scores: dict[str, Any]) -> dict[str, float]:
    """Scores by the name that a person looks for; those without a value are left out."""
    return {
        f"{group}/{name.replace('/', '-').replace(':', ' ')}": score["value"]
        for name, score in scores.items()
        if isinstance(score, dict)
        and score.get("value") is not None
        and not name.startswith(_NOT_COMPARED)
    }


def curve_rows(records: Sequence[RunRecord]) -> list[MetricRow]:
    """The same for the one curve on the test set that several trainings make up."""
    folders = [record.points["test"] for record in records if "test" in record.points]
    return list(_point_rows("test", folders)) if folders else []


def points_table(records: Sequence[RunRecord]) -> str:
    """Quality and latency of all points on the test set as Markdown, by latency."""
    rows, latency = [], ""
    for record in records:
        if "test" in record.points:
            path = point_file(record.points["test"])
            name = training_label(record.run.method, record.run.variant)
            with _reading(path):
                found = json.loads(path.read_text(encoding="utf-8"))
                latency = found["main_latency"]
                rows += [
                    (_shown(point, latency), _shown(point, "bleu"), name, point["knob"])
                    for point in found["points"]
                ]
    if not rows:
        return ""
    rows.sort(key=lambda row: float(row[0]))
    lines = [f"| {name} | {knob} | {lag} | {bleu} |" for lag, bleu, name, knob in rows]
    head = f"test/AL is {latency}; in charts by step, the step of test/… is 100 × AL.\n\n"
    return "\n".join([f"{head}| system | knob | {latency} | BLEU |", "|---|---|---|---|", *lines])


def _shown(point: dict[str, Any], name: str) -> str:
    value = point["scores"].get(name, {}).get("value")
    return "nan" if value is None else f"{value:.2f}"
