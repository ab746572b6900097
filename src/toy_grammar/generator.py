"""Endless sentence pairs from a seed."""

from collections.abc import Callable, Iterator
from random import Random

from toy_grammar.draw import DeadEndError, Draw
from toy_grammar.sentences import KINDS
from toy_grammar.words import MARKS, ToyPair, finished_pair

SHORTEST_WORDS, LONGEST_WORDS = 4, 25


def generate_pairs(seed: int, split: str, count: int, start: int = 0) -> Iterator[ToyPair]:
    """Pairs number ``start`` to ``start + count`` of a split of any name, one at a time."""
    if count < 1:
        raise ValueError(f"toy corpus: the size of {split} is {count}; give 1 or more")
    if start < 0:
        raise ValueError(f"toy corpus: start is {start}; give 0 or more")
    return _generate(seed, split, range(start, start + count))


def _generate(seed: int, split: str, numbers: range) -> Iterator[ToyPair]:
    generator = Random()
    for number in numbers:
        generator.seed(f"toy-deen {seed} {split} {number}")
        yield _make_pair(generator.random)


def _make_pair(random: Callable[[], float]) -> ToyPair:
    """The first good sentence that the random numbers lead to."""
    while True:
        draw = Draw(random)
        kind, mark = draw.pick(KINDS)
        try:
            phrase = kind(draw)
        except DeadEndError:
            continue
        pair = finished_pair(phrase.german, phrase.english, mark)
        if _has_good_length(pair.source_words) and _has_good_length(pair.target_words):
            return pair


def _has_good_length(words: tuple[str, ...]) -> bool:
    spoken = len(words) - sum(words.count(mark) for mark in MARKS)
    return spoken >= SHORTEST_WORDS and len(words) <= LONGEST_WORDS
