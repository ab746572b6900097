"""The oracle against examples worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus.alignments import AlignedSentence, Links
from simt.corpus.oracle import GoldAlignment, needed_delays, oracle_curve
from simt.lagging import average_lagging
from toy_grammar import ToyPair, generate_pairs

# Er ruft sie an . / He calls her .
CALLS = GoldAlignment(5, 4, ((0, 0), (1, 1), (2, 2), (3, 1), (4, 3)))


def gold_alignment(pair: ToyPair) -> GoldAlignment:
    return GoldAlignment(len(pair.source_words), len(pair.target_words), pair.sure)


def test_oracle_waits_for_the_particle_of_a_separable_verb() -> None:
    assert needed_delays(CALLS) == [1, 4, 4, 5]


def test_unaligned_words_need_what_the_word_before_needed() -> None:
    assert needed_delays(GoldAlignment(5, 5, ((2, 1), (1, 3)))) == [1, 3, 3, 3, 3]


def test_possible_links_do_not_delay() -> None:
    links = Links(frozenset({(0, 0)}), frozenset({(1, 0), (1, 1)}))
    sentence = AlignedSentence(("a", "b"), ("c", "d"), links)
    assert needed_delays(GoldAlignment.of(sentence)) == [1, 1]


def test_average_lagging_is_the_one_of_the_hand_example() -> None:
    # X = 6, Y = 5: (2 - 0) + (3 - 1.2) + (4 - 2.4) + (6 - 3.6), over the 4 words up to the
    # first that waited for the whole source.
    assert average_lagging([2, 3, 4, 6, 6], 6, 5) == pytest.approx(1.95)


def test_curve_of_one_sentence_is_the_one_worked_out_by_hand() -> None:
    early, exact, late = oracle_curve([CALLS], [-1, 0, 1])
    # Delays 1 3 3 4: he, her and nothing else has what it needs.
    assert early.sa_word == pytest.approx(2 / 4)
    assert early.al_word == pytest.approx((1 + (3 - 1.25) + (3 - 2.5) + (4 - 3.75)) / 4)
    # Delays 1 4 4 5.
    assert exact.sa_word == 1
    assert exact.al_word == pytest.approx((1 + (4 - 1.25) + (4 - 2.5) + (5 - 3.75)) / 4)
    # Delays 2 5 5 5: the second word has the whole source, the rest does not count.
    assert late.sa_word == 1
    assert late.al_word == pytest.approx((2 + (5 - 1.25)) / 2)


def test_satisfied_alignments_count_words_not_sentences() -> None:
    short = GoldAlignment(2, 1, ((1, 0),))
    long = GoldAlignment(3, 3, ((0, 0), (0, 1), (0, 2)))
    (point,) = oracle_curve([short, long], [-1])
    assert point.sa_word == pytest.approx(3 / 4)


def test_alignments_without_links_have_no_curve() -> None:
    (point,) = oracle_curve([GoldAlignment(3, 2, ())], [0])
    assert math.isnan(point.sa_word)


def test_toy_pairs_are_satisfied_at_offset_zero_and_not_below() -> None:
    alignments = [gold_alignment(pair) for pair in generate_pairs(2, "test", 300)]
    below, exact, above = oracle_curve(alignments, [-1, 0, 1])
    assert exact.sa_word == above.sa_word == 1
    assert below.sa_word < 0.7
    assert below.al_word < exact.al_word < above.al_word


@st.composite
def alignments(draw: st.DrawFn) -> GoldAlignment:
    source, target = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    link = st.tuples(st.integers(0, source - 1), st.integers(0, target - 1))
    return GoldAlignment(source, target, draw(st.lists(link, min_size=1, max_size=20)))


@given(alignments())
def test_needed_delays_are_monotone_and_within_the_source(alignment: GoldAlignment) -> None:
    delays = needed_delays(alignment)
    assert len(delays) == alignment.target_length
    assert delays == sorted(delays)
    assert delays[0] >= 1
    assert delays[-1] <= alignment.source_length


@given(st.lists(alignments(), min_size=1, max_size=5))
def test_larger_offsets_never_lose_satisfied_alignments(gold: list[GoldAlignment]) -> None:
    shares = [point.sa_word for point in oracle_curve(gold, range(-4, 9))]
    assert shares == sorted(shares)
    assert shares[4:] == [1] * 9
