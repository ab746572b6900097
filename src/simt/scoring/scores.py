"""A number with the signature that says how it was computed, and what it is computed from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

# What one sentence gives to a score: a number, or the counts that are summed; None is nothing.
Statistic = float | Sequence[float] | None


@dataclass(frozen=True)
class Score:
    """One number over a set of sentences.

    ``value`` is None where no sentence has one. ``left_out`` counts the sentences that have none,
    mostly because nothing was written or there was nothing to read; ``sentences`` counts all. A
    ratio of sums, such as BLEU, leaves out none.

    ``statistics`` has an entry for each sentence, from which ``value_of`` computes the value: of
    all of them, or of some. Nothing has to be read or counted again for that.
    """

    name: str
    value: float | None
    signature: str
    sentences: int
    left_out: int = 0
    statistics: Sequence[Statistic] = field(default=(), compare=False, repr=False)
    value_of: Callable[[Sequence[Any]], float | None] | None = field(
        default=None, compare=False, repr=False
    )

    @classmethod
    def of(
        cls,
        name: str,
        signature: str,
        statistics: Sequence[Statistic],
        value_of: Callable[[Sequence[Any]], float | None],
    ) -> "Score":
        """The score of all sentences; those without a statistic are left out."""
        known = [one for one in statistics if one is not None]
        left_out = len(statistics) - len(known)
        value = value_of(known) if known else None
        return cls(name, value, signature, len(statistics), left_out, statistics, value_of)

    def over(self, places: Sequence[int]) -> "Score":
        """The same score of some of the sentences, by their places."""
        assert self.value_of is not None, f"{self.name} has no statistics of sentences"
        some = [self.statistics[place] for place in places]
        return Score.of(self.name, self.signature, some, self.value_of)

    def as_json(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "value": self.value,
            "signature": self.signature,
            "sentences": self.sentences,
            "left_out": self.left_out,
        }


def make_signature(metric: str, **details: str) -> str:
    """Metric, details and our version in one string, as sacreBLEU writes its own."""
    pairs = [f"{key}:{value}" for key, value in details.items()]
    return "|".join([metric, *pairs, f"version:{version('simt')}"])


def mean(values: Sequence[float]) -> float:
    """The plain mean over sentences that have a value."""
    return sum(values) / len(values)
