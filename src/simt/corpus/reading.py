"""The lines of a raw file, several files in step, and what becomes of a broken line."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedIOBase
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from simt.corpus.text import clean
from simt.errors import SimtError

UTF8_BOM = b"\xef\xbb\xbf"
# What Python makes of bytes that are not UTF-8 ("surrogateescape").
UNDECODABLE_BYTE = re.compile("[\udc80-\udcff]")
LETTER = re.compile(r"\w")  # found at once in nearly every text
LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")


class SentencePair(NamedTuple):
    """One sentence and its translations, at least one, as they stand in the corpus."""

    source: str
    references: tuple[str, ...]


class NumberedLine(NamedTuple):
    """One line without its end. Bytes that are not of the encoding are half characters in it."""

    number: int
    text: str


class FilePosition(NamedTuple):
    """Where something stands; only written out when it has to be told."""

    path: Path
    line: int
    aside: str = ""

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}{self.aside}"


class Complaints:
    """What becomes of broken text: an error, or a counted drop where the part is dirty."""

    def __init__(self, is_dirty: bool, drops: Counter[str]) -> None:
        self._is_dirty = is_dirty
        self._drops = drops

    def drop(self, reason: str, place: FilePosition) -> None:
        """Count a sentence that is left out, or stop where the part has to be clean."""
        if not self._is_dirty:
            raise SimtError(
                f"{place}: {reason}; correct the file, or set is_dirty: true for this part "
                "to leave out such sentences and count them"
            )
        self._drops[reason] += 1


class Fault(NamedTuple):
    """What is wrong with which of several texts."""

    side: int  # 0 is the source
    reason: str


def find_fault(texts: Sequence[str]) -> Fault | None:
    """The first text that is broken in a way that every format knows; None if all are sound."""
    for index, text in enumerate(texts):
        if UNDECODABLE_BYTE.search(text):
            return Fault(index, "invalid bytes")
        if not LETTER.search(text) and not clean(text):  # zero-width characters are no text, either
            return Fault(index, "empty side")
    return None


def read_lines(path: Path, encoding: str) -> Iterator[NumberedLine]:
    """Each line of a file, which may be compressed as its name ends in .gz.

    Only "\\n" ends a line (a "\\r" before it goes too): U+2028, form feeds and their like are
    inside of sentences in crawled text, and counting them would shift one side of the corpus.
    """
    with open_bytes(path) as stream:
        for number, data in enumerate(stream, start=1):
            if number == 1 and encoding == "utf-8":
                data = data.removeprefix(UTF8_BOM)
                if not data:
                    return
            data = data.removesuffix(b"\n").removesuffix(b"\r")
            yield NumberedLine(number, data.decode(encoding, "surrogateescape"))


@contextmanager
def open_bytes(path: Path) -> Iterator[BufferedIOBase]:
    """The bytes of a file, decompressed where its name ends in .gz; trouble is a SimtError."""
    try:
        with path.open("rb") as stream:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=stream, mode="rb") as plain:
                    yield plain
            else:
                yield stream
    except FileNotFoundError as error:
        raise SimtError(f"{path} is not there; fetch the corpus first") from error
    except (EOFError, zlib.error, OSError) as error:
        raise SimtError(f"{path} cannot be read: {error}") from error


def read_in_step(
    paths: Sequence[Path], files: Sequence[Iterable[NumberedLine]]
) -> Iterator[tuple[NumberedLine, ...]]:
    """The first lines of all files, then the second ones, …; the files must be equally long."""
    count = 0
    rows = zip_longest(*files)
    for row in rows:
        if None in row:
            raise _uneven(paths, count, [row, *rows])
        count += 1
        yield row
    if count == 0:
        raise SimtError(f"no sentence in {' and '.join(map(str, paths))}")


def read_pairs(
    paths: Sequence[Path], files: Sequence[Iterable[NumberedLine]], complaints: Complaints
) -> Iterator[SentencePair]:
    """The sentence pairs of files in step, the source first."""
    for row in read_in_step(paths, files):
        texts = [line.text for line in row]
        if fault := find_fault(texts):
            place = FilePosition(paths[fault.side], row[fault.side].number)
            complaints.drop(fault.reason, place)
        else:
            yield SentencePair(texts[0], tuple(texts[1:]))


def on_one_line(text: str) -> str:
    """The text of a marked-up segment: line ends inside it were only layout."""
    return LINE_BREAKS.sub(" ", text.strip())


def _uneven(
    paths: Sequence[Path], count: int, rest: Sequence[tuple[NumberedLine | None, ...]]
) -> SimtError:
    """The error for files of which ``count`` rows were complete and ``rest`` were not."""
    extra = [sum(line is not None for line in column) for column in zip(*rest, strict=True)]
    told = [f"  {path}: {count + more:,}" for path, more in zip(paths, extra, strict=True)]
    return SimtError("\n".join(["the files of one part must have equally many sentences:", *told]))
