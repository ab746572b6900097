"""Are two systems different at equal latency? Paired bootstrap over sentences, and over seeds.

Systems are compared at the same average lagging, by linear interpolation between their knob
values, never at the same setting: docs/methods.md, "Comparison at equal latency".

A resample draws sentences, the same ones for every system; the score (BLEU, unless the statistics
say otherwise) and the lagging of every knob value are computed anew from sums over the drawn
sentences, and interpolated anew.

If every system has three seeds or more, a resample also moves the mean of each as another choice
of as many seeds might: by a multiple of the deviations that its seeds have from their mean. Drawing
seeds from so few would give two thirds of their variance, and a normal multiple forgets that the
variance was estimated from a handful; so the multiples are of Student's t, for each system with the
degrees of freedom of its own seeds, since one may vary more than another (the problem of Behrens
and Fisher; Welch's degrees of freedom gave up to 7 % of false verdicts instead of 5). A simulation
(tests/unit/scoring/test_calibration.py) shows what that is worth. The tails of Student's t are long
and thin, so each resample of sentences is moved many times: its ends would be those of a few rows.

If one system has one or two seeds, the interval is about sentences only, and a verdict about these
trainings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from simt.errors import SimtError
from simt.scoring.quality import Counts, Floats, bleu_of

SEEDS_OF_A_METHOD = 3  # fewer say something about these trainings, but not about the method
_RESAMPLES_AT_ONCE = 250  # of 2,000 sentences: 4 MB of weights


@dataclass(frozen=True, eq=False)
class KnobStatistics:
    """One run at one knob value, sentence by sentence.

    ``score_of`` turns rows of sums over sentences into scores: by default the counts are those of
    BLEU.
    """

    counts: Counts | Floats
    latencies: Floats  # not a number where a sentence has none
    score_of: Callable[[npt.NDArray[Any]], Floats] = bleu_of

    def __post_init__(self) -> None:
        assert len(self.counts) == len(self.latencies)


Curve = Sequence[KnobStatistics]  # one seed at its knob values; wait-k: one run for each k
System = Sequence[Curve]  # every seed


# --- curves -------------------------------------------------------------------------------------


def curve_points(curve: Curve, weights_RS: npt.NDArray[Any] | None = None) -> tuple[Floats, Floats]:
    """Mean latency and score at each knob value, for every row of sentence weights.

    Shapes: R resamples, S sentences, K knob values; both results are RK. Without weights, one row
    in which every sentence counts once.
    """
    if weights_RS is None:
        weights_RS = np.ones((1, len(curve[0].latencies)))
    points = [_point(knob, weights_RS) for knob in curve]
    return np.stack([lag for lag, _ in points], axis=1), np.stack([y for _, y in points], axis=1)


def _point(knob: KnobStatistics, weights_RS: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    """Mean latency and score of one knob value, for every row of sentence weights.

    The mean is over sentences that have a latency; not a number where none is drawn. All sums are
    one product of matrices: one with a vector each takes far longer where threads share cores.
    """
    is_known = ~np.isnan(knob.latencies)
    latencies = np.where(is_known, knob.latencies, 0.0)
    sums = weights_RS @ np.column_stack([latencies, is_known, knob.counts]).astype(np.float64)
    lags, known = sums[:, 0], sums[:, 1]
    mean = np.divide(lags, known, out=np.full(len(sums), np.nan), where=known > 0)
    return mean, knob.score_of(sums[:, 2:])


def interpolate(latencies_RK: Floats, quality_RK: Floats, at_A: Floats) -> Floats:
    """Quality at each latency ``at``, for every row: RA; not a number outside of a row's range.

    Straight lines between neighbours in latency. Of several knob values with the very same
    latency, the first in the order given ends the line from below; the last counts at that latency
    and begins the line above.
    """
    order = np.argsort(latencies_RK, axis=1, kind="stable")
    x_RK = np.take_along_axis(latencies_RK, order, axis=1)
    y_RK = np.take_along_axis(quality_RK, order, axis=1)
    below_RA = (x_RK[:, :, None] <= at_A[None, None, :]).sum(axis=1) - 1
    is_inside = (below_RA >= 0) & (
        at_A[None, :] <= np.nanmax(x_RK, axis=1, initial=-np.inf)[:, None]
    )
    low = np.clip(below_RA, 0, x_RK.shape[1] - 1)
    high = np.minimum(low + 1, x_RK.shape[1] - 1)
    x_low, x_high = (np.take_along_axis(x_RK, place, axis=1) for place in (low, high))
    y_low, y_high = (np.take_along_axis(y_RK, place, axis=1) for place in (low, high))
    width = x_high - x_low
    is_between = is_inside & (width > 0)
    fraction = np.divide(at_A - x_low, width, out=np.zeros_like(x_low), where=is_between)
    return np.where(is_inside, y_low + fraction * (y_high - y_low), np.nan)


def shared_latencies(systems: Sequence[System], step: float = 1.0) -> Floats:
    """The multiples of ``step`` that lie within the range of every seed of every system."""
    lows, highs = [], []
    for curve in (curve for system in systems for curve in system):
        latencies = curve_points(curve)[0][0]
        lows.append(np.nanmin(latencies))
        highs.append(np.nanmax(latencies))
    first, last = np.ceil(max(lows) / step), np.floor(min(highs) / step)
    return np.arange(first, last + 1) * step


# --- bootstrap ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resampled:
    """A system's score at each latency: observed (A), and in every resample (RA).

    ``of_sentences`` are the resamples as they were before seeds moved them, row for row.
    """

    latencies: Floats
    observed: Floats
    resampled: Floats
    of_sentences: Floats


class Draws(NamedTuple):
    """How often sentences are drawn, and how often seeds move each of these resamples.

    Generators go by what they are for: the same sentences are drawn wherever a test set is, and a
    system is moved alike wherever it is compared, but by itself.
    """

    resamples: int
    moves: int = 1
    seed: int = 1

    def generator(self, *what: str) -> np.random.Generator:
        """The generator for something."""
        return np.random.default_rng([self.seed, crc32(" ".join(what).encode())])


def resample(
    systems: Sequence[tuple[str, System]], latencies: Floats, draws: Draws, sample: str = ""
) -> list[Resampled]:
    """The curve of every named system over the same drawn sentences of a ``sample``."""
    sentences = _check_sentences([system for _, system in systems])
    rng = draws.generator("sentences", sample)
    at = np.asarray(latencies, dtype=np.float64)
    chunks: list[list[Floats]] = [[] for _ in systems]
    for first in range(0, draws.resamples, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, draws.resamples - first)
        weights_RS = draw_weights(sentences, size, rng)
        for chunk, (_, system) in zip(chunks, systems, strict=True):
            chunk.append(_seed_curves(system, at, weights_RS).mean(axis=0))
    is_moved = all(len(system) >= SEEDS_OF_A_METHOD for _, system in systems)
    found = []
    for (name, system), chunk in zip(systems, chunks, strict=True):
        observed_NA = _seed_curves(system, at)[:, 0]
        drawn_RA = np.repeat(np.concatenate(chunk), draws.moves, axis=0)
        rng = draws.generator("seeds", name)
        offsets_RA = _seed_offsets(observed_NA, len(drawn_RA), rng) if is_moved else 0.0
        found.append(Resampled(at, observed_NA.mean(axis=0), drawn_RA + offsets_RA, drawn_RA))
    return found


def _seed_curves(
    system: System, at_A: Floats, weights_RS: npt.NDArray[Any] | None = None
) -> Floats:
    """The score of every seed (N) in every resample at each latency: NRA."""
    curves = [interpolate(*curve_points(curve, weights_RS), at_A) for curve in system]
    return np.stack(curves)


def _seed_offsets(observed_NA: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """How far another choice of seeds might move the mean, in each resample: RA."""
    seeds = len(observed_NA)
    freedom = seeds - 1
    underestimated_R1 = np.sqrt(freedom / rng.chisquare(freedom, size=(resamples, 1)))
    multiples_RN = underestimated_R1 * rng.normal(size=(resamples, seeds))
    deviations_NA = observed_NA - observed_NA.mean(axis=0)
    offsets: Floats = multiples_RN @ deviations_NA / np.sqrt(seeds * (seeds - 1))
    return offsets


def _check_sentences(systems: Sequence[System]) -> int:
    counts = {len(knob.latencies) for system in systems for curve in system for knob in curve}
    if len(counts) != 1:
        raise SimtError(f"the systems have {sorted(counts)} sentences: they must have the same")
    return counts.pop()


def draw_weights(sentences: int, resamples: int, rng: np.random.Generator) -> Floats:
    """How often each sentence is drawn in each resample: as many in all as there are."""
    drawn = rng.integers(sentences, size=(resamples, sentences))
    offsets = np.arange(resamples)[:, None] * sentences
    counts = np.bincount((drawn + offsets).ravel(), minlength=resamples * sentences)
    return counts.reshape(resamples, sentences).astype(np.float64)


# --- intervals ----------------------------------------------------------------------------------


class Interval(NamedTuple):
    """From where to where a number lies."""

    low: float
    high: float


def joint_intervals(resampled: Sequence[Floats], level: float = 0.95) -> list[Interval]:
    """An interval for each number: ``level`` of the resamples have all of them inside at once.

    Row r of every number comes from resample r. All intervals leave out the same fraction of their
    number's resamples at either end (Mandel and Betensky 2008), so that of one number alone this
    is the usual percentile interval. A resample without a value of a number is not
    outside of its interval; one without any value does not count.
    """
    known = [np.sort(values[~np.isnan(values)]) for values in resampled]
    depths = [_depth(*one) for one in zip(resampled, known, strict=True)]
    most_outlying = np.min(depths, axis=0)
    most_outlying = np.sort(most_outlying[np.isfinite(most_outlying)])
    cut = most_outlying[int((1 - level) * len(most_outlying) + 1e-9)]
    ends = (min(cut, 0.5), max(1 - cut, 0.5))
    return [Interval(*np.quantile(values, ends).tolist()) for values in known]


def _depth(values: Floats, known: Floats) -> Floats:
    """The fraction of a number's resamples that lie farther out than each one, on its own side."""
    at_most = np.searchsorted(known, values, side="right")
    at_least = len(known) - np.searchsorted(known, values, side="left")
    depth = (np.minimum(at_most, at_least) - 1) / max(1, len(known) - 1)
    return np.where(np.isnan(values), np.inf, depth)
