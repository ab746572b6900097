"""The fast bootstrap is the slow one; its intervals say what they should."""

from random import Random

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from scipy import stats

from simt.errors import SimtError
from simt.scoring.quality import Floats
from simt.scoring.significance import (
    Draws,
    KnobStatistics,
    System,
    curve_points,
    draw_weights,
    interpolate,
    joint_intervals,
    resample,
    shared_latencies,
)

WORDS = [f"w{number}" for number in range(40)]


def thousandths(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(1000 * low, 1000 * high).map(lambda number: number / 1000)


def make_references(sentences: int, seed: int = 0) -> list[str]:
    rng = Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 12))) for _ in range(sentences)]


def corrupt(references: list[str], share: float, seed: int) -> list[str]:
    rng = Random(seed)
    return [
        " ".join(word if rng.random() > share else rng.choice(WORDS) for word in line.split())
        for line in references
    ]


def make_system(
    references: list[str], shares: list[list[float]], seed: int = 0
) -> tuple[System, list[list[list[str]]]]:
    """A system whose latency falls with the share of wrong words, and its texts."""
    bleu = BLEU(force=True, references=[references])
    rng = np.random.default_rng(seed)
    system, texts = [], []
    for run, curve in enumerate(shares):
        outputs = [
            corrupt(references, share, 100 * seed + 10 * run + k) for k, share in enumerate(curve)
        ]
        latencies = [10 - 10 * share + rng.normal(0, 1, len(references)) for share in curve]
        system.append(
            [
                KnobStatistics(np.array(bleu._extract_corpus_statistics(o, None)), x)
                for o, x in zip(outputs, latencies, strict=True)
            ]
        )
        texts.append(outputs)
    return system, texts


# --- curves --------------------------------------------------------------------------------------


def test_a_point_is_mean_latency_and_corpus_bleu() -> None:
    references = make_references(20)
    system, texts = make_system(references, [[0.5, 0.2]])
    latencies, bleus = curve_points(system[0])
    expected = [sacrebleu.corpus_bleu(t, [references], force=True).score for t in texts[0]]
    assert bleus[0] == pytest.approx(expected)
    assert latencies[0] == pytest.approx([knob.latencies.mean() for knob in system[0]])


def test_sentences_without_latency_are_left_out_of_the_mean() -> None:
    knob = KnobStatistics(np.ones((3, 10), np.int64), np.array([1.0, np.nan, 4.0]))
    latencies, _ = curve_points([knob], np.array([[2.0, 5.0, 1.0], [0.0, 1.0, 0.0]]))
    assert latencies[0, 0] == pytest.approx(2.0)
    assert np.isnan(latencies[1, 0])


@given(
    st.lists(
        st.tuples(thousandths(-5, 15), thousandths(0, 50)),
        min_size=1,
        max_size=6,
        unique_by=lambda p: p[0],
    ),
    st.lists(thousandths(-6, 16), min_size=1, max_size=5),
)
def test_interpolation_is_numpys_within_the_range(
    points: list[tuple[float, float]], at: list[float]
) -> None:
    x, y = (np.array(values) for values in zip(*points, strict=True))
    order = np.argsort(x)
    expected = np.interp(at, x[order], y[order], left=np.nan, right=np.nan)
    ours = interpolate(x[None], y[None], np.array(at))[0]
    assert np.isnan(ours).tolist() == np.isnan(expected).tolist()
    assert ours == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)


def test_of_equal_latencies_the_last_one_counts() -> None:
    x, y = np.array([[1.0, 2.0, 2.0, 3.0]]), np.array([[0.0, 10.0, 20.0, 30.0]])
    assert interpolate(x, y, np.array([2.0, 2.5]))[0].tolist() == [20.0, 25.0]


def test_a_knob_value_without_latency_is_passed_over() -> None:
    x, y = np.array([[1.0, np.nan, 3.0]]), np.array([[10.0, 0.0, 30.0]])
    assert interpolate(x, y, np.array([2.0, 3.0, 3.5]))[0] == pytest.approx(
        [20.0, 30.0, np.nan], nan_ok=True
    )


def test_shared_latencies_lie_within_every_curve() -> None:
    references = make_references(30)
    one, _ = make_system(references, [[0.9, 0.1]])  # about 1 to 9
    other, _ = make_system(references, [[0.7, 0.3]], seed=1)  # about 3 to 7
    shared = shared_latencies([one, other])
    low, high = np.sort(curve_points(other[0])[0][0])
    assert shared.tolist() == [x for x in range(11) if low <= x <= high]


# --- seeds ---------------------------------------------------------------------------------------


def flat_curve(latency: float, matches: int) -> KnobStatistics:
    """One sentence of ten words, ``matches`` of each order right."""
    counts = [10, 10, *[matches] * 4, *[10] * 4]
    return KnobStatistics(np.array([counts]), np.array([latency]))


def test_a_mean_over_seeds_ends_where_one_of_them_does() -> None:
    system = [
        [flat_curve(1.0, 2), flat_curve(3.0, 4)],
        [flat_curve(1.0, 4), flat_curve(3.0, 6), flat_curve(5.0, 6)],
    ]
    (found,) = resample([("one", system)], np.array([2.0, 4.0]), Draws(3))
    assert found.observed.tolist() == pytest.approx([40, np.nan], nan_ok=True)


def levels(*scores: int) -> System:
    """Seeds that have these percentages at every latency; a draw of one sentence is always it."""
    return [[flat_curve(0.0, score), flat_curve(9.0, score)] for score in scores]


def test_from_three_seeds_on_they_move_the_mean_as_students_t_does() -> None:
    """Of 40, 50 and 60 %, the mean has a standard error of 10 / √3, with 2 degrees of freedom; two
    systems move independently of each other.
    """
    rng = np.random.default_rng(0)
    at, error, draws = np.array([3.0]), 10 / np.sqrt(3), Draws(200, moves=100)
    (alone,) = resample([("one", levels(4, 5, 6))], at, draws)
    moved = (alone.resampled[:, 0] - 50) / error
    assert stats.kstest(moved, stats.t(2).cdf).pvalue > 0.01
    one, other = resample([("one", levels(4, 5, 6)), ("other", levels(4, 5, 6))], at, draws)
    difference = (one.resampled - other.resampled)[:, 0] / error
    expected = rng.standard_t(2, 20_000) - rng.standard_t(2, 20_000)
    assert stats.ks_2samp(difference, expected).pvalue > 0.01
    assert np.allclose(one.of_sentences, 50)


def test_seeds_move_a_system_alike_on_any_number_of_sentences() -> None:
    at, moved = np.array([3.0]), []
    for sentences in (10, 7):
        system = [
            [
                KnobStatistics(knob.counts.repeat(sentences, 0), knob.latencies.repeat(sentences))
                for knob in curve
            ]
            for curve in levels(4, 5, 6)
        ]
        (found,) = resample([("one", system)], at, Draws(50), f"{sentences} sentences")
        moved.append(found.resampled - found.of_sentences)
    assert np.allclose(*moved)


def test_seeds_move_a_system_alike_wherever_it_is_compared_and_others_by_themselves() -> None:
    at, systems = np.array([3.0]), {name: levels(4, 5, 6) for name in ("one", "other", "third")}
    pairs = [("one", "other"), ("one", "third"), ("third", "one")]
    found = [resample([(name, systems[name]) for name in pair], at, Draws(500)) for pair in pairs]
    moved = [[system.resampled[:, 0] for system in pair] for pair in found]
    assert np.array_equal(moved[0][0], moved[1][0])
    assert np.array_equal(moved[1], moved[2][::-1])
    for one, other in [(0, 0), (1, 1)], [(0, 1), (1, 1)]:
        correlation = stats.spearmanr(moved[one[0]][one[1]], moved[other[0]][other[1]]).statistic
        assert abs(correlation) < 0.15


def test_halves_of_the_sentences_are_drawn_by_themselves() -> None:
    counts = np.array([[10, 10, *[right] * 4, *[10] * 4] for right in (2, 4, 6, 8)])
    system = [[KnobStatistics(counts, np.full(4, lag)) for lag in (0.0, 9.0)]]
    drawn = [
        resample([("one", system)], np.array([3.0]), Draws(100), sample)[0].resampled
        for sample in ("long", "short")
    ]
    assert not np.allclose(*drawn)


def test_seeds_move_no_system_where_another_has_too_few() -> None:
    """Else the interval would be neither about these trainings nor about the methods."""
    at = np.array([3.0])
    several, single = resample([("one", levels(4, 5, 6)), ("other", levels(5))], at, Draws(50))
    assert np.allclose(several.resampled, 50)
    assert np.allclose(single.resampled, 50)


def test_one_or_two_seeds_do_not_move_the_mean() -> None:
    for system in (levels(5), levels(4, 6)):
        (found,) = resample([("one", system)], np.array([3.0]), Draws(50))
        assert np.allclose(found.resampled, 50)


# --- bootstrap -----------------------------------------------------------------------------------


def slow_curve(
    references: list[str], texts: list[list[str]], latencies: list[Floats], at: Floats,
    drawn: list[int],
) -> Floats:  # fmt: skip
    """BLEU at each latency the slow way: draw texts, call sacreBLEU, interpolate."""
    x, y = [], []
    for outputs, delays in zip(texts, latencies, strict=True):
        chosen = [outputs[index] for index in drawn]
        gold = [references[index] for index in drawn]
        x.append(float(np.mean([delays[index] for index in drawn])))
        y.append(sacrebleu.corpus_bleu(chosen, [gold], force=True).score)
    order = np.argsort(x)
    return np.interp(at, np.array(x)[order], np.array(y)[order], left=np.nan, right=np.nan)


def test_the_fast_bootstrap_is_the_slow_one() -> None:
    references = make_references(15)
    at = np.array([3.0, 5.0, 6.0])
    made = [
        make_system(references, [[0.8, 0.5, 0.2]]),
        make_system(references, [[0.9, 0.4, 0.3], [0.7, 0.6, 0.1]], seed=1),
    ]
    systems = [system for system, _ in made]
    draws = Draws(12, seed=3)
    fast = resample([("one", systems[0]), ("other", systems[1])], at, draws, "test")
    rng = draws.generator("sentences", "test")  # the same draws
    drawn = rng.integers(15, size=(12, 15))
    for (system, texts), ours in zip(made, fast, strict=True):
        for row in range(12):
            curves = [
                slow_curve(
                    references, texts[run], [knob.latencies for knob in system[run]], at,
                    drawn[row].tolist(),
                )
                for run in range(len(system))
            ]  # fmt: skip
            assert ours.resampled[row] == pytest.approx(np.mean(curves, axis=0), nan_ok=True)


def test_weights_draw_as_many_sentences_as_there_are() -> None:
    weights = draw_weights(7, 20, np.random.default_rng(0))
    assert weights.shape == (20, 7)
    assert (weights.sum(axis=1) == 7).all()


def test_a_system_does_not_differ_from_itself() -> None:
    references = make_references(30)
    system, _ = make_system(references, [[0.8, 0.5, 0.2]])
    one, same = resample([("it", system)] * 2, np.array([4.0, 6.0]), Draws(50))
    assert (one.observed == same.observed).all()
    assert joint_intervals(list((one.resampled - same.resampled).T)) == [(0, 0), (0, 0)]


def with_latencies_of(timed: System, system: System) -> System:
    curves = zip(system[0], timed[0], strict=True)
    return [[KnobStatistics(knob.counts, other.latencies) for knob, other in curves]]


def test_a_clear_difference_is_above_0_and_a_small_one_is_not() -> None:
    references = make_references(200)
    good, _ = make_system(references, [[0.5, 0.3, 0.1]])
    bad = with_latencies_of(good, make_system(references, [[0.8, 0.6, 0.4]], seed=1)[0])
    near = with_latencies_of(good, make_system(references, [[0.5, 0.3, 0.1]], seed=2)[0])
    at = shared_latencies([good])
    named = [("good", good), ("bad", bad), ("near", near)]
    best, worst, like = resample(named, at, Draws(200))
    clear = joint_intervals(list((best.resampled - worst.resampled).T))
    for interval, difference in zip(clear, best.observed - worst.observed, strict=True):
        assert 0 < interval.low < difference < interval.high
    small = joint_intervals(list((best.resampled - like.resampled).T))
    assert any(interval.low < 0 < interval.high for interval in small)


def test_resamples_that_do_not_reach_a_latency_are_not_numbers() -> None:
    references = make_references(20)
    one, _ = make_system(references, [[0.8, 0.2]])
    edge = curve_points(one[0])[0].max() - 1e-6
    (result,) = resample([("one", one)], np.array([edge, 50.0]), Draws(100))
    near, far = np.isnan(result.resampled).sum(axis=0)
    assert 10 < near < 90
    assert far == 100


# --- intervals -----------------------------------------------------------------------------------


def test_the_interval_of_one_number_is_that_of_its_percentiles() -> None:
    """Of 0, 1, …, 2000 in any order, the middle 95 % are 50 to 1950."""
    numbers = np.random.default_rng(0).permutation(2001).astype(float)
    assert joint_intervals([numbers]) == [pytest.approx((50, 1950))]


def test_intervals_of_numbers_that_go_together_are_no_wider() -> None:
    numbers = np.arange(2001.0)
    assert joint_intervals([numbers, -3 * numbers]) == [
        pytest.approx((50, 1950)),
        pytest.approx((-5850, -150)),
    ]


def test_intervals_hold_all_numbers_at_once_in_as_many_resamples_as_asked() -> None:
    numbers = np.random.default_rng(1).normal(size=(20, 2000))
    intervals = joint_intervals(list(numbers))
    inside = [
        (low <= row) & (row <= high) for (low, high), row in zip(intervals, numbers, strict=True)
    ]
    assert 0.95 <= np.all(inside, axis=0).mean() < 0.95 + 40 / 2000  # 40 are the next to go
    assert all(one.mean() > 0.99 for one in inside)


def test_a_resample_without_a_value_leaves_no_interval() -> None:
    """Of 0, 1, …, 100 the middle 95 % are 2.5 to 97.5; a tenth of the resamples has no value."""
    numbers = np.append(np.arange(101.0), np.full(10, np.nan))
    ((low, high),) = joint_intervals([numbers])
    assert (low, high) == pytest.approx((2.5, 97.5), abs=1)


def test_the_same_generator_gives_the_same_resamples() -> None:
    system, _ = make_system(make_references(20), [[0.8, 0.2], [0.7, 0.3]])
    one, same = (
        resample([("one", system)], np.array([5.0]), Draws(300, seed=7))[0] for _ in range(2)
    )
    assert np.array_equal(one.resampled, same.resampled, equal_nan=True)


def test_systems_must_have_the_same_number_of_sentences() -> None:
    one, _ = make_system(make_references(20), [[0.8, 0.2]])
    other, _ = make_system(make_references(21), [[0.8, 0.2]])
    with pytest.raises(SimtError, match="sentences"):
        resample([("one", one), ("other", other)], np.array([5.0]), Draws(5))
