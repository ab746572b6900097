"""How long a study will still take, by the jobs that are done and the bars of those at work."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean


@dataclass
class Eta:
    """The jobs of each rule that were planned, and the seconds that finished ones have taken."""

    planned: Mapping[str, int]
    began: float
    running: dict[int, tuple[str, float]] = field(default_factory=dict)  # rule and start
    ends: dict[int, float] = field(default_factory=dict)  # of running jobs, by their own words
    done: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def start(self, job: int, rule: str, now: float) -> None:
        """Note that a job is at work."""
        self.running[job] = (rule, now)

    def expect(self, job: int, end: float) -> None:
        """Note when a job that is at work will be done, by what it says itself."""
        if job in self.running:
            self.ends[job] = end

    def finish(self, job: int, now: float) -> None:
        """Note that a job is done; one that was not seen to begin teaches nothing."""
        self.ends.pop(job, None)
        if job not in self.running:
            return
        rule, started = self.running.pop(job)
        self.done[rule] += 1
        self.seconds[rule] = self.seconds.get(rule, 0.0) + now - started

    def drop(self, job: int) -> None:
        """Note that a job has failed: it is no longer at work, and teaches nothing."""
        self.running.pop(job, None)
        self.ends.pop(job, None)

    def time_left(self, now: float) -> str:
        """In words; nothing before the first job is done, or says itself how far it is.

        Before the first of its jobs is done, a rule cannot be judged: what its jobs say may be
        about the first of several parts, or about the rest of one that was resumed. The time is
        then a lower bound. Jobs go on side by side as they have so far, which on a cluster counts
        the queue, too.
        """
        if not self.seconds and not self.ends:
            return ""
        at_work = Counter(rule for rule, _ in self.running.values())
        left = {rule: number - self.done[rule] for rule, number in self.planned.items()}
        is_open = any(
            not self.done[rule] and (n > 1 or rule in at_work) for rule, n in left.items()
        )
        to_begin = sum((n - at_work[rule]) * (self._mean(rule) or 0) for rule, n in left.items())
        under_way = sum(self._left_of(job, now) for job in self.running)
        about = "at least" if is_open else "about"
        return f"{about} {in_minutes((to_begin + under_way) / self._at_a_time(now))} left"

    def parts(self, now: float) -> str:
        """How long the jobs of each rule took, the longest first."""
        rules = sorted(self.seconds, key=lambda rule: -self.seconds[rule])
        parts = [f"{rule} {self.seconds[rule] / 60:.1f} ({self.done[rule]})" for rule in rules]
        at_a_time = f"{self._at_a_time(now):.1f} at a time"
        return f"minutes (jobs) of each rule, {at_a_time}: {', '.join(parts)}"

    def _mean(self, rule: str) -> float | None:
        """Seconds of a job of this rule, as those that are done took, or else as others expect."""
        if self.done[rule]:
            return self.seconds[rule] / self.done[rule]
        expected = [
            end - self.running[job][1]
            for job, end in self.ends.items()
            if self.running[job][0] == rule
        ]
        return mean(expected) if expected else None

    def _left_of(self, job: int, now: float) -> float:
        """Seconds that a running job will still take; 0 if nothing is known."""
        rule, start = self.running[job]
        end = self.ends.get(job, start + (self._mean(rule) or 0))
        return max(0.0, end - now)

    def _at_a_time(self, now: float) -> float:
        busy = sum(self.seconds.values()) + sum(now - start for _, start in self.running.values())
        return max(1.0, busy / max(now - self.began, 1e-9))


def in_minutes(seconds: float) -> str:
    """A time as one guesses it, in whole minutes."""
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def in_seconds(seconds: float) -> str:
    """A time as it was measured."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60:02} s" if whole < 3600 else in_minutes(seconds)
