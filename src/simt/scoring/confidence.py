"""Does a model know when it is right? Correlation of confidence and correctness over all states.

docs/methods.md, "Confidence correlation": for every prefix j = 1..M and every target token i (EOS
included), the confidence and the probability of the gold token in the prefix pass, pooled over a
split. These are millions of states; they are kept in single precision (8 bytes a state), and every
correlation takes O(n log n). The most memory goes to Kendall's, about 100 bytes a state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simt.scoring.scores import Score, make_signature

Singles = npt.NDArray[np.float32]


class States:
    """Pairs of confidence and correctness, collected batch by batch."""

    def __init__(self) -> None:
        self._confidence: list[Singles] = []
        self._correctness: list[Singles] = []

    def add(self, confidence: npt.NDArray[Any], correctness: npt.NDArray[Any]) -> None:
        """Keep one batch of states; both arrays in the same order, of any shape."""
        if confidence.shape != correctness.shape:
            raise ValueError(f"shapes {confidence.shape} and {correctness.shape} differ")
        self._confidence.append(np.asarray(confidence, dtype=np.float32).ravel())
        self._correctness.append(np.asarray(correctness, dtype=np.float32).ravel())

    def __len__(self) -> int:
        return sum(map(len, self._confidence))

    def arrays(self) -> tuple[Singles, Singles]:
        """All states as two arrays; the batches are given up, so that nothing is kept twice."""
        for parts in (self._confidence, self._correctness):
            parts[:] = [np.concatenate([np.empty(0, np.float32), *parts])]
        return self._confidence[0], self._correctness[0]


@dataclass(frozen=True)
class Correlations:
    """Three correlations over the same states; None where one side never varies."""

    pearson: float | None
    spearman: float | None
    kendall: float | None
    states: int


def correlate(confidence: npt.NDArray[Any], correctness: npt.NDArray[Any]) -> Correlations:
    """Pearson's r, Spearman's ρ and Kendall's τ-b (ranks by scipy)."""
    for values in (confidence, correctness):
        if not np.isfinite(values).all():
            raise ValueError("a state is not a finite number")
    if len(confidence) < 2 or not (np.ptp(confidence) and np.ptp(correctness)):
        return Correlations(None, None, None, len(confidence))
    from scipy import stats

    kendall = float(stats.kendalltau(confidence, correctness).statistic)
    spearman = pearson(stats.rankdata(confidence), stats.rankdata(correctness))
    return Correlations(pearson(confidence, correctness), spearman, kendall, len(confidence))


def pearson(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> float:
    """Pearson's r of two arrays that vary, in double precision."""
    x, y = (values.astype(np.float64) - values.mean(dtype=np.float64) for values in (x, y))
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def correlation_sums(
    x: npt.NDArray[Any], y: npt.NDArray[Any], states: Sequence[int]
) -> npt.NDArray[np.float64]:
    """What Pearson's r is computed from, a row for each sentence of so many ``states``.

    States of one sentence are not independent of each other: whoever wants an interval draws
    sentences, and gets r of the drawn ones by ``correlation_of`` the sum of their rows. Spearman's
    ρ is r of ranks. Both sides are centred, so that nothing is lost in large sums.
    """
    x, y = (values.astype(np.float64) - values.mean(dtype=np.float64) for values in (x, y))
    columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    ends = np.cumsum(states)
    assert ends[-1] == len(x), (ends[-1], len(x))
    rows = np.split(columns, ends[:-1])
    return np.stack([row.sum(axis=0) for row in rows])


def sentence_sums(
    confidence: npt.NDArray[Any], correctness: npt.NDArray[Any], states: Sequence[int]
) -> dict[str, npt.NDArray[np.float64]]:
    """The sums behind all three correlations, by the names of the scores.

    Ranks are those among all states; a draw of sentences keeps them.
    """
    from scipy import stats

    ranks = (stats.rankdata(confidence), stats.rankdata(correctness))
    return {
        "confidence_pearson": correlation_sums(confidence, correctness, states),
        "confidence_spearman": correlation_sums(*ranks, states),
        "confidence_kendall": kendall_sums(confidence, correctness, states),
    }


def correlation_of(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Pearson's r for each row of summed ``correlation_sums``; 0 where one side never varies."""
    n, x, y, xx, yy, xy = np.atleast_2d(sums).T
    spread = (n * xx - x * x) * (n * yy - y * y)
    product = n * xy - x * y
    r: npt.NDArray[np.float64] = np.divide(
        product, np.sqrt(np.maximum(spread, 0)), out=np.zeros_like(product), where=spread > 0
    )
    return r


# --- Kendall's τ ----------------------------------------------------------------------------------


def kendall_sums(
    x: npt.NDArray[Any], y: npt.NDArray[Any], states: Sequence[int]
) -> npt.NDArray[np.float64]:
    """What Kendall's τ-b is computed from, a row for each sentence of so many ``states``.

    τ-b is C / √(X Y), each a sum over all pairs of states: concordant less discordant ones, and
    those that differ in x, in y. Sentences drawn w times each have w·Kw in place of such a sum
    1·K1, with K over pairs of sentences; to first order in w - 1 that is 2 w·K1 - 1·K1, a sum over
    the drawn sentences, of which there are as many as sentences. All drawn once, it is exact.
    """
    pairs = np.stack([_concordance(x, y), _differing(x), _differing(y)], axis=1)
    ends = np.cumsum(states)
    assert ends[-1] == len(x), (ends[-1], len(x))
    rows = np.stack([part.sum(axis=0) for part in np.split(pairs, ends[:-1])])
    linear: npt.NDArray[np.float64] = 2.0 * rows - rows.sum(axis=0) / len(rows)
    return linear


def kendall_of(sums: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Kendall's τ-b for each row of summed ``kendall_sums``; 0 where one side never varies."""
    concordance, in_x, in_y = np.atleast_2d(sums).T
    spread = np.maximum(in_x, 0) * np.maximum(in_y, 0)
    tau: npt.NDArray[np.float64] = np.divide(
        concordance, np.sqrt(spread), out=np.zeros_like(concordance), where=spread > 0
    )
    return tau


def _concordance(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """For each state, with how many others it is concordant, less those it is discordant with."""
    return (_below(x, y) + _below(-x, -y)) - (_below(x, -y) + _below(-x, y))


def _differing(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """For each state, how many others have another value."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    differing: npt.NDArray[np.int64] = len(values) - counts[inverse]
    return differing


def _below(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """For each state, how many others have both a smaller x and a smaller y.

    In the order of x, those before it count whose rank of y is smaller. Ranks are compared bit by
    bit from the highest, all zeros moved before all ones each time (a wavelet matrix): states that
    agree so far lie together in their order, and one with a 1 counts those with a 0 before it.
    """
    order = np.lexsort((-y, x))  # of equal x, a smaller y comes later, so that none counts
    ranks = np.unique(y, return_inverse=True)[1][order].astype(np.int32)
    counts, places = np.zeros(len(x), np.int64), np.arange(len(x), dtype=np.int32)
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        is_one = (ranks >> bit & 1).astype(bool)
        zeros_before = np.cumsum(~is_one, dtype=np.int32) - ~is_one
        is_first = np.diff(ranks >> (bit + 1), prepend=-1) != 0
        starts = np.maximum.accumulate(np.where(is_first, places, 0))
        counts += np.where(is_one, zeros_before - zeros_before[starts], 0)
        zeros_first = np.concatenate([np.flatnonzero(~is_one), np.flatnonzero(is_one)])
        ranks, counts, order = ranks[zeros_first], counts[zeros_first], order[zeros_first]
    result = np.empty_like(counts)
    result[order] = counts
    return result


SUMS_SCORES: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[np.float64]]] = {
    "confidence_pearson": correlation_of,
    "confidence_spearman": correlation_of,
    "confidence_kendall": kendall_of,
}


def correlation_scores(correlations: Correlations) -> list[Score]:
    """The three correlations as scores; ``sentences`` counts states."""
    return [
        Score(
            name=f"confidence_{name}",
            value=getattr(correlations, name),
            signature=make_signature(
                name if name != "kendall" else "kendall-tau-b", over="states", gold="prefix"
            ),
            sentences=correlations.states,
        )
        for name in ("pearson", "spearman", "kendall")
    ]


def thousandths(confidence: Singles) -> npt.NDArray[np.int64]:
    """Each confidence in whole thousandths: it reaches a threshold of so many just if they do.

    Products are rounded, and would call a confidence just below a threshold one that reaches it.
    """
    thresholds = (np.arange(1, 1001) / 1000).astype(np.float32)
    return np.searchsorted(thresholds, confidence, side="right")
