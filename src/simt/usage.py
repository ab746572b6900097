"""What a command used: time and memory, appended beside its log.

One line for each attempt, so that a job that was stopped and resumed counts in full. Like the log
itself it can never fail the command, and no result depends on it.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

LAUNCHER = "SIMT_LAUNCHER"  # the process that has started this one for a device
_NOTED: list[int] = []


@dataclass(frozen=True)
class Usage:
    """One attempt at a job, from the start of its process to the end of its work."""

    started: float  # seconds since the epoch
    seconds: float
    cpu_seconds: float  # of all threads and of the processes that have ended
    peak_memory_mb: int  # of the largest process
    gpu_memory_mb: int  # 0 without a GPU
    is_whole: bool  # whether it came to its end


def usage_file(log: Path) -> Path:
    """Where the usage of a job is that has this log."""
    return log.with_suffix(".usage.jsonl")


@contextmanager
def usage_recorded(log: Path) -> Iterator[None]:
    """Add what this process used to the file beside ``log``, however the block ends.

    Of several processes that are one job, the one that has started the others speaks for all.
    """
    is_one_of_several = LAUNCHER in os.environ  # asked here: the launcher sets it for the others
    is_whole = False
    try:
        yield
        is_whole = True
    finally:
        if not is_one_of_several:
            _append(usage_file(log), _usage(is_whole))


def note_gpu_memory(megabytes: int) -> None:
    """What a process that this one has started took of its GPU: nobody else can tell."""
    _NOTED.append(megabytes)


def read_usage(log: Path) -> list[Usage]:
    """The attempts at a job, in order; lines that were cut off are left out."""
    try:
        lines = usage_file(log).read_bytes().splitlines()
    except OSError:
        return []
    return [usage for line in lines if (usage := _parsed(line)) is not None]


def _parsed(line: bytes) -> Usage | None:
    try:
        return _USAGE.validate_json(line)
    except ValidationError:
        return None


_USAGE = TypeAdapter(Usage)


def _append(path: Path, usage: Usage) -> None:
    line = json.dumps(asdict(usage)) + "\n"
    try:
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line)
    except OSError:
        print(f"simt: time and memory are not recorded: cannot write {path}", file=sys.stderr)


def _usage(is_whole: bool) -> Usage:
    mine, others = (resource.getrusage(who) for who in (_SELF, _CHILDREN))
    seconds = _seconds_since_start()
    return Usage(
        started=round(time.time() - seconds, 3),
        seconds=round(seconds, 3),
        cpu_seconds=round(sum(one.ru_utime + one.ru_stime for one in (mine, others)), 3),
        peak_memory_mb=max(own_peak_memory_mb(), others.ru_maxrss >> 10),
        gpu_memory_mb=max(_gpu_memory_mb(), *_NOTED, 0),
        is_whole=is_whole,
    )


_SELF, _CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
_IMPORTED = time.monotonic()


def _seconds_since_start() -> float:
    """Of this process; where the system does not tell, since this file was imported."""
    try:
        after_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        ticks = int(after_name[19])  # field 22: the start, in ticks since the machine's
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED


def own_peak_memory_mb() -> int:
    """The most memory that this program has held.

    ``ru_maxrss``, which is there on every system, also has what its parent held at the fork.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) >> 10
    except (OSError, StopIteration, ValueError):
        return resource.getrusage(_SELF).ru_maxrss >> 10


def _gpu_memory_mb() -> int:
    """What torch took of the GPUs of this process, if it was used at all."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    most: int = max(map(torch.cuda.max_memory_allocated, range(torch.cuda.device_count())))
    return most >> 20
