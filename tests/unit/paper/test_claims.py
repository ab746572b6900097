"""Claims: numbers made by hand where the verdict is obvious, and sentences where it is."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simt.errors import SimtError
from simt.paper.claims import (
    Claim,
    Measured,
    explained,
    judge,
    judge_claims,
    load_claims,
    verdict_of,
)
from simt.paper.claims_report import (
    ClaimsReport,
    as_markdown,
    as_text,
    claims_by_scale,
    headline,
    write_claims,
)
from simt.paper.evidence import Evidence, NotMeasuredError, SystemName, level
from simt.paper.measurements import MEASUREMENTS, ClaimTest, Estimate
from simt.params import Params
from simt.runs import Point, corpus_folder
from simt.scoring.sentences import percentage_of
from simt.scoring.significance import KnobStatistics, curve_points
from tests.samples.sentences import BAD, BAD_BLEU, GOOD, decoded, write_point

# --- from numbers to a verdict ------------------------------------------------------------------


def claim_of(*tests: ClaimTest) -> Claim:
    return Claim(claim="c", sentence="It is so.", where="Figure 0", pairs="main", tests=tests)


def expects(above: float | None = None, below: float | None = None) -> ClaimTest:
    return ClaimTest(
        measurement="over-latencies", score="bleu", systems=("sm2/bi",), above=above, below=below
    )


def number(low: float, high: float, what: str = "n", seeds: int = 3) -> Estimate:
    """A number whose resamples are spread evenly from ``low`` to ``high``."""
    resamples = np.linspace(low, high, 2001)
    return Estimate(what, (low + high) / 2, resamples, resamples, 300, seeds)


def judged(test: ClaimTest, *numbers: Estimate, lacking: Sequence[str] = ()) -> str:
    measured = Measured([(test, one) for one in numbers], list(lacking))
    return verdict_of(claim_of(test), measured, "by hand", seeds=3).verdict


def test_a_claim_holds_if_every_number_is_as_expected() -> None:
    assert judged(expects(above=0), number(1, 2), number(0.5, 3)) == "holds"
    assert judged(expects(above=-1, below=1), number(-0.5, 0.5)) == "holds"


def test_a_claim_does_not_hold_if_one_number_is_outside() -> None:
    assert judged(expects(above=0), number(1, 2), number(-2, -1)) == "does not hold"
    assert judged(expects(above=-1, below=1), number(2, 3)) == "does not hold"


def test_a_number_on_both_sides_of_the_bound_is_not_enough() -> None:
    assert judged(expects(above=0), number(1, 2), number(-1, 1)) == "not enough data"


def test_what_was_not_measured_keeps_a_claim_from_holding() -> None:
    test = expects(above=0)
    assert judged(test, number(1, 2), lacking=["ITST was not decoded"]) == "not enough data"
    assert judged(test, number(-2, -1), lacking=["ITST was not decoded"]) == "does not hold"


def test_no_number_is_never_a_verdict() -> None:
    assert judged(expects(above=0)) == "not tested"


def shuffled(estimate: Estimate, seed: int) -> Estimate:
    """The same number with its resamples in an order of their own."""
    order = np.random.default_rng(seed).permutation(len(estimate.resampled))
    return estimate._replace(resampled=estimate.resampled[order])


def test_one_of_many_numbers_must_be_farther_outside_to_contradict() -> None:
    """Of -0.99…0.01, the middle 95 % end at -0.015, below 0; ten independent numbers are all
    inside in 95 % of the resamples if each is in 99.5 %, and these end at 0.0075.
    """
    doubtful = number(-0.99, 0.01)
    assert judged(expects(above=0), doubtful) == "does not hold"
    good = [shuffled(number(1, 2), seed) for seed in range(9)]
    assert judged(expects(above=0), *good, doubtful) == "not enough data"


@pytest.mark.parametrize(
    ("estimate", "supports", "why"),
    [
        (number(1, 2), "yes", "all of the interval is in this range"),
        (number(-4, -2), "no", "all of the interval is below 0"),
        (number(11, 12), "no", "all of the interval is above 10"),
        (number(-3, 1, seeds=1), "undecided",
         "the interval contains 0: 300 sentences and 1 seed cannot tell"),
        (number(-3, 11, seeds=1), "undecided",
         "the interval contains 0 and 10: 300 sentences and 1 seed cannot tell"),
    ],
)  # fmt: skip
def test_a_number_says_why_it_supports_a_claim_or_not(
    estimate: Estimate, supports: str, why: str
) -> None:
    test = expects(above=0, below=10)
    measured = Measured([(test, estimate)], [])
    (result,) = verdict_of(claim_of(test), measured, "by hand", seeds=1).results
    assert (result.supports, result.why) == (supports, why)
    assert bool(result.to_decide) == (supports == "undecided")


def test_the_interval_shown_is_the_one_that_decides() -> None:
    """Whatever the numbers: a verdict can be read off the intervals and the expected range."""
    rng = np.random.default_rng(3)
    test = expects(above=0)
    for _ in range(50):
        numbers = [
            Estimate("n", centre, *[rng.normal(centre, 1, 200)] * 2, 300, 3)
            for centre in rng.normal(2, 2, 9)
        ]
        verdict = verdict_of(claim_of(test), Measured([(test, n) for n in numbers], []), "", 3)
        if any(one.high < 0 for one in verdict.results):
            assert verdict.verdict == "does not hold"
        elif all(one.low > 0 for one in verdict.results):
            assert verdict.verdict == "holds"
        else:
            assert verdict.verdict == "not enough data"


@pytest.mark.parametrize(
    ("seeds", "wording"),
    [(1, "holds in this training"), (2, "holds in these two trainings"), (3, "holds")],
)
def test_few_seeds_say_nothing_about_the_method(seeds: int, wording: str) -> None:
    test = expects(above=0)
    measured = Measured([(test, number(1, 2, seeds=seeds))], [])
    assert verdict_of(claim_of(test), measured, "by hand", seeds).wording == wording


def test_a_system_with_fewer_seeds_than_the_study_limits_the_verdict() -> None:
    test = expects(above=0)
    measured = Measured([(test, number(1, 2)), (test, number(1, 2, seeds=1))], [])
    verdict = verdict_of(claim_of(test), measured, "by hand", seeds=3)
    assert verdict.wording == "holds in this training"
    assert "holds in this training 1, does not hold 0" in headline(
        ClaimsReport("toy", "default", 3, explained(3, 1), (verdict,))
    )
    says = "Where a system has 1 seed, a verdict is about this training, not about the method"
    assert says in explained(3, 1)
    assert "another seed may say otherwise" not in explained(3, 3)


def test_the_number_that_decides_comes_first() -> None:
    test = expects(above=0)
    numbers = [(test, number(1, 2, "good")), (test, number(-2, -1, "bad"))]
    verdict = verdict_of(claim_of(test), Measured(numbers, []), "by hand", seeds=1)
    assert [one.what for one in verdict.results] == ["bad", "good"]
    assert [one.supports for one in verdict.results] == ["no", "yes"]


# --- the claims as data -------------------------------------------------------------------------


def test_the_papers_bound_for_kendalls_tau_is_that_of_pearsons_r() -> None:
    """Of two normal variables, τ = 2/π · asin(r) (Greiner's relation)."""
    bounds = {
        test.score: test.above
        for claim in load_claims()
        for test in claim.tests
        if test.score.startswith("confidence")
    }
    expected = 2 / np.pi * np.arcsin(bounds["confidence_pearson"] or 0)
    assert bounds["confidence_kendall"] == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("claim", load_claims(), ids=lambda claim: claim.claim)
def test_every_claim_names_a_measurement_a_range_and_systems_that_exist(
    claim: Claim, params: Params
) -> None:
    evidence = Evidence(replace(params, study="paper"))
    assert bool(claim.tests) != bool(claim.untested)
    for test in claim.tests:
        assert test.measurement in MEASUREMENTS
        assert test.above is not None or test.below is not None
        for pair in evidence.pairs(claim.pairs):
            assert MEASUREMENTS[test.measurement].comparisons(evidence, pair, test)


def test_claims_have_names_of_their_own() -> None:
    names = [claim.claim for claim in load_claims()]
    assert len(set(names)) == len(names)


def test_every_measurement_is_used_by_some_claim() -> None:
    used = {test.measurement for claim in load_claims() for test in claim.tests}
    assert used == set(MEASUREMENTS)


# --- from sentences to numbers ------------------------------------------------------------------

Decode = Callable[[str, Callable[[int, int], str]], None]


@pytest.fixture
def decode(params: Params) -> Decode:
    """Writes the instances of a system: knob values lag by 1 to 5 tokens."""

    def write(run: str, output: Callable[[int, int], str]) -> None:
        instances = [
            decoded(index, lag / 10, output(index, lag), lag)
            for lag in range(1, 6)
            for index in range(40)
        ]
        write_point(params, run, instances)

    return write


def against(measurement: str, *others: str, **bounds: Any) -> ClaimTest:
    """The BLEU of SM²-Bi against that of others."""
    return ClaimTest(
        measurement=measurement, score="bleu", systems=("sm2/bi",), against=others, **bounds
    )


def measure(params: Params, test: ClaimTest) -> list[Estimate]:
    evidence = Evidence(params)
    measurement = MEASUREMENTS[test.measurement]
    return [
        found
        for comparison in measurement.comparisons(evidence, "tiny-deen", test)[0]
        for found in measurement.measure(evidence, comparison, test)
    ]


def test_the_difference_at_each_latency_is_that_of_bleu(params: Params, decode: Decode) -> None:
    decode("sm2/bi", lambda index, lag: GOOD)
    decode("itst/uni", lambda index, lag: BAD)
    test = against("at-each-latency", "itst/uni", between=(2, 4), above=0)
    found = measure(params, test)
    assert [one.what.rpartition(" ")[2] for one in found] == ["2", "3", "4"]
    assert [one.observed for one in found] == pytest.approx([100 - BAD_BLEU] * 3)
    assert all(np.allclose(one.resampled, 100 - BAD_BLEU) for one in found)


def test_the_lead_is_a_mean_over_the_latencies_that_both_reach(
    params: Params, decode: Decode
) -> None:
    decode("sm2/bi", lambda index, lag: BAD)
    decode("itst/uni", lambda index, lag: GOOD if lag > 3 else BAD)
    (found,) = measure(params, against("over-latencies", "itst/uni", above=0))
    assert found.observed == pytest.approx(-2 * (100 - BAD_BLEU) / 5)
    assert found.what.endswith("SM²-Bi - ITST over AL 1 to 5")


def test_a_baseline_that_the_study_does_not_run_hides_no_other(
    params: Params, decode: Decode
) -> None:
    decode("sm2/bi", lambda index, lag: BAD)
    decode("itst/uni", lambda index, lag: GOOD)
    test = against("at-each-latency", "sm2/bi-w0.7", "itst/uni", above=0)
    verdict = judge(claim_of(test), Evidence(params))
    assert verdict.verdict == "does not hold"
    without = test.model_copy(update={"against": ("sm2/bi-w0.7",)})
    verdict = judge(claim_of(without), Evidence(params))
    assert verdict.verdict == "not tested"
    assert verdict.reason == "study tiny runs no SM²-Bi with λ = 0.7 on tiny-deen"


def test_only_systems_of_the_same_sentences_and_references_are_compared(
    params: Params, decode: Decode, edit: Callable[..., None]
) -> None:
    decode("sm2/bi", lambda index, lag: GOOD)
    decode("itst/uni", lambda index, lag: BAD)
    path = sentences_file("itst/uni")

    def other_references(statistics: dict[str, Any]) -> None:
        statistics["references"] = "0" * 64

    def other_sentences(statistics: dict[str, Any]) -> None:
        statistics["sentences"] = statistics["sentences"][::-1]

    whole = path.read_text(encoding="utf-8")
    for change in (other_references, other_sentences):
        path.write_text(whole, encoding="utf-8")
        edit(path, change)
        evidence = Evidence(params)
        evidence.system("tiny-deen", SystemName("sm2/bi"), "bleu")
        with pytest.raises(SimtError, match=r"itst/uni/seed1/test is of other sentences"):
            evidence.system("tiny-deen", SystemName("itst/uni"), "bleu")


def sentences_file(run: str) -> Path:
    return Point.parse(f"tiny-deen/{run}/seed1/test").folder / "sentences.json"


def test_only_systems_with_the_same_latency_are_compared(
    params: Params, decode: Decode, edit: Callable[..., None]
) -> None:
    def other_latency(statistics: dict[str, Any]) -> None:
        statistics["main_latency"] = "laal_token"

    for run in ("sm2/bi", "itst/uni"):
        decode(run, lambda index, lag: GOOD)
    edit(sentences_file("itst/uni"), other_latency)
    with pytest.raises(SimtError, match="has laal_token as its latency, other systems al_token"):
        measure(params, against("over-latencies", "itst/uni"))


def test_comet_of_different_models_is_not_compared(
    params: Params, decode: Decode, edit: Callable[..., None]
) -> None:
    """The paper's model counts for all systems of a pair where one has it."""

    def with_comet(*models: str) -> Callable[[dict[str, Any]], None]:
        def add(statistics: dict[str, Any]) -> None:
            for point in statistics["points"]:
                for model in models:
                    point["statistics"][f"comet:{model}"] = [0.5] * len(statistics["sentences"])

        return add

    for run in ("sm2/bi", "itst/uni"):
        decode(run, lambda index, lag: GOOD)
    edit(sentences_file("sm2/bi"), with_comet("simt/toy", "Unbabel/wmt22-cometkiwi-da"))
    edit(sentences_file("itst/uni"), with_comet("simt/toy"))
    test = against("over-latencies", "itst/uni").model_copy(update={"score": "comet"})
    with pytest.raises(NotMeasuredError, match="itst/uni/seed1 has no COMET of its sentences"):
        measure(params, test)
    edit(sentences_file("itst/uni"), with_comet("Unbabel/wmt22-cometkiwi-da"))
    assert [one.observed for one in measure(params, test)] == [0.0]


def test_systems_in_the_order_of_a_setting_are_compared_with_the_one_before(params: Params) -> None:
    test = ClaimTest(
        measurement="from-one-to-the-next", score="al", below=0,
        systems=("sm2/bi@0.99", "sm2/bi-w*@0.99"), order_by="confidence_weight",
    )  # fmt: skip
    weights = {"bi": 2.0, "bi-w1.0": 1.0}  # by name it would come last
    sm2 = params.methods["sm2"]
    variants = {
        name: variant.model_copy(
            update={"settings": variant.settings | {"confidence_weight": weights[name]}}
        ) if name in weights else variant
        for name, variant in sm2.variants.items()
    }  # fmt: skip
    methods = {**params.methods, "sm2": sm2.model_copy(update={"variants": variants})}
    evidence = Evidence(replace(params, methods=methods))
    measurement = MEASUREMENTS[test.measurement]
    comparisons, _ = measurement.comparisons(evidence, "tiny-deen", test)
    pairs = [tuple(name.key for name in one.names) for one in comparisons]
    assert pairs == [("sm2/bi", "sm2/bi-w1.0")]


def test_levels_are_compared_without_a_latency(params: Params, decode: Decode) -> None:
    decode("sm2/bi", lambda index, lag: GOOD)
    test = ClaimTest(
        measurement="from-one-to-the-next", score="al", systems=("sm2/bi@0.1", "sm2/bi@0.4"),
        below=0,
    )  # fmt: skip
    (found,) = measure(params, test)
    assert found.observed == pytest.approx(3.0)  # wait-4 lags by three more than wait-1


def test_losses_on_long_sentences_are_compared_between_systems(
    params: Params, decode: Decode
) -> None:
    """All sources are equally long, so that the first twenty are the short half."""
    decode("sm2/bi", lambda index, lag: GOOD if index < 20 else BAD)
    decode("itst/uni", lambda index, lag: GOOD)
    test = against("long-minus-short", "itst/uni", above=-1)
    (found,) = measure(params, test)
    assert found.observed == pytest.approx(BAD_BLEU - 100)


def test_long_and_short_sentences_are_compared_at_the_same_latencies(params: Params) -> None:
    """Short sentences lag by 1 to 4, long ones by 3 to 6; both systems are worse at 3 and 4."""
    for run, output in (("sm2/bi", BAD), ("itst/uni", GOOD)):
        instances = [
            decoded(index, step / 10, output if step + is_long * 2 in (3, 4) else GOOD,
                    step + is_long * 2)
            for step in range(1, 5)
            for index in range(40)
            for is_long in [index >= 20]
        ]  # fmt: skip
        write_point(params, run, instances)
    test = against("long-minus-short", "itst/uni", above=-1)
    (found,) = measure(params, test)
    assert found.what.endswith("long - short over AL 3 to 4")
    assert found.observed == pytest.approx(0)


def test_a_study_of_scale_has_verdicts_on_each_amount_of_training(params: Params) -> None:
    """SM²-Uni is behind after 1,500 updates and leads after 6,000; 3,000 were not trained yet."""
    scale = replace(params, study="scale-multi30k")
    outputs = {
        "multi30k-deen-long-u1500": {"sm2/uni": BAD, "multipath/uni": GOOD},
        "multi30k-deen-long": {"sm2/uni": GOOD, "multipath/uni": BAD},
    }
    for pair, of_runs in outputs.items():
        text = corpus_folder(pair, "prepare")
        text.mkdir(parents=True)
        (text / "stats.json").write_text('{"train": {"kept": 28979}}', encoding="utf-8")
        for run, output in of_runs.items():
            instances = [
                decoded(index, lag / 10, output, lag) for lag in range(1, 6) for index in range(40)
            ]
            write_point(scale, run, instances, pair=pair)
    report = judge_claims(scale)
    assert [(one.pair, one.updates, one.sentences) for one in report.scales] == [
        ("multi30k-deen-long-u1500", 1500, 28979),
        ("multi30k-deen-long", 6000, 28979),
    ]
    said = "SM²-Uni translates better than the other systems at an AL from 0 to 6."
    what = "BLEU of SM²-Uni - m-wait-k over AL 1 to 5"
    assert [cells for sentence, cells in claims_by_scale(report.as_json()["scales"])
            if sentence == said] == [[
        ("does not hold in this training", f"{what} -60.72 [-60.72, -60.72]"),
        ("not enough data", f"{what} +60.72 [+60.72, +60.72]"),  # some were not decoded
    ]]  # fmt: skip
    for text in (as_text(report), as_markdown(report)):
        assert "1,500 updates, 28,979 training sentences" in text
        assert f"does not hold in this training: {what} -60.72 [-60.72, -60.72]" in text


def test_curves_that_never_meet_are_not_compared(params: Params, decode: Decode) -> None:
    decode("sm2/bi", lambda index, lag: GOOD)
    decode("itst/uni", lambda index, lag: GOOD)
    test = against("over-latencies", "itst/uni", between=(7, 9), above=0)
    with pytest.raises(NotMeasuredError, match="SM²-Bi and ITST share no whole AL from 7 to 9"):
        measure(params, test)


def test_systems_that_do_not_translate_are_not_called_alike(params: Params, decode: Decode) -> None:
    decode("sm2/bi", lambda index, lag: "z z z z z z z z z z")
    decode("sm2/bi-ft", lambda index, lag: "z z z z z z z z z z")
    (claim,) = (one for one in load_claims() if one.claim == "fine-tuning-close")
    verdict = judge(claim, Evidence(params))
    assert verdict.verdict == "not tested"
    assert verdict.reason == (
        "SM²-FT and SM²-Bi have less than 5 BLEU on tiny-deen, too little to compare: train longer"
    )


def test_a_run_that_was_not_decoded_is_named(params: Params) -> None:
    (claim,) = (one for one in load_claims() if one.claim == "fine-tuning-close")
    verdict = judge(claim, Evidence(params))
    assert verdict.verdict == "not tested"
    assert verdict.reason == "tiny-deen/sm2/bi-ft/seed1 was not scored on test"


def test_a_claim_that_cannot_be_tested_says_why(params: Params) -> None:
    claim = claim_of().model_copy(update={"untested": "nobody kept the numbers"})
    verdict = judge(claim, Evidence(params))
    assert (verdict.verdict, verdict.reason) == ("not tested", "nobody kept the numbers")


def test_a_level_is_the_same_at_every_latency() -> None:
    statistics = KnobStatistics(np.array([[1, 2], [2, 2]]), np.array([3.0, 5.0]), percentage_of)
    latencies, scores = curve_points(level(statistics))
    assert scores.tolist() == [[75.0, 75.0]]
    assert latencies[0, 0] < -1000
    assert latencies[0, 1] > 1000


def test_a_star_stands_for_what_the_study_runs(params: Params) -> None:
    evidence = Evidence(replace(params, study="paper"))
    names = evidence.names("wmt15-deen", "sm2/bi-w*@0.99")
    assert [name.key for name in names] == [f"sm2/bi-w{n / 10:.1f}" for n in range(2, 11)]
    assert {name.knob for name in names} == {0.99}


def test_a_system_that_the_study_does_not_run_is_named(params: Params) -> None:
    with pytest.raises(
        NotMeasuredError, match=r"study tiny runs no SM²-Bi with λ = 0\.7 on tiny-deen"
    ):
        Evidence(params).names("tiny-deen", "sm2/bi-w0.7")


def test_names_of_levels_carry_their_knob() -> None:
    assert SystemName.parse("sm2/bi@full") == SystemName("sm2/bi", "full")
    assert SystemName.parse("sm2/bi@0.99") == SystemName("sm2/bi", 0.99)
    assert SystemName.parse("offline/bi") == SystemName("offline/bi", "full")
    assert SystemName.parse("waitk") == SystemName("waitk")


# --- the report of claims ------------------------------------------------------------------------


def report_of(*tests: tuple[ClaimTest, Estimate]) -> ClaimsReport:
    verdict = verdict_of(claim_of(tests[0][0]), Measured(list(tests), []), "by hand", seeds=1)
    return ClaimsReport("tiny", "default", 1, explained(1, 1), (verdict,))


def test_the_report_prints_claim_verdict_interval_and_the_papers_number() -> None:
    """Of 0, 1, …, 2000 the middle 95 % are 50 to 1950."""
    test = expects(above=0).model_copy(update={"paper": 8.0})
    text = as_text(report_of((test, number(0, 2000, "SM²-Bi - wait-k"))))
    assert "holds in this training 1, does not hold in this training 0, not enough data 0" in text
    assert "[ , ] is a 95 % confidence interval by the paired bootstrap over the sentences" in text
    assert text.endswith(
        """
HOLDS in this training: It is so. (Figure 0)
  1 of 1 intervals within the expected range
    SM²-Bi - wait-k
    expected above 0, found +1000.00 [+50.00, +1950.00]: all of the interval is in this range
    (paper: +8.00)
    measured: by hand
"""
    )


def test_the_report_is_written_for_programs_and_for_people(tmp_path: Path) -> None:
    report = report_of((expects(above=0), number(1, 2)))
    write_claims(report, tmp_path)
    written = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert (written["study"], written["seeds"]) == ("tiny", 1)
    (claim,) = written["claims"]
    assert claim["verdict"] == "holds"
    assert claim["results"][0]["expected"] == "above 0"
    assert (tmp_path / "claims.md").read_text(encoding="utf-8") == as_markdown(report)


def test_without_points_nothing_is_decided(params: Params) -> None:
    report = judge_claims(params)
    assert len(report.claims) == len(load_claims())
    assert {one.verdict for one in report.claims} == {"not tested"}
    assert all(one.reason for one in report.claims)


def test_systems_that_write_nothing_or_have_one_point_are_no_obstacle(params: Params) -> None:
    """An untrained model may write nothing at all, at one knob value or at every one."""
    for run, outputs in (("sm2/bi", ("", "")), ("hmt/l2-k4", (GOOD,)), ("itst/uni", (BAD, GOOD))):
        instances = [
            decoded(index, (place + 1) / 10, output, 4)
            for place, output in enumerate(outputs)
            for index in range(10)
        ]
        write_point(params, run, instances)
    report = judge_claims(params)
    for one in report.claims:
        for found in one.results:
            assert np.isfinite([found.value, found.low, found.high]).all()
