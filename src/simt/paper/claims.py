"""The paper's claims, as data in reference/claims.yaml, and what a study says about each.

A claim has tests, a test gives numbers. A number supports the claim if its interval lies in the
expected range, and contradicts it if the interval lies outside. The claim holds if every number
supports it, and does not hold if one contradicts it; without any number it was not tested. The
intervals are of all numbers of a claim together: with fifty intervals of 95 % each, some would lie
outside by chance.
"""

from collections.abc import Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import NamedTuple

import yaml

from simt.paper.claims_report import (
    AtScale,
    ClaimsReport,
    Outcome,
    Result,
    Support,
    Verdict,
    wording,
)
from simt.paper.evidence import SCORE_LABELS, Evidence, NotMeasuredError
from simt.paper.measurements import DRAWS, MEASUREMENTS, ClaimTest, Estimate
from simt.paper.power import POWER, what_would_decide
from simt.paper.rows import load_training_sentences
from simt.params import Params, Role
from simt.runs import study_runs
from simt.scoring.significance import SEEDS_OF_A_METHOD, Interval, joint_intervals
from simt.settings import Settings
from simt.wording import count

CLAIMS_FILE = Path(__file__).with_name("reference") / "claims.yaml"
_SHOWN_REASONS = 3


class Claim(Settings):
    """Something that the paper says, where, about which pairs, and how it is tested.

    Without a test, ``untested`` says why there can be none: the claim stays in the report.
    """

    claim: str
    sentence: str
    where: str
    pairs: Role
    tests: tuple[ClaimTest, ...] = ()
    untested: str = ""


@cache
def load_claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the paper."""
    entries = yaml.safe_load(CLAIMS_FILE.read_text(encoding="utf-8"))
    return tuple(Claim.of(entry) for entry in entries)


def judge_claims(params: Params) -> ClaimsReport:
    """The verdict on every claim, from the points of the study."""
    evidence = Evidence(params)
    verdicts = tuple(judge(claim, evidence) for claim in load_claims())
    seeds, runs = len(evidence.study.seeds), study_runs(evidence.study)
    fewest = min(len(evidence.study.seeds_of(one.method, one.variant)) for one in runs)
    return ClaimsReport(
        params.study, params.fidelity, seeds, explained(seeds, fewest), verdicts,
        _by_scale(evidence, verdicts),
    )  # fmt: skip


def _by_scale(evidence: Evidence, verdicts: Sequence[Verdict]) -> tuple[AtScale, ...]:
    """The verdicts on each pair in the role ``scale`` by itself, from little to much."""
    found = []
    for pair in evidence.study.pairs.scale:
        claims = tuple(
            verdict if pairs == (pair,) else judge(claim, evidence, (pair,))
            for claim, verdict in zip(load_claims(), verdicts, strict=True)
            if (pairs := evidence.pairs(claim.pairs))
        )
        if tested := tuple(one for one in claims if one.results):
            updates = evidence.params.pair_training(pair)["updates"]
            found.append(AtScale(pair, updates, load_training_sentences(pair), tested))
    return tuple(sorted(found, key=lambda one: (one.sentences, one.updates)))


def explained(seeds: int, fewest: int) -> str:
    """What the intervals are and how they decide, for whoever reads a verdict.

    ``fewest`` are the seeds of the system that has been trained least often.
    """
    is_of_method = seeds >= SEEDS_OF_A_METHOD
    drawn = f"the sentences and the {seeds} seeds" if is_of_method else "the sentences"
    of_what = ""
    if fewest < SEEDS_OF_A_METHOD:
        trainings = "this training" if fewest == 1 else "these trainings"
        of_what = (
            f" Where a system has {count(fewest, 'seed')}, a verdict is about {trainings}, not "
            "about the method: another seed may say otherwise."
        )
    return (
        f"[ , ] is a 95 % confidence interval by the paired bootstrap over {drawn} "
        f"({DRAWS.resamples:,} resamples), simultaneous for all numbers of a claim. A claim holds "
        "if every system that it names was run and every interval lies in the expected range; it "
        "does not hold if one lies wholly outside; otherwise there are not enough data to tell. "
        "Without any number it was not tested. The number shown is the one that supports the claim "
        "least. What would decide an undecided claim is computed for the number as it was found, "
        f"to be seen in {100 * POWER:.0f} % of repetitions.{of_what}"
    )


class Measured(NamedTuple):
    """All numbers of a claim with the tests they belong to, and what could not be measured."""

    numbers: list[tuple[ClaimTest, Estimate]]
    lacking: list[str]


def judge(claim: Claim, evidence: Evidence, pairs: Sequence[str] | None = None) -> Verdict:
    """The verdict on one claim, from the pairs that it is about or from others."""
    measured = _measure(claim, evidence, evidence.pairs(claim.pairs) if pairs is None else pairs)
    return verdict_of(claim, measured, _how(claim), len(evidence.study.seeds))


def _measure(claim: Claim, evidence: Evidence, pairs: Sequence[str]) -> Measured:
    measured = Measured([], [claim.untested] if claim.untested else [])
    if not pairs:
        measured.lacking.append(f"study {evidence.params.study} has no {claim.pairs} pair")
    for test in claim.tests:
        measurement = MEASUREMENTS[test.measurement]
        for pair in pairs:
            comparisons, lacking = measurement.comparisons(evidence, pair, test)
            measured.lacking.extend(lacking)
            for comparison in comparisons:
                try:
                    found = measurement.measure(evidence, comparison, test)
                    measured.numbers.extend((test, number) for number in found)
                except NotMeasuredError as error:
                    measured.lacking.append(str(error))
    return measured


def _how(claim: Claim) -> str:
    """How the numbers of a claim come about, in words."""
    tests = dict.fromkeys(
        f"{SCORE_LABELS[test.score]} {MEASUREMENTS[test.measurement].says}"
        f"{_limits(test)}, expected {test.expected}"
        for test in claim.tests
    )
    return "; ".join(tests) or "not measured"


def _limits(test: ClaimTest) -> str:
    return "" if test.between is None else " from {:g} to {:g}".format(*test.between)


# --- from numbers to a verdict ------------------------------------------------------------------


def verdict_of(claim: Claim, measured: Measured, how: str, seeds: int) -> Verdict:
    """What the numbers of a claim say together; the one that decides comes first.

    ``seeds`` are those of the study; a system may have been trained with fewer.
    """
    numbers = [number.resampled for _, number in measured.numbers]
    intervals = joint_intervals(numbers) if numbers else []
    fewest = min([seeds, *(number.seeds for _, number in measured.numbers)])
    judged = [
        _result(test, number, interval)
        for (test, number), interval in zip(measured.numbers, intervals, strict=True)
    ]
    results = tuple(result for _, result in sorted(judged, key=lambda one: one[0]))
    outcome, reason = _outcome(results, measured.lacking)
    return Verdict(
        claim.claim, claim.sentence, claim.where, how,
        outcome, wording(outcome, fewest), reason, results,
    )  # fmt: skip


def _outcome(results: Sequence[Result], lacking: Sequence[str]) -> tuple[Outcome, str]:
    """The verdict by all numbers, and why."""
    if not results:
        return "not tested", "; ".join(_shortened(lacking))
    supports = [result.supports for result in results]
    of_all = f"of {len(results)} intervals"
    if contradicting := supports.count("no"):
        return "does not hold", f"{contradicting} {of_all} wholly outside the expected range"
    if not lacking and "undecided" not in supports:
        return "holds", f"{len(results)} {of_all} within the expected range"
    partly = f"{supports.count('undecided')} {of_all} partly outside the expected range"
    reasons = [partly] if "undecided" in supports else []
    return "not enough data", "; ".join(reasons + _shortened(lacking))


def _result(
    test: ClaimTest, number: Estimate, interval: Interval
) -> tuple[tuple[int, float], Result]:
    """A number with what it says and why, after a key that puts the worst one first."""
    above = -inf if test.above is None else test.above
    below = inf if test.below is None else test.below
    supports, why = _support(interval, above, below)
    to_decide = ""
    if supports == "undecided":
        sentences, seeds = count(number.sentences, "sentence"), count(number.seeds, "seed")
        why += f": {sentences} and {seeds} cannot tell"
        nearest = min((above, below), key=lambda bound: abs(bound - number.observed))
        to_decide = what_would_decide(number, interval, nearest)
    result = Result(
        number.what, number.observed, interval.low, interval.high, test.expected, supports, why,
        to_decide, test.paper,
    )  # fmt: skip
    order: Sequence[Support] = ("no", "undecided", "yes")
    margin = min(interval.low - above, below - interval.high)
    return (order.index(supports), margin), result


def _support(interval: Interval, above: float, below: float) -> tuple[Support, str]:
    """Whether an interval lies in the range from ``above`` to ``below``, and how one sees that."""
    low, high = interval
    if high < above:
        return "no", f"all of the interval is below {above:g}"
    if low > below:
        return "no", f"all of the interval is above {below:g}"
    if above < low and high < below:
        return "yes", "all of the interval is in this range"
    bounds = [f"{bound:g}" for bound in (above, below) if low <= bound <= high]
    return "undecided", f"the interval contains {' and '.join(bounds)}"


def _shortened(reasons: Sequence[str]) -> list[str]:
    """The first reasons, and how many there are besides."""
    distinct = list(dict.fromkeys(reasons))
    rest = len(distinct) - _SHOWN_REASONS
    return [*distinct[:_SHOWN_REASONS], *([f"and {rest} more like these"] if rest > 0 else [])]
