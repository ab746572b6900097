"""Gold word alignments: which word of the source each word of the target translates."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from simt.corpus.reading import UNDECODABLE_BYTE, FilePosition, read_lines
from simt.corpus.sampling import draw_sample
from simt.errors import SimtError
from simt.pairs import AlignedPart

Link = tuple[int, int]  # source word, target word, both from 0

LINK = re.compile(r"([0-9]{1,6})([-p])([0-9]{1,6})")
# Not str.split(): a no-break space is part of a word, and must not shift the numbers after it.
BLANKS = re.compile(r"[ \t]+")
EMPTY_LINE = "empty line"


@dataclass(frozen=True)
class Links:
    """The links of a sentence pair; a link is in one of the two sets, sure before possible.

    The P of the alignment error rate is the union of both.
    """

    sure: frozenset[Link]
    possible: frozenset[Link]

    def transposed(self) -> "Links":
        """The same links seen from the other language."""
        sure = frozenset((j, i) for i, j in self.sure)
        return Links(sure, frozenset((j, i) for i, j in self.possible))


class AlignedSentence(NamedTuple):
    """A tokenised sentence pair and the links between its words."""

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    links: Links


def furthest_links(links: Iterable[Link]) -> dict[int, int]:
    """The last source word that each linked target word translates, by target word."""
    furthest: dict[int, int] = {}
    for source, target in links:
        furthest[target] = max(source, furthest.get(target, 0))
    return furthest


def parse_links(line: str, base: int, where: str) -> Links:
    """The links of one line, ``i-j`` sure and ``ipj`` possible, counted from ``base`` there."""
    found: dict[str, set[Link]] = {"-": set(), "p": set()}
    for text in line.split():
        link = LINK.fullmatch(text)
        if link is None:
            raise SimtError(f"{where}: '{text}' is not a link; write 3-4 (sure) or 3p4 (possible)")
        source, target = int(link[1]) - base, int(link[3]) - base
        if min(source, target) < 0:
            raise SimtError(f"{where}: link {text} is below the first word, which is {base}")
        found[link[2]].add((source, target))
    return Links(frozenset(found["-"]), frozenset(found["p"] - found["-"]))


def format_links(links: Links) -> str:
    """One line with every link in order, counted from 0; ``parse_links`` reads it back."""
    marked = [(link, "-") for link in links.sure] + [(link, "p") for link in links.possible]
    return " ".join(f"{source}{mark}{target}" for (source, target), mark in sorted(marked))


def read_aligned(part: AlignedPart, raw: Path, drops: Counter[str]) -> Iterator[AlignedSentence]:
    """Every aligned sentence of the files below ``raw``, or those of the sample.

    A line that is empty in all three files, or past the end of some and empty in the others, is
    left out and counted in ``drops``. A sentence may have no links, but never no words.
    """
    sentences = _read_all(part, raw, drops)
    if part.sample is None:
        return sentences
    return draw_sample(
        part.sample, sentences, lambda one: " ".join(one.source_words), raw / part.source, drops
    )


def _read_all(part: AlignedPart, raw: Path, drops: Counter[str]) -> Iterator[AlignedSentence]:
    paths = (raw / part.source, raw / part.target, raw / part.links)
    count = 0
    for number, texts in _rows(paths, part.encoding):
        if not any(texts):
            drops[EMPTY_LINE] += 1
            continue
        count += 1
        places = [FilePosition(path, number) for path in paths]
        links = parse_links(texts[2], part.base, str(places[2]))
        if part.is_target_first:
            links = links.transposed()
        yield _sentence(texts, links, part.base, places)
    if not count:
        raise SimtError(f"no sentence in {paths[0]}")


def _rows(paths: Sequence[Path], encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The lines of all files in step, numbered; a file may lack empty lines at its end."""
    files = [read_lines(path, encoding) for path in paths]
    for number, row in enumerate(zip_longest(*files), start=1):
        texts = ["" if line is None else line.text.strip() for line in row]
        ended = [str(path) for path, line in zip(paths, row, strict=True) if line is None]
        if ended and any(texts):
            raise SimtError(
                f"{' and '.join(ended)}: no line {number:,}, which others of "
                f"{', '.join(map(str, paths))} have; all must have equally many lines"
            )
        yield number, texts


def _sentence(
    texts: Sequence[str], links: Links, base: int, places: Sequence[FilePosition]
) -> AlignedSentence:
    """The sentence of three lines, each of which has a place to name should it be wrong."""
    for text, place in zip(texts, places, strict=True):
        if UNDECODABLE_BYTE.search(text):
            raise SimtError(f"{place}: invalid bytes; is the encoding right?")
    for text, place in zip(texts[:2], places[:2], strict=True):
        if not text:
            raise SimtError(f"{place}: no words, while the other files have text in this line")
    source, target = (tuple(BLANKS.split(text)) for text in texts[:2])
    for i, j in sorted(links.sure | links.possible):
        if i >= len(source) or j >= len(target):
            mark = "-" if (i, j) in links.sure else "p"
            raise SimtError(
                f"{places[2]}: link {i + base}{mark}{j + base} leads beyond the sentence of "
                f"{len(source)} and {len(target)} words (counted from {base})"
            )
    return AlignedSentence(source, target, links)
