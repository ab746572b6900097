"""Are two systems different at equal latency? Paired bootstrap over sentences and seeds.

Systems are compared at the same average lagging, by linear interpolation between their knob
values (methods.md §16, pitfall 24), never at the same setting. A resample draws sentences, the
same ones for every system, and for each system seeds; the score (BLEU, unless the statistics say
otherwise) and the lagging of every knob value are computed anew from sums over the drawn
sentences, and interpolated anew.

With one seed, nothing is drawn from: the interval is then about sentences only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring.latency import Mode, sentence_latencies
from simt.scoring.quality import BleuCounter, BleuText, Counts, Floats, bleu_of, texts_of

_RESAMPLES_AT_ONCE = 250  # of 2,000 sentences: 4 MB of weights


@dataclass(frozen=True, eq=False)
class KnobStatistics:
    """One run at one knob value, sentence by sentence.

    ``score_of`` turns rows of sums over sentences into scores: by default the counts are those of
    BleuCounter.
    """

    counts: Counts | Floats
    latencies: Floats  # not a number where a sentence has none
    score_of: Callable[[npt.NDArray[Any]], Floats] = bleu_of

    def __post_init__(self) -> None:
        assert len(self.counts) == len(self.latencies)


Curve = Sequence[KnobStatistics]  # one seed at its knob values; wait-k: one run for each k
System = Sequence[Curve]  # every seed


class PairedReader:
    """Reads statistics of many systems, which must have translated the very same sentences."""

    def __init__(self, mode: Mode, bleu_text: BleuText) -> None:
        self._mode: Mode = mode
        self._bleu_text: BleuText = bleu_text
        self._indices: list[int] = []
        self._references: list[list[str | None]] = []
        self._counter: BleuCounter | None = None

    def read(self, instances: Sequence[Instance]) -> KnobStatistics:
        """The statistics of one run at one knob value."""
        texts = texts_of(instances, self._bleu_text)
        indices = [instance.index for instance in instances]
        if self._counter is None:
            self._indices, self._references = indices, texts.references
            self._counter = BleuCounter(texts.references)
        if indices != self._indices or texts.references != self._references:
            raise SimtError("systems can be compared only on the same sentences and references")
        latencies = np.array(sentence_latencies(instances, self._mode), dtype=np.float64)
        return KnobStatistics(self._counter.count(texts.hypotheses), latencies)


# --- curves -------------------------------------------------------------------------------------


def curve_points(curve: Curve, weights_RS: npt.NDArray[Any] | None = None) -> tuple[Floats, Floats]:
    """Mean latency and score at each knob value, for every row of sentence weights.

    Shapes: R resamples, S sentences, K knob values; both results are RK. Without weights, one row
    in which every sentence counts once.
    """
    if weights_RS is None:
        weights_RS = np.ones((1, len(curve[0].latencies)))
    latencies = [_weighted_mean(weights_RS, knob.latencies) for knob in curve]
    scores = [knob.score_of(weights_RS @ knob.counts.astype(weights_RS.dtype)) for knob in curve]
    return np.stack(latencies, axis=1), np.stack(scores, axis=1)


def _weighted_mean(weights_RS: npt.NDArray[Any], values_S: Floats) -> Floats:
    """The mean over sentences that have a value; not a number where none is drawn."""
    is_known = ~np.isnan(values_S)
    sums = weights_RS @ np.where(is_known, values_S, 0.0)
    counts = weights_RS @ is_known.astype(np.float64)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def interpolate(latencies_RK: Floats, quality_RK: Floats, at_A: Floats) -> Floats:
    """Quality at each latency ``at``, for every row: RA; not a number outside of a row's range.

    Straight lines between neighbours in latency. Of several knob values with the very same
    latency, the last one in the order given ends the line from below and begins the one above.
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
    share = np.divide(at_A - x_low, width, out=np.zeros_like(x_low), where=is_between)
    return np.where(is_inside, y_low + share * (y_high - y_low), np.nan)


def shared_latencies(systems: Sequence[System], step: float = 1.0) -> Floats:
    """The multiples of ``step`` that lie within the range of every seed of every system."""
    lows, highs = [], []
    for curve in (curve for system in systems for curve in system):
        latencies = curve_points(curve)[0][0]
        lows.append(np.nanmin(latencies))
        highs.append(np.nanmax(latencies))
    first, last = np.ceil(max(lows) / step), np.floor(min(highs) / step)
    return np.arange(first, last + 1) * step


# --- seeds --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Band:
    """A curve over latencies with what lies around it."""

    latencies: Floats
    mean: Floats
    low: Floats
    high: Floats


def seed_band(system: System, latencies: Floats) -> Band:
    """Mean, lowest and highest BLEU over seeds at each latency.

    Not a number where some seed does not reach: a mean over other seeds would jump there.
    """
    rows = np.concatenate([interpolate(*curve_points(curve), latencies) for curve in system])
    return Band(latencies, rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0))


@dataclass(frozen=True, eq=False)
class KnobBand:
    """Mean and sample standard deviation over seeds at one knob value (0 with one seed)."""

    latency: float
    latency_deviation: float
    bleu: float
    bleu_deviation: float
    seeds: int


def knob_bands(system: System) -> list[KnobBand]:
    """One band for each knob value, which every seed must have."""
    if len({len(curve) for curve in system}) != 1:
        raise SimtError("the seeds of a system must have the same knob values")
    points = np.stack([np.stack(curve_points(curve))[:, 0] for curve in system])  # seed, 2, knob
    mean = points.mean(axis=0)
    deviation = points.std(axis=0, ddof=1) if len(system) > 1 else np.zeros_like(mean)
    rows = zip(mean[0], deviation[0], mean[1], deviation[1], strict=True)
    return [
        KnobBand(float(x), float(x_deviation), float(y), float(y_deviation), len(system))
        for x, x_deviation, y, y_deviation in rows
    ]


# --- bootstrap ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Resampled:
    """A system's BLEU at each latency: observed (A), and in every resample (RA)."""

    latencies: Floats
    observed: Floats
    resampled: Floats

    def interval(self, level: float = 0.95) -> Band:
        """The observed curve within its percentile interval."""
        low, high = _percentiles(self.resampled, level)
        return Band(self.latencies, self.observed, low, high)


def resample(
    systems: Sequence[System], latencies: Floats, resamples: int, rng: np.random.Generator
) -> list[Resampled]:
    """Every system's curve over the same drawn sentences; seeds are drawn for each by itself."""
    sentences = _check_sentences(systems)
    at = np.asarray(latencies, dtype=np.float64)
    chunks: list[list[Floats]] = [[] for _ in systems]
    for first in range(0, resamples, _RESAMPLES_AT_ONCE):
        size = min(_RESAMPLES_AT_ONCE, resamples - first)
        weights_RS = draw_weights(sentences, size, rng)
        for chunk, system in zip(chunks, systems, strict=True):
            seeds_RD = rng.integers(len(system), size=(size, len(system)))
            chunk.append(_mean_over_seeds(system, at, weights_RS, seeds_RD))
    return [
        Resampled(at, _observed(system, at), np.concatenate(chunk))
        for system, chunk in zip(systems, chunks, strict=True)
    ]


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


def _mean_over_seeds(
    system: System, at_A: Floats, weights_RS: Floats, seeds_RD: npt.NDArray[np.int64]
) -> Floats:
    curves_NRA = np.stack([interpolate(*curve_points(curve, weights_RS), at_A) for curve in system])
    rows_R1 = np.arange(len(weights_RS))[:, None]
    mean_RA: Floats = curves_NRA[seeds_RD, rows_R1].mean(axis=1)
    return mean_RA


def _observed(system: System, at_A: Floats) -> Floats:
    return seed_band(system, at_A).mean


def _percentiles(values_RA: Floats, level: float) -> tuple[Floats, Floats]:
    """The middle ``level`` of each column, over the resamples that reach its latency."""
    tail = (1 - level) / 2
    ends = np.full((2, values_RA.shape[1]), np.nan)
    is_reached = ~np.isnan(values_RA).all(axis=0)
    ends[:, is_reached] = np.nanquantile(values_RA[:, is_reached], [tail, 1 - tail], axis=0)
    return ends[0], ends[1]


@dataclass(frozen=True, eq=False)
class Difference:
    """BLEU of one system minus another's at one latency; None for the mean over latencies."""

    latency: float | None
    difference: float
    low: float
    high: float
    p_value: float
    resamples: int  # in which both systems reach the latency


def compare(better: Resampled, other: Resampled, level: float = 0.95) -> list[Difference]:
    """The difference at each latency that both reach, and the mean over these last.

    Two-sided p-value: how often the resampled difference is at least as far from its own mean as
    the observed one is from 0, the observed one counted in (Riezler and Maxwell 2005, as in
    sacreBLEU).
    """
    observed = better.observed - other.observed
    resampled = better.resampled - other.resampled
    reached = np.flatnonzero(~np.isnan(observed))
    rows = [
        summarise(float(better.latencies[place]), observed[place], resampled[:, place], level)
        for place in reached
    ]
    if len(reached):
        mean = resampled[:, reached].mean(axis=1)
        rows.append(summarise(None, observed[reached].mean(), mean, level))
    return rows


def summarise(
    latency: float | None, observed: float, resampled_R: Floats, level: float = 0.95
) -> Difference:
    """A number with its percentile interval and p-value, by the resamples that have one."""
    known = resampled_R[~np.isnan(resampled_R)]
    low, high = _percentiles(known[:, None], level) if len(known) else (np.array([np.nan]),) * 2
    centred = np.abs(known - known.mean()) if len(known) else known
    extreme = int((centred >= abs(observed) - 1e-12).sum())
    return Difference(
        latency=latency,
        difference=float(observed),
        low=float(low[0]),
        high=float(high[0]),
        p_value=(extreme + 1) / (len(known) + 1),
        resamples=len(known),
    )
