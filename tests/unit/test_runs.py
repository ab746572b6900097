"""Names, folders and settings of runs and points."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.params import load_params
from simt.runs import (
    Point,
    Run,
    corpus_settings,
    drawing_points,
    judge_files,
    point_settings,
    run_settings,
    scoring_settings,
    staged_points,
    start_run,
    study_points,
    study_runs,
)

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")
NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,8}", fullmatch=True)


@given(NAMES, NAMES, NAMES, st.integers(1, 10**6), st.sampled_from(["valid", "test", "aligned"]))
def test_names_and_folders_round_trip(
    pair: str, method: str, variant: str, seed: int, split: str
) -> None:
    point = Point(Run(pair, method, variant, seed), split)
    assert Point.parse(str(point)) == point
    assert Point.parse(str(point.folder).removeprefix("results/points/")) == point
    assert Run.parse(str(point.run.folder).removeprefix("results/runs/")) == point.run


def test_folder_of_a_run_names_what_it_is() -> None:
    run = Run("toy-deen", "sm2", "bi-w0.6", 2)
    assert run.folder == Path("results/runs/toy-deen/sm2/bi-w0.6/seed2")


@pytest.mark.parametrize("study", PARAMS.studies)
def test_every_run_and_point_of_a_study_has_settings(study: str) -> None:
    for run in study_runs(PARAMS.studies[study]):
        assert run_settings(PARAMS, run).training.updates >= 1
    for point in study_points(PARAMS, PARAMS.studies[study]):
        assert point_settings(PARAMS, point).knobs


def test_comet_scores_what_a_figure_shows_of_it_and_nothing_else() -> None:
    point = Point(Run("toy-deen", "sm2", "bi", 1), "test")
    assert scoring_settings(PARAMS, point).comet == ("simt/toy-estimator",)
    assert judge_files(PARAMS, point) == [Path("results/corpora/toy-deen/estimator/settings.json")]
    for other in (Point(point.run, "aligned"), Point(Run("toy-deen", "sm2", "bi-ft", 1), "test")):
        assert scoring_settings(PARAMS, other).comet == ()
        assert judge_files(PARAMS, other) == []


@pytest.mark.parametrize(
    ("pair", "model"),
    [("wmt15-deen", "Unbabel/wmt22-cometkiwi-da"), ("tiny-deen", "simt/toy-estimator")],
)
def test_comet_model_is_that_of_the_pair(pair: str, model: str) -> None:
    point = Point(Run(pair, "waitk", "k3", 1), "test")
    assert scoring_settings(PARAMS, point).comet == (model,)


def test_run_settings_do_not_depend_on_the_study() -> None:
    run = Run("toy-deen", "sm2", "bi", 1)
    official = load_params(Path(__file__).parents[2] / "params.yaml", study="paper")
    assert run_settings(PARAMS, run) == run_settings(official, run)


def test_fine_tuned_run_starts_from_the_offline_run_of_its_pair_and_seed() -> None:
    run = Run("toy-deen", "sm2", "bi-small-ft", 3)
    assert start_run(PARAMS, run) == Run("toy-deen", "offline", "bi-small", 3)


def test_two_seeds_make_twice_the_runs() -> None:
    study = PARAMS.studies["tiny"]
    doubled = study.model_copy(update={"seeds": (1, 2)})
    assert len(study_runs(doubled)) == 2 * len(study_runs(study))


def test_figure_shows_all_variants_where_it_says_so() -> None:
    points = drawing_points(PARAMS.studies["tiny"], PARAMS.paper.figures["fig05-alignments"])
    shown = {(point.run.method, point.run.variant, point.split) for point in points}
    assert shown == {
        ("waitk", "k1", "aligned"), ("waitk", "k3", "aligned"), ("multipath", "uni", "aligned"),
        ("hmt", "l2-k4", "aligned"), ("itst", "uni", "aligned"), ("sm2", "uni", "aligned"),
        ("sm2", "bi", "aligned"),
    }  # fmt: skip


def test_pair_without_gold_alignments_is_not_decoded_on_them() -> None:
    points = study_points(PARAMS, PARAMS.studies["multi30k"])
    assert "aligned" not in {point.split for point in points}


def test_theatre_shows_every_state_of_models_that_have_a_confidence() -> None:
    points = staged_points(PARAMS, PARAMS.studies["tiny"])
    assert {str(point) for point in points} == {
        "tiny-deen/sm2/uni/seed1/aligned", "tiny-deen/sm2/bi/seed1/aligned"
    }  # fmt: skip


def test_fetch_is_told_every_file_that_a_split_reads() -> None:
    settings = corpus_settings(PARAMS, "wmt15-deen", "fetch")
    files = settings.model_dump()["files"]
    assert len(files) == 3 * 2 + 2 + 2 + 3
    assert "rwth/DeEn/alignmentDeEn.talp" in files
