"""How a claim is measured: differences between systems, each with its resamples.

Every measurement compares systems of one pair, by the paired bootstrap of
``simt.scoring.significance``. A latency counts if both systems reach it in nearly every resample:
at the ends of a curve, the other resamples would be a choice of sentences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simt.paper.evidence import (
    SCORE_LABELS,
    Evidence,
    Group,
    NotMeasuredError,
    ScoreName,
    SystemName,
)
from simt.scoring.quality import Floats
from simt.scoring.significance import Draws, System, resample, shared_latencies
from simt.settings import Settings

DRAWS = Draws(resamples=2000, moves=25)
REACHED = 0.95  # of the resamples
_LEAST_BLEU = 5.0  # where no system has more, none translates, and equal scores say nothing
_HALVES: tuple[Group, ...] = ("long", "short")


class NoSharedLatencyError(NotMeasuredError):
    """Systems that do not meet at any of the latencies."""


class ClaimTest(Settings):
    """What is measured for a claim, and in which range the numbers are expected.

    ``systems`` are compared with ``against``, or each with the one before in the order of a
    setting; ``between`` limits the latencies. ``paper`` is what the paper itself prints.
    """

    measurement: str
    score: ScoreName
    systems: tuple[str, ...]
    against: tuple[str, ...] = ()
    order_by: str | None = None
    between: tuple[float, float] | None = None
    above: float | None = None
    below: float | None = None
    paper: float | None = None

    @property
    def expected(self) -> str:
        """The range in words."""
        bounds = (("above", self.above), ("below", self.below))
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


class Estimate(NamedTuple):
    """A number, the same in every resample (not a number where it has none), and of how much.

    ``of_sentences`` are the resamples before seeds moved them; ``seeds`` has the system with the
    fewest.
    """

    what: str
    observed: float
    resampled: Floats
    of_sentences: Floats
    sentences: int
    seeds: int


class Comparison(NamedTuple):
    """A system on a pair, and what it is compared with: nothing if it speaks for itself.

    ``at`` are the latencies; without any, the whole numbers that the systems share.
    """

    pair: str
    system: SystemName
    other: SystemName | None
    at: tuple[float, ...] = ()

    @property
    def names(self) -> list[SystemName]:
        return [self.system] if self.other is None else [self.system, self.other]


Pairing = list[tuple[SystemName, SystemName | None]]


@dataclass(frozen=True)
class Measurement:
    """Which systems are compared with which and how, and that in words."""

    says: str
    pairing: Callable[[Sequence[SystemName], Sequence[SystemName]], Pairing]
    measure: Callable[[Evidence, Comparison, ClaimTest], list[Estimate]]

    def comparisons(
        self, evidence: Evidence, pair: str, test: ClaimTest
    ) -> tuple[list[Comparison], list[str]]:
        """Every comparison of a test on a pair, and which systems the study does not run."""
        lacking: list[str] = []

        def named(patterns: Sequence[str]) -> Iterator[SystemName]:
            for pattern in patterns:
                try:
                    yield from evidence.names(pair, pattern)
                except NotMeasuredError as error:
                    lacking.append(str(error))

        systems, others = list(named(test.systems)), list(named(test.against))
        if test.order_by is not None:
            systems.sort(key=partial(evidence.setting, pair, test.order_by))
        pairing = self.pairing(systems, others) if others or not test.against else []
        return [Comparison(pair, one, other) for one, other in pairing], lacking


def _each_with_each(systems: Sequence[SystemName], others: Sequence[SystemName]) -> Pairing:
    return [(system, other) for system in systems for other in others]


def _each_alone(systems: Sequence[SystemName], others: Sequence[SystemName]) -> Pairing:
    return [(system, None) for system in systems]


def _each_with_the_one_before(
    systems: Sequence[SystemName], others: Sequence[SystemName]
) -> Pairing:
    return [(system, before) for before, system in pairwise(systems)]


# --- at equal latency ---------------------------------------------------------------------------


class Curves(NamedTuple):
    """Systems at some latencies: observed SA, resampled SRA; not a number out of reach."""

    latencies: Floats
    observed: Floats
    resampled: Floats
    of_sentences: Floats
    sentences: int
    seeds: int

    def estimate(self, what: str, compute: Callable[[Floats], Floats]) -> Estimate:
        """A number that is computed from the scores of all systems, its last axis latencies."""
        observed, resampled, of_sentences = map(
            compute, (self.observed, self.resampled, self.of_sentences)
        )
        return Estimate(what, float(observed), resampled, of_sentences, self.sentences, self.seeds)

    def only(self, is_kept: npt.NDArray[np.bool_]) -> "Curves":
        """The same at some of the latencies."""
        return self._replace(
            latencies=self.latencies[is_kept],
            observed=self.observed[:, is_kept],
            resampled=self.resampled[:, :, is_kept],
            of_sentences=self.of_sentences[:, :, is_kept],
        )


def shared_curves(
    evidence: Evidence, comparison: Comparison, test: ClaimTest, group: Group = "all"
) -> Curves:
    """The systems of a comparison over the same draws of sentences, at the latencies they share."""
    names = comparison.names
    systems = [evidence.system(comparison.pair, name, test.score, group) for name in names]
    latencies = np.array(comparison.at) if comparison.at else _latencies(systems, names, test)
    trained = [
        (f"{comparison.pair} {name.key}", one) for name, one in zip(names, systems, strict=True)
    ]
    curves = _where_reached(trained, latencies, group)
    is_shared = ~np.isnan(curves.observed).any(axis=0)
    if not is_shared.any():
        no_latency = _seldom_reached if latencies.size else _no_latency
        raise NoSharedLatencyError(no_latency(comparison.pair, names, test))
    _check_quality(evidence, comparison, test, curves)
    return curves.only(is_shared)


def _where_reached(
    systems: Sequence[tuple[str, System]], latencies: Floats, group: Group
) -> Curves:
    """All systems, not a number where one does not reach a latency in nearly every resample."""
    found = resample(systems, latencies, DRAWS, group)
    observed, resampled, of_sentences = (
        np.stack([getattr(one, name) for one in found])
        for name in ("observed", "resampled", "of_sentences")
    )
    is_reached = (~np.isnan(resampled)).mean(axis=1) >= REACHED
    return Curves(
        latencies,
        np.where(is_reached, observed, np.nan),
        np.where(is_reached[:, None, :], resampled, np.nan),
        np.where(is_reached[:, None, :], of_sentences, np.nan),
        len(systems[0][1][0][0].latencies),
        min(len(system) for _, system in systems),
    )


def _check_quality(
    evidence: Evidence, comparison: Comparison, test: ClaimTest, curves: Curves
) -> None:
    """Refuse to compare the quality of systems of which none translates."""
    names = comparison.names
    if test.score == "bleu":
        best = float(np.nanmax(curves.observed))
    elif test.score == "comet":
        best = max(evidence.best_bleu(comparison.pair, name) for name in names)
    else:
        return
    if best < _LEAST_BLEU:
        both = " and ".join(map(str, names))
        raise NotMeasuredError(
            f"{both} have less than {_LEAST_BLEU:g} BLEU on {comparison.pair}, too little to "
            "compare: train longer"
        )


def _latencies(systems: Sequence[System], names: Sequence[SystemName], test: ClaimTest) -> Floats:
    """The whole numbers that the curves share; any one if all are levels."""
    is_level = [name.knob is not None or test.score.startswith("confidence") for name in names]
    if all(is_level):
        return np.zeros(1)
    curves = [one for one, level in zip(systems, is_level, strict=True) if not level]
    shared = shared_latencies(curves)
    low, high = test.between or (-np.inf, np.inf)
    within: Floats = shared[(shared >= low) & (shared <= high)]
    return within


def _no_latency(pair: str, names: Sequence[SystemName], test: ClaimTest) -> str:
    where = "" if test.between is None else " from {:g} to {:g}".format(*test.between)
    return f"{' and '.join(map(str, names))} share no whole AL{where} on {pair}"


def _seldom_reached(pair: str, names: Sequence[SystemName], test: ClaimTest) -> str:
    return (
        f"{' and '.join(map(str, names))} share no whole AL on {pair} in {REACHED:.0%} of the "
        "resamples; more test sentences, or knob values farther apart, would change that"
    )


def _at_each_latency(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    curves = shared_curves(evidence, comparison, test)

    def at(place: int) -> Callable[[Floats], Floats]:
        return lambda values: values[0][..., place] - values[1][..., place]

    return [
        curves.estimate(f"{_title(comparison, test)} at AL {latency + 0.0:g}", at(place))
        for place, latency in enumerate(curves.latencies)
    ]


def _over_latencies(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    curves = shared_curves(evidence, comparison, test)
    return [curves.estimate(f"{_title(comparison, test)}{_span(curves)}", _mean_lead)]


def _mean_lead(values: Floats) -> Floats:
    """How far the system is above the other, on average over latencies."""
    lead: Floats = (values[0] - values[1]).mean(axis=-1)
    return lead


def _at_highest_latency(
    evidence: Evidence, comparison: Comparison, test: ClaimTest
) -> list[Estimate]:
    return _at_each_latency(evidence, comparison, test)[-1:]


def _of_levels(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    curves = shared_curves(evidence, comparison, test)

    def difference(values: Floats) -> Floats:
        first, *others = values[..., 0]
        lead: Floats = first - others[0] if others else first - 0.0
        return lead

    return [curves.estimate(_title(comparison, test), difference)]


def _of_lengths(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    """How much more a system loses on long sentences than another does, at the same latencies.

    Both groups are drawn from by themselves, as strata.
    """
    halves = [shared_curves(evidence, comparison, test, group) for group in _HALVES]
    shared = np.intersect1d(halves[0].latencies, halves[1].latencies)
    if not len(shared):
        nowhere = _no_latency(comparison.pair, comparison.names, test)
        raise NotMeasuredError(f"{nowhere} both on long and on short sentences")
    there = [curves.only(np.isin(curves.latencies, shared)) for curves in halves]
    what = f"{_title(comparison, test)}, long - short{_span(there[0])}"
    long, short = (curves.estimate(what, _mean_lead) for curves in there)
    return [
        long._replace(
            observed=long.observed - short.observed,
            resampled=long.resampled - short.resampled,
            of_sentences=long.of_sentences - short.of_sentences,
            sentences=long.sentences + short.sentences,
        )
    ]


def _title(comparison: Comparison, test: ClaimTest) -> str:
    names = " - ".join(map(str, comparison.names))
    return f"{comparison.pair}: {SCORE_LABELS[test.score]} of {names}"


def _span(curves: Curves) -> str:
    """From which latency to which a mean was taken."""
    first, last = curves.latencies[0] + 0.0, curves.latencies[-1] + 0.0  # no "-0"
    return f" over AL {first:g} to {last:g}" if first < last else f" at AL {first:g}"


MEASUREMENTS: dict[str, Measurement] = {
    "at-each-latency": Measurement(
        "at every whole AL that both reach", _each_with_each, _at_each_latency
    ),
    "over-latencies": Measurement(
        "mean over the whole ALs that both reach", _each_with_each, _over_latencies
    ),
    "at-highest-latency": Measurement(
        "at the highest whole AL that the system reaches", _each_with_each, _at_highest_latency
    ),
    "whole-source": Measurement("with the whole source read first", _each_with_each, _of_levels),
    "by-itself": Measurement("over all states of all sentences", _each_alone, _of_levels),
    "from-one-to-the-next": Measurement(
        "each against the one before", _each_with_the_one_before, _of_levels
    ),
    "long-minus-short": Measurement(
        "difference on the long half of the sentences less that on the short half, mean over the "
        "whole ALs that both reach on both halves",
        _each_with_each,
        _of_lengths,
    ),
}
