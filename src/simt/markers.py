"""Markers: each step's last file, which vouches for all others that it wrote.

A marker is there only when everything else is. It holds the settings of the step, size and digest
of each file it vouches for, and the digests of the files that those were made from.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from simt.atomic import write_json
from simt.errors import PERMIT, SimtError
from simt.settings import Settings

EARLIER = "was made by an earlier version"


class FileMark(Settings):
    """How large a file is, and what is in it."""

    bytes: int
    sha256: str

    @classmethod
    def of_file(cls, path: Path) -> "FileMark":
        """Of a file as it is now."""
        return cls(bytes=path.stat().st_size, sha256=file_digest(path))


class Marker(Settings):
    """What a finished step says of itself; names of files are relative to its folder."""

    settings: dict[str, Any]
    files: dict[str, FileMark]
    made_from: dict[str, str]  # digests, by part and name: run/model.pt

    def digests(self, part: str, patterns: Sequence[str]) -> dict[str, str]:
        """Those of the files that a later step reads, to which this one is a ``part``."""
        names = chosen(self.files, patterns)
        return {f"{part}/{name}": self.files[name].sha256 for name in names}

    def is_made_from(self, digests: Mapping[str, str]) -> bool:
        """Whether its step has read these very files."""
        return digests.items() <= self.made_from.items()


class UnreadableMarkerError(SimtError):
    """A marker that vouches for nothing; the message says why, without its path."""


class Source(NamedTuple):
    """What a step reads of another: files that fit some patterns, vouched for by a marker."""

    part: str  # that the other plays: run, bpe, text
    marker: Path
    patterns: tuple[str, ...]


def chosen(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that fit one of the patterns."""
    return [name for name in names if any(fnmatchcase(name, one) for one in patterns)]


def read_marker(path: Path) -> Marker | None:
    """The marker of a finished step, None before that; or an UnreadableMarkerError.

    One that may not be read says nothing about its step, which must not be done again for it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise UnreadableMarkerError(f"{path.name} is not UTF-8") from None
    except PermissionError as error:
        raise SimtError(f"{path} cannot be read: {error.strerror}; {PERMIT}") from None
    except OSError as error:
        raise UnreadableMarkerError(f"{path.name} cannot be read: {error.strerror}") from None
    try:
        return Marker.model_validate_json(text)
    except ValidationError:
        raise UnreadableMarkerError(_why_unreadable(path.name, text)) from None


def _why_unreadable(name: str, text: str) -> str:
    try:
        values = from_json(text)  # unlike json.loads, bounded in depth
    except ValueError:
        return f"{name} is not JSON"
    if isinstance(values, dict) and values and not values.keys() & Marker.model_fields.keys():
        return EARLIER
    return f"{name} does not say what it vouches for"


def readable_marker(path: Path) -> Marker | None:
    """The marker of a finished step; None before that, and where it vouches for nothing."""
    try:
        return read_marker(path)
    except UnreadableMarkerError:
        return None


def settings_of(path: Path) -> dict[str, Any] | None:
    """The settings that a step was done with, or None where it is not finished."""
    marker = readable_marker(path)
    return None if marker is None else marker.settings


def settings_made_with(path: Path) -> dict[str, Any]:
    """The settings of a step that must be finished; otherwise an error that says what to do."""
    try:
        marker = read_marker(path)
    except UnreadableMarkerError as error:
        raise SimtError(f"{path.parent}: {error}; make it again") from None
    if marker is None:
        raise SimtError(f"{path} is missing: what is in {path.parent} is not finished")
    return marker.settings


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def vouching(
    folder: Path, marker: str, settings: Settings, files: Sequence[str], sources: Sequence[Source]
) -> Iterator[dict[str, str]]:
    """A step: until it has ended well, its folder says nothing; then, that all is whole.

    The old marker goes before the first write, so that a step that is killed leaves no new file
    beside the settings of another. What it is made from is noted before it is read, and given to
    the block.
    """
    path = folder / marker
    if path.is_dir():
        raise SimtError(f"{path} is a folder but must be a file: remove it")
    path.unlink(missing_ok=True)
    made_from = _digests(sources)
    yield made_from
    marks = {name: FileMark.of_file(folder / name) for name in files}
    done = Marker(settings=settings.as_values(), files=marks, made_from=made_from)
    write_json(path, done.model_dump(mode="json"))


def _digests(sources: Iterable[Source]) -> dict[str, str]:
    """Of all that is vouched for; `simt check` calls stale what was made from anything else."""
    found: dict[str, str] = {}
    for source in sources:
        marker = readable_marker(source.marker)
        found |= {} if marker is None else marker.digests(source.part, source.patterns)
    return found


# --- what became of them --------------------------------------------------------------------------


def damage(
    folder: Path, marker: Marker, written: float, temporary: Sequence[str], is_deep: bool = False
) -> list[str]:
    """What is wrong with the files that a marker vouches for, which was ``written`` last.

    The content is looked at if ``is_deep``, and in files that are newer than the marker: others
    have not been changed. Of files that are ``temporary`` it is not wrong to be gone.
    """
    return [
        f"{name} {wrong}"
        for name, mark in marker.files.items()
        if (wrong := _damage(folder / name, mark, -math.inf if is_deep else written))
        if not (name in temporary and wrong == _MISSING)
    ]


_MISSING = "is missing"
_TOUCH_SECONDS = 10  # `snakemake --touch` may touch a marker some moments before its files


def _damage(path: Path, mark: FileMark, written: float) -> str:
    """What is wrong with the file; empty where it is what it was."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return _MISSING
    if not path.is_file():
        return "is not a file"
    if found.st_size != mark.bytes:
        return f"has {found.st_size:,} bytes instead of {mark.bytes:,}"
    if found.st_mtime > written + _TOUCH_SECONDS and file_digest(path) != mark.sha256:
        return "no longer has the content that was written"
    return ""
