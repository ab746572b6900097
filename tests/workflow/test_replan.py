"""A change in params.yaml plans exactly what it touches, and nothing is done in vain."""

import shutil
from pathlib import Path

import pytest

from simt.params import load_params
from simt.runs import study_runs
from tests.samples.project import ROOT, TINY, change, planned_jobs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]

RUNS = {str(run) for run in study_runs(load_params(ROOT / "params.yaml").studies["tiny"])}
MAIN_DRAWINGS = {"fig03-bleu-al", "fig04-comet-al", "tab04-settings", "tab05-numbers"}


class Plan:
    """What would be done after one value of params.yaml was changed in a finished study."""

    def __init__(self, study: Path, folder: Path, path: str, value: object) -> None:
        copy = folder / "copy"
        shutil.copytree(study, copy, symlinks=True)
        change(copy, path, value)
        self.jobs = planned_jobs(copy, *TINY)

    def of(self, *rules: str) -> set[str]:
        return {name for rule, name in self.jobs if rule in rules}

    @property
    def trained(self) -> set[str]:
        return self.of("train")

    @property
    def decoded(self) -> set[str]:
        return self.of("decode", "confidences")

    @property
    def drawn(self) -> set[str]:
        return {name.removeprefix("tiny/") for name in self.of("figure", "table")}


def tiny(*names: str) -> set[str]:
    return {f"tiny-deen/{name}" for name in names}


def test_changed_weight_of_one_variant_trains_it_and_draws_its_figure(
    study: Path, tmp_path: Path
) -> None:
    plan = Plan(study, tmp_path, "methods/sm2/variants/bi-w1.0/confidence_weight", 0.95)
    assert plan.trained == tiny("sm2/bi-w1.0/1")
    assert plan.decoded == tiny("sm2/bi-w1.0/1/test")
    assert plan.drawn == {"fig09-lambda"}


def test_changed_weight_of_a_method_trains_all_variants_but_those_with_their_own(
    study: Path, tmp_path: Path
) -> None:
    plan = Plan(study, tmp_path, "methods/sm2/settings/confidence_weight", 0.15)
    of_sm2 = {run.replace("seed", "") for run in RUNS if "/sm2/" in run}
    assert plan.trained == of_sm2 - tiny("sm2/bi-w1.0/1")


def test_changed_knob_grid_trains_nothing_and_decodes_its_method(
    study: Path, tmp_path: Path
) -> None:
    plan = Plan(study, tmp_path, "pairs/tiny-deen/knobs/multipath", [1, 5])
    assert plan.trained == set()
    assert plan.decoded == tiny("multipath/uni/1/test", "multipath/uni/1/aligned")
    assert plan.drawn == MAIN_DRAWINGS | {"fig05-alignments", "fig07-offline-models"}


def test_added_seed_trains_and_decodes_every_run_with_it_and_none_again(
    study: Path, tmp_path: Path
) -> None:
    plan = Plan(study, tmp_path, "studies/tiny/seeds", [1, 2])
    assert plan.trained == {run.replace("seed1", "2") for run in RUNS}
    assert {name.split("/")[3] for name in plan.decoded} == {"2"}
    assert not plan.of("fetch", "prepare", "bpe", "estimator")


def test_bumped_revision_trains_exactly_its_method(study: Path, tmp_path: Path) -> None:
    plan = Plan(study, tmp_path, "methods/hmt/revision", 99)
    assert plan.trained == tiny("hmt/l2-k4/1")
    assert plan.decoded == tiny("hmt/l2-k4/1/test", "hmt/l2-k4/1/aligned")
    more = {"fig05-alignments", "fig06-prohibition", "fig07-offline-models"}
    assert plan.drawn == MAIN_DRAWINGS | more


def test_run_that_starts_from_another_is_trained_again_with_it(study: Path, tmp_path: Path) -> None:
    plan = Plan(study, tmp_path, "methods/offline/variants/bi/peak_lr_fraction", 0.9)
    assert plan.trained == tiny("offline/bi/1", "sm2/bi-ft/1", "sm2/bi-adapter/1")


def test_comet_on_one_more_figure_scores_its_points_and_decodes_nothing(
    study: Path, tmp_path: Path
) -> None:
    plan = Plan(study, tmp_path, "paper/figures/fig08-ablations/shows_comet", True)
    assert (plan.trained, plan.decoded) == (set(), set())
    assert plan.of("score") == tiny("sm2/bi-no-omt/1/test", "sm2/bi-no-pi/1/test")


def test_changed_title_draws_one_figure_and_trains_nothing(study: Path, tmp_path: Path) -> None:
    plan = Plan(study, tmp_path, "paper/figures/fig08-ablations/title", "Parts")
    assert (plan.trained, plan.decoded, plan.drawn) == (set(), set(), {"fig08-ablations"})
