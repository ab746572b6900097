"""How long jobs take that share devices and wait for one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


@dataclass(frozen=True)
class Job:
    """A piece of work that may have several devices, and may have to wait for another one."""

    name: str
    device_hours: float
    devices: int  # at most; more of them share the work without loss
    after: str | None = None

    def hours(self, devices: int) -> float:
        """Of wall time where there are so many devices."""
        return self.device_hours / min(self.devices, devices)


def longest_chain(jobs: Sequence[Job]) -> list[Job]:
    """The jobs that wait for one another longest: no number of devices makes it shorter."""
    by_name = {job.name: job for job in jobs}

    def chain(job: Job) -> list[Job]:
        return [job] if job.after is None else [*chain(by_name[job.after]), job]

    return max(map(chain, jobs), key=lambda chain: sum(job.hours(job.devices) for job in chain))


def wall_hours(jobs: Sequence[Job], devices: int) -> float:
    """Until the last job is done, if whoever may start does so, the longest chain first."""
    waiting = sorted(jobs, key=lambda job: -_hours_to_the_end(job, jobs, devices))
    running: list[tuple[float, str, int]] = []  # end, name, devices
    done: set[str | None] = {None}
    now, free = 0.0, devices
    while waiting or running:
        for job in [job for job in waiting if job.after in done]:
            taken = min(job.devices, devices)
            if taken <= free:
                free -= taken
                heappush(running, (now + job.hours(devices), job.name, taken))
                waiting.remove(job)
        now, name, freed = heappop(running)
        free += freed
        done.add(name)
    return now


def _hours_to_the_end(job: Job, jobs: Sequence[Job], devices: int) -> float:
    """From the start of a job to the end of all that waits for it."""
    later = (_hours_to_the_end(one, jobs, devices) for one in jobs if one.after == job.name)
    return job.hours(devices) + max(later, default=0.0)
