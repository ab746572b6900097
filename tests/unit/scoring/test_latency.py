"""Latency against the numbers of the official code, by hand, and where it is undefined."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from simt.errors import SimtError
from simt.instances import Instance, WordsOf, write_simuleval_logs
from simt.lagging import average_lagging
from simt.scoring.latency import (
    DEFINITIONS,
    METRICS,
    MODES,
    Definition,
    average_proportion,
    average_token_delay,
    consecutive_wait,
    differentiable_average_lagging,
    is_degenerate,
    latency_scores,
    latency_table,
    length_adaptive_average_lagging,
    longest_wait,
    main_column,
    point_latencies,
    signature,
    yet_another_average_lagging,
)
from simt.scoring.table import score_table

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
SINGLE = 1e-6  # relative: numbers that the official code computes in single precision

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
        "ATD": average_token_delay(delays),
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
    assert ours == pytest.approx(case["sm2_float_delays"], rel=SINGLE)


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
    for metric in ("AL", "AP", "DAL", "ATD", *(("LAAL",) if side == "simuleval_ref" else ())):
        written = len(WRITTEN)
        official = (GOLDEN["corpus"][side][metric] * written - unphysical[side][metric]) / (
            written - 1
        )
        score = ours[f"{metric.lower()}_word"]
        assert score.value == pytest.approx(official, abs=PRECISE)
        assert (score.sentences, score.left_out) == (len(PHYSICAL), 1)


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
        assert ours[f"{metric.lower()}_token"] == pytest.approx(official[metric], rel=SINGLE)
    assert ours["dal_token"] == pytest.approx(GOLDEN["corpus"]["hmt"]["DAL"], rel=SINGLE)


@pytest.mark.parametrize("case", GOLDEN["simuleval_reference_length"], ids=repr)
def test_reference_words_are_counted_as_simuleval_does(
    make_words: Make, case: dict[str, Any]
) -> None:
    # One word at delay 1 of a source of 1: AP = 1 / reference length.
    one = make_words([1], 1, 0, reference=case["reference"])
    (ap,) = [s for s in latency_scores([one], MODES["word_ref"]) if s.name == "ap_word"]
    assert ap.value == pytest.approx(1 / case["reference_length"])


SIMULEVAL = Path(__file__).parents[3] / ".simuleval"


# Not ATD: the command takes every log for speech.
OF_SIMULEVAL = ("AL", "LAAL", "AP", "DAL")


def simuleval(log: Path, unit: str) -> dict[str, float]:
    """What its own command says of our log."""
    if not SIMULEVAL.is_dir():
        pytest.skip("SimulEval is not installed; `make .simuleval/.installed` does it")
    command = [sys.executable, "-m", "simuleval.cli", "--score-only", "--output", str(log.parent)]
    done = subprocess.run(
        [*command, "--eval-latency-unit", unit, "--latency-metrics", *OF_SIMULEVAL],
        env={**os.environ, "PYTHONPATH": str(SIMULEVAL)},
        capture_output=True,
        text=True,
        check=True,
    )
    head, values = done.stdout.strip().splitlines()
    theirs = dict(zip(head.split(), values.split()[1:], strict=True))
    return {metric: float(theirs[metric]) for metric in OF_SIMULEVAL}


def test_simuleval_itself_prints_our_numbers(make_words: Make, tmp_path: Path) -> None:
    instances = [
        make_words(case["delays"], case["src_len"], case["ref_len"], index=index)
        for index, case in enumerate(PHYSICAL)
    ]
    theirs = simuleval(write_simuleval_logs({None: instances}, tmp_path)[None], "word")
    ours = {score.name: score.value for score in latency_scores(instances, MODES["word_ref"])}
    for metric, value in theirs.items():  # printed with three digits
        assert ours[f"{metric.lower()}_word"] == pytest.approx(value, abs=6e-4)


CHARACTERS = (
    ("我喜歡吃蘋果", "我喜歡吃蘋果", [1, 2, 2, 3, 4, 4], 4),
    (
        "我吃蘋果",
        " 我喜歡 吃蘋果\u3002 ",
        [2, 3, 4, 4],
        5,
    ),  # a blank inside counts, one outside not
)


def characters(make_words: Make) -> list[Instance]:
    return [
        make_words(delays, source, 0, index=index, prediction=prediction, reference=reference)
        for index, (prediction, reference, delays, source) in enumerate(CHARACTERS)
    ]


def test_simuleval_itself_prints_our_numbers_of_characters(
    make_words: Make, tmp_path: Path
) -> None:
    instances = characters(make_words)
    ours = {
        score.name: score.value for score in latency_scores(instances, MODES["word_ref"], "char")
    }
    # 6 characters, slope 4/6: (1 + 2 - 4/6 + 2 - 8/6 + 3 - 12/6 + 4 - 16/6) / 5 = 16/15
    # 8 characters, slope 5/8: (2 + 3 - 5/8 + 4 - 10/8 + 4 - 15/8) / 4 = 37/16
    assert ours["al_char"] == pytest.approx((16 / 15 + 37 / 16) / 2)
    assert ours["ap_char"] == pytest.approx((16 / 24 + 13 / 40) / 2)
    theirs = simuleval(write_simuleval_logs({None: instances}, tmp_path)[None], "char")
    for metric, value in theirs.items():  # printed with three digits
        assert ours[f"{metric.lower()}_char"] == pytest.approx(value, abs=6e-4)


# Words are jieba's: read 1, 2, 2, 4 of 4 words; the reference has 6.
CHINESE: dict[str, Any] = {
    "prediction": "男人弹吉他。",
    "references": ["一个男人在弹吉他。"],
    "tokenised_references": ["一个 男人 在 弹 吉他 。"],
    "words": WordsOf(target="tokens"),
}


def test_words_without_blanks_are_those_of_the_tokeniser(make_tokens: Make, tmp_path: Path) -> None:
    one = make_tokens("a man plays guitar", "男@@ 人 弹 吉他 。", [1, 1, 2, 2, 4, 5], **CHINESE)
    assert one.delays == (1, 2, 2, 4)
    ours = {score.name: score.value for score in latency_scores([one], MODES["word_ref"])}
    # Slope 4/6: (1 + 2 - 4/6 + 2 - 8/6 + 4 - 12/6) / 4
    assert ours["al_word"] == pytest.approx(1.25)
    assert ours["ap_word"] == pytest.approx(9 / 24)
    theirs = simuleval(write_simuleval_logs({None: [one]}, tmp_path)[None], "word")
    for metric, value in theirs.items():  # printed with three digits
        assert ours[f"{metric.lower()}_word"] == pytest.approx(value, abs=6e-4)


def test_unit_that_nobody_knows_has_no_length_of_a_reference(make_words: Make) -> None:
    one = make_words([1, 2], 2, 5, elapsed=(1.5, 3.5))
    rows, missing = latency_table([one], "other")
    assert "no latency against references" in "".join(missing)
    assert rows
    assert not any("|ref:first|" in row.signature for row in rows)
    names = {score.name for score in point_latencies([one], "word_ref", "other")}
    assert names == {"dal_other", "cw_other", "max_cw_other"}


def test_empty_reference_is_one_character(make_words: Make) -> None:
    scores = latency_scores([make_words([1], 1, 0)], MODES["word_ref"], "char")
    assert {score.name: score.value for score in scores}["ap_char"] == 1


SIMULEVAL_ATD = """
import json, sys
from simuleval.evaluator.instance import TextInputInstance
from simuleval.evaluator.scorers.latency_scorer import ATDScorer
def sentence(delays):
    instance = TextInputInstance.__new__(TextInputInstance)
    instance.delays = delays
    return instance
scorer = ATDScorer()
print(json.dumps([scorer({0: sentence(delays)}) for delays in json.load(sys.stdin)]))
"""


def test_simuleval_itself_gives_our_average_token_delay(make_words: Make) -> None:
    if not SIMULEVAL.is_dir():
        pytest.skip("SimulEval is not installed; `make .simuleval/.installed` does it")
    sentences = [list(one.delays) for one in random_sentences(make_words, 300) if one.delays]
    done = subprocess.run(
        [sys.executable, "-c", SIMULEVAL_ATD], input=json.dumps(sentences),
        env={**os.environ, "PYTHONPATH": str(SIMULEVAL)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    ours = [average_token_delay(delays) for delays in sentences]
    assert ours == pytest.approx(json.loads(done.stdout), rel=1e-12)


# --- OmniSTEval --------------------------------------------------------------------------------


def omnisteval(instances: list[Instance], folder: Path) -> dict[str, float]:
    """What its own command says of our log, in the names of our columns."""
    if not (SIMULEVAL / "omnisteval").is_dir():
        pytest.skip("OmniSTEval is not installed; `make .simuleval/.installed` does it")
    log = write_simuleval_logs({None: instances}, folder)[None]
    references = folder / "references.txt"
    lines = [f"{instance.reference}\n" for instance in instances]
    references.write_text("".join(lines), encoding="utf-8")
    command = [sys.executable, "-c", OMNISTEVAL, str(log), str(references)]
    environment = {**os.environ, "PYTHONPATH": str(SIMULEVAL)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    theirs: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {f"{name}_word": value for name, value in theirs.items()}


# Its command rounds to four digits; the function behind it does not.
OMNISTEVAL = """
import json, sys
from omnisteval import cli, scoring
def evaluate(*given, **options):
    found = scoring.evaluate_instances(*given, **options)
    evaluate.scores = found[0]
    return found
cli.evaluate_instances = evaluate
log, references = sys.argv[1:]
sys.argv = ["omnisteval", "shortform", "--word_level", "--no_quality",
            "--hypothesis_file", log, "--ref_sentences_file", references]
cli.main()
print(json.dumps(evaluate.scores))
"""


def random_sentences(make_words: Make, count: int) -> list[Instance]:
    """Policies of all kinds: eager, late, in jumps, ended early; some have no output."""
    random = Random(12)
    instances = []
    for index in range(count):
        source = random.randint(1, 40)
        steps = sorted(random.randint(1, source) for _ in range(random.randint(0, 50)))
        lag = random.choice([0, 0, 1, 3, source])
        delays = [min(step + lag, source) for step in steps]
        instances.append(make_words(delays, source, random.randint(1, 50), index=index))
    return instances


@pytest.mark.parametrize("kind", ["golden", "random", "degenerate", "waits"])
def test_omnisteval_itself_gives_our_numbers(kind: str, make_words: Make, tmp_path: Path) -> None:
    instances = {
        "golden": [
            make_words(case["delays"], case["src_len"], case["ref_len"], index=index)
            for index, case in enumerate(PHYSICAL)
        ],
        "random": random_sentences(make_words, 300),
        "degenerate": [make_words([1] + [12] * 9, 12, 10, index=i) for i in range(4)],
        "waits": [make_words([12] * 9, 12, 10, index=i) for i in range(4)],
    }[kind]
    theirs = omnisteval(instances, tmp_path)
    scores = {score.name: score for score in latency_scores(instances, MODES["word_ref"])}
    for name in ("al_word", "laal_word", "ap_word", "dal_word", "yaal_word", "dsptv_word"):
        value = scores[name].value
        ours = math.nan if value is None else value
        assert ours == pytest.approx(theirs[name], rel=1e-12, abs=1e-12, nan_ok=True), name
    assert is_degenerate(scores["dsptv_word"]) == theirs["degenerate_policy_word"]


# --- by hand -------------------------------------------------------------------------------------


def test_yaal_counts_what_is_written_before_the_whole_source_is_read() -> None:
    # The first three of five at 2, 3, 4 of 6 words: (2 + 3 - 6/5 + 4 - 12/5) / 3
    assert yet_another_average_lagging(EXAMPLE, 6, 4) == pytest.approx(1.8)
    # Seven words of reference: (2 + 3 - 6/7 + 4 - 12/7) / 3
    assert yet_another_average_lagging(EXAMPLE, 6, 7) == pytest.approx((9 - 18 / 7) / 3)
    assert math.isnan(yet_another_average_lagging([6, 6], 6, 2))


def test_one_early_word_is_a_low_yaal_and_a_warning(make_words: Make) -> None:
    ours = {
        score.name: score
        for score in latency_scores(
            [make_words([1] + [10] * 9, 10, 10), make_words([10] * 5, 10, 5)], MODES["word_ref"]
        )
    }
    yaal, test = ours["yaal_word"], ours["dsptv_word"]
    assert (yaal.value, yaal.sentences, yaal.left_out) == (1.0, 2, 1)
    # YAAL 1 of 10 promises 90 % early words; 1 of 15 is
    assert test.value == pytest.approx(90 - 100 / 15)
    assert is_degenerate(test)


def test_a_table_never_shows_yaal_without_its_count_and_warning(make_words: Make) -> None:
    fair = [make_words([2, 3, 4, 5, 6, 6], 6, 6)]
    early = [make_words([1] + [10] * 9, 10, 10)]
    columns = {
        0.3: latency_scores(early, MODES["word_ref"]), 0.5: latency_scores(fair, MODES["word_ref"])
    }  # fmt: skip
    (row,) = [line for line in score_table(columns).splitlines() if line.startswith("YAAL|")]
    assert row.endswith(
        "1.000    2.000  (counts 1, 1 of 1 sentence; likely a degenerate policy at 0.3, see DSPTV)"
    )
    (row,) = [
        line for line in score_table({None: columns[0.5]}).splitlines() if line.startswith("YAAL|")
    ]
    assert row.endswith("2.000  (counts 1 of 1 sentence)")


def test_average_token_delay_needs_a_count_of_units(make_words: Make) -> None:
    spoken = latency_scores([make_words([1000.0], 2000.0, 1)], MODES["word_ref"], unit="ms")
    assert "atd_ms" not in {score.name for score in spoken}


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
    left_out = {score.signature.split("|")[0]: score.left_out for score in scores}
    late = {"YAAL": 2, "DSPTV": 0}  # YAAL leaves out the other one, too: it was written at the end
    assert left_out == {metric.name: 1 for metric in METRICS} | late
    assert scores[0].value == pytest.approx(5.0)


def test_outputs_that_are_all_empty_have_no_latency(make_words: Make) -> None:
    scores = latency_scores([make_words([], 5, 3)], MODES["word_ref"])
    assert {score.value for score in scores} == {None}


def test_an_empty_output_has_a_latency_where_eos_counts(make_tokens: Make) -> None:
    one = make_tokens("a b c", "", [2], references=["r"])
    (al, *_) = latency_scores([one], MODES["bpe_eos_hyp"])
    assert (al.value, al.left_out) == (2.0, 0)
    assert latency_scores([one], MODES["bpe_noeos_hyp"])[0].left_out == 1


def test_an_empty_source_is_left_out_and_counted(make_tokens: Make) -> None:
    one = make_tokens("", "x", [1, 1])
    assert latency_scores([one], MODES["word_ref"])[0].left_out == 1
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
        signature(name, definition, rate="400ms")
        for definition in DEFINITIONS
        for name in (*(metric.name for metric in METRICS), "DSPTV")
        if not definition.is_computation_aware or name in ("AL", "LAAL", "AP", "DAL")
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
