"""Long and short halves of a test set."""

from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring.lengths import length_groups, sentence_lengths
from simt.settings import LengthUnit

Make = Callable[..., Instance]


def test_the_larger_half_of_an_odd_number_is_long() -> None:
    groups = length_groups([5, 1, 3])
    assert (groups.long, groups.short) == ([0, 2], [1])
    assert (groups.long_mean, groups.short_mean) == (4, 1)


def test_of_equal_lengths_the_later_sentences_are_long() -> None:
    assert length_groups([2, 2, 2, 2]).long == [2, 3]


def test_the_paper_s_test_set_is_halved_as_in_the_paper() -> None:
    groups = length_groups(list(range(2169)))
    assert (len(groups.long), len(groups.short)) == (1085, 1084)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=40))
def test_no_short_sentence_is_longer_than_a_long_one(lengths: list[int]) -> None:
    groups = length_groups(lengths)
    assert sorted(groups.long + groups.short) == list(range(len(lengths)))
    assert max(lengths[i] for i in groups.short) <= min(lengths[i] for i in groups.long)
    assert 0 <= len(groups.long) - len(groups.short) <= 1


def test_lengths_are_counted_in_the_unit_asked_for(make_tokens: Make) -> None:
    one = make_tokens("a@@ b c", "x", [1, 1], source="ab c", reference_token_length=7)
    lengths = [sentence_lengths([one], unit)[0] for unit in get_args(LengthUnit)]
    assert lengths == [4, 3, 2, 7, 1]


def test_instances_are_split_in_their_order(make_tokens: Make) -> None:
    instances = [
        make_tokens(["a"] * length, "x", [1, 1], index=index)
        for index, length in enumerate((3, 1, 4, 2))
    ]
    halves = length_groups(sentence_lengths(instances, "source_token"))
    assert (halves.long, halves.short) == ([0, 2], [1, 3])


def test_a_unit_that_the_file_lacks_is_refused(make_words: Make) -> None:
    instances = [make_words([1], 2, 1), make_words([1], 2, 1, index=1)]
    with pytest.raises(SimtError, match="source_word"):
        sentence_lengths(instances, "source_token")


def test_one_sentence_makes_no_two_groups() -> None:
    with pytest.raises(SimtError, match="at least two"):
        length_groups([3])
