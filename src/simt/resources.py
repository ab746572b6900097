"""What jobs ask of the machine: GPUs, threads, time and memory, by step and size of model.

Rough on purpose: each attempt at a job may use more than the one before it, and a training that
is out of time saves, and resumes with the same time. No result depends on these numbers, except
that on a CPU another number of threads adds in another order.
"""

from dataclasses import dataclass
from typing import Any

from simt.params import Params
from simt.runs import Run


@dataclass(frozen=True)
class Resources:
    """What the first attempt at a job may use."""

    gpu: int
    threads: int
    hours: int
    memory_gb: int

    def runtime(self, wildcards: Any, attempt: int) -> int:
        """Minutes of wall time."""
        return 60 * self.hours * attempt

    def mem_mb(self, wildcards: Any, attempt: int) -> int:
        """Main memory."""
        return 1000 * self.memory_gb * attempt


Rows = dict[int, Resources]

# By the width of the model up to which a row holds: toy and CPU sizes; small and base; big.
TRAINING: Rows = {
    256: Resources(gpu=1, threads=1, hours=4, memory_gb=8),
    512: Resources(gpu=1, threads=2, hours=24, memory_gb=32),
    1024: Resources(gpu=4, threads=8, hours=24, memory_gb=64),
}
DECODING: Rows = {
    256: Resources(gpu=1, threads=1, hours=1, memory_gb=8),
    512: Resources(gpu=1, threads=2, hours=1, memory_gb=16),
    1024: Resources(gpu=1, threads=2, hours=2, memory_gb=32),
}
CORPUS = Resources(gpu=0, threads=16, hours=4, memory_gb=32)
ESTIMATOR = Resources(gpu=0, threads=1, hours=1, memory_gb=8)
SCORING = Resources(gpu=1, threads=1, hours=1, memory_gb=16)


class JobsBySize:
    """What a rule's jobs ask for by the size of their model, called as Snakemake calls."""

    def __init__(self, params: Params, rows: Rows) -> None:
        self._params = params
        self._rows = rows

    def threads(self, wildcards: Any) -> int:
        """Of the CPU."""
        return self._of(wildcards).threads

    def gpu(self, wildcards: Any) -> int:
        """How many; a training has a process for each."""
        return self._of(wildcards).gpu

    def runtime(self, wildcards: Any, attempt: int) -> int:
        """Minutes of wall time."""
        return self._of(wildcards).runtime(wildcards, attempt)

    def mem_mb(self, wildcards: Any, attempt: int) -> int:
        """Main memory."""
        return self._of(wildcards).mem_mb(wildcards, attempt)

    def _of(self, wildcards: Any) -> Resources:
        return _row(self._rows, self._params, Run.from_wildcards(wildcards))


class TrainingJobs(JobsBySize):
    """The same for trainings, which resume: each attempt goes on where the last one was."""

    def runtime(self, wildcards: Any, attempt: int) -> int:
        """Minutes of wall time, always the same: many partitions refuse more than a day or two."""
        return super().runtime(wildcards, attempt=1)

    def mem_mb(self, wildcards: Any, attempt: int) -> int:
        """Main memory, at most twice the first: most attempts follow one that was out of time."""
        return super().mem_mb(wildcards, min(attempt, 2))


def rule_resources(params: Params, rule: str, run: Run | None) -> Resources | None:
    """What a job of a rule asks for; None if nothing, and it stays where Snakemake is."""
    needs = _OF_RULE.get(rule)
    if not isinstance(needs, dict):
        return needs
    assert run is not None, rule
    return _row(needs, params, run)


_OF_RULE: dict[str, Resources | Rows] = {
    "prepare": CORPUS, "bpe": CORPUS, "estimator": ESTIMATOR, "train": TRAINING,
    "decode": DECODING, "confidences": DECODING, "states": DECODING, "score": SCORING,
}  # fmt: skip


def _row(rows: Rows, params: Params, run: Run) -> Resources:
    """The first row that is wide enough for a run's model; beyond the last, the last."""
    width = params.model[params.model_preset(run.pair, run.method, run.variant)].width
    return next((row for limit, row in rows.items() if width <= limit), list(rows.values())[-1])
