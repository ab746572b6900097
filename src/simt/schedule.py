"""When jobs run that share cores and GPUs and wait for one another.

Whoever may start does so at once, as Snakemake has it. Which of several that is, Snakemake leaves
to chance: it asks only that as many cores as possible are busy. So a plan has two ends, with the
longest chains first and last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush


@dataclass(frozen=True)
class Job:
    """A piece of work, what it takes of a machine, and which others it waits for."""

    name: str
    seconds: float
    cores: int = 1
    gpus: int = 0
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """What jobs share. Whoever asks for more than there is gets all there is."""

    gpus: int = 0
    cores: int | None = None  # None: as many as anyone asks for

    def gpus_for(self, job: Job) -> int:
        """How many of its GPUs a job gets."""
        return min(job.gpus, self.gpus)

    def cores_for(self, job: Job) -> int:
        """How many of its cores a job gets; none where they are not counted."""
        return 0 if self.cores is None else min(job.cores, self.cores)


@dataclass(frozen=True)
class Placed:
    """A job and its time."""

    job: Job
    start: float

    @property
    def end(self) -> float:
        return self.start + self.job.seconds


@dataclass(frozen=True)
class Schedule:
    """Jobs in the order in which they start."""

    machine: Machine
    placed: tuple[Placed, ...]

    @cached_property
    def seconds(self) -> float:
        """Until the last one is done."""
        return max((one.end for one in self.placed), default=0.0)

    @property
    def gpu_seconds(self) -> float:
        """Of all GPUs together, while jobs hold them."""
        return sum(one.job.seconds * self.machine.gpus_for(one.job) for one in self.placed)

    @property
    def core_seconds(self) -> float:
        """Of all cores together, while jobs hold them."""
        return sum(one.job.seconds * self.machine.cores_for(one.job) for one in self.placed)

    @property
    def utilisation(self) -> float:
        """The fraction of its time that the machine is at work: its GPUs, or else its cores."""
        held = self.gpu_seconds if self.machine.gpus else self.core_seconds
        there = self.seconds * (self.machine.gpus or self.machine.cores or 0)
        return held / there if there else 0.0


def scheduled(jobs: Sequence[Job], machine: Machine, is_longest_first: bool = True) -> Schedule:
    """When each job runs; of those that may start, the longest chain goes first, or last."""
    left, sign = chain_seconds(jobs), -1 if is_longest_first else 1
    waiting = sorted(jobs, key=lambda job: sign * left[job.name])
    missing = {job.name: len(job.after) for job in jobs}
    next_of = _next_of(jobs)
    running: list[tuple[float, int, Job]] = []  # end, and a number so that no jobs are compared
    placed: list[Placed] = []
    now, gpus, cores = 0.0, machine.gpus, machine.cores or 0
    while waiting or running:
        held_back = []
        for job in waiting:
            fits = machine.gpus_for(job) <= gpus and machine.cores_for(job) <= cores
            if missing[job.name] or not fits:
                held_back.append(job)
                continue
            gpus, cores = gpus - machine.gpus_for(job), cores - machine.cores_for(job)
            placed.append(Placed(job, now))
            heappush(running, (now + job.seconds, len(placed), job))
        waiting = held_back
        now, _, done = heappop(running)
        gpus, cores = gpus + machine.gpus_for(done), cores + machine.cores_for(done)
        for name in next_of[done.name]:
            missing[name] -= 1
    return Schedule(machine, tuple(placed))


def chain_seconds(jobs: Sequence[Job]) -> dict[str, float]:
    """By job: from its start to the end of all that waits for it, if nothing else holds them."""
    by_name, next_of = {job.name: job for job in jobs}, _next_of(jobs)
    seconds: dict[str, float] = {}
    for job in reversed(_in_order(by_name)):
        later = max((seconds[name] for name in next_of[job.name]), default=0.0)
        seconds[job.name] = job.seconds + later
    return seconds


def critical_path(jobs: Sequence[Job]) -> list[Job]:
    """The jobs that wait for one another longest: no machine makes it shorter."""
    by_name, next_of, seconds = {job.name: job for job in jobs}, _next_of(jobs), chain_seconds(jobs)
    path: list[Job] = []
    ahead = [job.name for job in jobs if not job.after]
    while ahead:
        path.append(by_name[max(ahead, key=seconds.__getitem__)])
        ahead = next_of[path[-1].name]
    return path


def _next_of(jobs: Sequence[Job]) -> dict[str, list[str]]:
    """Who waits for each job."""
    waiting: dict[str, list[str]] = {job.name: [] for job in jobs}
    for job in jobs:
        for name in job.after:
            waiting[name].append(job.name)
    return waiting


def _in_order(by_name: Mapping[str, Job]) -> list[Job]:
    """Each job after those that it waits for."""
    ordered: dict[str, Job] = {}

    def add(job: Job) -> None:
        if job.name not in ordered:
            for name in job.after:
                add(by_name[name])
            ordered[job.name] = job

    for job in by_name.values():
        add(job)
    return list(ordered.values())
