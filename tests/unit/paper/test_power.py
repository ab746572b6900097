"""What would decide: worked by hand, and by the power of Student's t-test."""

import numpy as np
import pytest
from scipy import stats

from simt.paper.measurements import Estimate
from simt.paper.power import errors, what_would_decide
from simt.scoring.significance import Interval, joint_intervals

RESAMPLES = 200_000


def estimate(observed: float, of_sentences: float, of_seeds: float = 0.0) -> Estimate:
    """A number with these standard errors, of 100 sentences and three seeds, or of one."""
    quantiles = (np.arange(RESAMPLES) + 0.5) / RESAMPLES
    drawn = stats.norm(observed, of_sentences or 1e-9).ppf(quantiles)
    shuffled = np.random.default_rng(0).permutation(quantiles)
    moved = drawn + of_seeds * stats.t(2).ppf(shuffled) if of_seeds else drawn
    return Estimate("n", observed, moved, drawn, 100, 3 if of_seeds else 1)


def decided_by(number: Estimate, level: float = 0.95) -> str:
    (interval,) = joint_intervals([number.resampled], level)
    return what_would_decide(number, interval, 0.0)


def test_errors_are_those_of_sentences_and_of_seeds() -> None:
    of_sentences, of_seeds = errors(estimate(1.0, 0.5, of_seeds=0.8))
    assert of_sentences == pytest.approx(0.5, rel=0.01)
    assert of_seeds == pytest.approx(0.8, rel=0.01)


def test_sentences_are_enough_for_eight_of_ten() -> None:
    """As many as the text says: then the interval ends before 0 in 80 % of the repetitions."""
    text = decided_by(estimate(1.0, 1.0))
    assert text == ("about 800 sentences (about this training; about the method, at least 3 seeds)")
    error = 1.0 * np.sqrt(100 / 800)
    assert 1 - stats.norm.cdf(1.96 - 1.0 / error) == pytest.approx(0.8, abs=0.01)


def test_a_wider_interval_asks_for_more() -> None:
    """Of many numbers at once the interval reaches farther: (2.81 + 0.84)² · 100 sentences."""
    text = decided_by(estimate(1.0, 1.0), level=0.995)
    assert text.startswith("about 1,400 sentences")


@pytest.mark.parametrize("distance", [1.0, 1.5, 2.0])
def test_seeds_are_as_many_as_students_t_test_needs(distance: float) -> None:
    """A seed moves the number by 1.7, one standard deviation; sentences by nothing."""
    deviation = 1.7

    def power(seeds: int) -> float:
        critical = stats.t.ppf(0.975, seeds - 1)
        return float(stats.nct.sf(critical, seeds - 1, distance / deviation * np.sqrt(seeds)))

    needed = next(seeds for seeds in range(3, 100) if power(seeds) >= 0.8)
    text = decided_by(estimate(distance, 0.0, of_seeds=deviation / np.sqrt(3)))
    seeds = int(text.removeprefix("about ").removesuffix(" seeds"))
    assert abs(seeds - needed) <= 2


def test_either_or_both_are_named() -> None:
    """With ten seeds, 2.262 · 0.164 and 1.96 · 0.3 make a reach of 0.696, and 0.84 errors 0.288
    more: less than 1. With nine it is 1.002. With three, 4.30 · 0.3 alone is too much.
    """
    assert decided_by(estimate(1.0, 0.3, of_seeds=0.3)) == "about 10 seeds"
    smaller = decided_by(estimate(0.3, 0.3, of_seeds=0.3))
    assert " sentences and about " in smaller
    assert smaller.endswith(" seeds together")


def test_what_lies_at_the_bound_cannot_be_decided() -> None:
    assert decided_by(estimate(0.001, 1.0)).startswith("more than 30 times the data")
    assert "too close to the bound" in decided_by(estimate(0.001, 1.0, of_seeds=1.0))
    same = Estimate("n", 0.0, np.zeros(9), np.zeros(9), 100, 1)
    assert "lies on the bound" in what_would_decide(same, Interval(0.0, 0.0), 0.0)
