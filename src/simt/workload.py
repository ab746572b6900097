"""Every job of a study: what it takes of a machine, which others it waits for, how long it will be.

A job that is done is planned without its own record, so that plan and outcome can be compared.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from simt.check import Inspection
from simt.likeness import Likeness, run_of
from simt.params import Params
from simt.products import SCORING_FILE, VIEWER_FILE
from simt.resources import rule_resources
from simt.schedule import Job, Machine, Schedule, critical_path, scheduled
from simt.steps import Stage, Step, Steps
from simt.timings import Timing, turnaround


def rule_of(step: Step) -> str:
    """The rule that makes a step; without the pair that some rules have in their name."""
    if step.stage == "runs":
        return "train"
    if step.stage == "corpora":
        return step.name.split(" ")[1]
    if step.stage == "points":
        by_marker = {SCORING_FILE: "score", VIEWER_FILE: "states"}
        is_valid = step.folder.name == "valid"
        return by_marker.get(step.product.marker, "confidences" if is_valid else "decode")
    return {"figures": "figure", "tables": "table"}.get(step.folder.name, step.name)


def job_name(step: Step) -> str:
    """What the job of a step is called: its log is ``logs/{name}.log``."""
    rule = rule_of(step)
    if step.stage != "paper":
        return f"{rule}/{step.name.split(' ')[0]}"
    if rule in ("figure", "table"):
        return f"{rule}/{step.folder.parent.name}/{step.name}"
    return f"{rule}/{step.folder.name}"


@dataclass(frozen=True)
class PlannedJob:
    """A job before it runs."""

    name: str
    stage: Stage
    gpus: int
    threads: int
    after: tuple[str, ...]
    is_done: bool
    seconds: float | None  # on one GPU, or without any; None: nothing like it was measured

    @property
    def rule(self) -> str:
        return self.name.split("/")[0]

    def on(self, machine: Machine, between: float) -> Job:
        """The same for a scheduler; several GPUs share the work of a training without loss."""
        shared = max(1, min(self.gpus, machine.gpus))
        seconds = (self.seconds or 0.0) / shared + between
        return Job(self.name, seconds, self.threads, self.gpus, self.after)


@dataclass(frozen=True)
class Workload:
    """Jobs of a study, for one machine."""

    machine: Machine
    jobs: tuple[PlannedJob, ...]
    between: float  # seconds from the end of a job to the start of the next in its place

    @cached_property
    def unknown(self) -> list[PlannedJob]:
        """The jobs that the plan counts as nothing but their start."""
        return [job for job in self.jobs if job.seconds is None]

    @cached_property
    def left(self) -> "Workload":
        """What is not done yet."""
        return self.only({job.name for job in self.jobs if not job.is_done})

    def on(self, machine: Machine, trainings: Mapping[str, float | None]) -> "Workload":
        """The same jobs on another machine, whose trainings take so long on one device."""
        jobs = [
            replace(job, seconds=trainings[job.name]) if job.rule == "train" else job
            for job in self.jobs
        ]
        return replace(self, machine=machine, jobs=tuple(jobs))

    def only(self, names: Collection[str]) -> "Workload":
        """Some of the jobs, when all others are done."""
        jobs = [
            replace(job, after=tuple(name for name in job.after if name in names))
            for job in self.jobs
            if job.name in names
        ]
        return replace(self, jobs=tuple(jobs))

    @cached_property
    def schedule(self) -> Schedule:
        """The longest chains first."""
        return scheduled(self._for_scheduler, self.machine)

    @cached_property
    def unlucky(self) -> Schedule:
        """The longest chains last."""
        return scheduled(self._for_scheduler, self.machine, is_longest_first=False)

    @cached_property
    def critical_path(self) -> list[Job]:
        """The jobs that wait for one another longest."""
        return critical_path(self._for_scheduler)

    @cached_property
    def _for_scheduler(self) -> list[Job]:
        return [job.on(self.machine, self.between) for job in self.jobs]


def study_workload(params: Params, machine: Machine, timings: Mapping[str, Timing]) -> Workload:
    """The jobs of a study, each after those that it reads from, with times from the record."""
    steps, look = Steps(params).all(), Inspection()
    likeness = Likeness(params, timings, has_gpus=machine.gpus > 0)
    jobs = []
    for step in steps:
        name, is_done = job_name(step), look.status(step).state == "done"
        needs = rule_resources(params, rule_of(step), run_of(name))
        jobs.append(
            PlannedJob(
                name=name,
                stage=step.stage,
                gpus=needs.gpu if needs else 0,
                threads=needs.threads if needs else 1,
                after=tuple(dict.fromkeys(job_name(read.step) for read in step.reads)),
                is_done=is_done,
                seconds=likeness.seconds(name, without_own=is_done),
            )
        )
    return Workload(machine, tuple(jobs), turnaround(timings))
