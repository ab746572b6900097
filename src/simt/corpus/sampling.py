"""Some sentences of a file, by a rule that anyone can repeat with nothing but the file."""

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from simt.corpus.reading import SentencePair
from simt.errors import SimtError
from simt.pairs import Sample

LEFT_OUT = "not in the sample"


class _Candidate(NamedTuple):
    """A pair with its place in the order of samples; equal sources keep that of the file."""

    digest: bytes
    number: int
    pair: SentencePair


def drawn(
    sample: Sample, pairs: Iterable[SentencePair], path: Path, drops: Counter[str]
) -> Iterator[SentencePair]:
    """The pairs of a sample, in the order of the file; the others are counted in ``drops``."""
    candidates = (
        _Candidate(sha256(pair.source.encode()).digest(), number, pair)
        for number, pair in enumerate(_counted(pairs, drops))
        if len(pair.source.split()) >= sample.min_words
    )
    first = nsmallest(sample.end, candidates)  # no more than these are held in memory
    if len(first) < sample.end:
        raise SimtError(
            f"{path} has {len(first):,} sentences of at least {sample.min_words} words, "
            f"but the sample ends at {sample.end:,}; end it earlier, or ask for fewer words"
        )
    chosen = sorted(first[sample.begin :], key=lambda one: one.number)
    drops[LEFT_OUT] -= len(chosen)
    yield from (one.pair for one in chosen)


def _counted(pairs: Iterable[SentencePair], drops: Counter[str]) -> Iterator[SentencePair]:
    """The pairs themselves, each of them counted as left out for now."""
    for pair in pairs:
        drops[LEFT_OUT] += 1
        yield pair
