"""Readers: from the files of one part to sentence pairs, in the order of the files.

``plain``: one sentence a line and a file a side. ``tsv``: both sides in columns. ``sgm`` and
``xml``: the mark-up of WMT, NIST and IWSLT (sgml.py). ``tmx``: translation memories (tmx.py).
Text is given as it stands in the corpus; cleaning is the work of the step after this one.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from simt.corpus.reading import (
    Complaints,
    FilePosition,
    SentencePair,
    find_fault,
    read_in_step,
    read_lines,
    read_pairs,
)
from simt.corpus.sampling import draw_sample
from simt.corpus.sgml import decode_entities, is_test_set, read_tagged_lines, read_test_set
from simt.corpus.tmx import read_memory
from simt.errors import SimtError
from simt.pairs import Part

__all__ = ["SentencePair", "read_part"]


def read_part(
    part: Part, raw: Path, source_language: str, target_language: str, drops: Counter[str]
) -> Iterator[SentencePair]:
    """Every sentence pair of a part whose files lie below ``raw``.

    A broken sentence is an error with file and line; in a part that is declared dirty it is left
    out and counted in ``drops`` under its reason, as is what lies outside of the part's sample. A
    part that gives nothing at all is an error.
    """
    pairs = _read_all(part, raw, source_language, target_language, drops)
    if part.sample is None:
        return pairs
    return draw_sample(part.sample, pairs, lambda pair: pair.source, raw / part.source, drops)


def _read_all(
    part: Part, raw: Path, source_language: str, target_language: str, drops: Counter[str]
) -> Iterator[SentencePair]:
    complaints = Complaints(part.is_dirty, drops)
    before = drops.copy()
    count = 0
    for pair in _read(part, raw, source_language, target_language, complaints):
        count += 1
        yield _unescaped(pair) if part.is_escaped else pair
    if count == 0:
        reasons = ", ".join(f"{reason} ({n:,})" for reason, n in (drops - before).items())
        raise SimtError(f"{raw / part.source}: every sentence is broken: {reasons}")


def _unescaped(pair: SentencePair) -> SentencePair:
    references = tuple(decode_entities(reference) for reference in pair.references)
    return SentencePair(decode_entities(pair.source), references)


def _read(
    part: Part, raw: Path, source_language: str, target_language: str, complaints: Complaints
) -> Iterator[SentencePair]:
    source, targets = raw / part.source, [raw / target for target in part.targets]
    paths = [source, *targets]
    if part.reader == "plain":
        return read_pairs(paths, [read_lines(path, part.encoding) for path in paths], complaints)
    if part.reader == "tsv":
        assert part.columns is not None  # the schema sees to it
        return _read_tsv(source, part.encoding, part.columns, complaints)
    if part.reader == "tmx":
        return read_memory(source, part.encoding, source_language, target_language, complaints)
    if part.reader == "sgm" or is_test_set(source, part.encoding):
        return read_test_set(source, targets, part.encoding, complaints)
    return read_tagged_lines(paths, part.encoding, complaints)


def _read_tsv(
    path: Path, encoding: str, columns: tuple[int, int], complaints: Complaints
) -> Iterator[SentencePair]:
    """Pairs of two columns. Every line must have as many columns as the first that has enough:
    one more is a tab inside a sentence, and what follows it is something else."""
    width = 0
    for (line,) in read_in_step([path], [read_lines(path, encoding)]):
        cells, place = line.text.split("\t"), FilePosition(path, line.number)
        if len(cells) > max(columns):
            width = width or len(cells)
        if len(cells) != width:
            complaints.drop("wrong number of columns", place)
            continue
        source, target = (cells[column] for column in columns)
        if fault := find_fault([source, target]):
            complaints.drop(fault.reason, place)
        else:
            yield SentencePair(source, (target,))
