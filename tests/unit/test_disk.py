"""How much disk a study takes."""

from dataclasses import replace
from pathlib import Path

import pytest

from simt.cost import study_cost
from simt.disk import Disk, disk_by_stage, most_at_once
from simt.params import Params, load_params
from simt.schedule import Job, Machine, scheduled

FILE = Path(__file__).parents[2] / "params.yaml"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def by_stage(params: Params) -> dict[str, Disk]:
    schedule = scheduled([], Machine(1))
    return {one.stage: one for one in disk_by_stage(params, study_cost(params), schedule)}


def test_only_what_runs_at_the_same_time_is_summed_up() -> None:
    jobs = [Job("a", 3, gpus=1), Job("b", 2, gpus=1), Job("c", 2, gpus=1)]
    # a beside b, then beside c.
    schedule = scheduled(jobs, Machine(2))
    assert most_at_once(schedule, {"a": 10, "b": 1, "c": 5}) == 15
    assert most_at_once(schedule, {}) == 0


def test_models_have_four_bytes_a_weight(params: Params) -> None:
    cost = study_cost(params)
    assert by_stage(params)["models"].size == 4 * sum(run.parameters for run in cost.runs)


def test_what_nothing_tells_is_unknown(params: Params) -> None:
    disk = by_stage(params)
    assert [disk[stage].size for stage in ("corpora", "points", "paper")] == [None, None, None]


def test_points_that_are_there_tell_of_the_others(params: Params) -> None:
    folder = Path("results/points/tiny-deen/sm2/bi/seed1/test")
    folder.mkdir(parents=True)
    (folder / "instances.jsonl").write_bytes(b"x" * 100)
    (folder / "scores.json").write_bytes(b"x" * 20)
    assert by_stage(params)["points"] == Disk("points", 120 * 31, "by 1 that are there")


def test_corpora_are_four_times_their_downloads(params: Params) -> None:
    paper = replace(params, study="paper")
    pairs = [params.pairs[name] for name in paper.chosen_study.runs]
    sizes = [download.bytes for pair in pairs for download in pair.downloads.values()]
    known = sum(size for size in sizes if size is not None)
    assert known > 1e9
    assert by_stage(paper)["corpora"].size == 4 * known
