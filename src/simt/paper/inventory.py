"""The runs of a study that there are, as a table for a person: how far each is, and how good."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from typing import NamedTuple

from simt.check import Inspection
from simt.errors import SimtError
from simt.paper.curves import CurvePoint, metrics, study_curves
from simt.params import Params
from simt.problems import did_you_mean
from simt.record import RunRecord, read_record
from simt.runs import Run, study_runs
from simt.steps import Steps
from simt.systems import label_of, system_key

SHOWN_LATENCIES = (3, 5, 7)
_HEAD = (
    "run", "system", "state", "updates", "loss", "AL", "BLEU",
    *(f"at {latency}" for latency in SHOWN_LATENCIES), "full",
)  # fmt: skip
_TEXTS = 3  # columns of text; numbers are set to the right
_LEGEND = (
    "loss is that of the validation. BLEU is of the test set, from the lowest AL to the highest;",
    f"at {', '.join(map(str, SHOWN_LATENCIES))}: where the curve crosses that AL; full: with the "
    "whole source read first.",
)


class Progress(NamedTuple):
    """Updates done, and the newest loss of the validation."""

    updates: int
    loss: float | None


class Found(NamedTuple):
    """A run that has been begun, what is known of it, and its points on the test set."""

    record: RunRecord
    progress: Progress
    is_stale: bool
    curve: Sequence[CurvePoint]

    @property
    def run(self) -> Run:
        """Which one it is."""
        return self.record.run


def describe_runs(params: Params, pattern: str | None, now: float) -> tuple[str, list[str]]:
    """A line for each run of a study that has been begun, in the order of the figures.

    ``pattern`` is a part of a run's name, in which * stands for anything. Beside the table: what is
    wrong with runs that cannot be read.
    """
    wanted = _matching(params, pattern)
    found, unreadable = _found(params, wanted, now)
    finished = sum(one.record.state == "finished" for one in found)
    scored = sum(bool(one.curve) for one in found)
    study = params.study
    head = f"Study {study}: {finished} of {len(wanted)} runs finished, {scored} scored on test"
    if not found and not unreadable:
        start = f"snakemake --profile workflow/profiles/local --config study={study}"
        remedy = f"Nothing is there yet. `simt plan` says what is to do; to do it:\n  {start}"
        return f"{head}\n\n{remedy}", []
    has_seeds = len(params.chosen_study.seeds) > 1
    tables = [
        f"{pair}\n{_table([_cells(one, has_seeds) for one in some])}"
        for pair, some in groupby(found, key=lambda one: one.run.pair)
    ]
    absent = len(wanted) - len(found) - len(unreadable)
    to_come = [f"{absent} not begun: simt plan lists them."] if absent else []
    return "\n\n".join([head, *tables, "\n".join([*to_come, *_LEGEND])]), unreadable


def _matching(params: Params, pattern: str | None) -> list[Run]:
    runs = study_runs(params.chosen_study)
    wanted = [run for run in runs if fnmatchcase(str(run), f"*{pattern or ''}*")]
    if not wanted:
        names = dict.fromkeys(
            name for run in runs for name in (run.pair, run.method, f"{run.method}/{run.variant}")
        )
        raise SimtError(
            f"study {params.study} has no run {pattern!r}{did_you_mean(pattern or '', names)}; "
            f"a part of a name is enough, such as {runs[-1].method} or '{runs[-1].method}/b*'"
        )
    return wanted


def _found(params: Params, runs: Sequence[Run], now: float) -> tuple[list[Found], list[str]]:
    """The runs that have been begun, and what is wrong with those that cannot be read."""
    look, steps = Inspection(), Steps(params)
    curves: Mapping[str, list[CurvePoint]] = {
        f"{pair}/{run}/seed{seed}": list(points)
        for (pair, run, seed), points in groupby(study_curves(params), key=lambda point: point[:3])
    }
    found, unreadable = [], []
    for run in runs:
        try:
            record = read_record(params, run, now, is_over=False)
            if record is not None:
                curve = curves.get(str(run), []) if "test" in record.points else []
                is_stale = look.status(steps.run(run)).state not in ("done", "to do")
                found.append(Found(record, _progress(record), is_stale, curve))
        except SimtError as error:
            unreadable.append(str(error))
    return found, unreadable


def _cells(found: Found, has_seeds: bool) -> tuple[str, ...]:
    """A line of the table; one seed of one goes without saying."""
    run, record, curve = found.run, found.record, found.curve
    state = "stale" if found.is_stale else record.state
    simultaneous = [point for point in curve if point.knob != "full"]
    values = metrics(curve)
    return (
        f"{run.method}/{run.variant}" + (f"/seed{run.seed}" if has_seeds else ""),
        label_of(system_key(run.method, run.variant)),
        state,
        str(found.progress.updates),
        _shown(found.progress.loss, 3),
        _span([point.al for point in simultaneous]),
        _span([point.bleu for point in simultaneous]),
        *(_shown(values.get(f"bleu_at_al_{latency}")) for latency in SHOWN_LATENCIES),
        _shown(values.get("bleu_full_source")),
    )


def _progress(record: RunRecord) -> Progress:
    if record.facts:
        return Progress(record.facts["updates"], record.facts["validation"]["loss"])
    rows = record.rows()
    losses = [values["valid/loss"] for _, _, values in rows if "valid/loss" in values]
    updates = max((step for step, _, _ in rows), default=0)
    return Progress(updates, losses[-1] if losses else None)


def _span(values: Sequence[float]) -> str:
    """The first and the last of some numbers, or the only one."""
    ends = [
        f"{value:.1f}" for value in (values[:1] if len(values) < 2 else (values[0], values[-1]))
    ]
    return " to ".join(ends)


def _shown(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
    lines = []
    for row in (_HEAD, *rows):
        texts = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)][:_TEXTS]
        numbers = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)][_TEXTS:]
        lines.append(f"  {'  '.join([*texts, *numbers])}".rstrip())
    return "\n".join(lines)
