"""A training on a real SLURM, interrupted in every way there is."""

import subprocess
from pathlib import Path

import pytest

from tests.samples.cluster import GPUS, NODE, SITE, SLURM, Cluster, of_rule
from tests.samples.project import BIN, LOCAL, TINY, change, run

pytestmark = pytest.mark.slow

RUN = Path("results/runs/tiny-deen/offline/bi/seed1")
LOG = Path("logs/train/tiny-deen/offline/bi/seed1.log")
UPDATES = 200_000  # more than any test waits for


def train(project: Path, cluster: Cluster) -> subprocess.Popen[bytes]:
    change(project, "pairs/tiny-deen/training/updates", UPDATES)
    change(project, "pairs/tiny-deen/training/validate_every_updates", UPDATES)
    change(project, "pairs/tiny-deen/training/snapshot_every_updates", 100)
    run(project, *LOCAL, *TINY, "--", "corpora")
    command = [BIN / SLURM[0], *SLURM[1:], *TINY, "--", str(RUN / "settings.json")]
    with (project / "said").open("wb") as said:
        return subprocess.Popen(
            command, cwd=project, env=cluster.environment | SITE, stdout=said, stderr=said
        )


def trainings(project: Path, cluster: Cluster) -> list[dict[str, str]]:
    jobs = cluster.jobs("JobID", "State", "TimeLimit", "MinMemory", "Comment", "WorkDir")
    return of_rule([job for job in jobs if job["WorkDir"] == str(project)], "train")


def has_checkpoint(project: Path) -> bool:
    return any(project.glob(f"{RUN}/work/*/checkpoints/update-*.pt"))


def resumes(project: Path) -> bool:
    return (project / LOG).exists() and "going on after update" in (project / LOG).read_text()


def cancel(cluster: Cluster, job: str) -> None:
    cluster.run("scancel", job)


def run_out_of_time(cluster: Cluster, job: str) -> None:
    # Within the warning time, and past the half minute that SLURM takes to look at limits.
    cluster.run("scontrol", "update", f"JobId={job}", "EndTime=now+120")


def preempt(cluster: Cluster, job: str) -> None:
    urgent = ("--partition=urgent", f"--gpus={GPUS}", "--mem=100", "--output=/dev/null")
    cluster.run("sbatch", "--wait", *urgent, "--wrap=true")
    start_now(cluster, job)


def lose_node(cluster: Cluster, job: str) -> None:
    cluster.run("scontrol", "update", f"NodeName={NODE}", "State=DOWN", "Reason=test")
    cluster.wait_until(lambda: not cluster.has_steps(job))
    cluster.run("scontrol", "update", f"NodeName={NODE}", "State=RESUME")
    start_now(cluster, job)


def start_now(cluster: Cluster, job: str) -> None:
    """SLURM holds a requeued job back for two minutes."""
    cluster.wait_until(lambda: "JobState=PENDING" in cluster.run("scontrol", "show", "job", job))
    cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")


def test_training_goes_on_when_cancelled_out_of_time_preempted_or_without_its_node(
    project: Path, cluster: Cluster
) -> None:
    snakemake = train(project, cluster)
    try:
        for interrupt in (cancel, run_out_of_time, preempt, lose_node):
            cluster.wait_until(lambda: has_checkpoint(project), 300)
            (project / LOG).unlink()
            (running,) = [job for job in trainings(project, cluster) if job["State"] == "RUNNING"]
            interrupt(cluster, running["JobID"])
            cluster.wait_until(lambda: resumes(project), 300)
    finally:
        snakemake.kill()
        snakemake.wait()
        for job in trainings(project, cluster):
            if job["State"] in ("PENDING", "RUNNING"):
                cancel(cluster, job["JobID"])
    # Being cancelled or out of time cost an attempt; the second and the third ask for the same.
    jobs = trainings(project, cluster)
    assert sorted(job["MinMemory"] for job in jobs) == ["16000M", "16000M", "8000M"]
    asked = {(job["MinMemory"], job["TimeLimit"]) for job in jobs}
    assert {("8000M", "4:00:00"), ("16000M", "4:00:00")} < asked  # the third was given less by us
