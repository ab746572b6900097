"""Jobs on a real SLURM of two nodes: whatever becomes of them, each is seen to end, and is made."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from simt.rehearsal.outcome import error_blocks
from tests.samples.cluster import GPUS, Cluster, missing_programs, of_rule
from tests.samples.project import BIN

pytestmark = pytest.mark.slow

# Each job says that it has started, and ends when it may.
SNAKEFILE = """
rule all:
    input: expand("{fate}.made", fate=config["fates"].split("+"))

rule work:
    output: "{fate}.made"
    resources:
        slurm_partition=lambda wildcards: PARTITIONS.get(wildcards.fate, "cpu"),
        runtime=lambda wildcards, attempt: 1 if wildcards.fate == "toolong" and attempt > 1 else 60,
    shell:
        "echo $SLURM_JOB_ID >> {wildcards.fate}.started;"
        " while test ! -e {wildcards.fate}.may-end; do sleep 0.1; done; echo made > {output}"

PARTITIONS = {"cancelled": "spare", "requeued": "gpu", "toolong": "short"}
"""
SUBMIT_LIMIT, INVALID_ACCOUNT = 2050, 2045  # slurm_errno.h
PROFILE = (
    "--executor=simt-slurm", "--jobs=8", "--retries=2", "--latency-wait=5", "--keep-going",
    "--simt-slurm-init-seconds-before-status-checks=1", "--simt-slurm-requeue",
    "--default-resources", "mem_mb=500",
)  # fmt: skip


@pytest.fixture
def two_nodes() -> Iterator[Cluster]:
    if missing := missing_programs():
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: slurmctld slurmd munge)")
    cluster = Cluster(nodes=2)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


class Workflow:
    """A Snakemake that runs one job for each fate."""

    def __init__(self, folder: Path, cluster: Cluster, *fates: str) -> None:
        self.folder, self.cluster = folder, cluster
        (folder / "Snakefile").write_text(SNAKEFILE)
        command = [BIN / "snakemake", *PROFILE, "--config", f"fates={'+'.join(fates)}"]
        with (folder / "said").open("wb") as said:
            self.snakemake = subprocess.Popen(
                command, cwd=folder, env=cluster.environment, stdout=said, stderr=said
            )

    def starts(self, fate: str) -> list[str]:
        """The SLURM jobs in which a job has started so far."""
        file = self.folder / f"{fate}.started"
        return file.read_text().split() if file.exists() else []

    def wait_for_start(self, fate: str, number: int = 1) -> str:
        """The SLURM job of the given start of a job."""
        self.cluster.wait_until(lambda: len(self.starts(fate)) >= number, 120)
        return self.starts(fate)[-1]

    def let_end(self, *fates: str) -> None:
        for fate in fates:
            (self.folder / f"{fate}.may-end").touch()

    def said(self) -> str:
        return (self.folder / "said").read_text()

    def end(self) -> int:
        try:
            return self.snakemake.wait(300)
        finally:
            self.snakemake.kill()


def preempt(cluster: Cluster) -> None:
    """A job that wants all of both nodes, and goes before all others."""
    gpus = ("--nodes=2", f"--gpus-per-node={GPUS}", "--exclusive")
    cluster.run("sbatch", "--wait", "--partition=urgent", *gpus, "--output=/dev/null",
                "--wrap=true")  # fmt: skip


def start_requeued(cluster: Cluster, job: str) -> None:
    """SLURM holds a requeued job back for two minutes."""
    cluster.wait_until(lambda: "JobState=PENDING" in cluster.run("scontrol", "show", "job", job))
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")


def test_jobs_that_are_preempted_refused_or_too_long_are_made_in_the_end(
    tmp_path: Path, two_nodes: Cluster
) -> None:
    two_nodes.refuse(SUBMIT_LIMIT)
    workflow = Workflow(tmp_path, two_nodes, "cancelled", "requeued", "toolong")
    two_nodes.wait_until(lambda: "does not take a job now" in workflow.said(), 120)
    two_nodes.refuse(None)
    workflow.let_end("toolong")
    two_nodes.wait_until((tmp_path / "toolong.made").exists, 120)  # its partition is not preempted
    workflow.wait_for_start("cancelled")
    requeued = workflow.wait_for_start("requeued")
    preempt(two_nodes)
    start_requeued(two_nodes, requeued)
    workflow.wait_for_start("requeued", 2)
    workflow.let_end("cancelled", "requeued")
    assert workflow.end() == 0, workflow.said()
    assert len(set(workflow.starts("cancelled"))) == 2  # another job
    assert len(set(workflow.starts("requeued"))) == 1  # the same one again
    said = workflow.said()
    assert "SLURM status is: 'PREEMPTED'" in said
    assert "it would wait for ever (PartitionTimeLimit) and was cancelled" in said


def test_job_ends_although_its_node_and_the_controller_went_away(
    tmp_path: Path, two_nodes: Cluster
) -> None:
    workflow = Workflow(tmp_path, two_nodes, "unattended", "elsewhere")
    workflow.wait_for_start("unattended")
    job = workflow.wait_for_start("elsewhere")
    (lost,) = [row["NodeList"] for row in two_nodes.jobs("JobID", "NodeList")
               if row["JobID"] == job]  # fmt: skip
    two_nodes.run("scontrol", "update", f"NodeName={lost}", "State=DOWN", "Reason=test")
    start_requeued(two_nodes, job)
    workflow.wait_for_start("elsewhere", 2)
    two_nodes.run("scontrol", "update", f"NodeName={lost}", "State=RESUME")
    two_nodes.stop_controller()
    two_nodes.wait_until(lambda: "SLURM does not answer" in workflow.said(), 120)
    workflow.let_end("unattended", "elsewhere")
    two_nodes.start_controller()
    assert workflow.end() == 0, workflow.said()
    assert "SLURM answers again" in workflow.said()


def test_job_that_slurm_has_forgotten_is_made_again(tmp_path: Path, two_nodes: Cluster) -> None:
    workflow = Workflow(tmp_path, two_nodes, "forgotten")
    workflow.wait_for_start("forgotten")
    two_nodes.stop_controller()
    shutil.rmtree(two_nodes.folder / "state")
    (two_nodes.folder / "state").mkdir()
    two_nodes.start_controller()
    workflow.wait_for_start("forgotten", 2)
    workflow.let_end("forgotten")
    assert workflow.end() == 0, workflow.said()
    assert "no longer listed; its outputs are not there" in workflow.said()


def test_refusal_that_will_not_change_ends_the_study_with_its_reason(
    tmp_path: Path, two_nodes: Cluster
) -> None:
    two_nodes.refuse(INVALID_ACCOUNT)
    workflow = Workflow(tmp_path, two_nodes, "unpaid")
    assert workflow.end() == 1
    assert "Invalid account or account/partition combination" in workflow.said()
    assert not of_rule(two_nodes.jobs("Comment"), "work")


def test_job_that_cannot_be_cancelled_now_does_not_end_the_study(
    tmp_path: Path, two_nodes: Cluster
) -> None:
    scancel = two_nodes.folder / "scancel"
    scancel.write_text("#!/bin/sh\necho Socket timed out on send/recv operation >&2\nexit 1\n")
    scancel.chmod(0o755)
    workflow = Workflow(tmp_path, two_nodes, "toolong", "elsewhere")
    two_nodes.wait_until(lambda: "and could not be cancelled: `scancel " in workflow.said(), 120)
    scancel.unlink()
    workflow.let_end("toolong", "elsewhere")
    assert workflow.end() == 0, workflow.said()


def test_array_jobs_are_refused(tmp_path: Path, two_nodes: Cluster) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    done = subprocess.run(
        [BIN / "snakemake", *PROFILE, "--simt-slurm-array-jobs=all", "--config", "fates=one+other"],
        cwd=tmp_path, env=two_nodes.environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "simt-slurm submits no array jobs" in done.stderr
    assert not two_nodes.jobs("JobID")


GROUPED = """
rule all:
    input: "1.made", "2.made", "3.made"

rule alone:
    output: "{number}.made"
    group: "together"
    log: "{number}.log"
    resources:
        slot=1, slurm_partition=config.get("partition", "cpu"), runtime=config.get("minutes", 1)
    shell: "mkdir busy && sleep 1 && rmdir busy && echo $SLURM_JOB_ID > {output}"
"""
SLOTS = ("--group-components", "together=3", "--resources", "slot=1", "--set-resource-scopes",
         "slot=local", "--cores=3")  # fmt: skip


def test_jobs_of_a_group_run_in_one_slurm_job_within_its_limits(
    tmp_path: Path, two_nodes: Cluster
) -> None:
    (tmp_path / "Snakefile").write_text(GROUPED)
    done = subprocess.run(
        [BIN / "snakemake", *PROFILE, *SLOTS], cwd=tmp_path, env=two_nodes.environment,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len({file.read_text() for file in tmp_path.glob("*.made")}) == 1
    assert len(two_nodes.jobs("JobID")) == 1  # no job was tried twice


@pytest.mark.parametrize(
    ("choice", "reason"),
    [("partition=nowhere", "invalid partition specified: nowhere"),
     ("minutes=600", "it would wait for ever (PartitionTimeLimit)")],
)  # fmt: skip
def test_group_that_slurm_does_not_start_says_why(
    choice: str, reason: str, tmp_path: Path, two_nodes: Cluster
) -> None:
    (tmp_path / "Snakefile").write_text(GROUPED)
    done = subprocess.run(
        [BIN / "snakemake", *PROFILE, *SLOTS, "--retries=0", "--config", "partition=short", choice],
        cwd=tmp_path, env=two_nodes.environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert reason in done.stderr
    (log,) = tmp_path.glob(".snakemake/log/*.log")
    told = [block for block in error_blocks(log) if "1.log" in block and reason in block]
    assert len(told) == 1


def test_jobs_that_are_being_submitted_at_ctrl_c_are_cancelled(
    tmp_path: Path, two_nodes: Cluster
) -> None:
    workflow = Workflow(tmp_path, two_nodes, "one", "other")
    two_nodes.wait_until(lambda: "Execute 2 jobs" in workflow.said(), 120)
    workflow.snakemake.send_signal(signal.SIGINT)
    assert workflow.end() == 1, workflow.said()
    states = [row["State"] for row in two_nodes.jobs("State")]
    assert set(states) <= {"CANCELLED", "COMPLETING"}
