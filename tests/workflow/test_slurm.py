"""The study on a real SLURM, under faults: the numbers of the local one, and what jobs ask for."""

import re
from pathlib import Path

import pytest

from tests.samples.cluster import SITE, Cluster, of_rule, quick_profile
from tests.samples.project import ROOT, contents, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


@pytest.fixture(scope="module")
def on_slurm(cluster: Cluster, study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tiny study has run through SLURM, and met faults of every kind."""
    folder = tmp_path_factory.mktemp("slurm")
    said = run(
        ROOT, "simt", "faults", "--profile", str(quick_profile(folder)), "--baseline", str(study),
        "--to", str(folder), "--number", "10", environment=cluster.environment | SITE,
    )  # fmt: skip
    for fault in ("SIGKILL", "SIGTERM", "write error", "Snakemake killed", "scancel"):
        assert f"2 × {fault}" in said
    return folder / "disturbed"


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


def test_finished_jobs_say_what_they_gave(on_slurm: Path) -> None:
    said = on_slurm.with_name("disturbed.log").read_text(encoding="utf-8")
    assert re.search(r"\] train tiny-deen/\S+/seed1 .* updates, validation loss", said)
    assert re.search(r"\] score tiny-deen/\S+/seed1/test .* BLEU .* at AL", said)


def test_first_attempt_at_a_training_asks_for_what_its_size_needs(
    jobs: list[dict[str, str]],
) -> None:
    trainings = of_rule(jobs, "train")
    asked = [(job["tres-per-job"], job["TimeLimit"], job["MinMemory"]) for job in trainings]
    assert asked.count(("gres:gpu:1", "4:00:00", "8000M")) >= 20  # as many as there are runs


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
    assert 0 < len(groups) < 29  # decodings
    assert {job["tres-per-job"] for job in groups} == {"gres:gpu:1"}
