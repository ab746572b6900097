"""How a claim is measured: differences between systems, each with its resamples.

Every measurement compares systems of one pair, by the paired bootstrap of
``simt.scoring.significance``. A latency counts if both systems reach it in nearly every resample:
at the ends of a curve, the other resamples would be a choice of sentences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simt.paper.evidence import (
    SCORE_LABELS,
    Evidence,
    Group,
    NotMeasuredError,
    ScoreName,
    SystemName,
)
from simt.scoring.quality import Floats
from simt.scoring.significance import System, resample, shared_latencies
from simt.settings import Settings

RESAMPLES = 2000
_REACHED = 0.95  # of the resamples
_LEAST_BLEU = 5.0  # where no system has more, none translates, and equal scores say nothing
_SEED = 1


class ClaimTest(Settings):
    """What is measured for a claim, and in which range the numbers are expected.

    ``systems`` are compared with ``against``; ``between`` limits the latencies. ``paper`` is what
    the paper itself prints.
    """

    measurement: str
    score: ScoreName
    systems: tuple[str, ...]
    against: tuple[str, ...] = ()
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
    """A number and the same in every resample; not a number where a resample has none."""

    what: str
    observed: float
    resampled: Floats


class Comparison(NamedTuple):
    """A system on a pair, and what it is compared with: nothing if it speaks for itself."""

    pair: str
    system: SystemName
    others: tuple[SystemName, ...]


Pairing = list[tuple[SystemName, tuple[SystemName, ...]]]


@dataclass(frozen=True)
class Measurement:
    """Which systems are compared with which and how, and that in words."""

    says: str
    pairing: Callable[[Sequence[SystemName], Sequence[SystemName]], Pairing]
    measure: Callable[[Evidence, Comparison, ClaimTest], list[Estimate]]

    def comparisons(self, evidence: Evidence, pair: str, test: ClaimTest) -> list[Comparison]:
        """Every comparison of a test on a pair."""
        systems, others = (
            [name for pattern in patterns for name in evidence.names(pair, pattern)]
            for patterns in (test.systems, test.against)
        )
        return [Comparison(pair, one, rest) for one, rest in self.pairing(systems, others)]


def _each_with_each(systems: Sequence[SystemName], others: Sequence[SystemName]) -> Pairing:
    return [(system, (other,)) for system in systems for other in others]


def _each_with_all(systems: Sequence[SystemName], others: Sequence[SystemName]) -> Pairing:
    return [(system, tuple(others)) for system in systems]


def _each_with_the_one_before(
    systems: Sequence[SystemName], others: Sequence[SystemName]
) -> Pairing:
    return [(system, (before,)) for before, system in pairwise(systems)]


# --- at equal latency ---------------------------------------------------------------------------


class _Curves(NamedTuple):
    """Systems at some latencies: observed SA, resampled SRA; not a number out of reach."""

    latencies: Floats
    observed: Floats
    resampled: Floats


def _curves(
    evidence: Evidence, comparison: Comparison, test: ClaimTest, group: Group = "all"
) -> _Curves:
    """All systems of a comparison over the same draws of sentences.

    The latencies are those that the system shares with at least one of the others.
    """
    names = (comparison.system, *comparison.others)
    systems = [evidence.system(comparison.pair, name, test.score, group) for name in names]
    latencies = _latencies(systems, names, test)
    found = resample(systems, latencies, RESAMPLES, np.random.default_rng(_SEED))
    observed = np.stack([one.observed for one in found])
    resampled = np.stack([one.resampled for one in found])
    is_reached = (~np.isnan(resampled)).mean(axis=1) >= _REACHED
    observed = np.where(is_reached, observed, np.nan)
    resampled = np.where(is_reached[:, None, :], resampled, np.nan)
    is_known = ~np.isnan(observed)
    is_shared = is_known[0] & (is_known[1:].any(axis=0) if comparison.others else True)
    if not is_shared.any():
        raise NotMeasuredError(_no_latency(comparison.pair, names, test))
    if test.score == "bleu" and np.nanmax(observed) < _LEAST_BLEU:
        both = " and ".join(map(str, names))
        raise NotMeasuredError(f"{both} have less than {_LEAST_BLEU:g} BLEU on {comparison.pair}")
    return _Curves(latencies[is_shared], observed[:, is_shared], resampled[:, :, is_shared])


def _latencies(systems: Sequence[System], names: Sequence[SystemName], test: ClaimTest) -> Floats:
    """The whole numbers that the first curve shares with another; any one if all are levels."""
    is_level = [name.knob is not None or test.score.startswith("confidence") for name in names]
    if all(is_level):
        return np.zeros(1)
    curves = [one for one, level in zip(systems, is_level, strict=True) if not level]
    first, others = curves[0], curves[1:] or [curves[0]]
    shared: Floats = np.unique(
        np.concatenate([shared_latencies([first, other]) for other in others])
    )
    low, high = test.between or (-np.inf, np.inf)
    within: Floats = shared[(shared >= low) & (shared <= high)]
    return within


def _no_latency(pair: str, names: Sequence[SystemName], test: ClaimTest) -> str:
    where = "" if test.between is None else " from {:g} to {:g}".format(*test.between)
    return f"{' and '.join(map(str, names))} share no whole AL{where} on {pair}"


def _at_each_latency(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    curves = _curves(evidence, comparison, test)
    observed, resampled = (values[0] - values[1] for values in (curves.observed, curves.resampled))
    return [
        Estimate(f"{_title(comparison, test)} at AL {latency + 0.0:g}", observed[place], column)
        for place, (latency, column) in enumerate(zip(curves.latencies, resampled.T, strict=True))
    ]


def _over_latencies(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    curves = _curves(evidence, comparison, test)
    means = (
        (values[0] - np.fmax.reduce(values[1:], axis=0)).mean(axis=-1)
        for values in (curves.observed, curves.resampled)
    )
    return [Estimate(f"{_title(comparison, test)}{_span(curves)}", *_number(*means))]


def _at_highest_latency(
    evidence: Evidence, comparison: Comparison, test: ClaimTest
) -> list[Estimate]:
    return _at_each_latency(evidence, comparison, test)[-1:]


def _of_levels(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    curves = _curves(evidence, comparison, test)
    first, *rest = (
        (observed[0], resampled[:, 0])
        for observed, resampled in zip(curves.observed, curves.resampled, strict=True)
    )
    second = rest[0] if rest else (0.0, 0.0)
    numbers = (mine - other for mine, other in zip(first, second, strict=True))
    return [Estimate(_title(comparison, test), *_number(*numbers))]


def _of_lengths(evidence: Evidence, comparison: Comparison, test: ClaimTest) -> list[Estimate]:
    """How much more a system loses on long sentences than another does.

    Both groups are drawn from by themselves, as strata.
    """
    means = []
    groups: tuple[Group, ...] = ("long", "short")
    for group in groups:
        curves = _curves(evidence, comparison, test, group)
        observed, resampled = (
            (values[0] - values[1]).mean(axis=-1) for values in (curves.observed, curves.resampled)
        )
        means.append((observed, resampled))
    numbers = (long - short for long, short in zip(*means, strict=True))
    return [Estimate(f"{_title(comparison, test)}, long - short", *_number(*numbers))]


def _number(observed: Floats, resampled: Floats) -> tuple[float, Floats]:
    return float(observed), resampled


def _title(comparison: Comparison, test: ClaimTest) -> str:
    others = [str(name) for name in comparison.others]
    less = f" - {others[0]}" if len(others) == 1 else f" - best of {', '.join(others)}"
    name = f"{comparison.system}{less if others else ''}"
    return f"{comparison.pair}: {SCORE_LABELS[test.score]} of {name}"


def _span(curves: _Curves) -> str:
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
    "against-the-best": Measurement(
        "against the best of the others that reach it at each whole AL, mean over these",
        _each_with_all,
        _over_latencies,
    ),
    "at-highest-latency": Measurement(
        "at the highest whole AL that the system reaches", _each_with_each, _at_highest_latency
    ),
    "whole-source": Measurement("with the whole source read first", _each_with_each, _of_levels),
    "by-itself": Measurement("over all states of all sentences", _each_with_all, _of_levels),
    "from-one-to-the-next": Measurement(
        "each against the one before", _each_with_the_one_before, _of_levels
    ),
    "long-minus-short": Measurement(
        "difference on the long half of the sentences less that on the short half, mean over the "
        "whole ALs that both reach",
        _each_with_each,
        _of_lengths,
    ),
}
