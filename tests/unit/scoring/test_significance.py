"""The fast bootstrap is the slow one; its intervals and p-values say what they should."""

import time
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring.quality import BleuCounter, Floats
from simt.scoring.significance import (
    KnobStatistics,
    PairedReader,
    System,
    compare,
    curve_points,
    draw_weights,
    interpolate,
    knob_bands,
    resample,
    seed_band,
    shared_latencies,
)

Make = Callable[..., Instance]

WORDS = [f"w{number}" for number in range(40)]


def thousandths(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(1000 * low, 1000 * high).map(lambda number: number / 1000)


def make_references(sentences: int, seed: int = 0) -> list[str]:
    rng = Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 12))) for _ in range(sentences)]


def spoil(references: list[str], share: float, seed: int) -> list[str]:
    rng = Random(seed)
    return [
        " ".join(word if rng.random() > share else rng.choice(WORDS) for word in line.split())
        for line in references
    ]


def make_system(
    references: list[str], shares: list[list[float]], seed: int = 0
) -> tuple[System, list[list[list[str]]]]:
    """A system whose latency falls with the share of wrong words, and its texts."""
    counter = BleuCounter([references])
    rng = np.random.default_rng(seed)
    system, texts = [], []
    for run, curve in enumerate(shares):
        outputs = [
            spoil(references, share, 100 * seed + 10 * run + k) for k, share in enumerate(curve)
        ]
        latencies = [10 - 10 * share + rng.normal(0, 1, len(references)) for share in curve]
        system.append(
            [KnobStatistics(counter.count(o), x) for o, x in zip(outputs, latencies, strict=True)]
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


def test_a_seed_band_spans_the_seeds() -> None:
    system = [
        [flat_curve(1.0, 2), flat_curve(3.0, 4)],
        [flat_curve(1.0, 4), flat_curve(3.0, 6)],
    ]
    band = seed_band(system, np.array([2.0, 4.0]))
    assert (band.low[0], band.mean[0], band.high[0]) == pytest.approx((30, 40, 50))
    assert np.isnan([band.low[1], band.mean[1], band.high[1]]).all()


def test_a_knob_band_has_mean_and_deviation_over_seeds() -> None:
    system = [[flat_curve(1.0, 2)], [flat_curve(3.0, 4)]]
    (band,) = knob_bands(system)
    assert (band.latency, band.bleu, band.seeds) == pytest.approx((2.0, 30.0, 2))
    assert band.latency_deviation == pytest.approx(2**0.5)
    assert band.bleu_deviation == pytest.approx(200**0.5)


def test_one_seed_has_no_deviation() -> None:
    (band,) = knob_bands([[flat_curve(1.0, 2)]])
    assert (band.latency_deviation, band.bleu_deviation) == (0, 0)


def test_seeds_of_a_knob_band_have_the_same_knobs() -> None:
    with pytest.raises(SimtError, match="same knob values"):
        knob_bands([[flat_curve(1.0, 2)], [flat_curve(1.0, 2), flat_curve(2.0, 2)]])


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
    fast = resample(systems, at, 12, np.random.default_rng(3))
    rng = np.random.default_rng(3)  # the same draws: sentences, then each system's seeds
    drawn = rng.integers(15, size=(12, 15))
    for (system, texts), ours in zip(made, fast, strict=True):
        seeds = rng.integers(len(system), size=(12, len(system)))
        for row in range(12):
            curves = [
                slow_curve(
                    references, texts[run], [knob.latencies for knob in system[run]], at,
                    drawn[row].tolist(),
                )
                for run in seeds[row]
            ]  # fmt: skip
            assert ours.resampled[row] == pytest.approx(np.mean(curves, axis=0), nan_ok=True)


def test_weights_draw_as_many_sentences_as_there_are() -> None:
    weights = draw_weights(7, 20, np.random.default_rng(0))
    assert weights.shape == (20, 7)
    assert (weights.sum(axis=1) == 7).all()


def test_a_system_does_not_differ_from_itself() -> None:
    references = make_references(30)
    system, _ = make_system(references, [[0.8, 0.5, 0.2]])
    one, same = resample([system, system], np.array([4.0, 6.0]), 50, np.random.default_rng(0))
    for row in compare(one, same):
        assert (row.difference, row.low, row.high, row.p_value) == (0, 0, 0, 1)


def with_latencies_of(timed: System, system: System) -> System:
    curves = zip(system[0], timed[0], strict=True)
    return [[KnobStatistics(knob.counts, other.latencies) for knob, other in curves]]


def test_a_clear_difference_is_significant_and_a_small_one_is_not() -> None:
    references = make_references(200)
    good, _ = make_system(references, [[0.5, 0.3, 0.1]])
    bad = with_latencies_of(good, make_system(references, [[0.8, 0.6, 0.4]], seed=1)[0])
    near = with_latencies_of(good, make_system(references, [[0.5, 0.3, 0.1]], seed=2)[0])
    at = shared_latencies([good])
    results = resample([good, bad, near], at, 200, np.random.default_rng(1))
    *rows, mean = compare(results[0], results[1])
    assert len(rows) == len(at)
    assert mean.latency is None
    assert 0 < mean.low < mean.difference < mean.high
    assert mean.p_value < 0.01
    assert mean.difference == pytest.approx(np.mean([row.difference for row in rows]))
    assert compare(results[0], results[2])[-1].p_value > 0.05


def test_differences_change_sign_with_the_order_of_systems() -> None:
    references = make_references(40)
    one, _ = make_system(references, [[0.8, 0.2]])
    other, _ = make_system(references, [[0.9, 0.1]], seed=1)
    a, b = resample([one, other], np.array([5.0]), 60, np.random.default_rng(2))
    forth, back = compare(a, b)[0], compare(b, a)[0]
    assert (forth.difference, forth.low, forth.high) == pytest.approx(
        (-back.difference, -back.high, -back.low)
    )
    assert forth.p_value == back.p_value


def test_nothing_is_compared_out_of_reach() -> None:
    references = make_references(20)
    one, _ = make_system(references, [[0.8, 0.2]])
    (far,) = resample([one], np.array([50.0]), 5, np.random.default_rng(0))
    assert compare(far, far) == []


def test_resamples_that_do_not_reach_a_latency_are_counted() -> None:
    references = make_references(20)
    one, _ = make_system(references, [[0.8, 0.2]])
    edge = curve_points(one[0])[0].max() - 1e-6
    (result,) = resample([one], np.array([edge]), 100, np.random.default_rng(0))
    (row, _) = compare(result, result)
    assert 10 < row.resamples < 90
    band = result.interval()
    assert band.low[0] <= band.high[0]


def test_an_interval_holds_the_observed_curve() -> None:
    references = make_references(100)
    system, _ = make_system(references, [[0.8, 0.5, 0.2]])
    (result,) = resample([system], np.array([4.0, 6.0]), 200, np.random.default_rng(4))
    band = result.interval()
    assert (band.low < band.mean).all()
    assert (band.mean < band.high).all()


def test_the_same_generator_gives_the_same_resamples() -> None:
    system, _ = make_system(make_references(20), [[0.8, 0.2], [0.7, 0.3]])
    one, same = (
        resample([system], np.array([5.0]), 300, np.random.default_rng(7))[0] for _ in range(2)
    )
    assert np.array_equal(one.resampled, same.resampled, equal_nan=True)


def test_systems_must_have_the_same_number_of_sentences() -> None:
    one, _ = make_system(make_references(20), [[0.8, 0.2]])
    other, _ = make_system(make_references(21), [[0.8, 0.2]])
    with pytest.raises(SimtError, match="sentences"):
        resample([one, other], np.array([5.0]), 5, np.random.default_rng(0))


def test_systems_are_read_on_the_same_sentences_only(make_tokens: Make) -> None:
    reader = PairedReader("bpe_eos_hyp", "detokenised")
    one = make_tokens("a b", "x y", [1, 2, 3])
    statistics = reader.read([one])
    assert statistics.latencies.tolist() == [1.0]
    with pytest.raises(SimtError, match="same sentences"):
        reader.read([make_tokens("a b", "x y", [1, 2, 3], references=["z"])])
    with pytest.raises(SimtError, match="same sentences"):
        reader.read([make_tokens("a b", "x y", [1, 2, 3], index=1)])


def test_a_thousand_resamples_of_ten_systems_take_seconds() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 20, size=(2000, 10))
    curve = [KnobStatistics(counts, rng.normal(2 + k, 1, 2000)) for k in range(7)]
    systems = [[curve] for _ in range(10)]
    begin = time.process_time()
    results = resample(systems, shared_latencies(systems), 1000, rng)
    compare(results[0], results[1])
    assert time.process_time() - begin < 15
