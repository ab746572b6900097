"""What a study will do, as text for a person."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from simt.check import Inspection, StepState
from simt.knobs import knob_text
from simt.params import Drawing, Knob, Params
from simt.products import SETTINGS_FILE
from simt.runs import (
    Kind,
    Point,
    Run,
    drawing_points,
    point_settings,
    unshown_runs,
    why_left_out,
)
from simt.steps import Step, Steps
from simt.user_files import changed_since_copied, missing_by_pair, unfetched_pairs
from simt.wording import count


def describe_study(params: Params, corpora: Path | None = None) -> str:
    """The corpora, runs, decodings, figures and tables of a study, and what is done of each.

    ``corpora`` is the user's SIMT_CORPORA.
    """
    steps, look = Steps(params), Inspection()
    by_stage = {
        "corpora": steps.corpora(),
        "runs": steps.runs(),
        "points": [one for one in steps.points() if one.product.marker == SETTINGS_FILE],
    }
    drawings = len(steps.drawings("figures")) + len(steps.drawings("tables"))
    lines = [
        _headline(params, by_stage, drawings),
        *_section("corpora", _corpora_lines(by_stage["corpora"], look)),
        *_section("runs", _run_lines(by_stage["runs"], look)),
        *_section("points", _point_lines(params, by_stage["points"], look)),
        *_section("figures", _drawing_lines(params, "figures", steps, look)),
        *_section("tables", _drawing_lines(params, "tables", steps, look)),
        *_section("left out, and why", _left_out_lines(params)),
        *_section("trained, but in no figure or table", _unshown_lines(params)),
        *_section("stale or damaged, and why", _stale_lines(steps.all(), look)),
        *_section("your own text", changed_since_copied(params, corpora)),
        *_section("for you to provide", _missing_lines(params, corpora)),
    ]
    return "\n".join(lines)


def _headline(params: Params, by_stage: dict[str, list[Step]], drawings: int) -> str:
    study = params.chosen_study
    pairs, runs, points = len(study.runs), len(by_stage["runs"]), len(by_stage["points"])
    seeds = ", ".join(map(str, study.seeds))
    return (
        f"Study {params.study} (fidelity {params.fidelity}, seeds {seeds}): "
        f"{count(pairs, 'pair')}, {count(runs, 'run')}, {count(points, 'decoding job')}, "
        f"{count(drawings, 'figure and table', 'figures and tables')}"
    )


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    rows = list(lines)
    if rows:
        yield from ("", title, *(f"  {row}" for row in rows))


def _corpora_lines(steps: list[Step], look: Inspection) -> Iterator[str]:
    pairs: dict[str, list[str]] = {}
    for step in steps:
        pair, verb = step.name.split(" ")
        pairs.setdefault(pair, []).append(f"{verb} {look.status(step).state}")
    width = _width(pairs)
    for pair, states in pairs.items():
        yield f"{pair:<{width}} {' · '.join(states)}"


def _width(pairs: Iterable[str]) -> int:
    """Of the column of pairs, which is the same in every section."""
    return max([14, *map(len, pairs)])


def _run_lines(steps: list[Step], look: Inspection) -> Iterator[str]:
    """A line for each pair and method: its variants, and how many of the runs are done."""
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        run = Run.parse(step.name)
        groups.setdefault((run.pair, run.method), []).append(step)
    width = _width(pair for pair, _ in groups)
    for (pair, method), group in groups.items():
        variants = dict.fromkeys(Run.parse(step.name).variant for step in group)
        yield f"{pair:<{width}} {method:<10} {_states(group, look):<18} {' '.join(variants)}"


def _point_lines(params: Params, steps: list[Step], look: Inspection) -> Iterator[str]:
    """A line for each pair, method and split: jobs, and how often the split is decoded."""
    groups: dict[tuple[str, str, str], list[Step]] = {}
    for step in steps:
        point = Point.parse(step.name)
        groups.setdefault((point.run.pair, point.run.method, point.split), []).append(step)
    width = _width(pair for pair, _, _ in groups)
    for (pair, method, split), group in groups.items():
        knobs: dict[Knob, None] = {}
        decodings = 0
        for step in group:
            values = point_settings(params, Point.parse(step.name)).knobs
            knobs |= dict.fromkeys(values)
            decodings += len(values)
        at = ", ".join(map(knob_text, _sorted(knobs)))
        yield (
            f"{pair:<{width}} {method:<10} {split:<8} {_states(group, look):<18} "
            f"{count(decodings, 'decoding')} at {at}"
        )


def _drawing_lines(params: Params, kind: Kind, steps: Steps, look: Inspection) -> Iterator[str]:
    drawings: dict[str, Drawing] = getattr(params.paper, kind)
    study = params.chosen_study
    for step in steps.drawings(kind):
        status, drawing = look.status(step), drawings[step.name]
        points = drawing_points(study, drawing)
        aside = f" ({status.why})" if status.why else ""
        shown = f"{drawing.title}; {count(len(points), 'point')}"
        yield f"{step.name:<30} {status.state:<7} {shown}{aside}"


def _left_out_lines(params: Params) -> Iterator[str]:
    study, paper = params.chosen_study, params.paper
    for name, drawing in {**paper.figures, **paper.tables}.items():
        if reason := why_left_out(params, study, drawing):
            yield f"{name:<30} {reason}"


def _unshown_lines(params: Params) -> Iterator[str]:
    """The systems that are not even decoded, and the remedy."""
    runs = unshown_runs(params, params.chosen_study)
    width = _width(run.pair for run in runs)
    yield from dict.fromkeys(f"{run.pair:<{width}} {run.method}/{run.variant}" for run in runs)
    if runs:
        yield "To decode them, add them to `runs` of a drawing under `paper` in params.yaml, see"
        yield "docs/adding-a-method.md."


def _stale_lines(steps: list[Step], look: Inspection) -> Iterator[str]:
    """Only causes: what is stale because of something above it follows from that."""
    for step in steps:
        status = look.status(step)
        is_cause = all(look.status(read.step).state == "done" for read in step.reads)
        if status.state == "damaged" or (status.state == "stale" and is_cause):
            yield f"{step.name}: {status.why}"


def _missing_lines(params: Params, corpora: Path | None) -> Iterator[str]:
    """The files that fetching will ask for."""
    pairs = unfetched_pairs(params)
    for pair, messages in missing_by_pair(params, pairs, corpora).items():
        for message in messages:
            yield from f"{pair}, {message}".split("\n")


def _states(steps: list[Step], look: Inspection) -> str:
    counts = Counter(look.status(step).state for step in steps)
    in_order: tuple[StepState, ...] = ("done", "damaged", "stale", "to do")
    return ", ".join(f"{counts[state]} {state}" for state in in_order if counts[state])


def _sorted(knobs: Iterable[Knob]) -> list[Knob]:
    return sorted(knobs, key=lambda knob: -1.0 if knob == "full" else float(knob))
