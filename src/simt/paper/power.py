"""What would decide a claim that the data leave open: how many sentences, how many seeds.

The assumption is that the true number is the one that was found, and that sentences and seeds vary
as they did. The interval then has to become so narrow that it ends before the bound in eight of
ten repetitions of the experiment: how far it reaches to each side, and 0.84 standard errors more,
must not be farther than the bound. The standard error has a part of sentences, which falls with
their number, and a part of seeds, which falls with theirs; the interval reaches so many of the
former as a normal distribution says and so many of the latter as Student's t does, of which more
seeds make fewer.
"""

from collections.abc import Callable, Iterable
from math import ceil, floor, hypot, log10
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from simt.paper.measurements import Estimate
from simt.scoring.significance import SEEDS_OF_A_METHOD, Interval

POWER = 0.8
_MOST = 30  # times as many: nobody has more
_TOO_CLOSE = f"more than {_MOST} times the data: the number is too close to the bound"


class Errors(NamedTuple):
    """The standard error of a number: what sentences cause, and what seeds add."""

    of_sentences: float
    of_seeds: float


def errors(number: Estimate) -> Errors:
    """The two parts of a number's standard error.

    What seeds add has Student's t-distribution, whose own variance need not be finite; its
    quartiles give its scale.
    """
    of_sentences = float(np.nanstd(number.of_sentences))
    if number.seeds < SEEDS_OF_A_METHOD:
        return Errors(of_sentences, 0.0)
    low, high = np.nanquantile(number.resampled - number.of_sentences, (0.25, 0.75))
    return Errors(of_sentences, float((high - low) / (2 * stdtrit(number.seeds - 1, 0.75))))


class Experiment(NamedTuple):
    """So many times the sentences, and so many seeds."""

    times: float
    seeds: int


def what_would_decide(number: Estimate, interval: Interval, bound: float) -> str:
    """In words, how much more data would put the whole interval on one side of the bound."""
    found, tail = errors(number), _tail(number, interval)
    distance = abs(number.observed - bound)
    if not any(found):
        return "no amount of sentences or seeds: the number lies on the bound"

    def is_enough(experiment: Experiment) -> bool:
        of_sentences = found.of_sentences / experiment.times**0.5
        of_seeds = found.of_seeds * (number.seeds / experiment.seeds) ** 0.5
        reach = hypot(
            ndtri(1 - tail) * of_sentences,
            stdtrit(experiment.seeds - 1, 1 - tail) * of_seeds if of_seeds else 0.0,
        )
        return bool(distance >= reach + ndtri(POWER) * hypot(of_sentences, of_seeds))

    many_times = np.geomspace(1, _MOST, 200).tolist()
    many_seeds = range(number.seeds, _MOST * number.seeds + 1)
    sentences = _first(is_enough, (Experiment(times, number.seeds) for times in many_times))
    if not found.of_seeds:
        needed = _sentences(number, sentences) if sentences else _TOO_CLOSE
        return f"{needed}{_for_the_method(number.seeds)}"
    seeds = _first(is_enough, (Experiment(1.0, seeds) for seeds in many_seeds))
    either = [_sentences(number, sentences)] if sentences else []
    either += [_seeds(seeds)] if seeds else []
    if either:
        return " or ".join(either)
    both = _first(
        is_enough, (Experiment(times, ceil(times * number.seeds)) for times in many_times)
    )
    return f"{_sentences(number, both)} and {_seeds(both)} together" if both else _TOO_CLOSE


def _tail(number: Estimate, interval: Interval) -> float:
    """The fraction of the resamples beyond either end: of several numbers at once it is small."""
    known = number.resampled[~np.isnan(number.resampled)]
    outside = float(np.mean((known < interval.low) | (known > interval.high)))
    return max(outside / 2, 1 / len(known))


def _first(
    is_enough: Callable[[Experiment], bool], some: Iterable[Experiment]
) -> Experiment | None:
    return next((one for one in some if is_enough(one)), None)


def _sentences(number: Estimate, needed: Experiment) -> str:
    return f"about {_rounded_up(needed.times * number.sentences):,} sentences"


def _seeds(needed: Experiment) -> str:
    return f"about {needed.seeds} seeds"


def _for_the_method(seeds: int) -> str:
    if seeds >= SEEDS_OF_A_METHOD:
        return ""
    trainings = "this training" if seeds == 1 else "these trainings"
    return f" (about {trainings}; about the method, at least {SEEDS_OF_A_METHOD} seeds)"


def _rounded_up(value: float) -> int:
    """Two digits are more than such a number is worth."""
    unit = 10 ** max(0, floor(log10(value)) - 1)
    return int(ceil(value / unit) * unit)
