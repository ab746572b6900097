"""The paper's claims, as data in reference/claims.yaml, and what a study says to each.

A claim has tests, a test gives numbers. A number stands for the claim if its 95 % interval lies in
the expected range, and against it if the interval lies outside even when widened for how many
numbers there are (Bonferroni): with fifty of them, some would be outside by chance. The claim
holds if every number stands for it, and does not hold if one stands against it.
"""

from collections.abc import Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import NamedTuple

import yaml

from simt.errors import SimtError
from simt.paper.evidence import SCORE_LABELS, Evidence, NotMeasuredError
from simt.paper.measurements import MEASUREMENTS, RESAMPLES, ClaimTest, Estimate
from simt.paper.verdicts import Finding, Ledger, Stand, Verdict
from simt.params import Params, Role
from simt.scoring.significance import Difference, summarise
from simt.settings import Settings

CLAIMS_FILE = Path(__file__).with_name("reference") / "claims.yaml"
_LEVEL = 0.95
_SHOWN_REASONS = 3


class Claim(Settings):
    """Something that the paper says, where, about which pairs, and how it is tested.

    Without a test, ``untested`` says why there can be none: the claim stays in the ledger.
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


def judge_claims(params: Params, study_name: str, results: Path) -> Ledger:
    """The verdict on every claim, from the points below the folder ``results``."""
    if study_name not in params.studies:
        known = ", ".join(params.studies)
        raise SimtError(f"params.yaml has no study {study_name!r}; there are {known}")
    evidence = Evidence(params, study_name, results)
    verdicts = tuple(judge(claim, evidence) for claim in load_claims())
    return Ledger(study_name, params.fidelity, len(evidence.study.seeds), verdicts)


class Measured(NamedTuple):
    """All numbers of a claim with the tests they belong to, and what could not be measured."""

    numbers: list[tuple[ClaimTest, Estimate]]
    lacking: list[str]


def judge(claim: Claim, evidence: Evidence) -> Verdict:
    """The verdict on one claim."""
    measured = _measure(claim, evidence)
    return verdict_of(claim, measured, _how(claim, evidence))


def _measure(claim: Claim, evidence: Evidence) -> Measured:
    measured = Measured([], [claim.untested] if claim.untested else [])
    for test in claim.tests:
        measurement = MEASUREMENTS[test.measurement]
        for pair in evidence.pairs(claim.pairs):
            try:
                comparisons = measurement.comparisons(evidence, pair, test)
            except NotMeasuredError as error:
                measured.lacking.append(str(error))
                continue
            for comparison in comparisons:
                try:
                    found = measurement.measure(evidence, comparison, test)
                    measured.numbers.extend((test, number) for number in found)
                except NotMeasuredError as error:
                    measured.lacking.append(str(error))
    return measured


def _how(claim: Claim, evidence: Evidence) -> str:
    """How the numbers of a claim come about, in words."""
    if not claim.tests:
        return "not measured"
    tests = dict.fromkeys(
        f"{SCORE_LABELS[test.score]} {MEASUREMENTS[test.measurement].says}"
        f"{_limits(test)}, expected {test.expected}"
        for test in claim.tests
    )
    seeds = len(evidence.study.seeds)
    drawn = "sentences of 1 seed" if seeds == 1 else f"sentences and {seeds} seeds"
    return f"{'; '.join(tests)}; {RESAMPLES:,} resamples of {drawn}, 95 % intervals"


def _limits(test: ClaimTest) -> str:
    return "" if test.between is None else " from {:g} to {:g}".format(*test.between)


# --- from numbers to a verdict ------------------------------------------------------------------


def verdict_of(claim: Claim, measured: Measured, how: str) -> Verdict:
    """What the numbers of a claim say together; the one that decides comes first."""
    widened = 1 - (1 - _LEVEL) / max(1, len(measured.numbers))
    judged = [_finding(test, number, widened) for test, number in measured.numbers]
    findings = [finding for _, finding in sorted(judged, key=lambda one: one[0])]
    against = [finding for finding in findings if finding.stands == "against"]
    still_open = [finding for finding in findings if finding.stands == "open"]
    common = (claim.claim, claim.sentence, claim.where, how)
    total = f"{len(findings)} number{'s' if len(findings) != 1 else ''}"
    if against:
        reason = f"{len(against)} of {total} against it"
        return Verdict(*common, "does not hold", reason, tuple(findings))
    if still_open or measured.lacking or not findings:
        reasons = [f"{len(still_open)} of {total} undecided"] if still_open else []
        reasons += _shortened(measured.lacking)
        return Verdict(*common, "not enough data", "; ".join(reasons), tuple(findings))
    return Verdict(*common, "holds", f"{total}, as expected", tuple(findings))


def _finding(
    test: ClaimTest, number: Estimate, widened: float
) -> tuple[tuple[int, float], Finding]:
    """A number with what it says, after a key that puts the worst one first."""
    usual = summarise(None, number.observed, number.resampled, _LEVEL)
    wide = summarise(None, number.observed, number.resampled, widened)
    above = -inf if test.above is None else test.above
    below = inf if test.below is None else test.below
    stands = _stand(usual, wide, above, below)
    finding = Finding(
        number.what, usual.difference, usual.low, usual.high, usual.p_value, test.expected, stands,
        test.paper,
    )  # fmt: skip
    order: Sequence[Stand] = ("against", "open", "for")
    room = min(usual.low - above, below - usual.high)
    return (order.index(stands), room), finding


def _stand(usual: Difference, wide: Difference, above: float, below: float) -> Stand:
    if above < usual.low and usual.high < below:
        return "for"
    return "against" if wide.high < above or wide.low > below else "open"


def _shortened(reasons: Sequence[str]) -> list[str]:
    """The first reasons, and how many there are besides."""
    distinct = list(dict.fromkeys(reasons))
    rest = len(distinct) - _SHOWN_REASONS
    return [*distinct[:_SHOWN_REASONS], *([f"and {rest} more like these"] if rest > 0 else [])]
