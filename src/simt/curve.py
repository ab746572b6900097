"""Quality against latency as one number: how good a system is where its curve crosses a latency."""

from collections.abc import Sequence

LATENCIES = (2, 3, 5, 7)  # at which systems are compared


def interpolated(points: Sequence[tuple[float, float]], at: float) -> float | None:
    """The quality at a latency, from points (latency, quality); None beyond the curve's ends.

    The points are in the order of their latencies. As in ``simt.scoring.significance.interpolate``,
    of several with the very same latency the last one counts.
    """
    below = [point for point in points if point[0] <= at]
    above = [point for point in points if point[0] >= at]
    if not below or not above:
        return None
    (x, y), (next_x, next_y) = below[-1], above[0]
    return y if x == at else y + (next_y - y) * (at - x) / (next_x - x)


def bleu_at_latencies(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """BLEU where a curve crosses the latencies, as far as it does: ``bleu_at_al_3`` and so on."""
    found = {f"bleu_at_al_{at}": interpolated(points, at) for at in LATENCIES}
    return {name: value for name, value in found.items() if value is not None}
