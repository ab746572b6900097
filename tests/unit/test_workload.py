"""Every job of a study, before it runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from simt.params import Params, load_params
from simt.schedule import Machine
from simt.timings import Timing
from simt.workload import PlannedJob, Workload, study_workload

FILE = Path(__file__).parents[2] / "params.yaml"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def timing(seconds: float) -> Timing:
    return Timing(0, seconds, seconds, has_gpu=False)


def test_every_job_waits_for_what_it_reads(params: Params) -> None:
    jobs = {job.name: job for job in study_workload(params, Machine(cores=2), {}).jobs}
    assert jobs["train/tiny-deen/sm2/bi-ft/seed1"].after == (
        "bpe/tiny-deen", "train/tiny-deen/offline/bi/seed1",
    )  # fmt: skip
    assert set(jobs["score/tiny-deen/sm2/bi/seed1/test"].after) == {
        "decode/tiny-deen/sm2/bi/seed1/test", "estimator/tiny-deen"
    }  # fmt: skip
    assert jobs["fetch/tiny-deen"].after == ()


def test_every_job_takes_what_its_rule_asks_for(params: Params) -> None:
    paper = replace(params, study="paper")
    jobs = {job.name: job for job in study_workload(paper, Machine(8), {}).jobs}

    def needs(name: str) -> tuple[int, int]:
        return jobs[name].gpus, jobs[name].threads

    assert needs("fetch/wmt15-deen") == (0, 1)
    assert needs("prepare/wmt15-deen") == (0, 16)
    assert needs("train/wmt15-deen/offline/bi-big/seed1") == (4, 8)
    assert needs("decode/wmt15-deen/offline/bi-big/seed1/test") == (1, 2)
    assert needs("figure/paper/fig03-bleu-al") == (0, 1)


def test_what_nothing_tells_is_unknown_and_takes_but_its_start(params: Params) -> None:
    timings = {"bpe/tiny-deen": timing(5)}
    workload = study_workload(params, Machine(cores=2), timings)
    assert {job.rule for job in workload.jobs} - {job.rule for job in workload.unknown} == {"bpe"}
    chain = {job.name: job.seconds for job in workload.critical_path}
    assert (chain["fetch/tiny-deen"], chain["bpe/tiny-deen"]) == (1.0, 6.0)


JOBS = (
    PlannedJob("train/a", "runs", gpus=4, threads=8, after=(), is_done=True, seconds=400),
    PlannedJob("train/b", "runs", gpus=1, threads=1, after=("train/a",), is_done=False, seconds=50),
)


def test_several_gpus_share_a_training_up_to_what_it_asks_for() -> None:
    walls = [Workload(Machine(n), JOBS, between=0).schedule.seconds for n in (0, 1, 2, 4, 16)]
    assert walls == [450, 450, 250, 150, 150]


def test_what_is_left_does_not_wait_for_what_is_done() -> None:
    left = Workload(Machine(1), JOBS, between=1).left
    assert (left.jobs, left.schedule.seconds) == ((replace(JOBS[1], after=()),), 51)


def test_other_machine_has_other_trainings() -> None:
    workload = Workload(Machine(1), JOBS, between=0)
    faster = workload.on(Machine(4), {"train/a": 40.0, "train/b": 5.0})
    assert faster.schedule.seconds == 15
