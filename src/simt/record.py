"""What a run has left below results/, as plain values for a mirror.

Training appends rows to a file in work/ and moves it beside the model in the end; decoding and
scoring add points. These files are the record: whatever is shown elsewhere is made from them.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

from simt.cost import RUN_FILE
from simt.params import Params
from simt.runs import RESULTS, SETTINGS_FILE, Run, read_settings, run_settings
from simt.settings import RunSettings

State = Literal["running", "finished", "failed", "killed"]
Row = tuple[int, float | None, dict[str, float]]  # step, seconds since the start, values by name

HISTORY_FILE = "history.jsonl"
FAILURE_FILE = "failure.json"
SILENCE_S = 1800  # a record that has not grown for so long is of a run that is no more

_NOT_SHOWN = ("update", "epoch", "seconds")
_OF_SPEED = ("tokens_per_s", "peak_memory_mb")
_NOT_COMPARED = ("ap_", "dal_", "cw_", "max_cw_")  # beside AL; they are in scores.json
_OF_MODEL = ("parameters", "trained_parameters", "target_tokens", "training_seconds")


@dataclass(frozen=True)
class RunRecord:
    """A run that has been begun: its settings, how far it came, and where its files are."""

    run: Run
    settings: dict[str, Any]
    state: State
    changed: float  # time of its newest row
    failure: str  # why it failed, if it did
    facts: dict[str, Any]  # run.json; empty before the end
    history: Path
    points: dict[str, Path]  # folders, by split

    @property
    def digest(self) -> str:
        """Tells apart runs of the same name that were made with other settings."""
        return settings_digest(self.settings)

    def rows(self) -> list[Row]:
        """The rows of the training, in order."""
        return list(_history_rows(self.history)) if self.history.exists() else []

    def point_rows(self, split: str) -> list[Row]:
        """A row for each point with a numeric knob, then that of ``full``.

        Steps are hundredths of the latency, so that a chart of quality by step is the curve that
        one wants to see.
        """
        return list(_point_rows(split, self.points[split]))

    def model_values(self) -> dict[str, float]:
        """What is known of the finished model."""
        values = {f"model/{name}": float(self.facts[name]) for name in _OF_MODEL}
        losses = {f"model/valid_{name}": v for name, v in self.facts["validation"].items()}
        return values | losses


def settings_digest(settings: dict[str, Any]) -> str:
    """Also the name of a run's folder in work/."""
    line = json.dumps(settings, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def work_folder(settings: RunSettings, folder: Path) -> Path:
    """Where a run keeps what it needs to go on."""
    return folder / "work" / settings_digest(json.loads(settings.as_json()))


def file_digest(path: Path) -> str:
    """Changes when the file does."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def read_record(params: Params, run: Run, now: float, is_over: bool) -> RunRecord | None:
    """What there is of a run; None before its first row.

    ``is_over`` says that nothing is being trained any more. Otherwise a run without a model is
    taken to be running as long as its record grows.
    """
    settings = read_settings(run.folder / SETTINGS_FILE)
    if settings is None:
        return _unfinished(run, run_settings(params, run), now, is_over)
    return RunRecord(
        run=run,
        settings=settings,
        state="finished",
        changed=(run.folder / HISTORY_FILE).stat().st_mtime,
        failure="",
        facts=read_settings(run.folder / RUN_FILE) or {},
        history=run.folder / HISTORY_FILE,
        points=_points(run),
    )


def _unfinished(run: Run, settings: RunSettings, now: float, is_over: bool) -> RunRecord | None:
    work = work_folder(settings, run.folder)
    files = [path for name in (HISTORY_FILE, FAILURE_FILE) if (path := work / name).exists()]
    if not files:
        return None
    changed = max(path.stat().st_mtime for path in files)
    failure = (read_settings(work / FAILURE_FILE) or {}).get("why", "")
    is_silent = is_over or now - changed > SILENCE_S
    return RunRecord(
        run=run,
        settings=json.loads(settings.as_json()),
        state="failed" if failure else "killed" if is_silent else "running",
        changed=changed,
        failure=failure,
        facts={},
        history=work / HISTORY_FILE,
        points={},
    )


def _points(run: Run) -> dict[str, Path]:
    """The splits on which a run was scored, or looked at."""
    folder = RESULTS / "points" / str(run)
    scored = {path.parent.name: path.parent for path in sorted(folder.glob("*/scores.json"))}
    seen = {path.parent.name: path.parent for path in sorted(folder.glob("*/confidence.json"))}
    return scored | seen


def point_file(folder: Path) -> Path:
    """The numbers of a point: its scores, or what confidence was worth."""
    scores = folder / "scores.json"
    return scores if scores.exists() else folder / "confidence.json"


def _history_rows(path: Path) -> Iterator[Row]:
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


def _point_rows(split: str, folder: Path) -> Iterator[Row]:
    found = json.loads(point_file(folder).read_text(encoding="utf-8"))
    if "points" not in found:
        yield 0, None, _values(split, found)
        return
    latency = found["main_latency"]
    simultaneous = [point for point in found["points"] if point["knob"] != "full"]
    simultaneous.sort(key=lambda point: point["scores"][latency]["value"] or 0.0)
    last = -inf
    for point in simultaneous:
        step = round(100 * (point["scores"][latency]["value"] or 0.0))
        last = step if step > last else int(last) + 1  # no two points in one place
        yield last, None, {f"{split}/knob": point["knob"], **_values(split, point["scores"])}
    for point in found["points"]:
        if point["knob"] == "full" and split == "test":
            yield 0, None, _values("test full source", point["scores"])


def _values(group: str, scores: dict[str, Any]) -> dict[str, float]:
    """Scores by the name that a person looks for; those without a value are left out."""
    return {
        f"{group}/{name.replace('/', '-').replace(':', ' ')}": score["value"]
        for name, score in scores.items()
        if isinstance(score, dict)
        and score.get("value") is not None
        and not name.startswith(_NOT_COMPARED)
    }


def points_table(records: Sequence[RunRecord]) -> str:
    """Quality and latency of all points on the test set as Markdown, by latency."""
    rows, latency = [], ""
    for record in records:
        if "test" in record.points:
            found = json.loads(point_file(record.points["test"]).read_text(encoding="utf-8"))
            latency = found["main_latency"]
            for point in found["points"]:
                name = f"{record.run.variant} seed{record.run.seed}"
                rows.append((_shown(point, latency), _shown(point, "bleu"), name, point["knob"]))
    if not rows:
        return ""
    rows.sort(key=lambda row: float(row[0]))
    lines = [f"| {name} | {knob} | {lag} | {bleu} |" for lag, bleu, name, knob in rows]
    head = f"In charts of test/…, the step is 100 × {latency}.\n\n| run | knob | {latency} | BLEU |"
    return "\n".join([head, "|---|---|---|---|", *lines])


def _shown(point: dict[str, Any], name: str) -> str:
    value = point["scores"].get(name, {}).get("value")
    return "nan" if value is None else f"{value:.2f}"
