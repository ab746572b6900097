"""Names, folders and settings of runs and points."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.cli import main
from simt.markers import settings_of
from simt.params import load_params
from simt.runs import (
    Point,
    Run,
    drawing_points,
    fetch_settings,
    point_settings,
    run_settings,
    scoring_settings,
    shown_points,
    start_run,
    study_points,
    study_runs,
    viewed_points,
)

FILE = Path(__file__).parents[2] / "params.yaml"
PARAMS = load_params(FILE)
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
    for other in (Point(point.run, "aligned"), Point(Run("toy-deen", "sm2", "bi-ft", 1), "test")):
        assert scoring_settings(PARAMS, other).comet == ()


@pytest.mark.parametrize(
    ("pair", "model"),
    [("wmt15-deen", "Unbabel/wmt22-cometkiwi-da"), ("tiny-deen", "simt/toy-estimator")],
)
def test_comet_model_is_that_of_the_pair(pair: str, model: str) -> None:
    point = Point(Run(pair, "waitk", "k3", 1), "test")
    assert scoring_settings(PARAMS, point).comet == (model,)


@pytest.mark.parametrize(
    ("language", "tokeniser"),
    [("en", "13a"), ("zh", "zh"), ("ja", "ja-mecab"), ("ko", "ko-mecab"), ("vi", "13a")],
)
def test_bleu_is_cut_as_the_target_language_asks(language: str, tokeniser: str) -> None:
    pair = PARAMS.pairs["tiny-deen"].model_copy(update={"target": language})
    params = replace(PARAMS, pairs={"tiny-deen": pair})
    settings = scoring_settings(params, Point(Run("tiny-deen", "waitk", "k3", 1), "test"))
    assert settings.bleu_tokeniser == tokeniser
    # What was scored before this setting was known is not scored again.
    assert ("bleu_tokeniser" in settings.as_json()) == (tokeniser != "13a")


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


def test_variant_that_needs_no_repetition_is_trained_with_the_first_seed() -> None:
    study = PARAMS.studies["tiny"].model_copy(
        update={"seeds": (2, 3), "first_seed_only": {"sm2": ("bi-p",), "offline": ("bi-small",)}}
    )
    seeds: dict[tuple[str, str], list[int]] = {}
    for run in study_runs(study):
        seeds.setdefault((run.method, run.variant), []).append(run.seed)
    assert {name for name, own in seeds.items() if own == [2]} == {
        ("sm2", "bi-p"), ("offline", "bi-small")
    }  # fmt: skip
    assert [own for own in seeds.values() if own != [2]] == [[2, 3]] * (len(seeds) - 2)


def test_figure_shows_all_variants_where_it_says_so() -> None:
    points = drawing_points(PARAMS.studies["tiny"], PARAMS.paper.figures["fig05-alignments"])
    shown = {(point.run.method, point.run.variant, point.split) for point in points}
    assert shown == {
        ("waitk", "k1", "aligned"), ("waitk", "k3", "aligned"), ("multipath", "uni", "aligned"),
        ("hmt", "l2-k4", "aligned"), ("itst", "uni", "aligned"), ("sm2", "uni", "aligned"),
        ("sm2", "bi", "aligned"),
    }  # fmt: skip


def test_table_that_repeats_others_needs_what_they_show() -> None:
    table = PARAMS.paper.tables["tab10-beside-paper"]
    points = shown_points(PARAMS, PARAMS.studies["paper"], table)
    assert Point.parse("nist-zhen/itst/uni/seed1/test") in points  # of Table 5
    assert len(points) == len(set(points))


def test_appendix_pair_that_is_a_main_pair_is_not_shown_twice() -> None:
    study = PARAMS.studies["paper"]
    pairs = study.pairs.model_copy(update={"appendix": (study.pairs.main[0], "iwslt15-envi")})
    assert pairs.in_role("appendix") == ("iwslt15-envi",)


def test_pair_without_gold_alignments_is_not_decoded_on_them() -> None:
    points = study_points(PARAMS, PARAMS.studies["multi30k"])
    assert "aligned" not in {point.split for point in points}


def test_the_policy_viewer_shows_every_state_of_models_that_have_a_confidence() -> None:
    points = viewed_points(PARAMS, PARAMS.studies["tiny"])
    assert {str(point) for point in points} == {
        "tiny-deen/sm2/uni/seed1/aligned", "tiny-deen/sm2/bi/seed1/aligned"
    }  # fmt: skip


def test_fetch_is_told_every_file_that_a_split_reads() -> None:
    files = fetch_settings(PARAMS, "wmt15-deen").files
    assert len(files) == 3 * 2 + 2 + 2 + 3
    assert "rwth/DeEn/alignmentDeEn.talp" in files


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"{", b"[" * 100_000, b'{"a":' * 3000])
def test_settings_that_cannot_be_read_are_of_a_step_that_is_not_finished(
    content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "settings.json").write_bytes(content)
    assert settings_of(tmp_path / "settings.json") is None


def test_a_run_with_a_damaged_marker_is_told_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Run("tiny-deen", "waitk", "k3", 1).folder
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text("{")
    arguments = ["runs", "waitk/k3", "--study", "tiny", "--params", str(FILE)]
    assert main(arguments) == 1
    assert capsys.readouterr().err == (
        f"simt: {folder} is damaged, settings.json is not JSON: "
        "`simt check runs` says how to make the run again\n"
    )
    assert main(["runs", *arguments[2:]]) == 1  # a glance at all runs shows the others
    assert "0 of 20 runs finished" in capsys.readouterr().out
    (folder / "settings.json").write_text('{"pair": "tiny-deen"}')  # as an earlier version has it
    assert main(arguments) == 0
