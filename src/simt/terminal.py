"""A study on the terminal: a line for each finished job, what runs now, and failures in full.

On a terminal the last rows are alive: a bar, the time left, and the newest line of the log of each
job that runs. Elsewhere (a file, CI) the same is said in plain lines, once a minute. What a job has
given is the last line of its log, which a step begins with "done: ".
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from simt.eta import Eta, in_seconds
from simt.joblogs import (
    cut,
    last_lines,
    last_message,
    newest_line,
    result_in,
    seconds_left,
    shorten_settings,
)

_SHOWN_JOBS = 8  # that run, at a time
_SHOWN_LINES = 40  # of the log of a job that failed
_WHAT_WIDTH = 46
_HEARTBEAT_S = 60.0  # without a terminal
_LIVE_S = 1.0
_CLUSTER_S = 15.0  # between two looks at up to a hundred logs on a shared file system

_OF_SLURM = ("srun:", "slurmstepd:")  # its words in a log that is Snakemake's

_REMEDIES = {
    "exit code 75": "It was stopped and has saved: the same command resumes from there.",
    "exit code 127": "A program was not found: is the environment complete?",
    "SIGKILL": "It was killed from outside, often because memory ran out.",
}


@dataclass
class Job:
    """A job that was started, or waits in the queue of a cluster."""

    rule: str
    wildcards: Mapping[str, str]
    logs: tuple[Path, ...]
    is_local: bool
    submitted: float
    started: float | None = None
    log_before: tuple[int, int] | None = None  # what stood there when it was submitted
    newest: str = ""
    expected_end: float | None = None  # by what it says itself
    place: str = ""  # its name in the queue

    @property
    def name(self) -> str:
        """The rule and the values of its wildcards: "train toy-deen/sm2/bi/seed1"."""
        return f"{self.rule} {self.title}".rstrip()

    @property
    def title(self) -> str:
        """The values of the wildcards as they stand in paths."""
        values = (f"seed{v}" if key == "seed" else v for key, v in self.wildcards.items())
        return "/".join(values)

    @property
    def log(self) -> Path | None:
        """What its command says; a cluster's own log comes after it."""
        return self.logs[0] if self.logs else None

    def note_start(self, now: float) -> None:
        """A job in a queue has started when its log is a new one."""
        if self.started is None and self.log and _stamp(self.log) not in (None, self.log_before):
            self.started = now

    def end(self, now: float) -> float:
        """When it ended. A cluster tells late, so the last word in the log counts there."""
        if self.is_local or self.log is None or self.started is None:
            return now
        with suppress(OSError):
            return min(now, max(self.started, self.log.stat().st_mtime))
        return now

    def read_progress(self, now: float) -> None:
        """Take in the newest line of its log, without the name that stands before it anyway."""
        before, line = self.newest, newest_line(self.log) if self.log else ""
        head, colon, rest = line.partition(": ")
        is_own = colon and self.title.startswith(head.removeprefix("results/runs/"))
        self.newest = cut(rest.strip() if is_own else line, 160)
        left = seconds_left(self.newest)
        if left is not None and self.newest != before:  # an old line says nothing about now
            self.expected_end = now + left


@dataclass(frozen=True)
class Failure:
    """A job that failed, and why as far as it is known."""

    job: Job
    why: str

    def in_short(self) -> str:
        """One line: the job, and what it said of its end."""
        said = last_message(self.job.log) if self.job.log else ""
        return f"{self.job.name} ({self.why}){f': {said}' if said else ''}"


class _Console(Console):
    """A console whose reader may go away: a study continues without one."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


class StudyTerminal:
    """All that is said about a study. Called with events, it also speaks up by itself."""

    def __init__(self, has_colour: bool = True, clock: Callable[[], float] = time.time) -> None:
        self.console = _Console(
            stderr=True, no_color=not has_colour, highlight=False, markup=False, emoji=False,
            soft_wrap=True,
        )  # fmt: skip
        self.clock = clock
        self.lock = threading.RLock()
        self.jobs: dict[int, Job] = {}
        self.failures: dict[int, Failure] = {}
        self.eta: Eta | None = None
        self.done = 0
        self.is_stopping = False  # on a person's request: what ends then has not failed
        self.complete_log = ".snakemake/log"
        self._live: Live | None = None
        self._is_over = threading.Event()
        self._ticker: threading.Thread | None = None

    # --- events -----------------------------------------------------------------------------

    def plan(self, counts: Mapping[str, int]) -> None:
        """The study begins: this many jobs of each rule."""
        with self.lock:
            self.eta = Eta(counts, self.clock())
            parts = ", ".join(f"{rule} {number}" for rule, number in counts.items())
            jobs = f"{self.total} job{'' if self.total == 1 else 's'}"
            self.say(f"{jobs}: {parts}. Snakemake's complete log is in .snakemake/log.")
            if self.console.file.isatty() and not self.console.is_dumb_terminal:
                self._live = Live(console=self.console, auto_refresh=False, transient=True,
                                  redirect_stdout=False, redirect_stderr=False)  # fmt: skip
                self._live.start()
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()

    def start(
        self, number: int, rule: str, wildcards: Mapping[str, str], logs: Sequence[str],
        is_local: bool,
    ) -> None:  # fmt: skip
        """A job was started, or put into a queue."""
        with self.lock:
            now = self.clock()
            job = Job(rule, wildcards, tuple(map(Path, logs)), is_local, now)
            if is_local:
                job.started = now
                self._at_work(number, job)
            elif job.log:
                job.log_before = _stamp(job.log)
            self.jobs[number] = job

    def queued(self, numbers: Iterable[int], place: str) -> None:
        """Jobs have got their name in a queue."""
        with self.lock:
            for number in numbers:
                if number in self.jobs:
                    self.jobs[number].place = place

    def finish(self, number: int) -> None:
        """A job is done: its line."""
        with self.lock:
            self.done += 1
            self.failures.pop(number, None)
            job = self.jobs.pop(number, None)
            if job is None:
                return
            if job.started is None:  # it was over before anyone looked
                job.started = job.submitted
                self._at_work(number, job)
            end = job.end(self.clock())
            if self.eta:
                self.eta.finish(number, end)
            result = self._result(job)
            took = in_seconds(end - job.started)
            self._line(f"{job.name:<{_WHAT_WIDTH}} {took:>11}  {result}".rstrip())

    def fail(
        self, number: int, rule: str, logs: Sequence[str], why: str, command: str | None
    ) -> None:
        """A job has failed: all that is known."""
        with self.lock:
            if self.is_stopping:
                return
            now = self.clock()
            job = self._drop(number) or Job(rule, {}, (), is_local=True, submitted=now)
            job.logs = tuple(map(Path, logs))  # now with that of the cluster
            why = ", ".join(filter(None, [_exit_in(job.logs[1:]), why]))
            headline, *details = why.splitlines()
            self.failures[number] = Failure(job, headline)
            took = in_seconds(now - (job.started or job.submitted))
            self._line(f"FAILED {job.name} after {took}: {headline}", "bold red")
            self._detail(f"rule {rule}{_in_words(job.wildcards)}")
            for line in details:
                self._detail(cut(line))
            for sign, remedy in _REMEDIES.items():
                if sign in why:
                    self._detail(remedy)
            if command:
                self._detail(f"command: {shorten_settings(' '.join(command.split()))}")
            self._show_logs(job.logs)

    def fail_group(self, numbers: Sequence[int], logs: Sequence[str]) -> None:
        """Jobs that a cluster ran together have failed: which of them, and all that is known."""
        with self.lock:
            jobs = {number: self.jobs[number] for number in numbers if number in self.jobs}
            guilty = [n for n, job in jobs.items() if job.log and _has_broken_off(job.log)]
            for number in guilty or list(jobs)[:1]:
                own = [str(log) for log in jobs[number].logs]
                why = "in a group" if guilty else "before it began, in a group"
                why += f" of {len(jobs)} jobs"
                self.fail(number, jobs[number].rule, [*own, *logs], why, None)
            for number in jobs:
                self._drop(number)

    def try_again(self, numbers: Iterable[int]) -> None:
        """Jobs that have failed are not given up."""
        with self.lock:
            for number in numbers:
                if failure := self.failures.pop(number, None):
                    self._line(f"{failure.job.name} is tried again")

    def give_up(self, number: int) -> None:
        """A job is not at work any more, for a reason that was told."""
        with self.lock:
            if job := self._drop(number):
                self.failures[number] = Failure(job, "see above")

    def say(self, text: str, style: str = "") -> None:
        """Something to read, in full."""
        with self.lock:
            self.console.print(Text(text, style=style))

    def close(self) -> None:
        """The study is over, however that came about: what became of it."""
        self._is_over.set()
        if self._ticker and self._ticker is not threading.current_thread():
            self._ticker.join(timeout=2)
        with self.lock:
            if self._live:
                self._live.stop()
                self._live = None
            if self.eta:
                self._sum_up(self.eta)
                self.eta = None

    # --- lines ------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """The jobs that were planned."""
        return sum(self.eta.planned.values()) if self.eta else 0

    def _line(self, text: str, style: str = "") -> None:
        width = len(str(self.total))
        line = Text(f"{_time_of_day(self.clock())} [{self.done:>{width}}/{self.total}] ", "dim")
        line.append(text, style)
        self.console.print(line)

    def _detail(self, text: str) -> None:
        self.console.print(Text(f"    {text}"))

    def _show_logs(self, logs: Sequence[Path]) -> None:
        """The end of what the command said; of a cluster's log its own words, if that is all."""
        has_words = False
        for log in logs:
            lines, is_cut = last_lines(log, _SHOWN_LINES)
            if has_words:
                lines, is_cut = [line for line in lines if line.startswith(_OF_SLURM)], True
            self._detail(
                f"{log}, its end:" if is_cut else f"{log}:" if lines else f"{log} is empty"
            )
            for line in lines:
                self._detail(f"| {line}")
            has_words = has_words or bool(lines)

    def _result(self, job: Job) -> str:
        """What the job says that it gave; an old log says nothing about it."""
        if job.log is None:
            return ""
        is_new = job.is_local or _stamp(job.log) != job.log_before
        with suppress(OSError):
            is_new = is_new and job.log.stat().st_mtime >= job.submitted - 1
        return (result_in(job.log) or "") if is_new else ""

    def _sum_up(self, eta: Eta) -> None:
        now = self.clock()
        for failure in self.failures.values():
            self.say(f"FAILED {cut(failure.in_short())}", "bold red")
        parts = [f"{self.done} of {self.total} jobs are done in {in_seconds(now - eta.began)}"]
        if self.failures:
            parts.append(f"{len(self.failures)} failed")
        if self.jobs:
            parts.append(f"{len(self.jobs)} stopped")
        left = self.total - self.done - len(self.failures) - len(self.jobs)
        if left:
            parts.append(f"{left} not started")
        self.say(", ".join(parts) + (f"; {eta.parts(now)}" if eta.seconds else ""))
        self.say(f"Snakemake's complete log: {self.complete_log}")

    # --- what runs now ----------------------------------------------------------------------

    def _at_work(self, number: int, job: Job) -> None:
        if self.eta and job.started is not None:
            self.eta.start(number, job.rule, job.started)

    def _drop(self, number: int) -> Job | None:
        if self.eta:
            self.eta.drop(number)
        return self.jobs.pop(number, None)

    def _tick(self) -> None:
        """Look at the logs of running jobs and show the newest, until the study is over."""
        spoke = self.clock()
        while not self._is_over.wait(self._pause()):
            with suppress(Exception):  # nobody's study fails because of how it is shown
                self.look()
                if self._live:
                    with self.lock:
                        self._live.update(self.now_running(), refresh=True)
                elif self.clock() - spoke >= _HEARTBEAT_S:
                    spoke = self.clock()
                    self.heartbeat()

    def _pause(self) -> float:
        return _LIVE_S if all(job.is_local for job in list(self.jobs.values())) else _CLUSTER_S

    def look(self) -> None:
        """Take in what logs say. Files are read without the lock: a disk may be slow."""
        with self.lock:
            jobs = dict(self.jobs)
        for number, job in jobs.items():
            if job.started is None:
                job.note_start(self.clock())
                if job.started is not None:
                    with self.lock:
                        if number in self.jobs:
                            self._at_work(number, job)
        for job in self._running(jobs)[:_SHOWN_JOBS]:
            job.read_progress(self.clock())
        with self.lock:
            for number, job in jobs.items():
                if self.eta and job.expected_end is not None:
                    self.eta.expect(number, job.expected_end)

    def heartbeat(self) -> None:
        """What has run for a while and how far it is, as lines."""
        with self.lock:
            now = self.clock()
            running = self._running(self.jobs)
            long = [job for job in running if now - (job.started or now) >= _HEARTBEAT_S]
            self._line(", ".join(self._state(now)))
            for job in long[:_SHOWN_JOBS]:
                self._detail(self._row(job, now))

    def now_running(self) -> RenderableType:
        """The live rows: a bar, the time left, and the jobs that run."""
        now = self.clock()
        state = ", ".join([f"{self.done} of {self.total} jobs", *self._state(now)])
        head = Table.grid(padding=(0, 1))
        head.add_row(ProgressBar(max(1, self.total), self.done, width=24), state)
        most = max(1, min(_SHOWN_JOBS, self.console.height - 4))
        running = self._running(self.jobs)
        rows = [Text(f"  {self._row(job, now)}", no_wrap=True, overflow="ellipsis")
                for job in running[:most]]  # fmt: skip
        if len(running) > most:
            rows.append(Text(f"  and {len(running) - most} more"))
        return Group(head, *rows)

    def _state(self, now: float) -> list[str]:
        running = len(self._running(self.jobs))
        waiting = len(self.jobs) - running
        parts = [f"{running} run"]
        if waiting:
            parts.append(f"{waiting} wait in the queue")
        if self.failures:
            parts.append(f"{len(self.failures)} failed")
        if self.eta and (left := self.eta.time_left(now)):
            parts.append(left)
        return parts

    def _row(self, job: Job, now: float) -> str:
        took = in_seconds(now - (job.started or now))
        where = f"{job.place}  " if job.place else ""
        return f"{job.name:<{_WHAT_WIDTH}} {took:>11}  {where}{job.newest}".rstrip()

    def _running(self, jobs: Mapping[int, Job]) -> list[Job]:
        """The longest at work first."""
        running = [job for job in jobs.values() if job.started is not None]
        return sorted(running, key=lambda job: job.started or 0.0)


def exit_of(message: str) -> str | None:
    """How a command ended, from Snakemake's words about it."""
    found = re.search(r"non-zero exit status (\d+)|died with <Signals\.(\w+)", message)
    if found is None:
        return None
    return f"exit code {found[1]}" if found[1] else f"killed by {found[2]}"


def _exit_in(logs: Sequence[Path]) -> str | None:
    """How the command ended that a cluster ran, from the log of the Snakemake that ran it."""
    said = "\n".join(line for log in logs for line in last_lines(log, 1000)[0])
    return exit_of(said)


def _has_broken_off(log: Path) -> bool:
    return bool(newest_line(log)) and result_in(log) is None


def _stamp(path: Path) -> tuple[int, int] | None:
    """Which file it is and when it was written last; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _in_words(wildcards: Mapping[str, str]) -> str:
    return "".join(f", {key} {value}" for key, value in wildcards.items())


def _time_of_day(seconds: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(seconds))
