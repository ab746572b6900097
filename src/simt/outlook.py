"""How long a study will still take, judged by the jobs that are done."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Outlook:
    """The jobs of each rule that were planned, and the seconds that finished ones have taken."""

    planned: Mapping[str, int]
    began: float
    running: dict[int, tuple[str, float]] = field(default_factory=dict)  # rule and start
    done: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def start(self, job: int, rule: str, now: float) -> None:
        """Note that a job is at work."""
        self.running[job] = (rule, now)

    def finish(self, job: int, now: float) -> None:
        """Note that a job is done; one that was not seen to begin teaches nothing."""
        if job not in self.running:
            return
        rule, started = self.running.pop(job)
        self.done[rule] += 1
        self.seconds[rule] = self.seconds.get(rule, 0.0) + now - started

    def drop(self, job: int) -> None:
        """Note that a job has failed: it is no longer at work, and teaches nothing."""
        self.running.pop(job, None)

    def describe(self, now: float) -> str:
        """Jobs done and time left; in the end, how long each part took.

        A rule of which no job is done yet cannot be judged: the time is then a lower bound.
        Jobs go on side by side as they have so far.
        """
        left = {rule: number - self.done[rule] for rule, number in self.planned.items()}
        work = sum(n * self.seconds[rule] / self.done[rule] for rule, n in left.items()
                   if self.done[rule])  # fmt: skip
        busy = sum(self.seconds.values()) + sum(now - start for _, start in self.running.values())
        at_a_time = max(1.0, busy / max(now - self.began, 1e-9))
        is_open = any(n > 1 and not self.done[rule] for rule, n in left.items())
        about = "at least" if is_open else "about"
        progress = f"{sum(self.done.values())} of {sum(self.planned.values())} jobs are done"
        if not any(left.values()):
            return f"{progress} in {_duration(now - self.began)}; {self._parts(at_a_time)}"
        return f"{progress}, {about} {_duration(work / at_a_time)} left"

    def _parts(self, at_a_time: float) -> str:
        rules = sorted(self.seconds, key=lambda rule: -self.seconds[rule])
        parts = [f"{rule} {self.seconds[rule] / 60:.1f} ({self.done[rule]})" for rule in rules]
        return f"minutes (jobs) of each rule, {at_a_time:.1f} at a time: {', '.join(parts)}"


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
