"""The one loader: what scores.json says arrives, and what it does not say has a reason."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simt.errors import SimtError
from simt.paper.rows import COMET_OF_THE_PAPER, Gap, Number, Place, Rows, load_oracle, load_rows
from simt.params import Params
from simt.runs import Point, Run, corpus_folder, study_points
from tests.samples.results import COMET, SIGNATURES, write_results

Edit = Callable[[Path, Callable[[Any], None]], None]

RUN = Run("tiny-deen", "sm2", "bi", 1)
POINT = Point(RUN, "test")


@pytest.fixture
def rows(results: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """The numbers of one point, read from the folder that one is in from now on."""
    monkeypatch.chdir(results)
    return load_rows([POINT])


@pytest.fixture
def own(results: Path) -> Path:
    """The scores of one point, which a test may corrupt."""
    shutil.copytree(results / POINT.folder, POINT.folder)
    return POINT.folder / "scores.json"


def scores() -> Any:
    return json.loads((POINT.folder / "scores.json").read_text(encoding="utf-8"))


def test_every_score_of_a_point_is_a_row(rows: Rows) -> None:
    for entry in scores()["points"]:
        knob = entry["knob"]
        for metric, score in entry["scores"].items():
            expected = Number(score["value"], score["signature"])
            assert rows.look_up(Place(RUN, "test", knob), metric) == expected


def test_frame_is_tidy(rows: Rows) -> None:
    frame = rows.frame
    assert list(frame.columns) == [
        "pair", "method", "variant", "seed", "split", "knob", "group", "metric", "value",
        "signature",
    ]  # fmt: skip
    chosen = frame[(frame.knob == 0.5) & (frame.metric == "bleu") & (frame.group == "all")]
    assert len(chosen) == 1
    assert not frame.duplicated(subset=list(frame.columns[:8])).any()


def test_rows_of_all_points_of_a_study_load(
    params: Params, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results)
    rows = load_rows(study_points(params, params.chosen_study))
    assert rows.reasons == {}
    assert set(rows.frame.split) == {"test", "valid", "aligned", "run"}
    assert rows.main_latency == "al_token"


def test_whole_and_fractional_spelling_of_a_knob_are_the_same(own: Path, edit: Edit) -> None:
    def respell(scores: Any) -> None:
        scores["points"][1]["knob"] = 1

    edit(own, respell)
    rows = load_rows([POINT])
    assert isinstance(rows.look_up(Place(RUN, "test", 1.0), "bleu"), Number)


def test_groups_have_their_scores_and_their_lengths(rows: Rows) -> None:
    group = scores()["groups"]["long"]
    assert rows.look_up(Place(RUN, "test", None, "long"), "mean_length") == Number(
        31.25, "length|unit:source_token_eos"
    )
    first = group["points"][0]
    found = rows.look_up(Place(RUN, "test", first["knob"], "long"), "bleu")
    assert found == Number(first["scores"]["bleu"]["value"], SIGNATURES["bleu"])


def test_correlations_are_rows_with_the_number_of_states(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(results)
    rows = load_rows([Point(RUN, "valid")])
    place = Place(RUN, "valid", None)
    assert rows.look_up(place, "confidence_spearman") == Number(
        0.7, "confidence_spearman|over:states"
    )
    states = rows.look_up(place, "confidence_states")
    assert isinstance(states, Number)
    assert states.value == 20


def test_parameters_of_a_run_are_a_row(rows: Rows) -> None:
    facts = json.loads((RUN.folder / "run.json").read_text())
    found = rows.look_up(Place(RUN, "run", None), "parameters")
    assert found == Number(facts["parameters"], "run.json")


def test_a_point_without_files_was_not_decoded() -> None:
    rows = load_rows([POINT])
    assert rows.look_up(Place(RUN, "test", 0.5), "bleu") == Gap("not decoded")


def test_a_point_with_instances_only_was_not_scored() -> None:
    POINT.folder.mkdir(parents=True)
    (POINT.folder / "instances.jsonl").touch()
    rows = load_rows([POINT])
    assert rows.look_up(Place(RUN, "test", 0.5), "bleu") == Gap("not scored")


def test_a_knob_that_the_file_lacks_was_not_decoded(rows: Rows) -> None:
    assert rows.look_up(Place(RUN, "test", 0.123), "bleu") == Gap("not decoded")


def test_a_score_that_could_not_be_computed_keeps_its_reason(params: Params) -> None:
    write_results(params, "tiny", comet=None)
    rows = load_rows([POINT])
    gap = rows.look_up(Place(RUN, "test", 0.5), COMET)
    assert isinstance(gap, Gap)
    assert gap.reason.startswith("COMET model simt/toy-estimator is not on this machine")
    assert rows.comet("tiny-deen") == COMET


def test_a_score_without_a_value_is_a_gap(own: Path, edit: Edit) -> None:
    def empty(scores: Any) -> None:
        scores["points"][1]["scores"]["bleu"]["value"] = None

    edit(own, empty)
    knob = scores()["points"][1]["knob"]
    rows = load_rows([POINT])
    assert rows.look_up(Place(RUN, "test", knob), "bleu") == Gap("no sentence has a value")


def test_an_unknown_score_is_named(rows: Rows) -> None:
    assert rows.look_up(Place(RUN, "test", 0.5), "ter") == Gap("no ter")


def test_points_with_different_main_latencies_cannot_share_an_axis(
    results: Path, own: Path, edit: Edit
) -> None:
    other = Point(Run("tiny-deen", "sm2", "uni", 1), "test")
    shutil.copytree(results / other.folder, other.folder)
    edit(other.folder / "scores.json", lambda s: s.update(main_latency="al_word"))
    with pytest.raises(SimtError, match="al_token as its main latency"):
        load_rows([POINT, other])


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"points": [{}], "missing": {}}'])
def test_a_broken_file_is_named(own: Path, text: str) -> None:
    own.write_text(text)
    with pytest.raises(SimtError, match=r"scores\.json"):
        load_rows([POINT])


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

    edit(own, corrupt)
    knob = scores()["points"][1]["knob"]
    with pytest.raises(SimtError) as caught:
        load_rows([POINT])
    assert str(caught.value) == (
        f"{own}: {metric} at knob value {knob} is {value:g}, which must be {limits}: "
        "remove the file and score again"
    )


def test_a_score_of_a_group_is_checked_like_that_of_all(own: Path, edit: Edit) -> None:
    def corrupt(scores: Any) -> None:
        scores["groups"]["long"]["points"][0]["scores"]["bleu"]["value"] = 101

    edit(own, corrupt)
    with pytest.raises(SimtError, match=r"bleu at knob value full of the long sentences is 101"):
        load_rows([POINT])


def test_scores_at_the_ends_of_their_range_are_possible(own: Path, edit: Edit) -> None:
    """sacreBLEU gives a perfect translation 100.00000000000004; lagging can be negative."""

    def corrupt(scores: Any) -> None:
        scores["points"][1]["scores"]["bleu"]["value"] = 100.00000000000004
        scores["points"][1]["scores"]["al_token"]["value"] = -7.5
        degeneracy = {"value": 134.6, "signature": "test"}  # more than all, by a negative YAAL
        scores["points"][1]["scores"]["dsptv_token"] = degeneracy

    edit(own, corrupt)
    assert load_rows([POINT]).reasons == {}


def test_the_model_of_the_paper_goes_before_others(own: Path, edit: Edit) -> None:
    def add(scores: Any) -> None:
        for entry in scores["points"]:
            entry["scores"][COMET_OF_THE_PAPER] = entry["scores"][COMET]

    assert load_rows([POINT]).comet("tiny-deen") == COMET
    edit(own, add)
    assert load_rows([POINT]).comet("tiny-deen") == COMET_OF_THE_PAPER


def test_oracle_is_read_where_there_is_one(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_oracle("tiny-deen") == []
    monkeypatch.chdir(results)
    assert load_oracle("tiny-deen")[4] == (0, 4.0, 1.0)


def test_oracle_of_no_sentence_has_no_points() -> None:
    path = corpus_folder("tiny-deen", "prepare") / "oracle.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"aligned": [{"offset": 0, "al_word": NaN, "sa_word": NaN}]}')
    assert load_oracle("tiny-deen") == []
