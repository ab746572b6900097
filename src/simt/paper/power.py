"""What would decide a claim that the data leave open: how many sentences, how many seeds.

The assumption is that the true number is the one that was found, and that sentences and seeds vary
as they did. The interval then has to become so narrow that it ends before the bound in eight of
ten repetitions of the experiment: its standard error must be the distance to the bound over
z + 0.84, where z is how many standard errors the interval reaches to each side. The variance has a
part of sentences, which falls with their number, and a part of seeds, which falls with theirs.
"""

from math import ceil, floor, inf, isfinite, log10
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from simt.paper.measurements import Estimate
from simt.scoring.significance import SEEDS_OF_A_METHOD, Interval

POWER = 0.8
_MOST = 30  # times as many: nobody has more, and the number is at the bound for all that one can do


class Variances(NamedTuple):
    """Where the variance of a number comes from."""

    of_sentences: float
    of_seeds: float


def variances(number: Estimate) -> Variances:
    """The variance that sentences cause, and what seeds add.

    What seeds add has Student's t-distribution, whose own variance need not be finite; its
    quartiles give its scale.
    """
    of_sentences = float(np.nanvar(number.of_sentences))
    if not number.repeated:
        return Variances(of_sentences, 0.0)
    from scipy import stats

    low, high = np.nanquantile(number.resampled - number.of_sentences, (0.25, 0.75))
    scale = (high - low) / (2 * stats.t.ppf(0.75, number.repeated - 1))
    return Variances(of_sentences, float(scale**2))


def what_would_decide(number: Estimate, interval: Interval, bound: float) -> str:
    """In words, how much more data would put the whole interval on one side of the bound."""
    found = variances(number)
    deviation = (found.of_sentences + found.of_seeds) ** 0.5
    reach = (interval.high - interval.low) / 2
    if not deviation or not reach:
        return "no amount of sentences or seeds: the number lies on the bound"
    allowed = (
        abs(number.observed - bound) / (reach / deviation + NormalDist().inv_cdf(POWER))
    ) ** 2
    more_sentences = _times(found.of_sentences, allowed - found.of_seeds)
    if not found.of_seeds:
        return f"{_sentences(number, more_sentences)}{_for_the_method(number.seeds)}"
    more_seeds = _times(found.of_seeds, allowed - found.of_sentences)
    either = [_sentences(number, more_sentences)] if more_sentences <= _MOST else []
    either += [_seeds(number.repeated, more_seeds)] if more_seeds <= _MOST else []
    if either:
        return " or ".join(either) + _for_the_method(number.seeds)
    of_both = [_times(part, allowed / 2) for part in found]
    if max(of_both) > _MOST:
        return f"more than {_MOST:,} times the data: the number is too close to the bound"
    both = f"{_sentences(number, of_both[0])} and {_seeds(number.repeated, of_both[1])} together"
    return both + _for_the_method(number.seeds)


def _times(variance: float, allowed: float) -> float:
    """By how much the data must grow for a part of the variance to fall to what is allowed."""
    return variance / allowed if allowed > 0 else inf


def _sentences(number: Estimate, times: float) -> str:
    if not isfinite(times) or times > _MOST:
        return f"more than {_MOST:,} times the sentences: the number is too close to the bound"
    return f"about {_rounded_up(max(times, 1.0) * number.sentences):,} sentences"


def _seeds(seeds: int, times: float) -> str:
    return f"about {max(SEEDS_OF_A_METHOD, ceil(seeds * times))} seeds"


def _for_the_method(seeds: int) -> str:
    if seeds >= SEEDS_OF_A_METHOD:
        return ""
    trainings = "this training" if seeds == 1 else "these trainings"
    return f" (about {trainings}; about the method, at least {SEEDS_OF_A_METHOD} seeds)"


def _rounded_up(value: float) -> int:
    """Two digits are more than such a number is worth."""
    unit = 10 ** max(0, floor(log10(value)) - 1)
    return int(ceil(value / unit) * unit)
