"""Translation memories (TMX), read as a stream.

expat is asked not to load anything and not to define anything: a file with entities of its own,
which could unfold to gigabytes or name a file of this machine, is refused. TMX has no use for them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from xml.parsers import expat

from simt.corpus.reading import (
    Complaints,
    FilePosition,
    SentencePair,
    find_fault,
    on_one_line,
    open_bytes,
)
from simt.errors import SimtError

CHUNK_BYTES = 1 << 16
# Elements whose text is a piece of the formatting, not of the sentence.
CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})


@dataclass
class Unit:
    """A sentence in several languages, in the order of the file."""

    line: int
    segments: list[tuple[str, str]] = field(default_factory=list)  # language, text
    has_unknown_entity: bool = False


def read_memory(
    path: Path,
    encoding: str,
    source_language: str,
    target_language: str,
    complaints: Complaints,
) -> Iterator[SentencePair]:
    """The units of a memory in the direction asked for, whichever way round the file is.

    Several translations of one source are its references, in the order of the file.
    """
    is_empty = True
    for unit in read_units(path, encoding):
        is_empty = False
        place = FilePosition(path, unit.line)
        sources = _in_language(unit, source_language)
        targets = _in_language(unit, target_language)
        if unit.has_unknown_entity:
            complaints.drop("unknown entity", place)
        elif not sources or not targets:
            complaints.drop("missing side", place)
        elif len(sources) > 1:
            complaints.drop("several sources", place)
        elif fault := find_fault([*sources, *targets]):
            complaints.drop(fault.reason, place)
        else:
            yield SentencePair(sources[0], tuple(targets))
    if is_empty:
        raise SimtError(f"no sentence in {path}: it has no <tu>")


def read_units(path: Path, encoding: str) -> Iterator[Unit]:
    """Every unit of a memory. A file that is not well-formed ends in an error, dirty or not."""
    collector = _Collector(path, encoding)
    with open_bytes(path) as stream:
        while True:
            is_last = collector.feed(stream)
            yield from collector.units
            collector.units.clear()
            if is_last:
                return


def _in_language(unit: Unit, language: str) -> list[str]:
    """The different texts of a unit in a language or one of its regional forms."""
    wanted = _plain_language(language)
    texts = [
        text for found, text in unit.segments if found == wanted or found.startswith(f"{wanted}-")
    ]
    return list(dict.fromkeys(texts))


def _plain_language(language: str) -> str:
    return language.lower().replace("_", "-")


class _Collector:
    """What expat reports, put together to units."""

    def __init__(self, path: Path, encoding: str) -> None:
        self.units: list[Unit] = []
        self._path = path
        self._unit: Unit | None = None
        self._language = ""
        self._text: list[str] | None = None  # of the segment that is open
        self._codes = 0  # how many formatting elements are open
        self._parser = self._made_parser(encoding)

    def feed(self, stream: BufferedIOBase) -> bool:
        """Whether the file has ended; some more of it has been read."""
        data = stream.read(CHUNK_BYTES)
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise SimtError(
                f"{FilePosition(self._path, error.lineno)}: not well-formed: {error}"
            ) from error
        except (LookupError, ValueError) as error:  # from Python, which expat asks for encodings
            place = FilePosition(self._path, self._parser.CurrentLineNumber)
            raise SimtError(f"{place}: {error}; convert the file to UTF-8") from error
        return not data

    def _made_parser(self, encoding: str) -> expat.XMLParserType:
        # A memory names its own encoding, and UTF-8 is what XML assumes where it does not.
        parser = expat.ParserCreate("iso-8859-1" if encoding == "latin-1" else None)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._note_skipped_entity
        return parser

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "tu":
            self._unit = Unit(self._parser.CurrentLineNumber)
        elif name == "tuv":
            self._language = _plain_language(
                attributes.get("xml:lang") or attributes.get("lang", "")
            )
        elif name == "seg":
            self._text = []
        elif name in CODES:
            self._codes += 1

    def _end(self, name: str) -> None:
        if name == "tu" and self._unit is not None:
            self.units.append(self._unit)
            self._unit = None
        elif name == "seg" and self._unit is not None and self._text is not None:
            self._unit.segments.append((self._language, on_one_line("".join(self._text))))
            self._text = None
        elif name in CODES:
            self._codes -= 1

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._codes:
            self._text.append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        position = FilePosition(self._path, self._parser.CurrentLineNumber)
        raise SimtError(
            f"{position}: defines the entity '{name}', which a translation memory "
            "has no use for and an attack has; replace it in the file"
        )

    def _note_skipped_entity(self, name: str, is_parameter_entity: bool) -> None:
        if self._unit is not None and not is_parameter_entity:
            self._unit.has_unknown_entity = True
