"""The whole study on a real SLURM: the same numbers as locally, and jobs that ask for enough."""

from pathlib import Path

import pytest

from tests.samples.cluster import SITE, SLURM, Cluster, of_rule
from tests.samples.project import TINY, copy_project, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def contents(results: Path, pattern: str) -> dict[str, bytes]:
    return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob(pattern)}


@pytest.fixture(scope="module")
def on_slurm(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tiny study has run through SLURM."""
    folder = copy_project(tmp_path_factory.mktemp("slurm"))
    run(folder, *SLURM, *TINY, environment=cluster.environment | SITE)
    return folder


@pytest.fixture
def jobs(on_slurm: Path, cluster: Cluster) -> list[dict[str, str]]:
    """Every SLURM job of the study, with what it asked for."""
    columns = ("Comment", "State", "Partition", "Account", "tres-per-job", "TimeLimit",
               "MinMemory", "NumCPUs", "WorkDir")  # fmt: skip
    return [job for job in cluster.jobs(*columns) if job["WorkDir"] == str(on_slurm)]


@pytest.mark.parametrize("pattern", ["model.pt", "*.csv"])
def test_models_and_tables_are_those_of_the_local_study(
    pattern: str, on_slurm: Path, study: Path
) -> None:
    expected = contents(study / "results", pattern)
    assert expected
    assert contents(on_slurm / "results", pattern) == expected


def test_every_job_succeeds_at_once(jobs: list[dict[str, str]]) -> None:
    assert {job["State"] for job in jobs} == {"COMPLETED"}


def test_training_asks_for_what_its_size_needs(jobs: list[dict[str, str]]) -> None:
    trainings = of_rule(jobs, "train")
    asked = {(job["tres-per-job"], job["TimeLimit"], job["MinMemory"]) for job in trainings}
    assert asked == {("gres:gpu:1", "4:00:00", "8000M")}


def test_account_and_partitions_are_those_of_the_environment(jobs: list[dict[str, str]]) -> None:
    assert {job["Account"] for job in jobs} == {"babel"}
    assert {job["Partition"] for job in of_rule(jobs, "train")} == {"gpu"}
    assert {job["Partition"] for job in of_rule(jobs, "bpe")} == {"cpu"}


@pytest.mark.parametrize("rule", ["fetch", "figure", "table", "claims"])
def test_downloads_and_drawing_stay_on_the_submit_node(
    rule: str, jobs: list[dict[str, str]]
) -> None:
    assert not of_rule(jobs, rule)


def test_short_jobs_share_slurm_jobs_that_ask_for_one_gpu(jobs: list[dict[str, str]]) -> None:
    assert not of_rule(jobs, "decode")
    groups = of_rule(jobs, "points")
    assert 0 < len(groups) < 15
    assert {job["tres-per-job"] for job in groups} == {"gres:gpu:1"}
