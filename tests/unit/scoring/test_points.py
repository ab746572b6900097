"""All scores of a point, also when some cannot be had."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.instances import Instance, group_by_knob
from simt.scoring.points import CometModels, score_groups

Make = Callable[..., Instance]

PAPER = ("bpe_eos_hyp", "detokenised")
SIMULEVAL = ("word_ref", "detokenised")


def test_a_point_has_every_score_for_each_knob(make_tokens: Make) -> None:
    instances = [
        make_tokens("a b", target, delays, index=index, knob=knob)
        for knob, delays in ((1, [1, 2, 3]), ("full", [3, 3, 3]))
        for index, target in enumerate(("x y", "z w"))
    ]
    point = score_groups(group_by_knob(instances), *PAPER).as_json()
    assert [entry["knob"] for entry in point["points"]] == [1.0, "full"]
    first, full = (entry["scores"] for entry in point["points"])
    assert first["al_token"]["value"] == pytest.approx(1.0)
    assert full["al_token"]["value"] == pytest.approx(3.0)
    assert {"bleu", "chrf", "al_word"} <= set(full)
    assert point["main_latency"] == "al_token"
    assert point["missing"] == {}
    assert json.loads(json.dumps(point, allow_nan=False)) == point


def test_a_missing_model_leaves_the_rest_scored(make_tokens: Make, tmp_path: Path) -> None:
    groups = group_by_knob([make_tokens("a b", "x y", [1, 2, 3])])
    model = "Unbabel/wmt22-cometkiwi-da-that-nobody-has"
    point = score_groups(groups, *PAPER, CometModels([model], tmp_path))
    assert {score.name for score in point.scores[None]} >= {"bleu", "al_token"}
    assert "not on this machine" in point.missing[f"comet:{model}"]


def test_forced_references_have_latency_only(make_tokens: Make) -> None:
    groups = group_by_knob([make_tokens("a b", "x y", [1, 2, 3], is_forced=True)])
    point = score_groups(groups, *PAPER, CometModels(["never/asked"]))
    assert "al_token" in {score.name for score in point.scores[None]}
    assert "bleu" not in {score.name for score in point.scores[None]}
    assert set(point.missing) == {"bleu"}


def test_empty_outputs_are_counted_beside_the_scores(make_words: Make) -> None:
    groups = group_by_knob([make_words([1, 2], 2, 2), make_words([], 2, 2, index=1)])
    (entry,) = score_groups(groups, *SIMULEVAL).as_json()["points"]
    assert (entry["sentences"], entry["empty_outputs"]) == (2, 1)
    assert entry["scores"]["bleu"]["left_out"] == 0
    assert entry["scores"]["al_word"]["left_out"] == 1


def test_another_systems_file_is_scored_in_words(make_words: Make) -> None:
    groups = group_by_knob([make_words([1, 2], 2, 2)])
    point = score_groups(groups, *SIMULEVAL)
    assert {score.name for score in point.scores[None]} >= {"bleu", "al_word", "laal_word"}
    with pytest.raises(SimtError, match="word_ref needs SimulEval's fields only"):
        score_groups(groups, *PAPER)


def test_delays_in_an_unknown_unit_have_no_latency_against_references(make_words: Make) -> None:
    point = score_groups(group_by_knob([make_words([1, 2], 2, 2)]), *SIMULEVAL, unit="other")
    assert "al_other" not in {score.name for score in point.scores[None]}
    assert "length in the unit of the delays is not known" in point.missing["al_other"]
