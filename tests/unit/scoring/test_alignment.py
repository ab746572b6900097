"""Satisfied alignments by hand, by brute force, and what is refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus.alignments import Links, parse_links
from simt.errors import SimtError
from simt.instances import EOS_TOKEN, Instance
from simt.scoring.alignment import satisfied_alignments
from tests.samples.instances import instance_from

Make = Callable[..., Instance]


def forced(source: str, target: str, delays: list[int], index: int = 0) -> Instance:
    return instance_from(
        index=index,
        knob=None,
        source=source.replace("@@ ", ""),
        source_tokens=[*source.split(), EOS_TOKEN],
        references=[target.replace("@@ ", "")],
        prediction=target.replace("@@ ", ""),
        tokens=[*target.split(), EOS_TOKEN],
        token_delays=delays,
        is_forced=True,
    )


def share(instance: Instance, line: str) -> float | None:
    return satisfied_alignments([instance], [parse_links(line, 0, "here")]).value


# "a b@@ c d" / "x y@@ z w": source words end after 1, 3 and 4 tokens; target words begin with
# tokens 1, 2 and 4, which are written after 1, 2 and 4 source tokens; token 3 after 3.
EXAMPLE = forced("a b@@ c d", "x y@@ z w", [1, 2, 3, 4, 5])


def test_a_word_is_satisfied_if_its_source_word_was_read() -> None:
    assert share(EXAMPLE, "0-0 1-1 2-2") == pytest.approx(2 / 3)  # y begins before c was read


def test_counts_are_the_satisfied_words_and_those_that_count() -> None:
    links = [parse_links("0-0 1-1 2-2", 0, "here")]
    unlinked = [*links, parse_links("", 0, "here")]
    other = forced("a b@@ c d", "x y@@ z w", [1, 2, 3, 4, 5], index=1)
    assert satisfied_alignments([EXAMPLE, other], unlinked).statistics == [(2, 3), None]


def test_the_furthest_of_several_links_counts() -> None:
    assert share(EXAMPLE, "0-0 2-0") == 0
    assert share(EXAMPLE, "0-2 2-2") == 1


def test_possible_links_do_not_count() -> None:
    assert share(EXAMPLE, "0-0 2p0") == 1


def test_unaligned_words_are_skipped() -> None:
    assert share(EXAMPLE, "2-0") == 0


def test_words_of_all_sentences_are_pooled() -> None:
    other = forced("a b", "x y", [1, 1, 1], index=1)
    links = [parse_links(line, 0, "here") for line in ("0-0 2-2 1-1", "1-0")]
    score = satisfied_alignments([EXAMPLE, other], links)
    assert score.value == pytest.approx(2 / 4)
    assert (score.sentences, score.left_out) == (2, 0)


def test_sentences_without_links_are_counted() -> None:
    score = satisfied_alignments([EXAMPLE], [Links(frozenset(), frozenset())])
    assert (score.value, score.left_out) == (None, 1)


def test_the_signature_holds_the_protocol() -> None:
    score = satisfied_alignments([EXAMPLE], [parse_links("0-0", 0, "here")])
    start = "SA|links:sure|position:furthest|unaligned:skip|average:word|forced:reference|"
    assert score.signature.startswith(start)


def test_links_of_another_sentence_are_refused() -> None:
    with pytest.raises(SimtError, match="sentence 0: link 3-0"):
        share(EXAMPLE, "3-0")
    with pytest.raises(SimtError, match="no line of links"):
        satisfied_alignments([EXAMPLE], [])


def test_other_words_than_those_of_the_reference_are_refused() -> None:
    words = EXAMPLE.model_copy(update={"tokenised_references": ("x yz",)})
    with pytest.raises(SimtError, match="sentence 0: 3 words were forced, but its reference has 2"):
        share(words, "0-0")


def test_free_hypotheses_have_no_alignments(make_tokens: Make) -> None:
    with pytest.raises(SimtError, match="forced"):
        share(make_tokens("a", "x", [1, 2]), "0-0")


@st.composite
def aligned_sentences(draw: st.DrawFn) -> tuple[Instance, Links]:
    source = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))  # pieces of each word
    target = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    pieces = [" ".join([*["p@@"] * (count - 1), "p"]) for count in source]
    written = [" ".join([*["q@@"] * (count - 1), "q"]) for count in target]
    delays = draw(
        st.lists(
            st.integers(1, sum(source) + 1), min_size=sum(target) + 1, max_size=sum(target) + 1
        )
    )
    pairs = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    sure = draw(st.frozensets(pairs, max_size=6))
    possible = draw(st.frozensets(pairs, max_size=6)) - sure
    return forced(" ".join(pieces), " ".join(written), sorted(delays)), Links(sure, possible)


@given(aligned_sentences())
def test_satisfied_words_are_those_of_brute_force(sentence: tuple[Instance, Links]) -> None:
    instance, links = sentence
    assert instance.token_delays is not None
    verdicts = []
    for word in {target for _, target in links.sure}:
        before = " ".join(instance.tokens.split(" ")).replace("@@ ", "@@").split(" ")  # type: ignore[union-attr]
        first = sum(piece.count("q") for piece in before[:word])
        g = instance.token_delays[first]
        sources = instance.source_tokens.replace("@@ ", "@@").split(" ")  # type: ignore[union-attr]
        verdicts.append(
            all(
                sum(piece.count("p") for piece in sources[: s + 1]) <= g
                for s, target in links.sure
                if target == word
            )
        )
    ours = satisfied_alignments([instance], [links]).value
    assert ours == (pytest.approx(sum(verdicts) / len(verdicts)) if verdicts else None)
