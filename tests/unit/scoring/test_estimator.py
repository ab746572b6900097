"""The toy quality estimator: corrupted translations, and whether it notices them."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from simt.errors import SimtError
from simt.scoring.comet import load_model
from simt.scoring.estimator import (
    EstimatorSize,
    corrupt,
    corrupted_examples,
    train_estimator,
    word_similarity,
)

PAIRS = [("Das ist gut .", "This is good ."), ("Anna liest .", "Anna reads .")]
words = st.lists(st.sampled_from("abc"), max_size=8).map(" ".join)


def test_similarity_counts_words_to_change() -> None:
    assert word_similarity("a b c d", "a b c d") == 1
    assert word_similarity("a c d", "a b c d") == 0.75
    assert word_similarity("a x c d", "a b c d") == 0.75
    assert word_similarity("", "a") == 0
    assert word_similarity("", "") == 1


@given(words, words)
def test_similarity_is_symmetric_and_from_0_to_1(one: str, other: str) -> None:
    assert word_similarity(one, other) == word_similarity(other, one)
    assert 0 <= word_similarity(one, other) <= 1
    assert (word_similarity(one, other) == 1) == (one == other)


def test_nothing_is_corrupted_at_severity_zero() -> None:
    assert corrupt(["a", "b"], 0.0, ["x"], Random(0)) == "a b"


def test_more_severity_corrupts_more() -> None:
    rng = Random(1)
    target = [str(number) for number in range(20)]
    means = [
        sum(
            word_similarity(corrupt(target, level, ["x"], rng), " ".join(target)) for _ in range(50)
        )
        for level in (0.1, 0.4, 0.8)
    ]
    assert means == sorted(means, reverse=True)


def test_every_pair_is_among_the_examples_as_it_is() -> None:
    examples = corrupted_examples(PAIRS, 3, Random(0))
    assert len(examples) == 8
    assert [one.translation for one in examples if one.score == 1][:1] == ["This is good ."]
    assert {one.source for one in examples} == {source for source, _ in PAIRS}


def test_examples_depend_on_the_seed_only() -> None:
    assert corrupted_examples(PAIRS, 3, Random(5)) == corrupted_examples(PAIRS, 3, Random(5))


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="at least 50 pairs, not 2"):
        train_estimator(PAIRS, 1, tmp_path)


def predict(folder: Path, pairs: list[tuple[str, str]]) -> list[float]:
    """The scores of translations, without a child."""
    samples = [{"src": source, "mt": translation} for source, translation in pairs]
    model = load_model(folder)
    result = model.predict(samples, gpus=0, num_workers=0, progress_bar=False)
    scores: list[float] = result.scores
    return scores


class TestReal:
    pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

    def test_the_estimator_notices_what_was_corrupted(
        self, toy_estimator: Path, toy_pairs: list[tuple[str, str]]
    ) -> None:
        examples = corrupted_examples(toy_pairs[-200:], 3, Random(9))
        values = predict(toy_estimator, [(one.source, one.translation) for one in examples])
        gold = [one.score for one in examples]
        assert stats.spearmanr(values, gold).statistic > 0.5

    def test_the_same_seed_gives_the_same_model(
        self, toy_pairs: list[tuple[str, str]], tmp_path: Path
    ) -> None:
        import torch

        size = EstimatorSize(epochs=1, width=16, ffn=16, hidden=8)
        state = torch.random.get_rng_state()
        for name, seed in (("one", 1), ("same", 1), ("other", 2)):
            train_estimator(toy_pairs[:100], seed, tmp_path / name, size)
        assert torch.equal(state, torch.random.get_rng_state())
        one, same, other = (
            predict(tmp_path / name, toy_pairs[:20]) for name in ("one", "same", "other")
        )
        assert one == same != other
