"""Correlations of confidence and correctness are scipy's, at any size."""

from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from simt.scoring.confidence import (
    States,
    correlate,
    correlation_of,
    correlation_scores,
    correlation_sums,
    kendall_of,
    kendall_sums,
    thousandths,
)

# Few values, so that there are ties.
samples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30)


def tau_b(pairs: list[tuple[int, int]]) -> float:
    """Kendall's τ-b by looking at every pair of pairs."""
    agree = ties_x = ties_y = 0
    for (x, y), (v, w) in combinations(pairs, 2):
        agree += int(np.sign(x - v) * np.sign(y - w))
        ties_x += x == v
        ties_y += y == w
    total = len(pairs) * (len(pairs) - 1) // 2
    return agree / float(np.sqrt((total - ties_x) * (total - ties_y)))


@given(samples)
def test_correlations_are_those_of_scipy_and_brute_force(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    assume(np.ptp(x) and np.ptp(y))
    ours = correlate(x.astype(np.float32), y.astype(np.float32))
    assert ours.pearson == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert ours.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    assert ours.kendall == pytest.approx(tau_b(pairs), abs=1e-9)


def test_many_states_near_one_keep_their_correlation() -> None:
    """Sums in single precision would lose it."""
    rng = np.random.default_rng(0)
    x = (1 - 1e-3 * rng.random(200_000)).astype(np.float32)
    y = (x + 1e-3 * rng.normal(size=len(x))).astype(np.float32)
    expected = stats.pearsonr(x.astype(np.float64), y.astype(np.float64)).statistic
    assert correlate(x, y).pearson == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("values", [[], [1.0], [0.5, 0.5, 0.5]])
def test_what_never_varies_has_no_correlation(values: list[float]) -> None:
    same = np.array(values, dtype=np.float32)
    result = correlate(same, np.arange(len(values), dtype=np.float32))
    assert (result.pearson, result.spearman, result.kendall) == (None, None, None)
    assert result.states == len(values)


def test_a_state_that_is_no_number_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="finite"):
        correlate(np.array([np.nan, 1.0]), np.array([1.0, 2.0]))


def test_states_are_collected_batch_by_batch() -> None:
    states = States()
    states.add(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[1, 2], [3, 4]]))
    states.add(np.array([0.5]), np.array([5]))
    confidence, correctness = states.arrays()
    assert confidence == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert correctness.tolist() == [1, 2, 3, 4, 5]
    assert len(states) == 5


def test_batches_must_fit_together() -> None:
    with pytest.raises(ValueError, match="differ"):
        States().add(np.zeros(2), np.zeros(3))


def test_correlations_are_scores_with_signatures() -> None:
    scores = correlation_scores(correlate(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    assert [score.name for score in scores] == [
        "confidence_pearson",
        "confidence_spearman",
        "confidence_kendall",
    ]
    assert scores[2].signature.startswith("kendall-tau-b|over:states|")
    assert [score.value for score in scores] == pytest.approx([1.0, 1.0, 1.0])


def test_sums_of_sentences_give_pearsons_r_of_any_choice_of_them() -> None:
    rng = np.random.default_rng(3)
    states = [4, 7, 5]
    x = rng.normal(size=16)
    y = x + rng.normal(size=16)
    sums = correlation_sums(x, y, states)
    twice_the_first_and_the_last = [*range(4), *range(4), *range(11, 16)]
    expected = np.corrcoef(x[twice_the_first_and_the_last], y[twice_the_first_and_the_last])[0, 1]
    assert correlation_of(2 * sums[0] + sums[2])[0] == pytest.approx(expected)


def test_states_that_never_vary_have_no_correlation() -> None:
    sums = correlation_sums(np.ones(4), np.arange(4.0), [2, 2])
    assert correlation_of(sums.sum(axis=0))[0] == 0.0


@given(samples, st.data())
def test_sums_of_all_sentences_give_kendalls_tau(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    x, y = np.array(pairs, dtype=np.float64).T
    assume(np.ptp(x) and np.ptp(y))
    first = data.draw(st.integers(1, len(pairs) - 1))
    sums = kendall_sums(x, y, [first, len(pairs) - first])
    assert kendall_of(sums.sum(axis=0))[0] == pytest.approx(tau_b(pairs), abs=1e-9)


def test_drawn_sentences_have_nearly_the_tau_of_their_states() -> None:
    """To first order: the spread of τ over draws, by which intervals are made, is scipy's."""
    rng = np.random.default_rng(4)
    x = np.repeat(rng.normal(size=60), 8) + rng.normal(size=480)
    y = x + 1.5 * np.repeat(rng.normal(size=60), 8) + rng.normal(size=480)
    sums = kendall_sums(x, y, [8] * 60)
    drawn = rng.integers(60, size=(300, 60))
    states = np.arange(480).reshape(60, 8)
    exact = np.array([
        stats.kendalltau(x[states[row].ravel()], y[states[row].ravel()]).statistic for row in drawn
    ])  # fmt: skip
    linear = kendall_of(np.stack([sums[row].sum(axis=0) for row in drawn]))
    assert linear.std() == pytest.approx(exact.std(), rel=0.05)
    assert np.corrcoef(exact, linear)[0, 1] > 0.98


def test_states_that_never_vary_have_no_tau() -> None:
    sums = kendall_sums(np.ones(4), np.arange(4.0), [2, 2])
    assert kendall_of(sums.sum(axis=0))[0] == 0.0


def test_numbers_that_hardly_vary_correlate_as_much_as_others() -> None:
    x, y = np.array([0.50, 0.51, 0.53, 0.52]), np.array([0.10, 0.14, 0.12, 0.11])
    (ours,) = correlation_of(correlation_sums(x, y, [4]))
    assert ours == pytest.approx(stats.pearsonr(x, y).statistic, rel=1e-6)


def test_thousandths_reach_a_threshold_just_if_the_confidence_does() -> None:
    thresholds = [number / 1000 for number in range(1, 1001)]
    at = np.array(thresholds, dtype=np.float32)
    near = [at, np.nextafter(at, np.float32(0)), np.nextafter(at, np.float32(2))]
    confidence = np.concatenate([*near, np.float32([0])])
    shown = thousandths(confidence)
    for number, threshold in enumerate(thresholds, start=1):
        writes = torch.from_numpy(confidence) >= threshold  # as the policy compares
        assert np.array_equal(shown >= number, writes.numpy())
