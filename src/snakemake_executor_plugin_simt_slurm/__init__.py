"""A SLURM executor for studies that run for days without a person: `executor: simt-slurm`.

The executor of snakemake-executor-plugin-slurm waits for ever on a job that was preempted by
cancelling it, that SLURM no longer lists, whose limits let it never start, or whose submission
raised an error; it gives jobs up for lost when the controller does not answer for a while, and
takes a full queue for a failure. Here each of these comes to an end, with a line that says so.

It also runs the jobs of a group all at once, with the memory of one, and has two Snakemakes in
each SLURM job, one inside the other: here these are one, and keep to the limits of a group. What
else is submitted, and all settings, are those of that plugin.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from snakemake_executor_plugin_slurm import Executor as SlurmExecutor
from snakemake_executor_plugin_slurm import ExecutorSettings, common_settings
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from snakemake_executor_plugin_simt_slurm.states import (
    End,
    JobState,
    Watch,
    ends_by_accounting,
    is_temporary,
    read_queue,
)

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

# The plugin waits five seconds before each submission: this many may wait side by side.
SUBMISSIONS_AT_A_TIME = 8
SECONDS_BETWEEN_SUBMISSIONS = 30  # of a job that was refused for now
SECONDS_OF_SUBMISSIONS = 24 * 3600  # then a refusal counts as final
SECONDS_FOR_AN_ANSWER = 60
SECONDS_BETWEEN_CLOCKS = 10  # by which that of a file server may be behind
LONGEST_PAUSE_SECONDS = 60  # between two looks at the queue
_SACCT = ("sacct", "-X", "--noheader", "--parsable2", "--format=JobID,State")


class Executor(SlurmExecutor):  # type: ignore[misc] # the plugin has no types
    """Submits jobs as the plugin does, and sees every one of them end."""

    _pause_seconds = 1  # here, since jobs are watched before __post_init__ has come to its end

    def __post_init__(self, test_mode: bool = False) -> None:
        super().__post_init__(test_mode)
        if self.array_jobs:
            raise WorkflowError("simt-slurm submits no array jobs: leave out array-jobs")
        self._job_submission_executor = ThreadPoolExecutor(
            SUBMISSIONS_AT_A_TIME, thread_name_prefix="slurm_job_submit"
        )
        self._ends = threading.Event()
        self._submission = threading.local()
        self._said: set[str] = set()
        self._submitted: dict[Any, float] = {}  # when, by Snakemake's number of the job
        self._watch = Watch()
        self._is_silent = False

    # --- submitting -------------------------------------------------------------------------------

    def run_job(self, job: Any) -> None:
        """Submits a job, while SLURM takes none again and again; it is reported in any case."""
        last = time.monotonic() + SECONDS_OF_SUBMISSIONS
        self._submitted[job.jobid] = time.time()
        while not self._ends.is_set():
            self._submission.is_last = time.monotonic() > last
            self._submission.was_refused = False
            try:
                super().run_job(job)
            except Exception as error:  # nobody looks at the thread that this is in
                self._report_job_error_threadsafe(SubmittedJobInfo(job), f"{error}\n")
            if not self._submission.was_refused:
                return
            self._ends.wait(SECONDS_BETWEEN_SUBMISSIONS)

    def _report_job_error_threadsafe(self, job_info: SubmittedJobInfo, msg: str) -> None:
        """What the plugin does with a job that sbatch has refused."""
        if not is_temporary(msg) or self._submission.is_last:
            super()._report_job_error_threadsafe(job_info, msg)
            return
        self._submission.was_refused = True
        self._say_once(
            f"SLURM does not take a job now, which is tried again every "
            f"{SECONDS_BETWEEN_SUBMISSIONS} s: {_reason(msg)}"
        )

    def _say_once(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self.logger.warning(message)

    def additional_general_args(self) -> str:
        """What the jobs of a group share; and no executor, so that its Snakemake runs them itself.

        The plugin has it start another Snakemake with srun, which reads the workflow once more.
        A command that is to be a step of its own says so (`launcher` in the profile). Snakemake
        asks SLURM for what a group needs within its limits, but does not tell the group of them.
        """
        is_local = self.workflow.resource_scopes.is_local
        limits = self.workflow.resource_settings.resources.items()
        shared = [f"{name}={limit.value}" for name, limit in limits if is_local(name)]
        return f"--resources {' '.join(shared)}" if shared else ""

    def get_account_arg(self, job: Any) -> Iterator[str]:
        """Nothing: sbatch knows the account from SBATCH_ACCOUNT, and says if it is wrong."""
        yield ""

    def print_job_error(
        self, job_info: SubmittedJobInfo, msg: str | None = None, **kwargs: Any
    ) -> None:
        """Why a job has failed; Snakemake says nothing of it where that is a group of jobs."""
        job = job_info.job
        if job.is_group() and msg:
            logs = ", ".join(str(log) for member in job.jobs for log in member.log)
            self.logger.error(
                f"Error in group {job.groupid}:\n    message: {msg.strip()}\n    log: {logs}"
            )
        super().print_job_error(job_info, msg, **kwargs)

    def _report_job_submission_threadsafe(self, job_info: SubmittedJobInfo) -> None:
        """Each submission takes seconds: one that comes to its end after Ctrl-C is taken back."""
        if self._ends.is_set():
            super().cancel_jobs([job_info])
        else:
            super()._report_job_submission_threadsafe(job_info)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        self._ends.set()
        super().cancel_jobs(active_jobs)

    def shutdown(self) -> None:
        self._ends.set()
        super().shutdown()

    # --- watching ---------------------------------------------------------------------------------

    async def check_active_jobs(
        self, active_jobs: list[SubmittedJobInfo]
    ) -> AsyncIterator[SubmittedJobInfo]:
        """The jobs that have not ended; of the others it is reported how they ended."""
        ends = await self._ends_of([info.external_jobid for info in active_jobs])
        has_ended = False
        for info in active_jobs:
            state, end = ends[info.external_jobid]
            if end is End.NONE:
                yield info
            else:
                self._report_end(info, state, end)
                has_ended = True
        self._pause(has_ended or not active_jobs)

    async def _ends_of(self, jobs: list[str]) -> dict[str, tuple[JobState | None, End]]:
        """How each job has ended, if it has; sacct is asked once for all that squeue forgot."""
        queue = await self._queue() if jobs else {}
        if queue is None:
            return dict.fromkeys(jobs, (None, End.NONE))
        ends = {job: (queue.get(job), self._watch.end(job, queue.get(job))) for job in jobs}
        if forgotten := [job for job, (_, end) in ends.items() if end is End.UNLISTED]:
            ends |= ends_by_accounting(
                await _output(*_SACCT, f"--jobs={','.join(forgotten)}") or ""
            )
        return ends

    async def _queue(self) -> dict[str, JobState] | None:
        """All jobs of this run; None while SLURM does not answer, so that none is given up."""
        command = ["squeue", "--states=all", "--noheader", "--format=%i|%T|%r"]
        said = await _output(*command, f"--name={self.run_uuid}")
        if said is None and not self._is_silent:
            self.logger.warning("SLURM does not answer; jobs go on, and so does the waiting.")
        if said is not None and self._is_silent:
            self.logger.warning("SLURM answers again.")
        self._is_silent = said is None
        return None if said is None else read_queue(said)

    def _pause(self, is_short: bool) -> None:
        shortest = self.workflow.executor_settings.init_seconds_before_status_checks
        self._pause_seconds = min(2 * self._pause_seconds, LONGEST_PAUSE_SECONDS)
        if is_short:
            self._pause_seconds = shortest
        self.next_seconds_between_status_checks = self._pause_seconds

    def _report_end(self, info: SubmittedJobInfo, state: JobState | None, end: End) -> None:
        if end is End.UNLISTED:
            end = self._end_by_outputs(info)
        if end is End.SUCCESS:
            self._report_success(info)
            return
        how = "" if state is None else f", SLURM status is: '{state.name}'"
        if end is End.NEVER and state is not None:
            how = f": it would wait for ever ({state.reason}) and {self._cancelled(info)}"
        self._report_failure(info, how)

    def _cancelled(self, info: SubmittedJobInfo) -> str:
        """Takes a job back; if SLURM cannot now, the other jobs are watched all the same."""
        try:
            super().cancel_jobs([info])
        except WorkflowError:
            return f"could not be cancelled: `scancel {info.external_jobid}` does that later"
        return "was cancelled"

    def _end_by_outputs(self, info: SubmittedJobInfo) -> End:
        """How a job ended of which SLURM knows nothing any more.

        A step gives a file its name when the file is whole, so outputs that are there are good;
        but those of an earlier job lie there until a new one begins.
        """
        since = self._submitted[info.job.jobid] - SECONDS_BETWEEN_CLOCKS
        is_made = all(_is_newer(Path(path), since) for path in info.job.output)
        self.logger.warning(
            f"SLURM job {info.external_jobid} is no longer listed; its outputs are "
            + ("there: it counts as done." if is_made else "not there, or old: it has failed.")
        )
        return End.SUCCESS if is_made else End.FAILURE

    def _report_success(self, info: SubmittedJobInfo) -> None:
        self.report_job_success(info)
        if not self.workflow.executor_settings.keep_successful_logs:
            info.aux["slurm_logfile"].unlink(missing_ok=True)

    def _report_failure(self, info: SubmittedJobInfo, how: str) -> None:
        message = f"SLURM-job '{info.external_jobid}' failed{how}. "
        self.report_job_error(info, msg=message, aux_logs=[str(info.aux["slurm_logfile"])])


def _is_newer(path: Path, second: float) -> bool:
    try:
        return path.stat().st_mtime >= second
    except OSError:
        return False


async def _output(*command: str) -> str | None:
    """What a command prints; None if it is not there, fails or takes too long."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return None
    try:
        said, _ = await asyncio.wait_for(process.communicate(), SECONDS_FOR_AN_ANSWER)
    except TimeoutError:
        process.kill()
        return None
    return said.decode() if process.returncode == 0 else None


def _reason(message: str) -> str:
    """Why sbatch has refused a job, out of all that the plugin says of it."""
    return message.partition("The error message was '")[2].partition("'.\n")[0] or message.strip()
