"""Test sets in the mark-up of the NIST and WMT campaigns, and the lines of IWSLT training text.

A test set has documents of numbered segments; a reference file may hold several translations of
a document, told apart by ``sysid`` or ``refid``. It is rarely well-formed XML: names are written
in either case, attributes without quotes, "&" and "<" in a sentence as they are. So the few tags
that mean something are looked for, everything else inside a segment is its text, and what would
be ambiguous is an error.
"""

import html
import html.entities
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from simt.corpus.reading import (
    Complaints,
    FilePosition,
    NumberedLine,
    SentencePair,
    find_fault,
    on_one_line,
    read_lines,
    read_pairs,
)
from simt.errors import SimtError

TAG = re.compile(r"<!--.*?-->|<(/?)(srcset|refset|tstset|doc|seg)\b([^<>]*)>", re.I | re.S)
ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
ENTITY = re.compile(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]*);")
TEST_SET_TAG = re.compile(r"<(mteval|srcset|refset|tstset|seg)\b", re.I)
TEST_SET_HEAD_LINES = 1000
# As in the campaign's own scripts: a title and a description are sentences, the rest is not.
NOT_A_SENTENCE = re.compile(
    r"\s*<[/?]?(xml|url|talkid|keywords|speaker|reviewer|translator|doc)\b", re.I
)
SENTENCE_TAG = re.compile(r"</?(title|description)>", re.I)

SegmentKey = tuple[str, str]  # document, segment


class SgmlSegment(NamedTuple):
    """One sentence of a test set. ``version`` tells the translations of a document apart."""

    key: SegmentKey
    version: str
    text: str
    line: int

    def place(self, path: Path) -> FilePosition:
        """How the segment is called in a message about ``path``."""
        return FilePosition(path, self.line, _called(self.key))


def _called(key: SegmentKey) -> str:
    return f" (document {key[0]}, segment {key[1]})"


def read_test_set(
    source: Path, targets: Sequence[Path], encoding: str, complaints: Complaints
) -> Iterator[SentencePair]:
    """The segments of the source in its order, each with all its references.

    References stand in the order of the target files and, inside a file, of its versions.
    The reference files are held in memory: these are test sets.
    """
    references = _references(targets, encoding, complaints)
    expected = max(len(reference.texts) for reference in references.values())
    seen: set[SegmentKey] = set()
    for segment in read_segments(source, encoding):
        place = segment.place(source)
        found = references[segment.key].texts if segment.key in references else []
        if segment.key in seen:
            complaints.drop("segment twice", place)
        elif len(found) != expected:
            aside = f"{place.aside} has {len(found)} of {expected}"
            complaints.drop("missing reference", place._replace(aside=aside))
        elif fault := find_fault([segment.text, *found]):
            complaints.drop(fault.reason, place)
        else:
            yield SentencePair(segment.text, tuple(found))
        seen.add(segment.key)
    for key, reference in references.items():
        if key not in seen:
            complaints.drop("reference without source", reference.place)


def read_segments(path: Path, encoding: str) -> list[SgmlSegment]:
    """Every segment of a file in its order."""
    text = "\n".join(line.text for line in read_lines(path, encoding))
    scan = _Scan(path)
    for tag in TAG.finditer(text):
        scan.take(tag, text)
    return scan.finished(text)


def is_test_set(path: Path, encoding: str) -> bool:
    """Whether a file has the mark-up of a test set, and not that of IWSLT training text."""
    head = islice(read_lines(path, encoding), TEST_SET_HEAD_LINES)
    return any(TEST_SET_TAG.search(line.text) for line in head)


def read_tagged_lines(
    paths: Sequence[Path], encoding: str, complaints: Complaints
) -> Iterator[SentencePair]:
    """The sentences of IWSLT's ``train.tags.*`` files: one a line, between lines about the talk."""
    files = [_sentences(path, encoding) for path in paths]
    return read_pairs(paths, files, complaints)


def decode_entities(text: str) -> str:
    """The text with ``&amp;`` and its like resolved once; what is no known entity stays."""
    return ENTITY.sub(_decoded_entity, text)


def _decoded_entity(entity: re.Match[str]) -> str:
    if entity[1].startswith("#") or f"{entity[1]};" in html.entities.html5:
        return html.unescape(entity[0])
    return entity[0]


def _sentences(path: Path, encoding: str) -> Iterator[NumberedLine]:
    for line in read_lines(path, encoding):
        if not NOT_A_SENTENCE.match(line.text):
            text = on_one_line(decode_entities(SENTENCE_TAG.sub("", line.text)))
            yield line._replace(text=text)


class _Reference(NamedTuple):
    """All translations of one segment, and where the first of them stands."""

    texts: list[str]
    place: FilePosition


def _references(
    targets: Sequence[Path], encoding: str, complaints: Complaints
) -> dict[SegmentKey, _Reference]:
    """The translations of each segment, in the order of files and versions."""
    segments: dict[SegmentKey, dict[tuple[int, int], SgmlSegment]] = {}
    for file_number, path in enumerate(targets):
        order: dict[str, int] = {}
        for segment in read_segments(path, encoding):
            version = (file_number, order.setdefault(segment.version, len(order)))
            versions = segments.setdefault(segment.key, {})
            if version in versions:
                complaints.drop("reference twice", segment.place(path))
            versions.setdefault(version, segment)
    return {
        key: _Reference(
            [versions[version].text for version in sorted(versions)],
            versions[min(versions)].place(targets[min(versions)[0]]),
        )
        for key, versions in segments.items()
    }


@dataclass
class _Open:
    """A segment whose end has not been seen yet."""

    number: str
    start: int
    line: int


class _Scan:
    """The state of reading one file tag by tag."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._segments: list[SgmlSegment] = []
        self._sets: Counter[str] = Counter()
        self._set_version = ""
        self._document: dict[str, str] | None = None
        self._open: _Open | None = None
        self._line, self._counted_to = 1, 0

    def take(self, tag: re.Match[str], text: str) -> None:
        """Go on by one tag."""
        self._count_lines(text, tag.start())
        if tag[2] is None:
            return  # a comment
        is_end, name = tag[1] == "/", tag[2].lower()
        if self._open is not None and not (is_end and name == "seg"):
            raise self._error(f"segment {self._open.number} has no </seg> before {tag[0]}")
        if name == "seg":
            self._end_segment(tag, text) if is_end else self._begin_segment(tag)
        elif name == "doc":
            self._document = None if is_end else self._begun_document(tag)
        else:
            self._take_set(name, is_end, tag)

    def finished(self, text: str) -> list[SgmlSegment]:
        """The segments, once the end of the file was reached in good order."""
        self._count_lines(text, len(text))
        unfinished = [name for name, depth in self._sets.items() if depth > 0]
        if self._open is not None:
            unfinished.append("seg")
        if unfinished:
            raise self._error(f"the file ends before </{unfinished[-1]}>; it may be cut off")
        if not self._segments:
            raise SimtError(f"no sentence in {self._path}: it has no <seg>")
        return self._segments

    def _take_set(self, name: str, is_end: bool, tag: re.Match[str]) -> None:
        self._sets[name] += -1 if is_end else 1
        if not is_end:
            self._set_version = _version(_attributes(tag)) or f"set at line {self._line}"

    def _begun_document(self, tag: re.Match[str]) -> dict[str, str]:
        attributes = _attributes(tag)
        if "docid" not in attributes:
            raise self._error(f"{tag[0]} has no docid")
        return attributes

    def _begin_segment(self, tag: re.Match[str]) -> None:
        attributes = _attributes(tag)
        if self._document is None:
            raise self._error(f"{tag[0]} is in no document")
        if "id" not in attributes:
            raise self._error(f"{tag[0]} has no id")
        self._open = _Open(attributes["id"], tag.end(), self._line)

    def _end_segment(self, tag: re.Match[str], text: str) -> None:
        if self._open is None or self._document is None:
            raise self._error("</seg> without <seg>")
        self._segments.append(
            SgmlSegment(
                key=(self._document["docid"], self._open.number),
                version=_version(self._document) or self._set_version,
                text=on_one_line(decode_entities(text[self._open.start : tag.start()])),
                line=self._open.line,
            )
        )
        self._open = None

    def _count_lines(self, text: str, position: int) -> None:
        self._line += text.count("\n", self._counted_to, position)
        self._counted_to = position

    def _error(self, problem: str) -> SimtError:
        return SimtError(f"{FilePosition(self._path, self._line)}: {problem}")


def _attributes(tag: re.Match[str]) -> dict[str, str]:
    return {
        found[1].lower(): decode_entities(found[2] or found[3] or found[4] or "").strip()
        for found in ATTRIBUTE.finditer(tag[3])
    }


def _version(attributes: dict[str, str]) -> str:
    return attributes.get("sysid") or attributes.get("refid") or ""
