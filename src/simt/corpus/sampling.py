"""Some sentences of a file, by a rule that anyone can repeat with nothing but the file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from heapq import nsmallest
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from simt.errors import SimtError
from simt.pairs import Sample

LEFT_OUT = "not in the sample"
S = TypeVar("S")  # a sentence with all that belongs to it


def draw_sample(
    sample: Sample,
    sentences: Iterable[S],
    source_of: Callable[[S], str],
    path: Path,
    drops: Counter[str],
) -> Iterator[S]:
    """The sentences of a sample, in the order of the file; ``drops`` counts the others."""
    # By their place in the order of samples; equal sources keep that of the file.
    candidates = (
        (sha256(source.encode()).digest(), number, sentence)
        for number, sentence in enumerate(_counted(sentences, drops))
        if len((source := source_of(sentence)).split()) >= sample.min_words
    )
    # No more than these are held in memory.
    first = nsmallest(sample.end, candidates, key=itemgetter(0, 1))
    if len(first) < sample.end and not sample.may_be_short:
        raise SimtError(
            f"{path} has {len(first):,} sentences of at least {sample.min_words} words, "
            f"but the sample ends at {sample.end:,}; end it earlier, or ask for fewer words"
        )
    chosen = sorted(first[sample.begin :], key=itemgetter(1))
    drops[LEFT_OUT] -= len(chosen)
    yield from (sentence for _, _, sentence in chosen)


def _counted(sentences: Iterable[S], drops: Counter[str]) -> Iterator[S]:
    """The sentences themselves, each of them counted as left out for now."""
    for sentence in sentences:
        drops[LEFT_OUT] += 1
        yield sentence
