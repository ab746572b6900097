"""Average lagging, the measure of latency that all others are compared with."""

from collections.abc import Sequence


def average_lagging(delays: Sequence[float], source_length: float, target_length: float) -> float:
    """Mean number of source units the hypothesis trails an ideal translator by.

    Ma et al. (2019). Units after the first one written with the whole source read do not count.
    """
    slope = source_length / target_length
    lag = 0.0
    for written, delay in enumerate(delays):
        lag += delay - written * slope
        if delay >= source_length:
            return lag / (written + 1)
    return lag / len(delays)
