"""Does a model know when it is right? Correlation of confidence and correctness over all states.

methods.md §12.5: for every prefix j = 1..M and every target token i (EOS included), the confidence
and the probability of the gold token in the prefix pass, pooled over a split. These are millions
of states; they are kept in single precision (8 bytes a state), and every correlation takes
O(n log n). The most memory goes to Kendall's, about 100 bytes a state.
"""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.scoring.scores import Score, make_signature

SUMS_FILE = "sums.json"  # of each sentence, beside the correlations themselves

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

    def save(self, path: Path) -> None:
        """Write the states, two arrays of one .npz file."""
        confidence, correctness = self.arrays()
        with atomic_file(path, "wb") as stream:
            np.savez(stream, confidence=confidence, correctness=correctness)

    @classmethod
    def load(cls, path: Path) -> "States":
        """The states of a file; it is never unpickled."""
        states = cls()
        try:
            with np.load(path, allow_pickle=False) as arrays:
                states.add(arrays["confidence"], arrays["correctness"])
        except FileNotFoundError:
            raise SimtError(f"{path} is missing: decode the split again") from None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise SimtError(f"{path} is not a file of states ({error})") from None
        return states


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
    """The sums behind Pearson's r and Spearman's ρ, by the names of the scores.

    Ranks are those among all states; a draw of sentences keeps them. Kendall's τ has no such sums.
    """
    from scipy import stats

    ranks = (stats.rankdata(confidence), stats.rankdata(correctness))
    return {
        "confidence_pearson": correlation_sums(confidence, correctness, states),
        "confidence_spearman": correlation_sums(*ranks, states),
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
