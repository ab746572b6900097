"""Schematics: the states of a real sentence, the paths through them, and where methods may go."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simt.instances import EOS_TOKEN, Instance, write_instances
from simt.paper import FIGURES
from simt.paper.canvas import in_style, render
from simt.paper.figure_data import FigureData
from simt.paper.schematics import hmt_states, sm2_states
from simt.paper.sketches import DecisionPath, Grid, Sentence, TrainingStep
from simt.paper.style import DECISION
from simt.params import Params
from simt.runs import Point
from tests.samples.instances import instance_from

Make = Callable[..., FigureData]

GRID = {
    "index": 7,
    "source": ["ein", "Ha@@", "us", EOS_TOKEN],
    "target": ["a", "house", EOS_TOKEN],
    "confidence": [[0.8, 0.9, 0.9, 1.0], [0.1, 0.2, 0.6, 0.7], [0.2, 0.3, 0.4, 0.9]],
    "probability": [[0.5, 0.6, 0.7, 0.8], [0.1, 0.2, 0.9, 1.0], [0.0, 0.1, 0.2, 0.6]],
    "delays": [{"knob": 0.3, "delays": [1, 3, 3]}, {"knob": 0.5, "delays": [1, 3, 4]}],
}


@pytest.fixture
def with_grid(tmp_path: Path) -> Path:
    """Results that hold nothing but the states of one sentence."""
    folder = Point.parse("tiny-deen/sm2/bi/seed1/valid").folder
    folder.mkdir(parents=True)
    (folder / "grid.json").write_text(json.dumps(GRID), encoding="utf-8")
    return tmp_path


def test_a_path_reads_to_the_right_and_writes_down() -> None:
    path = DecisionPath(DECISION, (1, 3, 3, 4))
    assert list(path.states()) == [(1, 1), (2, 1), (2, 2), (2, 3), (3, 3), (4, 3), (4, 4)]


def test_figure_1_has_the_confidence_of_every_state(data: Make, with_grid: Path) -> None:
    on_path, every = FIGURES["fig01-paradigms"](data("fig01-paradigms", with_grid)).sketches
    assert isinstance(on_path, Grid)
    assert isinstance(every, Grid)
    assert (len(every.values), every.values[2, 3]) == (12, 0.6)
    assert set(on_path.values) == {(1, 1), (2, 1), (2, 2), (2, 3), (3, 3), (3, 4)}  # γ = 0.5
    assert every.sentence == Sentence(
        ("ein", "Ha-", "us", "⟨eos⟩"), ("a", "house", "⟨eos⟩"), "sentence 7 of tiny-deen valid"
    )


def test_figure_2_mixes_what_the_two_passes_say(data: Make, with_grid: Path) -> None:
    (step,) = FIGURES["fig02-framework"](data("fig02-framework", with_grid)).sketches
    assert isinstance(step, TrainingStep)
    assert step.prefix == 2  # half of the source
    assert (step.full, step.partial) == ([0.8, 1.0, 0.6], [0.6, 0.2, 0.1])
    # 0.9·0.6 + 0.1·0.8, 0.2·0.2 + 0.8·1, 0.3·0.1 + 0.7·0.6
    assert step.mixture == pytest.approx([0.62, 0.84, 0.45])


@pytest.mark.parametrize("name", ["fig01-paradigms", "fig02-framework", "fig06-prohibition"])
def test_a_sentence_that_is_not_there_is_named(data: Make, tmp_path: Path, name: str) -> None:
    spec = FIGURES[name](data(name, tmp_path))
    assert all("missing: " in sketch.notes[0] for sketch in spec.sketches)
    with in_style():
        assert "missing: " in render(spec).get_supxlabel()


# --- where methods may go: docs/methods.md, "HMT: states" and "SM²: prohibition" ----------------

SENTENCE = Sentence(tuple("abcdefg"), tuple("uvwxyz"), "")


def method_settings(params: Params, method: str, variant: str) -> dict[str, Any]:
    return params.method_settings("tiny-deen", method, variant)


def test_states_of_hmt_lie_between_the_first_and_the_last_of_each_token(params: Params) -> None:
    low, count = 2, 4
    expected = {
        (i, min(max(low + i - 1 + k - 1, 1), 7)) for i in range(1, 7) for k in range(1, count + 1)
    }
    assert hmt_states(method_settings(params, "hmt", "l2-k4"), SENTENCE) == expected


def test_sm2_learns_from_every_state(params: Params) -> None:
    everywhere = {(i, j) for i in range(1, 7) for j in range(1, 8)}
    assert sm2_states(method_settings(params, "sm2", "bi"), SENTENCE) == everywhere


def test_prohibition_leaves_what_lies_between_two_waits(params: Params) -> None:
    settings = method_settings(params, "sm2", "bi-p") | {"prohibition_upper": 3}
    expected = {(i, j) for i in range(1, 7) for j in range(1, 8) if min(i, 7) <= j <= min(i + 2, 7)}
    assert sm2_states(settings, SENTENCE) == expected


def test_figure_6_shows_the_path_that_was_decoded(data: Make, tmp_path: Path) -> None:
    tokens = [*"abcdefgh", EOS_TOKEN]
    decoded = instance_from(
        index=0, knob=0.5, source=" ".join(tokens[:-1]), source_tokens=tokens, references=["x"],
        prediction="x y", tokens=["x", "y", EOS_TOKEN], token_delays=[2, 5, 9],
        reference_token_length=9,
    )  # fmt: skip
    for run in ("hmt/l2-k4", "sm2/bi"):
        folder = Point.parse(f"tiny-deen/{run}/seed1/test").folder
        write_instances(folder / "instances.jsonl", [decoded])
    hmt, sm2 = FIGURES["fig06-prohibition"](data("fig06-prohibition", tmp_path)).sketches
    for grid in (hmt, sm2):
        assert isinstance(grid, Grid)
        assert [path.delays for path in grid.paths] == [(2, 5, 9)]
    assert isinstance(hmt, Grid)
    assert hmt.title == "(a) HMT, L = 2, K = 4"
    assert hmt.allowed == {(i, min(1 + i + k - 1, 9)) for i in (1, 2, 3) for k in (1, 2, 3, 4)}


def test_figure_6_shows_one_translation_in_both_panels(data: Make, tmp_path: Path) -> None:
    def decoded(index: int, target: list[str]) -> Instance:
        source = [*"abcdefgh"[: 4 + index], EOS_TOKEN]
        return instance_from(
            index=index, knob=0.5, source="x", source_tokens=source, references=["x"],
            prediction="x", tokens=[*target, EOS_TOKEN], token_delays=[1] * (len(target) + 1),
            reference_token_length=13,
        )  # fmt: skip

    written = {"hmt/l2-k4": ("x", "y", "z"), "sm2/bi": ("x", "y", "v")}  # 2 has the best length
    for run, targets in written.items():
        folder = Point.parse(f"tiny-deen/{run}/seed1/test").folder
        instances = [decoded(index, [word]) for index, word in enumerate(targets)]
        write_instances(folder / "instances.jsonl", instances)
    hmt, sm2 = FIGURES["fig06-prohibition"](data("fig06-prohibition", tmp_path)).sketches
    assert hmt.sentence == sm2.sentence
    assert hmt.sentence is not None
    assert hmt.sentence.target == ("y", "⟨eos⟩")
    assert not any("beware" in note for grid in (hmt, sm2) for note in grid.notes)


def test_figure_6_says_so_if_no_sentence_is_translated_alike(data: Make, tmp_path: Path) -> None:
    for run, word in {"hmt/l2-k4": "x", "sm2/bi": "y"}.items():
        decoded = instance_from(
            index=0, knob=0.5, source="a", source_tokens=["a", EOS_TOKEN], references=["x"],
            prediction=word, tokens=[word, EOS_TOKEN], token_delays=[1, 2],
            reference_token_length=2,
        )  # fmt: skip
        folder = Point.parse(f"tiny-deen/{run}/seed1/test").folder
        write_instances(folder / "instances.jsonl", [decoded])
    for grid in FIGURES["fig06-prohibition"](data("fig06-prohibition", tmp_path)).sketches:
        assert "beware: the systems translate no test sentence alike" in grid.notes


def test_a_model_that_babbles_is_cut_off_and_said_to_be(data: Make, tmp_path: Path) -> None:
    babble = instance_from(
        index=0, knob=0.5, source="a b", source_tokens=["a", "b", EOS_TOKEN], references=["x"],
        prediction=" ".join("x" * 200), tokens=[*"x" * 200, EOS_TOKEN], token_delays=[1] * 201,
        reference_token_length=2,
    )  # fmt: skip
    folder = Point.parse("tiny-deen/sm2/bi/seed1/test").folder
    write_instances(folder / "instances.jsonl", [babble])
    _, sm2 = FIGURES["fig06-prohibition"](data("fig06-prohibition", tmp_path)).sketches
    assert isinstance(sm2, Grid)
    assert sm2.sentence is not None
    assert len(sm2.sentence.target) == len(sm2.paths[0].delays) == 18
    assert sm2.sentence.origin.endswith("(18 of 201 target tokens)")
