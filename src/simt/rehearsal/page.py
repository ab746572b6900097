"""The page of a rehearsal: what ran, what failed and the remedy, what each size took."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from markupsafe import Markup

from simt.atomic import atomic_file
from simt.disk import resumable_bytes
from simt.pages import shared_file, templates_in
from simt.params import Params
from simt.rehearsal.disk import DiskNeed
from simt.rehearsal.missing import Missing
from simt.rehearsal.outcome import Failure, Job, Training
from simt.runs import Run, run_settings
from simt.settings import RunSettings
from simt.wording import gigabytes, short

_HERE = Path(__file__).parent
_NEAR = 0.8  # of what a job has asked for


@dataclass(frozen=True)
class Rehearsal:
    """All that the page tells; ``params`` are those of the study itself."""

    params: Params
    profile: str
    jobs: list[Job]
    failures: list[Failure]
    missing: list[Missing]  # what something stood in for
    need: DiskNeed
    free: int
    peak_bytes: int  # that the rehearsal itself took
    seconds: float
    device_hours: float | None  # of all trainings of the study; None: some were not measured


@dataclass(frozen=True)
class RuleRow:
    """The jobs of a rule together."""

    rule: str
    jobs: int
    done: int
    failed: int
    seconds: float
    cpu_seconds: float
    memory_mb: int  # of the largest
    gpu_memory_mb: int


@dataclass(frozen=True)
class SizeRow:
    """The trainings of a method with models of one size on one kind of device."""

    method: str
    size: str
    device: str
    runs: int
    parameters: int
    memory_mb: int
    gpu_memory_mb: int
    tokens_per_s: float
    hours: float  # that the longest of them takes in earnest at this speed
    hours_asked: int


@dataclass(frozen=True)
class NearLimit:
    """A job that took nearly all that it had asked for, or more."""

    job: Job
    what: str
    used: str
    asked: str


def write_page(rehearsal: Rehearsal, to: Path) -> None:
    """Write the page, which needs nothing beside it."""
    with atomic_file(to) as stream:
        stream.write(render(rehearsal))


def render(rehearsal: Rehearsal) -> str:
    """The page as HTML."""
    templates = templates_in(_HERE)
    templates.filters.update(size=gigabytes, time=_time, gigabytes=_gigabytes, short=short)
    trainings = _trainings(rehearsal.jobs)
    return templates.get_template("page.html").render(
        of=rehearsal,
        rules=rule_rows(rehearsal.jobs),
        sizes=size_rows(rehearsal.params, rehearsal.jobs),
        near=near_limits(rehearsal.jobs),
        weights=sum(one.model_bytes for one in trainings),
        training=max((_work(rehearsal.params, one) for one in trainings), default=0),
        done=sum(job.state == "done" for job in rehearsal.jobs),
        waiting=sum(job.state == "not started" for job in rehearsal.jobs),
        cpu_seconds=sum(job.usage.cpu_seconds for job in rehearsal.jobs if job.usage),
        devices=sorted({one.device for one in trainings}),
        own_files={name: Markup(shared_file(name)) for name in ("base.css", "switch.js")},
        style=Markup((_HERE / "style.css").read_text(encoding="utf-8")),
    )


def _trainings(jobs: Iterable[Job]) -> list[Training]:
    return [job.training for job in jobs if job.training is not None]


def _work(params: Params, training: Training) -> int:
    """What the real training keeps to resume from."""
    return resumable_bytes(_in_earnest(params, training), training.model_bytes)


def _in_earnest(params: Params, training: Training) -> RunSettings:
    """The settings of the same run in the study itself."""
    of = training.settings
    return run_settings(params, Run(of.pair, of.method, of.variant, of.seed))


def rule_rows(jobs: Iterable[Job]) -> list[RuleRow]:
    """A row for each rule, in the order of the workflow."""
    by_rule: dict[str, list[Job]] = {}
    for job in jobs:
        by_rule.setdefault(job.rule, []).append(job)
    return [_rule_row(rule, found) for rule, found in by_rule.items()]


def _rule_row(rule: str, jobs: list[Job]) -> RuleRow:
    usages = [job.usage for job in jobs if job.usage is not None]
    return RuleRow(
        rule=rule,
        jobs=len(jobs),
        done=sum(job.state == "done" for job in jobs),
        failed=sum(job.state == "failed" for job in jobs),
        seconds=sum(one.seconds for one in usages),
        cpu_seconds=sum(one.cpu_seconds for one in usages),
        memory_mb=max((job.memory_mb for job in jobs), default=0),
        gpu_memory_mb=max((job.gpu_memory_mb for job in jobs), default=0),
    )


def size_rows(params: Params, jobs: Iterable[Job]) -> list[SizeRow]:
    """A row for each method, size and device that was trained."""
    alike: dict[tuple[str, str, str], list[Job]] = {}
    for job in jobs:
        if job.training is not None:
            of = job.training.settings
            size = params.model_preset(of.pair, of.method, of.variant)
            alike.setdefault((size, of.method, job.training.device), []).append(job)
    rows = [_size_row(params, *key, found) for key, found in alike.items()]
    order = list(params.model)  # from small to large
    return sorted(rows, key=lambda row: (order.index(row.size), row.method, row.device))


def _size_row(params: Params, size: str, method: str, device: str, jobs: list[Job]) -> SizeRow:
    trainings = _trainings(jobs)
    return SizeRow(
        method=method,
        size=size,
        device=device,
        runs=len(jobs),
        parameters=max(one.parameters for one in trainings),
        memory_mb=max(job.memory_mb for job in jobs),
        gpu_memory_mb=max(job.gpu_memory_mb for job in jobs),
        tokens_per_s=median(one.tokens_per_s for one in trainings),
        hours=max(_hours(params, one) for one in trainings),
        hours_asked=max((job.asked.hours for job in jobs if job.asked), default=0),
    )


def _hours(params: Params, training: Training) -> float:
    real = _in_earnest(params, training).training
    tokens = real.updates * real.batch_tokens
    return float(tokens / (training.tokens_per_s * training.devices) / 3600)


def near_limits(jobs: Iterable[Job]) -> list[NearLimit]:
    """Jobs that took most of the time or memory that they had asked for."""
    found = []
    for job in jobs:
        if job.usage is None or job.asked is None:
            continue
        minutes, memory = 60 * job.asked.hours, 1000 * job.asked.memory_gb
        if job.usage.seconds / 60 >= _NEAR * minutes:
            found.append(NearLimit(job, "time", _time(job.usage.seconds), f"{minutes} min"))
        if job.memory_mb >= _NEAR * memory:
            used = _gigabytes(job.memory_mb)
            found.append(NearLimit(job, "memory", used, _gigabytes(memory)))
    return found


# --- numbers for people -------------------------------------------------------------------------


def _time(seconds: float) -> str:
    for limit, unit, name, digits in (
        (90, 1, "s", 0), (5400, 60, "min", 0), (172_800, 3600, "h", 1)
    ):  # fmt: skip
        if seconds < limit:
            return f"{seconds / unit:.{digits}f} {name}"
    return f"{seconds / 86_400:,.0f} days"


def _gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:,.1f} GB"
