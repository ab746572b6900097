"""Generated text in the place of files that are not there, each in the format of that file.

The sentences are German and English ones of the toy grammar, whatever languages the pair has,
several on a line to be as long as real ones; Chinese is written in characters without meaning.
So readers, tokenisers and filters have what they expect, and nobody takes it for the corpus.
"""

import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from html import escape
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from simt.atomic import atomic_file
from simt.corpus.toy import write_toy_corpus
from simt.pairs import AlignedPart, Part, PrepareSettings

_TOGETHER = (1, 2, 3, 4, 5)  # toy sentences on a line, in turn
_SPARE = 2  # times the lines of a sample: some sentences are too short for it
_IDEOGRAPHS = 0x4E00, 3000  # the first, and how many are used
_LINK = re.compile(r"(\d+)([-p])(\d+)")


class Lines(NamedTuple):
    """Both sides of a text, line by line."""

    sources: list[str]
    targets: list[str]


def write_stand_ins(settings: PrepareSettings, entries: Collection[str], to: Path) -> None:
    """Write every file that the splits read of these entries, below a folder for each."""
    splits = settings.splits
    parts = [
        part
        for part in (*splits.train, *splits.valid, *splits.test)
        if _entry(part.source) in entries
    ]
    for source, readers in _by_file(parts).items():
        lines = _text(settings, source, max(_needed(part) for part in readers))
        for part in readers:
            _write_part(part, settings, lines, to)
    if splits.aligned is not None and _entry(splits.aligned.source) in entries:
        _write_aligned(splits.aligned, settings, to)


def _entry(file: str) -> str:
    return file.partition("/")[0]


def _by_file(parts: Sequence[Part]) -> dict[str, list[Part]]:
    """Several parts may be samples of one file."""
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(part.source, []).append(part)
    return found


def _needed(part: Part) -> int:
    assert part.sample is not None  # a rehearsal takes no whole file
    return _SPARE * part.sample.end


def _text(settings: PrepareSettings, name: str, number: int) -> Lines:
    """So many lines, others for each name."""
    together = list(islice(cycle(_TOGETHER), number))
    with tempfile.TemporaryDirectory(prefix="simt-stand-in-") as folder:
        write_toy_corpus(Path(folder), crc32(name.encode()), {"train": sum(together)})
        german, english = (
            (Path(folder) / f"train.{language}").read_text(encoding="utf-8").splitlines()
            for language in ("de", "en")
        )
    joined = [list(_joined(side, together)) for side in (german, english)]
    if settings.source == "en":
        joined.reverse()
    return Lines(
        [_spelled(line, settings.source) for line in joined[0]],
        [_spelled(line, settings.target) for line in joined[1]],
    )


def _joined(sentences: Sequence[str], together: Sequence[int]) -> Iterator[str]:
    rest = iter(sentences)
    for number in together:
        yield " ".join(islice(rest, number))


def _spelled(line: str, language: str) -> str:
    """A line as the tokeniser of a language expects it."""
    if language != "zh":
        return line
    first, number = _IDEOGRAPHS
    return "".join(chr(first + crc32(word.encode()) % number) for word in line.split()) + "。"


# --- formats ----------------------------------------------------------------------------------


def _write_part(part: Part, settings: PrepareSettings, lines: Lines, to: Path) -> None:
    if part.reader == "plain":
        for file, side in _sides(part, lines):
            _write(to / file, part.encoding, side)
    elif part.reader in ("sgm", "xml"):
        for file, side in _sides(part, lines):
            _write(to / file, part.encoding, _test_set(side, is_source=file == part.source))
    elif part.reader == "tsv":
        _write(to / part.source, part.encoding, _table(part, lines))
    else:
        languages = (settings.source, settings.target)
        _write(to / part.source, part.encoding, _memory(languages, lines))


def _sides(part: Part, lines: Lines) -> list[tuple[str, list[str]]]:
    """Each file of a part and its text; all references are the same."""
    return [(part.source, lines.sources), *((file, lines.targets) for file in part.targets)]


def _write(path: Path, encoding: str, lines: Sequence[str]) -> None:
    with atomic_file(path, "wb") as stream:
        stream.writelines(f"{line}\n".encode(encoding) for line in lines)


def _test_set(lines: Sequence[str], is_source: bool) -> list[str]:
    kind = "srcset" if is_source else "refset"
    segments = [f'<seg id="{n}">{escape(line)}</seg>' for n, line in enumerate(lines, 1)]
    return [f'<{kind} setid="stand-in">', '<doc docid="stand-in" sysid="stand-in">',
            *segments, "</doc>", f"</{kind}>"]  # fmt: skip


def _table(part: Part, lines: Lines) -> list[str]:
    assert part.columns is not None  # the schema sees to it
    rows = []
    for source, target in zip(*lines, strict=True):
        cells = ["-"] * (max(part.columns) + 1)
        cells[part.columns[0]], cells[part.columns[1]] = source, target
        rows.append("\t".join(cells))
    return rows


def _memory(languages: Sequence[str], lines: Lines) -> list[str]:
    units = [
        "".join(
            ["<tu>", *(f'<tuv xml:lang="{language}"><seg>{escape(text)}</seg></tuv>'
                       for language, text in zip(languages, texts, strict=True)), "</tu>"]
        )
        for texts in zip(*lines, strict=True)
    ]  # fmt: skip
    return ['<tmx version="1.4"><header/><body>', *units, "</body></tmx>"]


def _write_aligned(part: AlignedPart, settings: PrepareSettings, to: Path) -> None:
    """Sentences of the grammar one by one, with its own links, as the part counts them."""
    assert part.sample is not None  # a rehearsal takes no whole file
    with tempfile.TemporaryDirectory(prefix="simt-stand-in-") as folder:
        write_toy_corpus(Path(folder), 1, {"aligned": part.sample.end})
        german, english, links = (
            (Path(folder) / f"aligned.{ending}").read_text(encoding="utf-8").splitlines()
            for ending in ("de", "en", "talp")
        )
    is_turned = settings.source == "en"
    sides = (english, german) if is_turned else (german, english)
    for file, lines in zip((part.source, part.target), sides, strict=True):
        _write(to / file, part.encoding, lines)
    is_other_first = is_turned != part.is_target_first
    counted = [_LINK.sub(lambda link: _link(link, part.base, is_other_first), one) for one in links]
    _write(to / part.links, part.encoding, counted)


def _link(link: re.Match[str], base: int, is_turned: bool) -> str:
    german, english = int(link[1]) + base, int(link[3]) + base
    first, second = (english, german) if is_turned else (german, english)
    return f"{first}{link[2]}{second}"
