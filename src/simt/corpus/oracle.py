"""The policy that reads exactly what each target word needs, and its curve.

It works on any gold alignment: where the alignment says what a word translates, nobody can
write the word earlier without guessing, and nobody has to wait longer.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from simt.corpus.alignments import AlignedSentence, Link, furthest_links
from simt.lagging import average_lagging


class GoldAlignment(NamedTuple):
    """The lengths of a sentence pair in words and its sure links, 0-based, source first."""

    source_length: int
    target_length: int
    sure: Collection[Link]

    @classmethod
    def of(cls, sentence: AlignedSentence) -> "GoldAlignment":
        """That of a sentence of a gold set."""
        lengths = len(sentence.source_words), len(sentence.target_words)
        return cls(*lengths, sentence.links.sure)


class OraclePoint(NamedTuple):
    """What the oracle reaches when it reads ``offset`` words more (or fewer) than it must."""

    offset: int
    al_word: float
    """Average Lagging, the mean over the sentences, in words."""
    sa_word: float
    """Satisfied alignments: the fraction of aligned target words whose furthest sure link had been
    read when they were written."""


def needed_delays(alignment: GoldAlignment) -> list[int]:
    """How many source words must be read before each target word can be written.

    That is the furthest sure link of the word and of all before it, and one word at least;
    a word without a sure link needs what the word before it needed.
    """
    furthest = furthest_links(alignment.sure)
    assert all(source < alignment.source_length for source in furthest.values()), alignment
    needs = (furthest.get(word, 0) + 1 for word in range(alignment.target_length))
    return list(accumulate(needs, max))


def oracle_curve(alignments: Iterable[GoldAlignment], offsets: Sequence[int]) -> list[OraclePoint]:
    """Lagging and satisfied alignments of the oracle at each offset.

    An offset shifts every delay, within the sentence: below 0 the policy writes too early
    and guesses, above 0 it waits for nothing.
    """
    known = [alignment for alignment in alignments if alignment.target_length]
    return [_point(known, offset) for offset in offsets]


def _point(alignments: Sequence[GoldAlignment], offset: int) -> OraclePoint:
    lagging = 0.0
    satisfied = aligned = 0
    for alignment in alignments:
        delays = _shifted(alignment, offset)
        lagging += average_lagging(delays, alignment.source_length, len(delays))
        furthest = furthest_links(alignment.sure)
        aligned += len(furthest)
        satisfied += sum(source < delays[target] for target, source in furthest.items())
    count = len(alignments)
    if not count or not aligned:
        return OraclePoint(offset, float("nan"), float("nan"))
    return OraclePoint(offset, lagging / count, satisfied / aligned)


def _shifted(alignment: GoldAlignment, offset: int) -> list[int]:
    longest = alignment.source_length
    return [min(max(delay + offset, 1), longest) for delay in needed_delays(alignment)]
