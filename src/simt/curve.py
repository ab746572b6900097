"""Quality against latency as one number: how good a system is where its curve crosses a latency."""

from collections.abc import Sequence
from itertools import pairwise

LATENCIES = (2, 3, 5, 7)  # at which systems are compared


def interpolated(points: Sequence[tuple[float, float]], at: float) -> float | None:
    """The quality at a latency, from points (latency, quality); None beyond the curve's ends."""
    for (x, y), (next_x, next_y) in pairwise(points):
        if x <= at <= next_x and x < next_x:
            return y + (next_y - y) * (at - x) / (next_x - x)
    return None


def bleu_at_latencies(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """BLEU where a curve crosses the latencies, as far as it does: ``bleu_at_al_3`` and so on."""
    found = {f"bleu_at_al_{at}": interpolated(points, at) for at in LATENCIES}
    return {name: value for name, value in found.items() if value is not None}
