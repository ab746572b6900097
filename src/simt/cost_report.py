"""What a study costs, when its jobs run and what they need, as text for a person.

What was measured here and what is assumed of GPUs are never mixed; the latter has a star.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from simt.cost import Cost, Measurement, RunCost, StudyCost, pair_text
from simt.datasheets import ASSUMED_FRACTION, GPUS, REFERENCE, Gpu
from simt.disk import disk_by_stage
from simt.memory import GPU_OVERHEAD, Memory, gpu_memory
from simt.params import Params
from simt.resources import rule_resources
from simt.runs import Run, run_settings
from simt.schedule import Machine, chain_seconds
from simt.settings import RunSettings
from simt.steps import STAGES
from simt.timings import Timing, span
from simt.wording import count, duration, gigabytes, short, wall_time
from simt.workload import Workload, study_workload

SHOWN_FIRST = 6  # jobs
NUMBERS = (1, 4, 8, 16)  # of GPUs, where nobody has said how many


@dataclass(frozen=True)
class Hardware:
    """What a plan is for."""

    machine: Machine
    gpu: Gpu | None = None  # None: devices like those that were measured
    has_bench: bool = False  # the speeds of trainings are those of a bench, not of the record


def describe_cost(
    params: Params, cost: StudyCost, timings: Mapping[str, Timing], hardware: Hardware
) -> str:
    """The cost of each training, then the schedule, disk and memory of the whole study."""
    workload = _workload(params, cost, timings, hardware)
    sections = (
        _headline(cost),
        _run_lines(cost),
        [*_outcome_lines(cost), *_measured_lines(cost)],
        [*_schedule_lines(cost, workload, hardware), *record_lines(workload, timings)],
        _first_lines(workload, cost.study),
        _disk_lines(params, cost, workload),
        _memory_lines(params, cost, hardware),
        _assumed_lines(cost, workload, hardware.machine.gpus),
        (f"Not used: {problem}" for problem in cost.unusable),
    )
    texts = ("\n".join(lines) for lines in sections)
    return "\n\n".join(text for text in texts if text)


def _workload(
    params: Params, cost: StudyCost, timings: Mapping[str, Timing], hardware: Hardware
) -> Workload:
    """The jobs, trainings by the speeds that were asked for, by the record, or by earlier runs."""
    workload = study_workload(params, hardware.machine, timings)
    if hardware.gpu is not None:
        return _on_gpus(cost, workload, hardware.gpu, hardware.machine)
    on_record = {job.name: job.seconds for job in workload.jobs}
    times: dict[str, float | None] = {}
    for run in cost.runs:
        name = f"train/{run.run}"
        known = None if hardware.has_bench else on_record[name]
        times[name] = _seconds_by_flops(run, hardware.machine) if known is None else known
    return workload.on(hardware.machine, times)


def _seconds_by_flops(run: RunCost, machine: Machine) -> float | None:
    """Of a training on one device, if its speed was measured on such: a CPU tells of no GPU."""
    hours, speed = run.planned.device_hours, run.speed
    if hours is None or speed is None or speed.has_gpu != (machine.gpus > 0):
        return None
    return hours * 3600


def _on_gpus(cost: StudyCost, workload: Workload, gpu: Gpu, machine: Machine) -> Workload:
    """With trainings as fast as a data sheet has us assume."""
    times = {f"train/{run.run}": gpu.seconds(run.planned.flops) for run in cost.runs}
    return workload.on(machine, times)


# --- trainings --------------------------------------------------------------------------------


def _headline(cost: StudyCost) -> Iterator[str]:
    """The device hours of all trainings, where speeds tell; of a usual GPU if it fits."""
    yield (
        f"Cost of study {cost.study}: {count(len(cost.runs), 'training')}, "
        f"{short(cost.planned.target_tokens)} target tokens, {short(cost.planned.flops)}FLOP"
    )
    if cost.planned.device_hours is not None:
        hours, kinds = duration(cost.planned.device_hours), " or ".join(_measured_kinds(cost))
        yield f"{hours} of one {kinds}, by speeds measured here"
    elif cost.is_gpu_sized:
        hours = duration(cost.hours_on(REFERENCE))
        yield f"About {hours} of one {REFERENCE.name}*. {_NOT_MEASURED}"
    else:
        yield _NOT_MEASURED


def _measured_kinds(cost: StudyCost) -> list[str]:
    """The kinds of device behind the planned hours."""
    return sorted({"GPU" if run.speed.has_gpu else "CPU" for run in cost.runs if run.speed})


_NOT_MEASURED = (
    "Models of these sizes were not measured here; to do so:\n"
    "  simt bench train --size MODEL --json bench.json; simt plan --cost --bench bench.json"
)


def _run_lines(cost: StudyCost) -> Iterator[str]:
    """A table with a row for each run, and only those columns that have something to say."""
    width = max(len(str(run.run)) for run in cost.runs)
    per_flop = cost.hours_on(REFERENCE) / cost.planned.flops if cost.is_gpu_sized else None
    is_planned = any(run.planned.device_hours is not None for run in cost.runs)

    def row(name: str, weights: str, planned: Cost, actual: Cost | None) -> str:
        cells = [f"{name:<{width}} {weights:>8}", f"{short(planned.target_tokens):>8}"]
        cells.append(f"{short(planned.flops):>8}")
        if per_flop is not None:
            cells.append(f"{duration(planned.flops * per_flop):>10}")
        if is_planned:
            cells.append(f"{duration(planned.device_hours):>9}")
        if actual is not None:
            cells.append(f"{duration(actual.device_hours):>9}")
        return "  " + " ".join(cells)

    yield (
        f"  {'':<{width}} {'weights':>8} {'tokens':>8} {'FLOPs':>8}"
        + (f" {REFERENCE.name + '*':>10}" if per_flop is not None else "")
        + (f" {'planned':>9}" if is_planned else "")
        + (f" {'actual':>9}" if cost.finished else "")
    )
    for run in cost.runs:
        yield row(str(run.run), short(run.parameters), run.planned, run.actual)
    yield row("all", "", cost.planned, cost.actual)


def _outcome_lines(cost: StudyCost) -> Iterator[str]:
    """Plan and outcome of the trainings that are finished."""
    planned, actual = cost.planned_of_finished, cost.actual
    if planned is None or actual is None:
        return
    runs, hours = count(len(cost.finished), "run"), duration(planned.device_hours)
    yield f"Finished: {runs}, planned {hours}, took {duration(actual.device_hours)}"


def _measured_lines(cost: StudyCost) -> Iterator[str]:
    """The speeds behind the planned hours."""
    speeds: dict[str, list[Measurement]] = {}
    for run in cost.runs:
        if run.speed is not None:
            speeds.setdefault(run.speed.device, []).append(run.speed)
    for device, found in speeds.items():
        rates = sorted(one.flops_per_s for one in found)
        shown = dict.fromkeys(f"{short(rate)}FLOP/s" for rate in (rates[0], rates[-1]))
        trainings = count(len({one.name for one in found}), "training")
        yield f"Measured here: {device}, {' to '.join(shown)} in {trainings} like these"
    carried = sum(run.speed is not None and not run.is_of_this_model for run in cost.runs)
    if carried:
        yield f"Carried over by FLOPs from a model of another size: {count(carried, 'run')}"


# --- schedule ---------------------------------------------------------------------------------


def _schedule_lines(cost: StudyCost, workload: Workload, hardware: Hardware) -> Iterator[str]:
    """How long it all takes on a machine, and why not less."""
    if any(job.rule == "train" for job in workload.unknown):
        yield from _no_schedule_lines(cost, hardware)
        return
    schedule, path = workload.schedule, workload.critical_path
    jobs = count(len(workload.jobs), "job")
    yield f"Schedule of {jobs} on {_machine_words(hardware)}, {workload.between:.1f} s between two"
    first, last = wall_time(schedule.seconds), wall_time(workload.unlucky.seconds)
    least = "at least " if workload.unknown else ""
    yield (
        f"  wall time      {least}{first} with the longest chains first, {last} with them last; "
        "Snakemake chooses at random"
    )
    held = schedule.gpu_seconds if hardware.machine.gpus else schedule.core_seconds
    unit = "GPU" if hardware.machine.gpus else "core"
    yield (
        f"  {unit + ' hours':<14} {least}{duration(held / 3600)} held by jobs, "
        f"{schedule.utilisation:.0%} of what is there"
    )
    chain = wall_time(sum(job.seconds for job in path))
    yield f"  critical path  {least}{chain}, however many of them there are:"
    long = [job for job in path if job.seconds > workload.between]
    yield from _wrapped([f"{job.name} {wall_time(job.seconds)}" for job in long])
    if workload.unknown:
        rules = Counter(job.rule for job in workload.unknown)
        yield "  unknown, counted as nothing: nothing like these jobs was recorded here"
        yield from _wrapped([f"{rule} {number}" for rule, number in rules.items()])
    left = workload.left
    if 0 < len(left.jobs) < len(workload.jobs):
        least = "at least " if left.unknown else ""
        jobs, time = count(len(left.jobs), "job"), wall_time(left.schedule.seconds)
        yield f"  left to do     {jobs}, {least}{time}"


def _no_schedule_lines(cost: StudyCost, hardware: Hardware) -> Iterator[str]:
    """That speeds are not known on this machine, and on which machines they are."""
    yield f"No schedule on {_machine_words(hardware)}: the speed of these models is not known."
    plan, measured = f"simt plan --study {cost.study} --cost", _measured_kinds(cost)
    if hardware.machine.gpus and "CPU" in measured:
        bench = "simt bench train --size MODEL --json bench.json"
        yield f"  What a CPU took says nothing of a GPU. To measure one, run there: {bench}"
    if not hardware.machine.gpus and "GPU" in measured:
        yield f"  By speeds measured on GPUs: {plan} --gpus 8"
    if cost.is_gpu_sized:
        yield f"  By the data sheet of a GPU: {plan} --gpus 8 --kind a100"


def _machine_words(hardware: Hardware) -> str:
    machine, gpu = hardware.machine, hardware.gpu
    cores = [] if machine.cores is None else [count(machine.cores, "core")]
    name = "GPU" if gpu is None else f"{gpu.name}*"
    gpus = [f"{machine.gpus} x {name}"] if machine.gpus else []
    return " and ".join([*gpus, *cores])


def _wrapped(parts: Sequence[str], width: int = 116) -> Iterator[str]:
    """Parts with commas between them, in as many lines as they need."""
    line = ""
    for number, part in enumerate(parts):
        text = part if number == len(parts) - 1 else f"{part}, "
        if line and len(line) + len(text) > width:
            yield f"    {line.rstrip()}"
            line = ""
        line += text
    if line:
        yield f"    {line}"


def record_lines(workload: Workload, timings: Mapping[str, Timing]) -> Iterator[str]:
    """Plan and record of the jobs that are done and could be planned without their own record."""
    done = {job.name for job in workload.jobs if job.is_done and job.name in timings}
    known = {job.name for job in workload.jobs if job.seconds is not None} & done
    if not known:
        return
    took = span([timings[name] for name in done])
    least = "at least " if known < done else ""
    planned = least + wall_time(workload.only(done).schedule.seconds)
    yield (
        f"  on record      {count(len(done), 'job')} done in {wall_time(took.seconds)} from the "
        f"first start to the last end, planned {planned}"
    )
    if took.idle > took.seconds / 20:
        yield f"                 for {wall_time(took.idle)} of it no job was at work"
    yield "                 hours of jobs planned from others like them, and as they were:"
    for stage in STAGES:
        jobs = [job for job in workload.jobs if job.stage == stage and job.name in known]
        if jobs:
            hours = duration(sum(job.seconds or 0.0 for job in jobs) / 3600)
            actual = duration(sum(timings[job.name].seconds for job in jobs) / 3600)
            yield f"    {stage:<8} {hours:>9} {actual:>9}  {count(len(jobs), 'job')}"


def _first_lines(workload: Workload, study_name: str) -> Iterator[str]:
    """The first jobs of what is left, and how to have Snakemake take them first."""
    left = workload.left
    placed = left.schedule.placed
    if not placed:
        yield "Nothing is left to run"
    if not placed or any(job.rule == "train" for job in left.unknown):
        return
    chains = chain_seconds([one.job for one in placed])
    yield "To run first: behind it, the longest chain of jobs that wait"
    known = [one for one in placed if one.job.seconds > workload.between]
    for one in known[:SHOWN_FIRST]:
        behind = chains[one.job.name] - one.job.seconds
        yield f"  {one.job.name:<50} {wall_time(one.job.seconds):>9}, behind it {wall_time(behind)}"
    trainings = [job.name for job in left.critical_path if job.name.startswith("train/")]
    if trainings:
        run = Run.parse(trainings[-1].removeprefix("train/"))
        first = f"--prioritize {run.folder}/model.pt"
        yield f"  snakemake --config study={study_name} {first}"


# --- disk, memory and GPUs --------------------------------------------------------------------


def _disk_lines(params: Params, cost: StudyCost, workload: Workload) -> Iterator[str]:
    yield "Disk by stage"
    for one in disk_by_stage(params, cost, workload.schedule):
        yield f"  {one.stage:<12} {gigabytes(one.size):>9}  {one.basis}"


def _memory_lines(params: Params, cost: StudyCost, hardware: Hardware) -> Iterator[str]:
    """What each size of model needs of a GPU at most, and whether that is there."""
    if not cost.is_gpu_sized:
        return
    gpu = hardware.gpu or REFERENCE
    most: dict[str, tuple[Memory, Run]] = {}
    for run in (one.run for one in cost.runs):
        size = params.model_preset(run.pair, run.method, run.variant)
        memory = _run_memory(params, run, run_settings(params, run))
        if size not in most or memory.total > most[size][0].total:
            most[size] = memory, run
    yield "Memory of a GPU at most, by size of model (estimated: docs/cluster.md)"
    for size, (memory, run) in most.items():
        parts = ", ".join(f"{name} {gigabytes(value)}" for name, value in vars(memory).items())
        fits = memory.total + GPU_OVERHEAD <= gpu.memory_gb * 1e9
        verdict = "fits" if fits else "does not fit"
        yield f"  {size:<9} {gigabytes(memory.total):>8} {verdict} {gpu.name}: {run}"
        yield f"            {parts}"
        if not fits:
            yield f"            {_remedy(params, run, gpu)}"


def _run_memory(params: Params, run: Run, settings: RunSettings) -> Memory:
    needs = rule_resources(params, "train", run)
    return gpu_memory(settings, pair_text(params, run.pair), needs.gpu if needs else 1)


def _remedy(params: Params, run: Run, gpu: Gpu) -> str:
    """The largest half, quarter, … of ``micro_tokens`` that fits."""
    settings = run_settings(params, run)
    tokens = settings.training.micro_tokens // 2
    while tokens >= settings.training.max_tokens:
        training = settings.training.model_copy(update={"micro_tokens": tokens})
        memory = _run_memory(params, run, settings.model_copy(update={"training": training}))
        if memory.total + GPU_OVERHEAD <= gpu.memory_gb * 1e9:
            return f"lower training.micro_tokens to {tokens}: {gigabytes(memory.total)}"
        tokens //= 2
    return "lower training.micro_tokens and training.max_tokens, or take another GPU"


def _assumed_lines(cost: StudyCost, workload: Workload, gpus: int) -> Iterator[str]:
    """What the study would take on GPUs by their data sheets, for models that can fill one."""
    if not cost.is_gpu_sized:
        yield "GPUs are left out: models this small reach no known fraction of a peak"
        return
    numbers = (gpus,) if gpus else NUMBERS
    yield from (
        f"* Assumed, not measured: {ASSUMED_FRACTION:.0%} of NVIDIA's peak for dense products, no "
        "loss by several GPUs in one",
        "  training. Wall times are of the jobs above, as far as known, longest chains first.",
        "",
        f"  {'':<9} {'peak TFLOP/s':<12} {'memory':>6} {'GPU hours':>9} "
        + "".join(f"{count(number, 'GPU'):>8} " for number in numbers)
        + " peak and memory from",
    )
    for gpu in GPUS:
        times = [
            _on_gpus(cost, workload, gpu, Machine(number)).schedule.seconds for number in numbers
        ]
        walls = "".join(f"{wall_time(seconds):>8} " for seconds in times)
        peak = f"{gpu.peak_tflops:g} {gpu.precision}"
        hours = duration(cost.hours_on(gpu))
        yield f"  {gpu.name:<9} {peak:<12} {gpu.memory_gb:>3} GB {hours:>9} {walls} {gpu.source}"
