"""Latency against the numbers of the official code, by hand, and where it is undefined."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simt.errors import SimtError
from simt.instances import Instance, write_simuleval_logs
from simt.scoring.latency import (
    DEFINITIONS,
    METRICS,
    MODES,
    Definition,
    average_lagging,
    average_proportion,
    consecutive_wait,
    differentiable_average_lagging,
    latency_scores,
    latency_table,
    length_adaptive_average_lagging,
    longest_wait,
    main_column,
    point_latencies,
    sentence_latencies,
    signature,
)

Make = Callable[..., Instance]

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "latency_metrics.json").read_text(encoding="utf-8")
)
CASES: list[dict[str, Any]] = GOLDEN["cases"]
WRITTEN = [case for case in CASES if case["delays"]]
# The first delay is beyond the source: no file may say so, the formulas still agree.
PHYSICAL = [case for case in CASES if not case["tag"].startswith("unphysical")]
PRECISE = 1e-6
VERSION = f"version:{version('simt')}"
SINGLE = 2e-6  # numbers that the official code computes in single precision

EXAMPLE = [2, 3, 4, 6, 6]

delay_lists = st.lists(st.integers(1, 20), min_size=1, max_size=20).map(sorted)


def tag(case: dict[str, Any]) -> str:
    return str(case["tag"])


# --- the official numbers ------------------------------------------------------------------------


@pytest.mark.parametrize("case", WRITTEN, ids=tag)
@pytest.mark.parametrize("side", ["simuleval_ref", "simuleval_noref"])
def test_a_sentence_has_the_latency_that_simuleval_gives(case: dict[str, Any], side: str) -> None:
    delays, source = case["delays"], case["src_len"]
    target = case["ref_len"] if side == "simuleval_ref" else len(delays)
    ours = {
        "AL": average_lagging(delays, source, target),
        "LAAL": length_adaptive_average_lagging(delays, source, target),
        "AP": average_proportion(delays, source, target),
        "DAL": differentiable_average_lagging(delays, source),
    }
    assert ours == pytest.approx({name: case[side][name] for name in ours}, abs=PRECISE)


@pytest.mark.parametrize("case", WRITTEN, ids=tag)
def test_a_sentence_has_the_latency_that_sm2_means(case: dict[str, Any]) -> None:
    """Against its functions with float delays: its own integers cut DAL short."""
    delays, source = case["delays"], case["src_len"]
    ours = {
        "CW": consecutive_wait(delays),
        "AP": average_proportion(delays, source, len(delays)),
        "AL": average_lagging(delays, source, len(delays)),
        "DAL": differentiable_average_lagging(delays, source),
    }
    assert ours == pytest.approx(case["sm2_float_delays"], abs=SINGLE)


@pytest.mark.parametrize("case", WRITTEN, ids=tag)
def test_hmt_differs_only_in_the_wait_of_outputs_that_end_early(case: dict[str, Any]) -> None:
    delays, source = case["delays"], case["src_len"]
    assert average_lagging(delays, source, len(delays)) == pytest.approx(case["hmt"]["AL"])
    assert differentiable_average_lagging(delays, source) == pytest.approx(case["hmt"]["DAL"])
    ended_early = delays[-1] < source
    is_equal = consecutive_wait(delays) == pytest.approx(case["hmt"]["CW"])
    assert is_equal != ended_early


@pytest.mark.parametrize("case", WRITTEN, ids=tag)
def test_a_sentence_has_the_latency_that_attn2d_gives(case: dict[str, Any]) -> None:
    delays, source = case["delays"], case["src_len"]
    assert average_lagging(delays, source, len(delays)) == pytest.approx(case["attn2d"]["AL"])
    assert differentiable_average_lagging(delays, source) == pytest.approx(case["attn2d"]["DAL"])


@pytest.mark.parametrize(
    ("side", "definition"),
    [
        ("simuleval_ref", MODES["word_ref"]),
        ("simuleval_noref", Definition("word", "no", "hyp")),
    ],
)
def test_a_corpus_has_the_latency_that_simuleval_gives(
    make_words: Make, side: str, definition: Definition
) -> None:
    """Without the unphysical case, whose share is taken out of the official mean."""
    instances = [
        make_words(case["delays"], case["src_len"], case["ref_len"], index=index)
        for index, case in enumerate(PHYSICAL)
    ]
    unphysical = next(case for case in CASES if case not in PHYSICAL)
    ours = {score.name: score for score in latency_scores(instances, definition)}
    for metric in ("AL", "AP", "DAL") if side == "simuleval_noref" else ("AL", "LAAL", "AP", "DAL"):
        written = len(WRITTEN)
        official = (GOLDEN["corpus"][side][metric] * written - unphysical[side][metric]) / (
            written - 1
        )
        score = ours[f"{metric.lower()}_word"]
        assert score.value == pytest.approx(official, abs=PRECISE)
        assert (score.sentences, score.empty) == (len(PHYSICAL), 1)


def test_a_corpus_has_the_latency_that_sm2_gives(make_tokens: Make) -> None:
    instances = []
    for index in GOLDEN["corpus"]["index_set_generate"]:
        case = CASES[index]
        source, target = ["x"] * (case["src_len"] - 1), ["y"] * (case["hyp_len"] - 1)
        instances.append(make_tokens(source, target, case["delays"], index=index))
    scores = latency_scores(instances, MODES["bpe_eos_hyp"])
    ours = {score.name: score.value for score in scores}
    official = GOLDEN["corpus"]["sm2_generate"]
    for metric in ("CW", "AP", "AL"):
        assert ours[f"{metric.lower()}_token"] == pytest.approx(official[metric], abs=SINGLE)
    assert ours["dal_token"] == pytest.approx(GOLDEN["corpus"]["hmt"]["DAL"], abs=SINGLE)


@pytest.mark.parametrize("case", GOLDEN["simuleval_reference_length"], ids=repr)
def test_reference_words_are_counted_as_simuleval_does(
    make_words: Make, case: dict[str, Any]
) -> None:
    # One word at delay 1 of a source of 1: AP = 1 / reference length.
    one = make_words([1], 1, 0, reference=case["reference"])
    (ap,) = [s for s in latency_scores([one], MODES["word_ref"]) if s.name == "ap_word"]
    assert ap.value == pytest.approx(1 / case["reference_length"])


SIMULEVAL = Path(__file__).parents[3] / ".simuleval"


def test_simuleval_itself_prints_our_numbers(make_words: Make, tmp_path: Path) -> None:
    if not SIMULEVAL.is_dir():
        pytest.skip("SimulEval is not installed; `make .simuleval/.installed` does it")
    instances = [
        make_words(case["delays"], case["src_len"], case["ref_len"], index=index)
        for index, case in enumerate(PHYSICAL)
    ]
    log = write_simuleval_logs({None: instances}, tmp_path)[None]
    metrics = ("AL", "LAAL", "AP", "DAL")
    command = [sys.executable, "-m", "simuleval.cli", "--score-only", "--output", str(log.parent)]
    done = subprocess.run(
        [*command, "--latency-metrics", *metrics],
        env={**os.environ, "PYTHONPATH": str(SIMULEVAL)},
        capture_output=True,
        text=True,
        check=True,
    )
    head, values = done.stdout.strip().splitlines()
    theirs = dict(zip(head.split(), values.split()[1:], strict=True))
    ours = {score.name: score.value for score in latency_scores(instances, MODES["word_ref"])}
    for metric in metrics:  # printed with three digits
        assert ours[f"{metric.lower()}_word"] == pytest.approx(float(theirs[metric]), abs=6e-4)


# --- by hand -------------------------------------------------------------------------------------


def test_the_example_of_the_specification() -> None:
    assert average_lagging(EXAMPLE, 6, 5) == pytest.approx(1.95)
    assert average_proportion(EXAMPLE, 6, 5) == pytest.approx(0.70)
    assert differentiable_average_lagging(EXAMPLE, 6) == pytest.approx(2.16)
    assert consecutive_wait(EXAMPLE) == pytest.approx(1.5)
    assert longest_wait(EXAMPLE) == 2
    assert average_lagging(EXAMPLE, 6, 7) == pytest.approx(2.4642857)
    assert average_lagging(EXAMPLE, 6, 4) == pytest.approx(1.50)
    assert length_adaptive_average_lagging(EXAMPLE, 6, 4) == pytest.approx(1.95)


def values_of(instances: list[Instance], definition: Definition) -> dict[str, float | None]:
    return {score.name: score.value for score in latency_scores(instances, definition)}


def test_eos_counts_on_both_sides_or_on_neither(make_tokens: Make) -> None:
    # Three words, wait-1: tokens and EOS written at 1, 2, 3 and 4.
    one = make_tokens("a b c", "x y z", [1, 2, 3, 4])
    assert values_of([one], MODES["bpe_eos_hyp"])["al_token"] == pytest.approx(1.0)
    assert values_of([one], MODES["bpe_noeos_hyp"])["al_token"] == pytest.approx(1.0)
    late = make_tokens("a b c", "x y z", [4, 4, 4, 4])
    assert values_of([late], MODES["bpe_eos_hyp"])["al_token"] == pytest.approx(4.0)
    assert values_of([late], MODES["bpe_noeos_hyp"])["al_token"] == pytest.approx(3.0)


def test_computation_aware_lagging_takes_elapsed_for_delays(make_words: Make) -> None:
    one = make_words([1, 2], 2, 2, elapsed=(1.5, 3.5))
    aware = Definition("word", "no", "ref", is_computation_aware=True)
    # (1.5 - 0 + 3.5 - 1) / 2
    (al, *_) = latency_scores([one], aware)
    assert al.name == "al_ca_word"
    assert al.value == pytest.approx(2.0)
    assert "|ca:elapsed|" in al.signature


def test_the_rate_of_speech_is_in_the_signature(make_tokens: Make) -> None:
    one = make_tokens("a b", "x y", [1, 2, 3], token_elapsed_ms=[100, 200, 300], ms_per_word=400.0)
    aware = Definition("word", "no", "ref", is_computation_aware=True)
    (al, *_) = latency_scores([one], aware)
    # elapsed 1.25 and 2.5
    assert al.value == pytest.approx((1.25 + 2.5 - 1) / 2)
    assert "|ca:400ms|" in al.signature


# --- degenerate sentences ------------------------------------------------------------------------


def test_an_empty_output_is_left_out_and_counted(make_words: Make) -> None:
    scores = latency_scores([make_words([], 5, 3), make_words([5, 5], 5, 2)], MODES["word_ref"])
    assert [(score.sentences, score.empty) for score in scores] == [(2, 1)] * len(METRICS)
    assert scores[0].value == pytest.approx(5.0)


def test_outputs_that_are_all_empty_have_no_latency(make_words: Make) -> None:
    scores = latency_scores([make_words([], 5, 3)], MODES["word_ref"])
    assert [score.value for score in scores] == [None] * len(METRICS)
    assert math.isnan(sentence_latencies([make_words([], 5, 3)], "word_ref")[0])


def test_an_empty_output_has_a_latency_where_eos_counts(make_tokens: Make) -> None:
    one = make_tokens("a b c", "", [2], references=["r"])
    (al, *_) = latency_scores([one], MODES["bpe_eos_hyp"])
    assert (al.value, al.empty) == (2.0, 0)
    assert latency_scores([one], MODES["bpe_noeos_hyp"])[0].empty == 1


def test_an_empty_source_is_left_out_and_counted(make_tokens: Make) -> None:
    one = make_tokens("", "x", [1, 1])
    assert latency_scores([one], MODES["word_ref"])[0].empty == 1
    assert latency_scores([one], MODES["bpe_eos_hyp"])[0].value == pytest.approx(1.0)


def test_a_word_written_before_any_source_word_is_complete_has_no_wait() -> None:
    assert consecutive_wait([0, 0]) == 0
    assert longest_wait([0, 0]) == 0


# --- properties ----------------------------------------------------------------------------------


@given(delay_lists, st.integers(1, 20))
def test_reading_more_never_lowers_a_latency(delays: list[int], target: int) -> None:
    source = max(delays)
    later = [min(delay + 1, source) for delay in delays]
    assert average_proportion(later, source, target) >= average_proportion(delays, source, target)
    ours, more = (differentiable_average_lagging(some, source) for some in (delays, later))
    assert more >= ours - 1e-9


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
def test_the_whole_source_first_lags_by_its_length(source: int, written: int, target: int) -> None:
    delays = [source] * written
    assert average_lagging(delays, source, target) == source
    assert differentiable_average_lagging(delays, source) == pytest.approx(source)
    assert consecutive_wait(delays) == longest_wait(delays) == source


@given(delay_lists, st.integers(1, 20))
def test_writing_too_much_does_not_lower_adaptive_lagging(delays: list[int], target: int) -> None:
    source = max(delays)
    adaptive = length_adaptive_average_lagging(delays, source, target)
    assert adaptive >= average_lagging(delays, source, target) - 1e-9


@given(delay_lists, st.integers(1, 30), st.integers(1, 20))
def test_average_lagging_is_its_formula(delays: list[int], source: int, target: int) -> None:
    assume(source >= max(delays))
    first_full = [i for i, delay in enumerate(delays, 1) if delay >= source]
    tau = first_full[0] if first_full else len(delays)
    expected = sum(delays[i] - i * source / target for i in range(tau)) / tau
    assert average_lagging(delays, source, target) == pytest.approx(expected)


@given(delay_lists)
def test_the_mean_wait_is_at_most_the_longest(delays: list[int]) -> None:
    assert 0 < consecutive_wait(delays) <= longest_wait(delays) <= delays[-1]


# --- signatures, tables --------------------------------------------------------------------------


def test_a_signature_says_how_a_number_was_computed() -> None:
    expected = f"AL|unit:token|eos:both|length:hyp|ref:no|{VERSION}"
    assert signature("AL", MODES["bpe_eos_hyp"]) == expected
    expected = f"LAAL|unit:word|eos:no|length:max|ref:first|{VERSION}"
    assert signature("LAAL", MODES["word_ref"]) == expected
    expected = f"CW|unit:token|eos:no|length:no|ref:no|{VERSION}"
    assert signature("CW", MODES["bpe_noeos_hyp"]) == expected


def test_a_table_has_every_definition_once(make_tokens: Make) -> None:
    one = make_tokens(
        "a b",
        "x y",
        [1, 2, 3],
        reference_token_length=4,
        token_elapsed_ms=[1, 2, 3],
        ms_per_word=400,
    )
    rows, missing = latency_table([one])
    assert missing == []
    assert len({row.signature for row in rows}) == len(rows)
    expected = {
        signature(metric.name, definition, rate="400ms")
        for definition in DEFINITIONS
        for metric in METRICS
        if not (definition.is_computation_aware and metric.length == "none")
    }
    assert {row.signature for row in rows} == expected


def test_a_table_says_what_a_file_lacks(make_words: Make) -> None:
    rows, missing = latency_table([make_words([1], 1, 1)])
    assert {row.name.rsplit("_", 1)[1] for row in rows} == {"word"}
    assert missing == [
        "no latency in tokens: not every sentence has token_delays",
        "no computation-aware latency: every elapsed time is 0",
    ]


def test_adaptive_lagging_in_tokens_needs_the_length_of_the_reference(
    make_tokens: Make,
) -> None:
    without = make_tokens("a b", "x y", [1, 2, 3])
    assert "laal_token" not in values_of([without], MODES["bpe_eos_hyp"])
    # Y = 6 > 3 written: (1 + 2 - 3/6 + 3 - 6/6) / 3
    known = make_tokens("a b", "x y", [1, 2, 3], reference_token_length=6)
    laal = values_of([known], MODES["bpe_eos_hyp"])["laal_token"]
    assert laal == pytest.approx((1 + 1.5 + 2) / 3)


def test_a_point_has_latencies_in_both_units(make_tokens: Make) -> None:
    one = make_tokens("a b", "x y", [1, 2, 3], token_elapsed_ms=[1, 2, 3], ms_per_word=400)
    names = {score.name for score in point_latencies([one], "bpe_eos_hyp")}
    assert {"al_token", "al_word", "max_cw_token", "max_cw_word", "al_ca_word"} <= names
    assert main_column("bpe_eos_hyp") == "al_token"
    assert main_column("word_ref") == "al_word"


def test_the_mode_of_a_point_wins_in_its_own_unit(make_tokens: Make) -> None:
    one = make_tokens("a b", "x y", [3, 3, 3])
    scores = {score.name: score.value for score in point_latencies([one], "bpe_noeos_hyp")}
    assert scores["al_token"] == 2.0


def test_tokens_cannot_be_made_up(make_words: Make) -> None:
    with pytest.raises(SimtError, match="not every sentence has token_delays"):
        point_latencies([make_words([1], 1, 1)], "bpe_eos_hyp")


def test_the_unit_of_another_system_is_in_names_and_signatures(make_words: Make) -> None:
    one = make_words([1000.0], 2000.0, 1)
    (al, *_) = latency_scores([one], MODES["word_ref"], unit="ms")
    assert al.name == "al_ms"
    assert al.signature.startswith("AL|unit:ms|")
