"""What a study will do, as text for a person."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from simt.check import Inspection, StepState
from simt.cost import Cost, Measurement, StudyCost
from simt.datasheets import ASSUMED_FRACTION, GPUS, REFERENCE
from simt.params import Drawing, Knob, Params
from simt.products import SETTINGS_FILE
from simt.runs import Kind, Point, Run, drawing_points, point_settings, why_left_out
from simt.steps import Step, Steps
from simt.user_files import missing_by_pair, unfetched_pairs


def describe_study(params: Params, study_name: str, corpora: Path | None = None) -> str:
    """The corpora, runs, decodings, figures and tables of a study, and what is done of each.

    ``corpora`` is the user's SIMT_CORPORA.
    """
    steps, look = Steps(params, study_name), Inspection()
    by_stage = {
        "corpora": steps.corpora(),
        "runs": steps.runs(),
        "points": [one for one in steps.points() if one.product.marker == SETTINGS_FILE],
    }
    drawings = len(steps.drawings("figures")) + len(steps.drawings("tables"))
    lines = [
        _headline(params, study_name, by_stage, drawings),
        *_section("corpora", _corpora_lines(by_stage["corpora"], look)),
        *_section("runs", _run_lines(by_stage["runs"], look)),
        *_section("points", _point_lines(params, by_stage["points"], look)),
        *_section("figures", _drawing_lines(params, study_name, "figures", steps, look)),
        *_section("tables", _drawing_lines(params, study_name, "tables", steps, look)),
        *_section("left out, and why", _left_out_lines(params, study_name)),
        *_section("stale or damaged, and why", _stale_lines(steps.all(), look)),
        *_section("for you to provide", _missing_lines(params, study_name, corpora)),
    ]
    return "\n".join(lines)


def _headline(
    params: Params, study_name: str, by_stage: dict[str, list[Step]], drawings: int
) -> str:
    study = params.studies[study_name]
    pairs, runs, points = len(study.runs), len(by_stage["runs"]), len(by_stage["points"])
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
        at = ", ".join("full" if knob == "full" else f"{knob:g}" for knob in _sorted(knobs))
        yield (
            f"{pair:<{width}} {method:<10} {split:<8} {_states(group, look):<18} "
            f"{_count(decodings, 'decoding')} at {at}"
        )


def _drawing_lines(
    params: Params, study_name: str, kind: Kind, steps: Steps, look: Inspection
) -> Iterator[str]:
    drawings: dict[str, Drawing] = getattr(params.paper, kind)
    study = params.studies[study_name]
    for step in steps.drawings(kind):
        status, drawing = look.status(step), drawings[step.name]
        points = drawing_points(study, drawing)
        aside = f" ({status.why})" if status.why else ""
        shown = f"{drawing.title}; {_count(len(points), 'point')}"
        yield f"{step.name:<30} {status.state:<7} {shown}{aside}"


def _left_out_lines(params: Params, study_name: str) -> Iterator[str]:
    study, paper = params.studies[study_name], params.paper
    for name, drawing in {**paper.figures, **paper.tables}.items():
        if reason := why_left_out(params, study, drawing):
            yield f"{name:<30} {reason}"


def _stale_lines(steps: list[Step], look: Inspection) -> Iterator[str]:
    """Only causes: what is stale because of something above it follows from that."""
    for step in steps:
        status = look.status(step)
        is_cause = all(look.status(read.step).state == "done" for read in step.reads)
        if status.state == "damaged" or (status.state == "stale" and is_cause):
            yield f"{step.name}: {status.why}"


def _missing_lines(params: Params, study_name: str, corpora: Path | None) -> Iterator[str]:
    """The files that fetching will ask for."""
    pairs = unfetched_pairs(params, study_name)
    for pair, messages in missing_by_pair(params, pairs, corpora).items():
        for message in messages:
            yield from f"{pair}, {message}".split("\n")


def _states(steps: list[Step], look: Inspection) -> str:
    counts = Counter(look.status(step).state for step in steps)
    in_order: tuple[StepState, ...] = ("done", "damaged", "stale", "to do")
    return ", ".join(f"{counts[state]} {state}" for state in in_order if counts[state])


def _sorted(knobs: Iterable[Knob]) -> list[Knob]:
    return sorted(knobs, key=lambda knob: -1.0 if knob == "full" else float(knob))


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


# --- cost -------------------------------------------------------------------------------------


def describe_cost(cost: StudyCost, device_numbers: Sequence[int]) -> str:
    """What a study costs in all and by run, and how long it takes with so many devices.

    What was measured here and what is assumed of GPUs are never mixed; the latter has a star.
    """
    lines = [
        f"Cost of study {cost.study}: {_count(len(cost.runs), 'training')}, "
        f"{_short(cost.planned.target_tokens)} target tokens, {_short(cost.planned.flops)}FLOP",
        _cost_headline(cost),
        "",
        *_run_cost_lines(cost),
        "",
        *_outcome_lines(cost),
        *_measured_lines(cost, device_numbers),
        *_assumed_lines(cost, device_numbers),
        f"Longest chain: {', then '.join(map(str, cost.critical_path))}",
        *(f"Not used: {problem}" for problem in cost.unusable),
    ]
    return "\n".join(lines)


def _cost_headline(cost: StudyCost) -> str:
    """Device hours: measured if all runs are like one that was, else those of a GPU if it fits."""
    if cost.planned.device_hours is not None:
        return f"{_duration(cost.planned.device_hours)} of one device, by speeds measured here"
    if cost.is_gpu_sized:
        hours = _duration(cost.hours_on(REFERENCE))
        return f"About {hours} of one {REFERENCE.name}*. {_NOT_MEASURED}"
    return _NOT_MEASURED


_NOT_MEASURED = (
    "Models of these sizes were not measured here; to do so:\n"
    "  simt bench train --size MODEL --json bench.json; simt plan --cost --bench bench.json"
)


def _run_cost_lines(cost: StudyCost) -> Iterator[str]:
    """A table with a row for each run, and only those columns that have something to say."""
    width = max(len(str(run.run)) for run in cost.runs)
    per_flop = cost.hours_on(REFERENCE) / cost.planned.flops if cost.is_gpu_sized else None
    is_planned = any(run.planned.device_hours is not None for run in cost.runs)

    def row(name: str, weights: str, planned: Cost, actual: Cost | None) -> str:
        cells = [f"{name:<{width}} {weights:>8}", f"{_short(planned.target_tokens):>8}"]
        cells.append(f"{_short(planned.flops):>8}")
        if per_flop is not None:
            cells.append(f"{_duration(planned.flops * per_flop):>9}")
        if is_planned:
            cells.append(f"{_duration(planned.device_hours):>9}")
        if actual is not None:
            cells.append(f"{_duration(actual.device_hours):>9}")
        return "  " + " ".join(cells)

    yield (
        f"  {'':<{width}} {'weights':>8} {'tokens':>8} {'FLOPs':>8}"
        + (f" {REFERENCE.name + '*':>9}" if per_flop is not None else "")
        + (f" {'planned':>9}" if is_planned else "")
        + (f" {'actual':>9}" if cost.finished else "")
    )
    for run in cost.runs:
        yield row(str(run.run), _short(run.parameters), run.planned, run.actual)
    yield row("all", "", cost.planned, cost.actual)


def _outcome_lines(cost: StudyCost) -> Iterator[str]:
    """Plan and outcome of what is finished."""
    planned, actual = cost.planned_of_finished, cost.actual
    if planned is None or actual is None:
        return
    runs, hours = _count(len(cost.finished), "run"), _duration(planned.device_hours)
    yield f"Finished: {runs}, planned {hours}, took {_duration(actual.device_hours)}"


def _measured_lines(cost: StudyCost, numbers: Sequence[int]) -> Iterator[str]:
    """The speeds behind the planned hours, and what follows from them for several devices."""
    speeds: dict[str, list[Measurement]] = {}
    for run in cost.runs:
        if run.speed is not None:
            speeds.setdefault(run.speed.device, []).append(run.speed)
    for device, found in speeds.items():
        rates = sorted(one.flops_per_s for one in found)
        shown = dict.fromkeys(f"{_short(rate)}FLOP/s" for rate in (rates[0], rates[-1]))
        trainings = _count(len({one.name for one in found}), "training")
        yield f"Measured here: {device}, {' to '.join(shown)} in {trainings} like these"
    carried = sum(run.speed is not None and not run.is_of_this_model for run in cost.runs)
    if carried:
        yield f"Carried over by FLOPs from a model of another size: {_count(carried, 'run')}"
    if cost.critical_hours is not None:
        times = [f"{number}: {_wall(cost.wall_hours(number))}" for number in numbers]
        least = _wall(cost.critical_hours)
        yield f"Wall time by number of such devices: {', '.join(times)}, any: {least}"


def _assumed_lines(cost: StudyCost, numbers: Sequence[int]) -> Iterator[str]:
    """What the study would take on GPUs by their data sheets, for models that can fill one."""
    if not cost.is_gpu_sized:
        yield "GPUs are left out: models this small reach no known fraction of a peak"
        return
    yield from (
        f"* Assumed, not measured: {ASSUMED_FRACTION:.0%} of NVIDIA's peak for dense products, no "
        "loss by several",
        "  GPUs in one training. Trainings only; those that others start from come first.",
        "",
        f"  {'':<9} {'peak TFLOP/s':<12} {'GPU hours':>9} "
        + "".join(f"{_count(number, 'GPU'):>8} " for number in numbers)
        + f"{'any':>8}  peak from",
    )
    for gpu in GPUS:
        times = [cost.wall_hours_on(gpu, number) for number in numbers]
        walls = "".join(f"{_wall(hours):>8} " for hours in (*times, cost.critical_hours_on(gpu)))
        peak = f"{gpu.peak_tflops:g} {gpu.precision}"
        hours = _duration(cost.hours_on(gpu))
        yield f"  {gpu.name:<9} {peak:<12} {hours:>9} {walls} {gpu.source}"
    yield ""


def _wall(hours: float | None) -> str:
    """Days from the third on."""
    return f"{hours / 24:.1f} d" if hours is not None and hours >= 48 else _duration(hours)


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
    return f"{hours:.1f} h" if hours < 100 else f"{hours:,.0f} h"
