"""Aligned sentences worth looking at: few, different, and hard to translate while listening."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from simt.corpus.alignments import AlignedSentence, read_aligned
from simt.corpus.oracle import GoldAlignment, needed_delays
from simt.pairs import AlignedPart
from simt.settings import SentenceChoice


def aligned_sentences(text: Path) -> list[AlignedSentence]:
    """The aligned split of a pair, as prepare wrote it into its text/ folder."""
    part = AlignedPart(
        source="aligned.source", target="aligned.target", links="aligned.talp",
        base=0, encoding="utf-8",
    )  # fmt: skip
    return list(read_aligned(part, text, Counter()))


def choose_sentences(sentences: Sequence[AlignedSentence], choice: SentenceChoice) -> list[int]:
    """The numbers of the chosen sentences, the most telling one first.

    A sentence tells much if some word makes even the oracle wait for long, as the verb at the end
    of a German clause does, and if its words have not been in those chosen before.
    """
    waits = {
        number: _longest_wait(sentence)
        for number, sentence in enumerate(sentences)
        if len(sentence.source_words) <= choice.max_source_words
    }
    seen: set[str] = set()
    chosen: list[int] = []
    while waits and len(chosen) < choice.sentences:
        worth = {
            number: wait * _new_fraction(sentences[number], seen) ** 2  # else all have one pattern
            for number, wait in waits.items()
        }
        best = max(worth, key=lambda number: (worth[number], -number))
        del waits[best]
        seen |= set(sentences[best].source_words)
        chosen.append(best)
    return chosen


def _longest_wait(sentence: AlignedSentence) -> int:
    """Source words that the oracle reads in one go, at most."""
    delays = needed_delays(GoldAlignment.of(sentence))
    return max(after - before for before, after in pairwise([0, *delays]))


def _new_fraction(sentence: AlignedSentence, seen: set[str]) -> float:
    words = sentence.source_words
    return sum(word not in seen for word in words) / len(words)
