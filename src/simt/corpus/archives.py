"""Archives unpacked without trust.

No name inside an archive ever becomes a path on disk: it is only compared with the names
that are wanted, and the caller says where each of these goes. So absolute names, ``..``,
links and devices can do no harm; where a wanted name is one of them, that is an error.
"""

import difflib
import errno
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from simt.atomic import atomic_file
from simt.corpus.storage import (
    CHUNK_BYTES,
    Readable,
    Tally,
    copy_bytes,
    full_disk_explained,
    require_space,
)
from simt.errors import SimtError, shown

# Text shrinks 3 to 5 times, lists of repeated lines perhaps 50 times; deflate can reach 1,032.
# The floor is for archives so small that their ratio says nothing.
MAX_RATIO = 200
RATIO_FLOOR_BYTES = 16 << 20
# A header of a tar file is read in one piece; a larger one is an attack on the memory.
MAX_PIECE_BYTES = 16 << 20
# Corpora come in dozens of files, and tarfile remembers each header.
MAX_MEMBERS = 100_000
GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK"
TAR_ENDINGS = (".tgz", ".tar.gz")

# By name inside the archive, then by kind: {"dev/valid.de": {"sha256": "9f86…"}}
Sums = Mapping[str, Mapping[str, str]]


class ArchiveError(SimtError):
    """An archive that is broken, hostile, or does not hold what is wanted."""


@dataclass(frozen=True)
class Member:
    """One entry of an archive. ``refusal`` says why it is not an ordinary file."""

    name: str
    refusal: str | None
    bytes: int | None
    open: Callable[[], Readable]


def extract(
    archive: Path, file_name: str, wanted: Mapping[str, Path], sums: Sums
) -> dict[str, Tally]:
    """The tally of each wanted file, now at its place: all of them, or none and an error.

    ``file_name`` tells the kind of the archive, ``wanted`` maps names inside it to paths on
    disk, ``sums`` holds the checksums that are known of some of them. A wanted file of the very
    name ``file_name`` is the archive itself. A tally has a SHA-256 at least.
    """
    kind = "file" if file_name in wanted else _kind(file_name)
    place = next(iter(wanted.values())).parent
    with _faults_named(file_name), full_disk_explained(place, None), ExitStack() as pending:
        unpacking = _Unpacking(file_name, wanted, sums, pending)
        for member in _members(archive, file_name, kind):
            unpacking.consider(member)
        unpacking.finish()
    return unpacking.tallies


def wrong_kind(path: Path, file_name: str) -> str | None:
    """Why the file cannot be what its name says, seen from its first bytes; None if it can.

    Servers answer with a page in HTML, or compress on the way, where a file was asked for.
    """
    with path.open("rb") as stream:
        start = stream.read(32)
    kind = _kind(file_name)
    if kind in ("tgz", "gz") and not start.startswith(GZIP_MAGIC):
        return f"not compressed by gzip as its name says; it begins with {start!r}"
    if kind == "zip" and not start.startswith(ZIP_MAGIC):
        return f"not a zip archive as its name says; it begins with {start!r}"
    if kind == "file" and start.startswith(GZIP_MAGIC):
        return "compressed by gzip, which its name does not say"
    return None


class _Unpacking:
    """The wanted members found so far, written under temporary names until all is well."""

    def __init__(
        self,
        archive_name: str,
        wanted: Mapping[str, Path],
        sums: Sums,
        pending: ExitStack,
    ) -> None:
        self.tallies: dict[str, Tally] = {}
        self._archive_name = archive_name
        self._wanted = wanted
        self._sums = sums
        self._pending = pending
        self._others: list[str] = []

    def consider(self, member: Member) -> None:
        """Write the member if it is wanted."""
        name = str(PurePosixPath(member.name))  # "./dev/a" is "dev/a"; "../a" stays itself
        if name not in self._wanted:
            self._others.append(name)
            if len(self._others) > MAX_MEMBERS:
                raise ArchiveError(f"{self._archive_name} holds more than {MAX_MEMBERS:,} files")
            return
        if name in self.tallies:
            raise ArchiveError(f"{self._archive_name} holds {name} twice: which one is meant?")
        if member.refusal is not None:
            raise ArchiveError(f"{self._called(name)} is {member.refusal}, not a file")
        self.tallies[name] = self._write(member, name)

    def finish(self) -> None:
        """Raise an error that lists the wanted files that were not found, if any."""
        missing = [name for name in self._wanted if name not in self.tallies]
        if missing:
            hints = "\n".join(f"  {name}{self._hint(name)}" for name in missing)
            raise ArchiveError(
                f"{self._archive_name} lacks {len(missing)} of {len(self._wanted)} wanted files:\n"
                f"{hints}"
            )

    def _write(self, member: Member, name: str) -> Tally:
        path = self._wanted[name]
        if member.bytes is not None:
            require_space(path, member.bytes)
        expected = self._sums.get(name, {})
        sink = self._pending.enter_context(atomic_file(path, "wb"))
        with full_disk_explained(path, member.bytes):
            tally = copy_bytes(member.open(), sink, "sha256", *expected)
            sink.flush()
        for kind, right in expected.items():
            if tally.sum(kind) != right:
                raise ArchiveError(
                    f"{self._called(name)} has the wrong checksum: "
                    f"expected {kind} {right}, found {tally.sum(kind)}"
                )
        return tally

    def _called(self, name: str) -> str:
        return name if name == self._archive_name else f"{name} in {self._archive_name}"

    def _hint(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._others, n=1)
        return f" (it has {shown(close[0])})" if close else ""


def _kind(file_name: str) -> str:
    lower = file_name.lower()
    if lower.endswith(TAR_ENDINGS):
        return "tgz"
    ending = lower.rsplit(".", 1)[-1]
    return ending if ending in ("tar", "zip", "gz") else "file"


def _members(archive: Path, file_name: str, kind: str) -> Iterator[Member]:
    """Every entry of the archive in its order; each is to be read before the next is asked for."""
    size = archive.stat().st_size
    budget = _Budget(file_name, RATIO_FLOOR_BYTES + MAX_RATIO * size)
    with archive.open("rb") as stream:
        if kind == "file":
            yield Member(file_name, None, size, lambda: stream)
        elif size == 0:  # which gzip takes for the compressed form of nothing
            raise ArchiveError(f"{file_name} is empty")
        elif kind == "zip":
            yield from _zip_members(stream, budget)
        elif kind == "tar":
            yield from _tar_members(_Metered(stream, budget))
        else:
            with gzip.GzipFile(fileobj=stream, mode="rb") as plain:
                metered = _Metered(plain, budget)
                if kind == "tgz":
                    yield from _tar_members(metered)
                else:
                    yield Member(file_name[: -len(".gz")], None, None, lambda: metered)


def _tar_members(stream: "_Metered") -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        while (info := tar.next()) is not None:
            yield _tar_member(tar, info)
    # What follows the last member holds gzip's own checksum of the whole.
    while stream.read(CHUNK_BYTES):
        pass


def _tar_member(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    def contents() -> IO[bytes]:
        stream = tar.extractfile(info)
        assert stream is not None  # it is an ordinary file
        return stream

    return Member(info.name, _tar_refusal(info), info.size, contents)


def _tar_refusal(info: tarfile.TarInfo) -> str | None:
    if info.issym() or info.islnk():
        return f"a link to {shown(info.linkname)}"
    if info.issparse():  # a few bytes in the archive may stand for petabytes of zeros
        return "a sparse file"
    if info.isdir():
        return "a folder"
    return None if info.isreg() else "a device or the like"


def _zip_members(stream: IO[bytes], budget: "_Budget") -> Iterator[Member]:
    with zipfile.ZipFile(stream) as archive, ExitStack() as opened:
        for info in archive.infolist():

            def contents(info: zipfile.ZipInfo = info) -> Readable:
                return _Metered(opened.enter_context(archive.open(info)), budget)

            yield Member(info.filename, _zip_refusal(info), info.file_size, contents)


def _zip_refusal(info: zipfile.ZipInfo) -> str | None:
    mode = info.external_attr >> 16  # where made on Unix; 0 otherwise
    if info.flag_bits & 1:
        return "encrypted"
    if info.is_dir():
        return "a folder"
    if stat.S_ISLNK(mode):
        return "a link"
    return None if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "a device or the like"


@dataclass
class _Budget:
    """How many bytes an archive may still unfold to."""

    archive_name: str
    bytes: int

    def spend(self, count: int) -> None:
        self.bytes -= count
        if self.bytes < 0:
            raise ArchiveError(
                f"{self.archive_name} unfolds to more than {MAX_RATIO} times its size, as a "
                "decompression bomb does and text does not; get the file from its source"
            )


class _Metered(io.BufferedIOBase):
    """A stream that is read forwards only, on a budget, in pieces of a bounded size.

    tarfile trusts the sizes in headers: it reads a long header in one piece, and a negative
    size sends it backwards for ever. Both end here.
    """

    def __init__(self, stream: Readable, budget: _Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= MAX_PIECE_BYTES:
            raise ArchiveError(f"{self._budget.archive_name} has a header of absurd size")
        data = self._stream.read(size)
        self._position += len(data)
        self._budget.spend(len(data))
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET or offset < self._position:
            raise ArchiveError(f"{self._budget.archive_name} has a header that leads backwards")
        while self._position < offset:
            if not self.read(min(CHUNK_BYTES, offset - self._position)):
                break
        return self._position


@contextmanager
def _faults_named(archive_name: str) -> Iterator[None]:
    """A block in which what the unpackers say of a broken archive becomes an ArchiveError."""
    try:
        yield
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        gzip.BadGzipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,  # zipfile: a compression it does not know
        ValueError,  # tarfile: a number that is none
        OverflowError,
    ) as error:
        raise _broken(archive_name, error) from error
    except OSError as error:
        # bz2 has no number for data that is none; zipfile may be led to before the beginning.
        if error.errno not in (None, errno.EINVAL):  # of the disk
            raise
        raise _broken(archive_name, error) from error


def _broken(archive_name: str, error: Exception) -> ArchiveError:
    why = shown(str(error)) or type(error).__name__
    return ArchiveError(f"{archive_name} is broken: {why}")
