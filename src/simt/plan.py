"""What a study will do, as text for a person."""

from collections import Counter
from collections.abc import Iterable, Iterator

from simt.check import State, Step, drawing_statuses, study_steps
from simt.cost import Cost, RunCost, StudyCost
from simt.params import Drawing, Knob, Params
from simt.runs import SETTINGS_FILE, Point, Run, drawing_points, point_settings


def describe_study(params: Params, study_name: str) -> str:
    """The corpora, runs, decodings, figures and tables of a study, and what is done of each."""
    steps = study_steps(params, study_name)
    by_stage = {
        stage: [step for step in steps if step.stage == stage and step.marker == SETTINGS_FILE]
        for stage in ("corpora", "runs", "points")
    }
    lines = [
        _headline(params, study_name, by_stage),
        *_section("corpora", _corpora_lines(by_stage["corpora"])),
        *_section("runs", _run_lines(by_stage["runs"])),
        *_section("points", _point_lines(params, by_stage["points"])),
        *_section("figures", _drawing_lines(params, study_name, "figures", steps)),
        *_section("tables", _drawing_lines(params, study_name, "tables", steps)),
        *_section("stale, and why", _stale_lines(steps)),
    ]
    return "\n".join(lines)


def _headline(params: Params, study_name: str, by_stage: dict[str, list[Step]]) -> str:
    study = params.studies[study_name]
    pairs, runs, points = len(study.runs), len(by_stage["runs"]), len(by_stage["points"])
    drawings = len(params.paper.figures) + len(params.paper.tables)
    seeds = ", ".join(map(str, study.seeds))
    return (
        f"Study {study_name} (fidelity {params.fidelity}, seeds {seeds}): "
        f"{_count(pairs, 'pair')}, {_count(runs, 'run')}, {_count(points, 'decoding job')}, "
        f"{_count(drawings, 'figure and table', 'figures and tables')}"
    )


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    rows = list(lines)
    if rows:
        yield from ("", title, *(f"  {row}" for row in rows))


def _corpora_lines(steps: list[Step]) -> Iterator[str]:
    pairs: dict[str, list[str]] = {}
    for step in steps:
        pair, verb = step.name.split(" ")
        pairs.setdefault(pair, []).append(f"{verb} {step.status.state}")
    for pair, states in pairs.items():
        yield f"{pair:<14} {' · '.join(states)}"


def _run_lines(steps: list[Step]) -> Iterator[str]:
    """A line for each pair and method: its variants, and how many of the runs are done."""
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        run = Run.parse(step.name)
        groups.setdefault((run.pair, run.method), []).append(step)
    for (pair, method), group in groups.items():
        variants = dict.fromkeys(Run.parse(step.name).variant for step in group)
        yield f"{pair:<14} {method:<10} {_states(group):<18} {' '.join(variants)}"


def _point_lines(params: Params, steps: list[Step]) -> Iterator[str]:
    """A line for each pair, method and split: jobs, and how often the split is decoded."""
    groups: dict[tuple[str, str, str], list[Step]] = {}
    for step in steps:
        point = Point.parse(step.name)
        groups.setdefault((point.run.pair, point.run.method, point.split), []).append(step)
    for (pair, method, split), group in groups.items():
        knobs: dict[Knob, None] = {}
        decodings = 0
        for step in group:
            values = point_settings(params, Point.parse(step.name)).knobs
            knobs |= dict.fromkeys(values)
            decodings += len(values)
        at = ", ".join("full" if knob == "full" else f"{knob:g}" for knob in _sorted(knobs))
        yield (
            f"{pair:<14} {method:<10} {split:<8} {_states(group):<18} "
            f"{_count(decodings, 'decoding')} at {at}"
        )


def _drawing_lines(params: Params, study_name: str, kind: str, steps: list[Step]) -> Iterator[str]:
    drawings: dict[str, Drawing] = getattr(params.paper, kind)
    study = params.studies[study_name]
    for path, status in drawing_statuses(params, study_name, kind, steps).items():
        name, drawing = path.stem, drawings[path.stem]
        points = drawing_points(study, drawing)
        aside = f" ({status.why})" if status.why else ""
        if drawing.split == "aligned" and points and not _has_alignments(params, points):
            aside += " (no gold alignments for this pair)"
        shown = f"{drawing.title}; {_count(len(points), 'point')}"
        yield f"{name:<30} {status.state:<6} {shown}{aside}"


def _has_alignments(params: Params, points: list[Point]) -> bool:
    return any(params.splits(point.run.pair).aligned is not None for point in points)


def _stale_lines(steps: list[Step]) -> Iterator[str]:
    """Only causes: what is stale because of something above it follows from that."""
    for step in steps:
        cause = not any(need.status.state != "done" for need in step.needs)
        if step.status.state == "stale" and cause:
            yield f"{step.name}: {step.status.why}"


def _states(steps: list[Step]) -> str:
    counts = Counter(step.status.state for step in steps)
    in_order: tuple[State, ...] = ("done", "stale", "to do")
    return ", ".join(f"{counts[state]} {state}" for state in in_order if counts[state])


def _sorted(knobs: Iterable[Knob]) -> list[Knob]:
    return sorted(knobs, key=lambda knob: -1.0 if knob == "full" else float(knob))


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


# --- cost -------------------------------------------------------------------------------------


def describe_cost(cost: StudyCost) -> str:
    """What each run of a study costs, the total, and how long the longest chain of runs takes."""
    width = max(len(str(run.run)) for run in cost.runs)
    head = f"  {'':<{width}} {'weights':>8} {'tokens':>8} {'FLOPs':>8} {'planned':>9} {'actual':>9}"
    lines = [
        f"Cost of study {cost.study}: {_count(len(cost.runs), 'training')}, in device time",
        "",
        head,
        *(f"  {_cost_line(run, width)}" for run in cost.runs),
        f"  {'all':<{width}} {'':>8} {_costs(cost.planned, cost.actual)}",
        "",
        *_outcome_lines(cost),
        f"Longest chain: {' then '.join(map(str, cost.critical_path))}, {_critical(cost)}",
        *_speed_lines(cost),
    ]
    return "\n".join(lines)


def _cost_line(run: RunCost, width: int) -> str:
    costs = _costs(run.planned, run.actual)
    return f"{run.run!s:<{width}} {_short(run.parameters):>8} {costs}"


def _costs(planned: Cost, actual: Cost | None) -> str:
    done = "" if actual is None else _duration(actual.device_hours)
    return (
        f"{_short(planned.target_tokens):>8} {_short(planned.flops):>8} "
        f"{_duration(planned.device_hours):>9} {done:>9}"
    )


def _outcome_lines(cost: StudyCost) -> Iterator[str]:
    """Plan and outcome of what is finished."""
    planned, actual = cost.planned_of_finished, cost.actual
    if planned is None or actual is None:
        return
    runs, hours = _count(len(cost.finished), "run"), _duration(planned.device_hours)
    yield f"Finished: {runs}, planned {hours}, took {_duration(actual.device_hours)}"


def _critical(cost: StudyCost) -> str:
    if cost.critical_hours is None:
        return "by FLOPs"
    return f"{_duration(cost.critical_hours)} however many devices there are"


def _speed_lines(cost: StudyCost) -> Iterator[str]:
    """Where the speeds come from, or how to get some."""
    speeds = Counter(run.speed_of for run in cost.runs if run.speed_of is not None)
    if speeds:
        named = [f"{name} ({_count(uses, 'run')})" for name, uses in speeds.most_common(3)]
        more = f" and {len(speeds) - 3} more" if len(speeds) > 3 else ""
        yield f"Speeds as measured of {', '.join(named)}{more}"
        guesses = sum(not run.is_of_this_model for run in cost.runs)
        if guesses:
            yield (
                f"{_count(guesses, 'run')} of a size that was never measured: time by FLOPs, which "
                "says little of another device. Measure it there: simt bench train --size …"
            )
    else:
        yield "No speed is known yet: simt bench train --json bench.json, then --bench bench.json"


def _short(number: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def _duration(hours: float | None) -> str:
    if hours is None:
        return "?"
    if hours < 1 / 60:
        return f"{hours * 3600:.1f} s"
    if hours < 1:
        return f"{hours * 60:.1f} min"
    return f"{hours:.1f} h" if hours < 1000 else f"{hours:,.0f} h"
