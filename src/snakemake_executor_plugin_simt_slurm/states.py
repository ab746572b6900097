"""What SLURM says of a job, and whether the job has come to its end."""

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

FAILED = {
    "BOOT_FAIL",
    "CANCELLED",
    "DEADLINE",
    "FAILED",
    "OUT_OF_MEMORY",
    "REVOKED",
    "TIMEOUT",
}
# SLURM may put these into its queue again under the same number, or may leave it at that.
PERHAPS_REQUEUED = {"NODE_FAIL", "PREEMPTED"}
# A job that waits for one of these reasons will never start, whatever becomes free.
NEVER_STARTS = {
    "AccountNotAllowed",
    "AssociationTimeLimit",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "InvalidAccount",
    "InvalidQOS",
    "JobHoldMaxRequeue",
    "MaxMemPerLimit",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "QOSNotAllowed",
    "QOSTimeLimit",
    "launch failed requeued held",
}
# The same for the limits of an account or quality of service on each single job, of which there is
# one for every resource: QOSMaxWallDurationPerJobLimit, AssocMaxMemPerJob, QOSMinGRES.
OF_ONE_JOB = re.compile("(QOS|Assoc)Max[A-Za-z]+PerJob|QOSMin[A-Z]")
# What sbatch calls a limit that it refuses a job by.
OF_A_POLICY = re.compile(r"\b(?:QOS|Assoc)[A-Z][A-Za-z]+")
# How often in a row a job must be seen in a doubtful state before it counts as ended.
LOOKS = 3

# Refusals of sbatch that time will end: the job waits here and is submitted again.
TEMPORARY_REFUSALS = (
    "Connection refused",
    "Job violates accounting/QOS policy (job submit limit",
    "MaxSubmitJob",
    "Socket timed out",
    "Unable to contact slurm controller",
    "Zero Bytes were transmitted or received",
    "temporarily unable to accept job",
)


@dataclass(frozen=True)
class JobState:
    """State and reason, as squeue spells them (``%T`` and ``%r``)."""

    name: str
    reason: str = ""


class End(Enum):
    """How a job has ended, if it has."""

    NONE = "runs or waits"
    SUCCESS = "has completed"
    FAILURE = "has failed"
    NEVER = "will never start"
    UNLISTED = "is no longer known to SLURM"


@dataclass
class Watch:
    """Tells from one look at the queue after the other which jobs have ended."""

    _doubts: Counter[str] = field(default_factory=Counter)

    def end(self, job: str, state: JobState | None) -> End:
        """Whether a job has ended that SLURM lists in this state, or does not list at all."""
        if state is None or state.name in PERHAPS_REQUEUED:
            self._doubts[job] += 1
            if self._doubts[job] < LOOKS:
                return End.NONE
            return End.UNLISTED if state is None else End.FAILURE
        self._doubts.pop(job, None)
        if state.name == "COMPLETED":
            return End.SUCCESS
        if state.name in FAILED:
            return End.FAILURE
        never = state.reason in NEVER_STARTS or OF_ONE_JOB.match(state.reason)
        return End.NEVER if never else End.NONE


def read_queue(said: str) -> dict[str, JobState]:
    """Every job that ``squeue --format=%i|%T|%r`` lists, by its number."""
    rows = [line.split("|", 2) for line in said.splitlines() if line.count("|") >= 2]
    return {number.strip(): JobState(name.strip(), reason.strip()) for number, name, reason in rows}


def ends_by_accounting(said: str) -> dict[str, tuple[JobState, End]]:
    """How every job ended that ``sacct --parsable2 --format=JobID,State`` lists, by its number.

    It also tells who has cancelled a job: "CANCELLED by 1000". The accounting may be behind: a job
    that it believes to run, to wait or to be requeued is left out, and its outputs decide.
    """
    rows = [line.split("|", 1) for line in said.splitlines() if "|" in line]
    states = {number: JobState(state.split()[0]) for number, state in rows if state.strip()}
    return {
        number: (state, End.SUCCESS if state.name == "COMPLETED" else End.FAILURE)
        for number, state in states.items()
        if state.name in {"COMPLETED"} | FAILED | PERHAPS_REQUEUED
    }


def is_temporary(refusal: str) -> bool:
    """Whether sbatch may accept the same job later.

    It speaks of a violated policy also where the job itself is too large for one, and then names
    the limit. Only limits on the number of jobs are met again by waiting. The plugin tells its own
    command, too, where a name such as QOSLong is no limit.
    """
    limits = OF_A_POLICY.findall(refusal.partition("sbatch call:")[0])
    is_too_large = any("Submit" not in limit for limit in limits)
    return not is_too_large and any(words in refusal for words in TEMPORARY_REFUSALS)
