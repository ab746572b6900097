"""What would decide: worked by hand, and by drawing as many as it asks for."""

import numpy as np
import pytest
from scipy import stats

from simt.paper.measurements import Estimate
from simt.paper.power import variances, what_would_decide
from simt.scoring.significance import Interval

RESAMPLES = 200_000


def estimate(
    observed: float, of_sentences: float, of_seeds: float = 0.0, seeds: int | None = None
) -> Estimate:
    """A number with these standard errors, of 100 sentences and three seeds of a system.

    ``seeds`` has another system that it is compared with; as many without it.
    """
    quantiles = (np.arange(RESAMPLES) + 0.5) / RESAMPLES
    drawn = stats.norm(observed, of_sentences).ppf(quantiles)
    repeated = 3 if of_seeds else 0
    shuffled = np.random.default_rng(0).permutation(quantiles)
    moved = drawn + of_seeds * stats.t(2).ppf(shuffled) if repeated else drawn
    return Estimate("n", observed, moved, drawn, 100, seeds or repeated or 1, repeated)


def interval(number: Estimate, errors: float = 1.96) -> Interval:
    reach = errors * sum(variances(number)) ** 0.5
    return Interval(number.observed - reach, number.observed + reach)


def test_variances_are_those_of_sentences_and_of_seeds() -> None:
    of_sentences, of_seeds = variances(estimate(1.0, 0.5, of_seeds=0.8))
    assert of_sentences == pytest.approx(0.25, rel=0.02)
    assert of_seeds == pytest.approx(0.64, rel=0.02)


def test_sentences_are_enough_for_eight_of_ten() -> None:
    """As many as the text says: then the interval ends before 0 in 80 % of the repetitions."""
    number = estimate(1.0, 1.0)
    text = what_would_decide(number, interval(number), 0.0)
    assert text == ("about 790 sentences (about this training; about the method, at least 3 seeds)")
    error = 1.0 * np.sqrt(100 / 790)
    assert 1 - stats.norm.cdf(1.96 - 1.0 / error) == pytest.approx(0.8, abs=0.01)


def test_a_wider_interval_asks_for_more() -> None:
    """Of many numbers at once the interval reaches farther: (2.8 + 0.84)² · 100 sentences."""
    number = estimate(1.0, 1.0)
    text = what_would_decide(number, interval(number, errors=2.8), 0.0)
    assert text.startswith("about 1,400 sentences")


def test_seeds_help_where_they_are_what_varies() -> None:
    """(0.5² + e²) must fall to (2 / 2.8)² = 0.51: to e² = 0.26 from 0.64, so 2.46 · 3 seeds."""
    number = estimate(2.0, 0.5, of_seeds=0.8)
    text = what_would_decide(number, interval(number), 0.0)
    assert text == "about 8 seeds"


def test_seeds_are_more_of_the_system_that_has_several() -> None:
    """As above: 2.46 times the three seeds of one system, also where the other has but one."""
    number = estimate(2.0, 0.5, of_seeds=0.8, seeds=1)
    text = what_would_decide(number, interval(number), 0.0)
    assert text == "about 8 seeds (about this training; about the method, at least 3 seeds)"


def test_either_or_both_are_named() -> None:
    """With 0.3² each, of which 0.127 are allowed: one must fall to 0.0374, 2.41 times as many."""
    number = estimate(1.0, 0.3, of_seeds=0.3)
    text = what_would_decide(number, interval(number), 0.0)
    assert text == "about 250 sentences or about 8 seeds"
    # Of 0.032, half for each: 5.6 times as many.
    smaller = estimate(0.5, 0.3, of_seeds=0.3)
    text = what_would_decide(smaller, interval(smaller), 0.0)
    assert text == "about 570 sentences and about 17 seeds together"


def test_what_lies_at_the_bound_cannot_be_decided() -> None:
    number = estimate(0.001, 1.0)
    text = what_would_decide(number, interval(number), 0.0)
    assert text.startswith("more than 30 times the sentences: the number is too close")
    both = estimate(0.001, 1.0, of_seeds=1.0)
    assert "too close to the bound" in what_would_decide(both, interval(both), 0.0)
    same = Estimate("n", 0.0, np.zeros(9), np.zeros(9), 100, 1, 0)
    assert "lies on the bound" in what_would_decide(same, Interval(0.0, 0.0), 0.0)
