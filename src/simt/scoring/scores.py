"""A number with the signature that says how it was computed."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True)
class Score:
    """One number over a set of sentences.

    ``value`` is None where no sentence has one. ``empty`` counts the sentences that were left out
    of ``value`` because nothing was written or there was nothing to read; ``sentences`` counts
    all. A ratio of sums, such as BLEU, leaves out none.
    """

    name: str
    value: float | None
    signature: str
    sentences: int
    empty: int = 0

    def as_json(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "value": self.value,
            "signature": self.signature,
            "sentences": self.sentences,
            "empty": self.empty,
        }


def make_signature(metric: str, **details: str) -> str:
    """Metric, details and our version in one string, as sacreBLEU writes its own."""
    pairs = [f"{key}:{value}" for key, value in details.items()]
    return "|".join([metric, *pairs, f"version:{version('simt')}"])
