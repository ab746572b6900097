"""How good a system is at a latency."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.curve import bleu_at_latencies, interpolated
from simt.scoring.significance import interpolate


def test_quality_at_a_latency_is_on_the_line_between_its_neighbours() -> None:
    points = [(2.0, 20.0), (4.0, 30.0)]
    assert interpolated(points, 2.5) == 22.5  # a quarter of the way from 20 to 30
    assert interpolated(points, 4.5) is None
    assert interpolated(points, 1.5) is None


@given(
    points=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=6),
    at=st.floats(-1, 6),
)
def test_it_is_the_same_number_that_systems_are_compared_by(
    points: list[tuple[int, int]], at: float
) -> None:
    """Also where knob values have the very same latency, and of one point alone."""
    curve = sorted(((float(x), float(y)) for x, y in points), key=lambda point: point[0])
    rows = [np.array([[point[axis] for point in curve]]) for axis in (0, 1)]
    (expected,) = interpolate(*rows, np.array([at]))[0]
    found = interpolated(curve, at)
    assert (np.nan if found is None else found) == pytest.approx(expected, nan_ok=True)


def test_only_latencies_that_the_curve_reaches_have_a_number() -> None:
    points = [(2.0, 10.0), (4.0, 20.0), (6.0, 21.0)]
    assert bleu_at_latencies(points) == {
        "bleu_at_al_2": 10.0,
        "bleu_at_al_3": pytest.approx(15.0),
        "bleu_at_al_5": pytest.approx(20.5),
    }


def test_one_point_reaches_its_own_latency_only() -> None:
    assert bleu_at_latencies([(3.0, 15.0)]) == {"bleu_at_al_3": 15.0}
    assert bleu_at_latencies([(3.1, 15.0)]) == {}
