"""How long the jobs below logs/ have taken, by what ``usage`` wrote beside their logs."""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from statistics import median

from simt.usage import Usage, read_usage, usage_file

LOGS = Path("logs")
_ENDING = usage_file(Path("x.log")).name.removeprefix("x")
# Seconds from the end of a job's work to the start of the next one in its place: the process ends,
# Snakemake looks at its files, chooses, and starts a shell. For plans without a record.
USUAL_TURNAROUND = 1.0


@dataclass(frozen=True)
class Timing:
    """A job that came to its end, with all attempts that it took."""

    started: float  # seconds since the epoch
    ended: float
    seconds: float  # at work
    has_gpu: bool

    @classmethod
    def of(cls, attempts: list[Usage]) -> "Timing":
        """The last of them came to its end."""
        return cls(
            started=attempts[0].started,
            ended=attempts[-1].started + attempts[-1].seconds,
            seconds=sum(one.seconds for one in attempts),
            has_gpu=any(one.gpu_memory_mb for one in attempts),
        )


def read_timings(logs: Path = LOGS) -> dict[str, Timing]:
    """By job, such as ``train/toy-deen/sm2/bi/seed1``: the last time that it came to its end."""
    found = {}
    for path in sorted(logs.rglob(f"*{_ENDING}")):
        name = path.relative_to(logs).as_posix().removesuffix(_ENDING)
        attempts = _last_whole(read_usage(logs / f"{name}.log"))
        if attempts and all(_is_possible(one) for one in attempts):
            found[name] = Timing.of(attempts)
    return found


def _is_possible(usage: Usage) -> bool:
    """Whether its numbers are times at all; a damaged file may say anything."""
    return 0 <= usage.started < inf and 0 <= usage.seconds < inf


def _last_whole(attempts: list[Usage]) -> list[Usage]:
    """The attempts that led to the last end, after the end before it."""
    ends = [number for number, one in enumerate(attempts) if one.is_whole]
    if not ends:
        return []
    first = ends[-2] + 1 if len(ends) > 1 else 0
    return attempts[first : ends[-1] + 1]


@dataclass(frozen=True)
class Span:
    """The time of some jobs together."""

    seconds: float  # from the first start to the last end
    idle: float  # of these, without any job at work


def span(timings: Collection[Timing]) -> Span:
    """From the first start to the last end."""
    if not timings:
        return Span(0.0, 0.0)
    in_order = sorted(timings, key=lambda one: one.started)
    idle, ended = 0.0, in_order[0].started
    for one in in_order:
        idle += max(0.0, one.started - ended)
        ended = max(ended, one.ended)
    return Span(ended - in_order[0].started, idle)


def turnaround(timings: Mapping[str, Timing]) -> float:
    """Seconds from the end of a job to the start of the one that it made way for.

    That is taken to be the last end before each start; the median is not moved by pauses.
    """
    ends = sorted(one.ended for one in timings.values())
    gaps = []
    for one in timings.values():
        if before := bisect_right(ends, one.started):
            gaps.append(one.started - ends[before - 1])
    return median(gaps) if gaps else USUAL_TURNAROUND
