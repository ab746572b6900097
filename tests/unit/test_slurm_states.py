"""When a job has ended, by what SLURM says of it."""

import asyncio
import logging
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo

from snakemake_executor_plugin_simt_slurm import Executor
from snakemake_executor_plugin_simt_slurm.states import (
    LOOKS,
    End,
    JobState,
    Watch,
    ends_by_accounting,
    is_temporary,
    read_queue,
)

RUNNING = JobState("RUNNING", "None")
DOUBTFUL = [JobState("PREEMPTED", "None"), JobState("NODE_FAIL", "None"), None]


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("7|COMPLETED|None", End.SUCCESS),
        ("7|FAILED|NonZeroExitCode", End.FAILURE),
        ("7|TIMEOUT|TimeLimit", End.FAILURE),
        ("7|OUT_OF_MEMORY|OutOfMemory", End.FAILURE),
        ("7|CANCELLED|None", End.FAILURE),
        ("7|RUNNING|None", End.NONE),
        ("7|COMPLETING|None", End.NONE),
        ("7|PENDING|Priority", End.NONE),
        ("7|PENDING|BeginTime", End.NONE),
        ("7|PENDING|JobHeldUser", End.NONE),  # somebody's wish
        ("7|PENDING|PartitionTimeLimit", End.NEVER),
        ("7|PENDING|launch failed requeued held", End.NEVER),
        ("7|PENDING|QOSMaxWallDurationPerJobLimit", End.NEVER),
        ("7|PENDING|AssocMaxMemPerJob", End.NEVER),
        ("7|PENDING|QOSMaxJobsPerUserLimit", End.NONE),  # until another one ends
        ("7|PENDING|AssocGrpCPUMinutesLimit", End.NONE),  # until the next month
    ],
)
def test_line_of_squeue_tells_how_a_job_has_ended(said: str, end: End) -> None:
    assert Watch().end("7", read_queue(said)["7"]) is end


@pytest.mark.parametrize("state", DOUBTFUL)
def test_doubtful_state_is_an_end_if_it_lasts(state: JobState | None) -> None:
    watch = Watch()
    looks = [watch.end("7", state) for _ in range(LOOKS)]
    assert looks[:-1] == [End.NONE] * (LOOKS - 1)
    assert looks[-1] is (End.UNLISTED if state is None else End.FAILURE)


@given(st.lists(st.sampled_from([*DOUBTFUL, RUNNING]), max_size=12))
def test_job_ends_after_as_many_doubtful_looks_in_a_row_and_no_fewer(
    states: list[JobState | None],
) -> None:
    watch = Watch()
    for number, state in enumerate(states, 1):
        recent = states[max(0, number - LOOKS) : number]
        has_lasted = len(recent) == LOOKS and RUNNING not in recent
        assert (watch.end("7", state) is not End.NONE) == has_lasted


def test_states_of_other_jobs_do_not_count() -> None:
    watch = Watch()
    for _ in range(LOOKS - 1):
        assert watch.end("7", None) is End.NONE
    assert watch.end("8", None) is End.NONE


def test_sacct_tells_of_several_jobs_how_they_ended_and_who_has_cancelled_one() -> None:
    assert ends_by_accounting("7|COMPLETED\n8|CANCELLED by 1000\n9|TIMEOUT\n10|\n\n") == {
        "7": (JobState("COMPLETED"), End.SUCCESS),
        "8": (JobState("CANCELLED"), End.FAILURE),
        "9": (JobState("TIMEOUT"), End.FAILURE),
    }
    assert ends_by_accounting("") == {}


@pytest.mark.parametrize("state", ["NODE_FAIL", "PREEMPTED"])
def test_job_that_only_the_accounting_knows_will_not_be_requeued(state: str) -> None:
    assert ends_by_accounting(f"7|{state}") == {"7": (JobState(state), End.FAILURE)}


def put_programs(folder: Path, **says: str) -> None:
    """Programs that print a line each, whatever they are asked."""
    for name, line in says.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{line}'\n")
        program.chmod(0o755)


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "COMPLETING", "REQUEUED", "SUSPENDED"])
def test_accounting_that_is_behind_leaves_the_answer_to_the_outputs(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_programs(tmp_path, squeue="", sacct=f"4711|{state}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    executor = Executor.__new__(Executor)
    executor.run_uuid, executor._is_silent, executor._watch = "a-run", False, Watch()
    looks = [asyncio.run(executor._ends_of(["4711"])) for _ in range(LOOKS)]
    assert looks[-1] == {"4711": (None, End.UNLISTED)}


def test_full_queue_and_silent_controller_are_temporary_and_a_wrong_account_is_not() -> None:
    assert is_temporary("sbatch: error: QOSMaxSubmitJobPerUserLimit")
    assert is_temporary("sbatch: error: Unable to contact slurm controller (connect failure)")
    assert not is_temporary("Invalid account or account/partition combination specified")


def test_job_that_is_too_large_for_the_policy_is_not_submitted_again_and_again() -> None:
    policy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
    assert is_temporary(f"sbatch: error: AssocMaxSubmitJobLimit\n{policy}")
    assert is_temporary(f"sbatch: error: AssocGrpSubmitJobsLimit\n{policy}")
    assert is_temporary(f"{policy}'.\n    sbatch call:\n        sbatch --qos=QOSLong --wrap=x")
    for limit in ("QOSMaxWallDurationPerJobLimit", "QOSMaxGRESPerUser", "AssocGrpGRES"):
        assert not is_temporary(f"sbatch: error: {limit}\n{policy}")


@pytest.mark.parametrize(("age_seconds", "end"), [(0, End.SUCCESS), (3600, End.FAILURE)])
def test_job_that_slurm_has_forgotten_is_done_if_its_outputs_are_newer_than_it(
    age_seconds: int, end: End, tmp_path: Path
) -> None:
    """Those of an earlier job lie there until a new one begins."""
    output = tmp_path / "model.pt"
    output.touch()
    os.utime(output, (time.time() - age_seconds,) * 2)
    executor = Executor.__new__(Executor)
    executor.logger = logging.getLogger("test")
    executor._submitted = {7: time.time()}
    job = SimpleNamespace(jobid=7, output=[str(output)])
    assert executor._end_by_outputs(SubmittedJobInfo(job, external_jobid="4711")) is end
    output.unlink()
    assert executor._end_by_outputs(SubmittedJobInfo(job, external_jobid="4711")) is End.FAILURE
