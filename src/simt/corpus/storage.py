"""Bytes on their way to the disk: counted, summed, and a full disk explained."""

import errno
import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from simt.errors import SimtError

CHUNK_BYTES = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)


class DiskFullError(SimtError):
    """No room for a file; another address would not help."""


class Readable(Protocol):
    """Anything that gives bytes piece by piece."""

    def read(self, size: int = -1, /) -> bytes: ...


class Tally:
    """The length and the checksums of bytes that pass by."""

    def __init__(self, *kinds: str) -> None:
        self.bytes = 0
        # Old corpora publish MD5 only; it guards against accidents, so FIPS may allow it.
        self._sums = {kind: hashlib.new(kind, usedforsecurity=False) for kind in kinds}

    def update(self, data: bytes) -> None:
        """Take in the next piece."""
        self.bytes += len(data)
        for checksum in self._sums.values():
            checksum.update(data)

    def sum(self, kind: str) -> str:
        """The checksum of everything so far, in hexadecimal digits."""
        return self._sums[kind].hexdigest()


def copy_bytes(source: Readable, sink: IO[bytes], *kinds: str) -> Tally:
    """The tally of everything in ``source``, which is copied to ``sink`` piece by piece."""
    tally = Tally(*kinds)
    while data := source.read(CHUNK_BYTES):
        sink.write(data)
        tally.update(data)
    return tally


def tally_of(path: Path, *kinds: str) -> Tally:
    """The tally of a file on disk."""
    tally = Tally(*kinds)
    with path.open("rb") as stream:
        while data := stream.read(CHUNK_BYTES):
            tally.update(data)
    return tally


def require_space(path: Path, needed_bytes: int) -> None:
    """Raise DiskFullError unless ``needed_bytes`` more fit beside ``path``."""
    if free_bytes(path) < needed_bytes:
        raise _disk_full(path, needed_bytes)


@contextmanager
def full_disk_explained(path: Path, needed_bytes: int | None) -> Iterator[None]:
    """A block in which "no space left" becomes a message with numbers in it."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise _disk_full(path, needed_bytes) from error


def free_bytes(path: Path) -> int:
    """How much the user may still write on the file system that holds, or will hold, ``path``."""
    folder = next(folder for folder in path.absolute().parents if folder.is_dir())
    return shutil.disk_usage(folder).free


def _disk_full(path: Path, needed_bytes: int | None) -> DiskFullError:
    needed = "more" if needed_bytes is None else f"{needed_bytes:,} bytes"
    return DiskFullError(
        f"no space left for {path}: it needs {needed}, {free_bytes(path):,} bytes are free "
        "(a quota may allow less); make room and run again"
    )
