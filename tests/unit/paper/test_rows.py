"""The one loader: what scores.json says arrives, and what it does not say has a reason."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simt.errors import SimtError
from simt.paper.rows import COMET_OF_THE_PAPER, Gap, Number, Place, load_oracle, load_rows
from simt.params import Params
from simt.runs import Point, Run, study_points
from tests.samples.results import COMET, SIGNATURES, write_results

Edit = Callable[[Path, Callable[[Any], None]], None]

RUN = Run("tiny-deen", "sm2", "bi", 1)
POINT = Point(RUN, "test")


@pytest.fixture
def own(tmp_path: Path, results: Path) -> Path:
    """A copy of one point that a test may corrupt."""
    folder = Path("points") / str(POINT)
    shutil.copytree(results / folder, tmp_path / folder)
    return tmp_path


def scores_of(results: Path, point: Point) -> Any:
    path = results / "points" / str(point) / "scores.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_score_of_a_point_is_a_row(results: Path) -> None:
    rows = load_rows(results, [POINT])
    for entry in scores_of(results, POINT)["points"]:
        knob = entry["knob"]
        for metric, score in entry["scores"].items():
            expected = Number(score["value"], score["signature"])
            assert rows.look_up(Place(RUN, "test", knob), metric) == expected


def test_frame_is_tidy(results: Path) -> None:
    frame = load_rows(results, [POINT]).frame
    assert list(frame.columns) == [
        "pair", "method", "variant", "seed", "split", "knob", "group", "metric", "value",
        "signature",
    ]  # fmt: skip
    chosen = frame[(frame.knob == 0.5) & (frame.metric == "bleu") & (frame.group == "all")]
    assert len(chosen) == 1
    assert not frame.duplicated(subset=list(frame.columns[:8])).any()


def test_rows_of_all_points_of_a_study_load(params: Params, results: Path) -> None:
    points = study_points(params, params.studies["tiny"])
    rows = load_rows(results, points)
    assert rows.reasons == {}
    assert set(rows.frame.split) == {"test", "valid", "aligned", "run"}
    assert rows.main_latency == "al_token"


def test_whole_and_fractional_spelling_of_a_knob_are_the_same(own: Path, edit: Edit) -> None:
    def respell(scores: Any) -> None:
        scores["points"][1]["knob"] = 1

    edit(own / "points" / str(POINT) / "scores.json", respell)
    rows = load_rows(own, [POINT])
    assert isinstance(rows.look_up(Place(RUN, "test", 1.0), "bleu"), Number)


def test_groups_have_their_scores_and_their_lengths(results: Path) -> None:
    rows = load_rows(results, [POINT])
    group = scores_of(results, POINT)["groups"]["long"]
    assert rows.look_up(Place(RUN, "test", None, "long"), "mean_length") == Number(
        31.25, "length|unit:source_token_eos"
    )
    first = group["points"][0]
    found = rows.look_up(Place(RUN, "test", first["knob"], "long"), "bleu")
    assert found == Number(first["scores"]["bleu"]["value"], SIGNATURES["bleu"])


def test_correlations_are_rows_with_the_number_of_states(results: Path) -> None:
    rows = load_rows(results, [Point(RUN, "valid")])
    place = Place(RUN, "valid", None)
    assert rows.look_up(place, "confidence_spearman") == Number(
        0.7, "confidence_spearman|over:states"
    )
    states = rows.look_up(place, "confidence_states")
    assert isinstance(states, Number)
    assert states.value == 20


def test_parameters_of_a_run_are_a_row(results: Path) -> None:
    rows = load_rows(results, [POINT])
    facts = json.loads((results / "runs" / str(RUN) / "run.json").read_text())
    found = rows.look_up(Place(RUN, "run", None), "parameters")
    assert found == Number(facts["parameters"], "run.json")


def test_a_point_without_files_was_not_decoded(tmp_path: Path) -> None:
    rows = load_rows(tmp_path, [POINT])
    assert rows.look_up(Place(RUN, "test", 0.5), "bleu") == Gap("not decoded")


def test_a_point_with_instances_only_was_not_scored(tmp_path: Path) -> None:
    folder = tmp_path / "points" / str(POINT)
    folder.mkdir(parents=True)
    (folder / "instances.jsonl").touch()
    rows = load_rows(tmp_path, [POINT])
    assert rows.look_up(Place(RUN, "test", 0.5), "bleu") == Gap("not scored")


def test_a_knob_that_the_file_lacks_was_not_decoded(results: Path) -> None:
    rows = load_rows(results, [POINT])
    assert rows.look_up(Place(RUN, "test", 0.123), "bleu") == Gap("not decoded")


def test_a_score_that_could_not_be_computed_keeps_its_reason(
    params: Params, tmp_path: Path
) -> None:
    write_results(tmp_path, params, "tiny", comet=None)
    rows = load_rows(tmp_path, [POINT])
    gap = rows.look_up(Place(RUN, "test", 0.5), COMET)
    assert isinstance(gap, Gap)
    assert gap.reason.startswith("COMET model simt/toy-estimator is not on this machine")
    assert rows.comet("tiny-deen") == COMET


def test_a_score_without_a_value_is_a_gap(own: Path, edit: Edit) -> None:
    def empty(scores: Any) -> None:
        scores["points"][1]["scores"]["bleu"]["value"] = None

    edit(own / "points" / str(POINT) / "scores.json", empty)
    knob = scores_of(own, POINT)["points"][1]["knob"]
    rows = load_rows(own, [POINT])
    assert rows.look_up(Place(RUN, "test", knob), "bleu") == Gap("no sentence has a value")


def test_an_unknown_score_is_named(results: Path) -> None:
    rows = load_rows(results, [POINT])
    assert rows.look_up(Place(RUN, "test", 0.5), "ter") == Gap("no ter")


def test_points_with_different_main_latencies_cannot_share_an_axis(
    results: Path, own: Path, edit: Edit
) -> None:
    other = Point(Run("tiny-deen", "sm2", "uni", 1), "test")
    shutil.copytree(results / "points" / str(other), own / "points" / str(other))
    edit(own / "points" / str(other) / "scores.json", lambda s: s.update(main_latency="al_word"))
    with pytest.raises(SimtError, match="al_token as its main latency"):
        load_rows(own, [POINT, other])


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"points": [{}], "missing": {}}'])
def test_a_broken_file_is_named(own: Path, text: str) -> None:
    path = own / "points" / str(POINT) / "scores.json"
    path.write_text(text)
    with pytest.raises(SimtError, match=r"scores\.json"):
        load_rows(own, [POINT])


@pytest.mark.parametrize(
    ("metric", "value", "limits"),
    [
        ("bleu", -500, "from 0 to 100"),
        ("bleu", 100.01, "from 0 to 100"),
        ("al_token", float("inf"), "finite"),
        ("ap_word", -0.5, "finite and not negative"),
        (COMET, float("-inf"), "finite"),
    ],
)
def test_a_score_that_no_system_can_have_is_named(
    own: Path, edit: Edit, metric: str, value: float, limits: str
) -> None:
    def corrupt(scores: Any) -> None:
        scores["points"][1]["scores"][metric] = {"value": value, "signature": "s"}

    path = own / "points" / str(POINT) / "scores.json"
    edit(path, corrupt)
    knob = scores_of(own, POINT)["points"][1]["knob"]
    with pytest.raises(SimtError) as caught:
        load_rows(own, [POINT])
    assert str(caught.value) == (
        f"{path}: {metric} at knob value {knob} is {value:g}, which must be {limits}: "
        "remove the file and score again"
    )


def test_a_score_of_a_group_is_checked_like_that_of_all(own: Path, edit: Edit) -> None:
    def corrupt(scores: Any) -> None:
        scores["groups"]["long"]["points"][0]["scores"]["bleu"]["value"] = 101

    edit(own / "points" / str(POINT) / "scores.json", corrupt)
    with pytest.raises(SimtError, match=r"bleu at knob value full of the long sentences is 101"):
        load_rows(own, [POINT])


def test_scores_at_the_ends_of_their_range_are_possible(own: Path, edit: Edit) -> None:
    """sacreBLEU gives a perfect translation 100.00000000000004; lagging can be negative."""

    def corrupt(scores: Any) -> None:
        scores["points"][1]["scores"]["bleu"]["value"] = 100.00000000000004
        scores["points"][1]["scores"]["al_token"]["value"] = -7.5
        degeneracy = {"value": 134.6, "signature": "test"}  # more than all, by a negative YAAL
        scores["points"][1]["scores"]["dsptv_token"] = degeneracy

    edit(own / "points" / str(POINT) / "scores.json", corrupt)
    assert load_rows(own, [POINT]).reasons == {}


def test_the_model_of_the_paper_goes_before_others(own: Path, edit: Edit) -> None:
    def add(scores: Any) -> None:
        for entry in scores["points"]:
            entry["scores"][COMET_OF_THE_PAPER] = entry["scores"][COMET]

    assert load_rows(own, [POINT]).comet("tiny-deen") == COMET
    edit(own / "points" / str(POINT) / "scores.json", add)
    assert load_rows(own, [POINT]).comet("tiny-deen") == COMET_OF_THE_PAPER


def test_oracle_is_read_where_there_is_one(results: Path, tmp_path: Path) -> None:
    curve = load_oracle(results, "tiny-deen")
    assert curve[4] == (0, 4.0, 1.0)
    assert load_oracle(tmp_path, "tiny-deen") == []


def test_oracle_of_no_sentence_has_no_points(tmp_path: Path) -> None:
    path = tmp_path / "corpora" / "tiny-deen" / "text" / "oracle.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"aligned": [{"offset": 0, "al_word": NaN, "sa_word": NaN}]}')
    assert load_oracle(tmp_path, "tiny-deen") == []
