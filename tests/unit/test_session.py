"""A session says what the batched loop says, with the same delays, and takes nothing back."""

from pathlib import Path
from typing import Any

import pytest
import torch

from simt.corpus.bpe import open_subwords
from simt.corpus.growing import Written
from simt.corpus.text import Tokeniser
from simt.lab.training_bench import make_corpus
from simt.live.lanes import lagging
from simt.params import load_params
from simt.scoring.latency import Definition, latency_scores
from simt.session import Act, Session
from tests.samples.sessions import (
    DECODING,
    GERMAN,
    Comparison,
    SubwordPair,
    compare,
    finished,
    instances,
    make_translator,
)
from tests.unit.simulation.test_stream import CASES

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    make_corpus(PARAMS, "tiny-deen", None, folder)
    return folder


@pytest.fixture(scope="module")
def toy_subwords(toy: Path) -> SubwordPair:
    return open_subwords(toy / "bpe")


@pytest.fixture(scope="module")
def toy_sentences(toy: Path) -> list[str]:
    lines = (toy / "text" / "test.source").read_text(encoding="utf-8").splitlines()
    return [GERMAN.detokenise(line.split()) for line in lines[:40]]


@pytest.mark.parametrize(("name", "changes", "knob"), CASES)
def test_session_writes_what_the_batched_loop_writes_with_the_same_delays(
    toy_subwords: SubwordPair,
    toy_sentences: list[str],
    name: str,
    changes: dict[str, Any],
    knob: Any,
) -> None:
    translator = make_translator(toy_subwords, name, changes)
    assert compare(translator, knob, toy_sentences) == Comparison(same=toy_sentences)


@pytest.mark.parametrize(("name", "knob"), [("waitk", 3), ("sm2", 0.5)])
def test_session_writes_words_without_blanks_as_the_batched_loop_does(
    toy_subwords: SubwordPair, toy_sentences: list[str], name: str, knob: Any
) -> None:
    chinese = Tokeniser("jieba", "zh", True, "keep")
    translator = make_translator(toy_subwords, name, target_tokeniser=chinese)
    assert compare(translator, knob, toy_sentences) == Comparison(same=toy_sentences)
    session = finished(translator, knob, toy_sentences[0])
    assert [word.text for word in session.target.words] == translator.target_subwords.decode(
        session.tokens
    )


# --- what it says on the way ----------------------------------------------------------------------


def test_words_are_said_before_the_source_ends(
    toy_subwords: SubwordPair, toy_sentences: list[str]
) -> None:
    session = Session(make_translator(toy_subwords, "waitk", {"k": 1}), 1)
    *most, _ = toy_sentences[0].split()
    said = [word for each in most for word in session.push(each)]
    assert said
    assert all(word.delay.words <= word.released_after <= len(most) for word in said)
    said += session.finish()
    assert session.text == " ".join(word.text for word in said)


def test_reads_and_writes_are_shown_in_their_order(
    toy_subwords: SubwordPair, toy_sentences: list[str]
) -> None:
    session = Session(make_translator(toy_subwords, "waitk", {"k": 3}), 3)
    shown = [*session.follow(toy_sentences[0]), *session.follow(None)]
    acts = [one for one in shown if isinstance(one, Act)]
    assert [act.is_write for act in acts[:6]] == [False, False, False, True, False, True]
    assert [act.piece for act in acts if not act.is_write][:3] == session.source.pieces[:3]
    assert acts[-1].piece == "<eos>"
    assert [one for one in shown if isinstance(one, Written)] == session.target.words


def test_confidence_of_a_word_is_the_least_of_its_tokens(
    toy_subwords: SubwordPair, toy_sentences: list[str]
) -> None:
    session = Session(make_translator(toy_subwords, "sm2"), 0.5)
    shown = [*session.follow(toy_sentences[0]), *session.follow(None)]
    values = [one.value for one in shown if isinstance(one, Act) and one.is_write]
    words = [one for one in shown if isinstance(one, Written)]
    assert min(word.confidence for word in words if word.confidence is not None) == min(
        value for value in values[:-1] if value is not None
    )


def test_policy_that_counts_has_no_confidence(
    toy_subwords: SubwordPair, toy_sentences: list[str]
) -> None:
    session = finished(make_translator(toy_subwords, "waitk"), 3, toy_sentences[0])
    assert {word.confidence for word in session.target.words} == {None}


def test_source_after_an_early_end_counts_in_the_lagging(
    toy_subwords: SubwordPair, toy_sentences: list[str]
) -> None:
    decoding = DECODING.model_copy(update={"max_target_tokens": 4})
    translator = make_translator(toy_subwords, "waitk", {"k": 1}, decoding=decoding)
    some = toy_sentences[:5]
    for sentence, (_, made) in zip(some, instances(translator, 1, some), strict=True):
        session = finished(translator, 1, sentence)
        assert session.token_delays[-1] < len(made.source_pieces) - 1
        expected = latency_scores([made], Definition("word", "no", "hyp"))[0]
        assert expected.signature.startswith("AL|")
        assert lagging(session) == pytest.approx(expected.value, abs=0.006)  # it has two digits


def test_nothing_is_translated_as_nothing(toy_subwords: SubwordPair) -> None:
    session = Session(make_translator(toy_subwords, "waitk"), 3)
    assert session.push(" \u200b ") == []
    assert session.finish() == []


def test_text_without_end_is_cut_off_and_says_so(toy_subwords: SubwordPair) -> None:
    decoding = DECODING.model_copy(update={"forbid_eos_before_source_end": True})
    session = Session(make_translator(toy_subwords, "waitk", decoding=decoding), 3)
    for _ in range(100):
        session.push("Haus")
    session.finish()
    assert session.is_cut_off
    assert len(session.tokens) == DECODING.max_target_tokens + 1
