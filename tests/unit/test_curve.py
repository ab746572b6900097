"""How good a system is at a latency."""

import pytest

from simt.curve import bleu_at_latencies, interpolated


def test_quality_at_a_latency_is_on_the_line_between_its_neighbours() -> None:
    points = [(2.0, 20.0), (4.0, 30.0)]
    assert interpolated(points, 2.5) == 22.5  # a quarter of the way from 20 to 30
    assert interpolated(points, 4.5) is None
    assert interpolated(points, 1.5) is None


def test_only_latencies_that_the_curve_reaches_have_a_number() -> None:
    points = [(2.0, 10.0), (4.0, 20.0), (6.0, 21.0)]
    assert bleu_at_latencies(points) == {
        "bleu_at_al_2": 10.0,
        "bleu_at_al_3": pytest.approx(15.0),
        "bleu_at_al_5": pytest.approx(20.5),
    }


def test_one_point_is_no_curve() -> None:
    assert bleu_at_latencies([(3.0, 15.0)]) == {}
