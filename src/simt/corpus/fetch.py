"""Every raw file of a pair, brought below ``raw/`` from wherever it can be had.

A download comes from the user's own corpora (SIMT_CORPORA, for nodes without a network) or from
the first address that gives the right file; a licensed file, or one of the user's own, comes from
the user's corpora only.
What was fetched is noted per entry in ``raw/.fetched/``, so that a call that is stopped half-way
is continued and one with nothing left to do reads nothing but checksums.
"""

import glob
import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from simt.atomic import atomic_file
from simt.corpus.archives import ArchiveError, Sums, extract
from simt.corpus.download import (
    PartFile,
    Patience,
    RejectedError,
    checksums,
    download,
    why_wrong,
    without_password,
)
from simt.corpus.storage import Tally, full_disk_explained, tally_of
from simt.errors import SimtError
from simt.pairs import Download, FetchSettings, Licensed, Local
from simt.settings import Settings
from simt.user_files import plain_or_gz, what_is_missing
from simt.wording import indented

Entry = Download | Licensed | Local
LOCAL = "local"
NONE_GIVEN = "none given"
UNPACKED = "none for unpacked files"
CONTENTS = "sha256 of the unpacked files"


class FileRecord(Settings):
    """One file below raw/."""

    path: str
    bytes: int
    sha256: str


class Origin(Settings):
    """Where an entry came from: no path of this machine, no password.

    ``checksum`` says what was verified, ``sum`` is the value where it is one for the whole.
    """

    address: str
    checksum: str
    sum: str | None


class EntryRecord(Settings):
    """What one entry of the settings gave.

    ``folder`` is the one below SIMT_CORPORA that files of the user's own were copied from.
    """

    origin: Origin
    files: tuple[FileRecord, ...]
    folder: str | None = None


def fetch(
    settings: FetchSettings, raw: Path, corpora: Path | None, patience: Patience | None = None
) -> dict[str, Any]:
    """The manifest of every file in ``settings.files``, each of which is then below ``raw``.

    ``corpora`` is the user's SIMT_CORPORA; nothing in it is changed. Every entry is tried before
    the problems of all of them are raised as one SimtError.
    """
    folders = _Folders(raw, corpora, patience or Patience())
    records: dict[str, EntryRecord] = {}
    problems: list[str] = []
    for name, wanted in _wanted_by_entry(settings).items():
        with _problems_collected(name, problems), full_disk_explained(raw / name, None):
            records[name] = _fetch_entry(name, wanted, settings, folders)
    if problems:
        number = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise SimtError(f"fetch has {number}:\n" + indented("\n".join(problems)))
    shutil.rmtree(folders.transfers, ignore_errors=True)
    return _manifest(settings, records)


def note_of(raw: Path, name: str) -> Path:
    """Where it is noted what was fetched of an entry."""
    return raw / ".fetched" / f"{name}.json"


def is_fetched(raw: Path, name: str, wanted: Sequence[str]) -> bool:
    """Whether the wanted files of an entry have been fetched; their contents are not looked at."""
    is_noted = note_of(raw, name).is_file()
    return is_noted and all((raw / name / inside).is_file() for inside in wanted)


def is_with_user(name: str, entry: Download, wanted: Sequence[str], corpora: Path | None) -> bool:
    """Whether a download, packed or unpacked, is in the user's corpora."""
    folders = _Folders(Path(), corpora, Patience())
    return any(_attempts_on_disk(name, entry, folders.targets(name, wanted), folders))


@dataclass(frozen=True)
class _Folders:
    """Where files go and where they may be found."""

    raw: Path
    corpora: Path | None
    patience: Patience

    @property
    def transfers(self) -> Path:
        """Transfers under way; kept from call to call until all is done."""
        return self.raw / ".transfers"

    def targets(self, name: str, wanted: Sequence[str]) -> dict[str, Path]:
        """The final place of each wanted file of an entry."""
        return {inside: self.raw / name / inside for inside in wanted}


def _wanted_by_entry(settings: FetchSettings) -> dict[str, list[str]]:
    """The files wanted of each entry, as paths inside it."""
    names = [*settings.downloads, *settings.licensed, *settings.local]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    files = dict.fromkeys(settings.files)
    strays = [file for file in files if "/" not in file or file.split("/")[0] not in names]
    if twice:
        raise SimtError(f"{', '.join(twice)}: names of several entries; rename one")
    if strays:
        raise SimtError(
            f"files that no entry gives: {', '.join(strays)}; a file is written as "
            f"<entry>/<path inside it>, and the entries are {', '.join(names) or 'none'}"
        )
    return settings.wanted()


@contextmanager
def _problems_collected(name: str, problems: list[str]) -> Iterator[None]:
    """A block whose SimtError, or trouble with a file, is put down in ``problems``."""
    try:
        yield
    except SimtError as error:
        problems.append(f"{name}: {error}")
    except OSError as error:
        problems.append(f"{name}: {error}")  # the system's message names the file


def _fetch_entry(
    name: str, wanted: Sequence[str], settings: FetchSettings, folders: _Folders
) -> EntryRecord:
    """The record of one entry, whose wanted files are then in place."""
    entry = (settings.downloads | settings.licensed | settings.local)[name]
    _refuse_stray_sums(name, entry, wanted)
    record = _earlier_record(note_of(folders.raw, name))
    if record is not None and _still_holds(record, name, wanted, entry, folders.raw):
        return record
    _remove_leftovers(folders.targets(name, wanted).values())
    if isinstance(entry, Download):
        record = _fetch_download(name, entry, wanted, folders)
    else:
        record = _fetch_from_user(name, entry, wanted, folders)
    with atomic_file(note_of(folders.raw, name)) as stream:
        stream.write(record.model_dump_json(indent=1))
    return record


def _refuse_stray_sums(name: str, entry: Entry, wanted: Sequence[str]) -> None:
    """Refuse a checksum of no file of the entry: misspelt, it would verify nothing."""
    if isinstance(entry, Licensed):
        key, files, why = f"licensed.{name}.sha256", entry.files, "not among the entry's files"
    else:
        key, files, why = f"downloads.{name}.contents", tuple(wanted), "which no split reads"
    strays = [inside for inside in _sums_inside(entry) if inside not in files]
    if strays:
        raise SimtError(
            f"{key} has a sum for {', '.join(strays)}, {why}; correct the name "
            f"(there is {', '.join(files)}) or delete the sum"
        )


def _remove_leftovers(targets: Iterable[Path]) -> None:
    """Remove what a killed call left under temporary names (see atomic_file)."""
    for target in targets:
        for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
            leftover.unlink()


# Nothing to do?


def _earlier_record(path: Path) -> EntryRecord | None:
    """What an earlier call noted; None where it noted nothing that can be read."""
    try:
        return EntryRecord.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _still_holds(
    record: EntryRecord,
    name: str,
    wanted: Sequence[str],
    entry: Entry,
    raw: Path,
) -> bool:
    """Whether every wanted file is on disk as recorded, and as the settings now want it."""
    files = {file.path: file for file in record.files}
    if set(files) != {f"{name}/{inside}" for inside in wanted}:
        return False
    if not _came_from(record, entry):
        return False
    expected = _sums_inside(entry)
    return all(
        _is_as_recorded(raw, file)
        and expected.get(path.partition("/")[2], {}).get("sha256") in (None, file.sha256)
        for path, file in files.items()
    )


def _came_from(record: EntryRecord, entry: Entry) -> bool:
    """Whether the entry, as it now reads, could have given what was fetched."""
    if not isinstance(entry, Download):
        return record.folder in (None, entry.folder)  # None: noted by an earlier version
    origin, expected = record.origin, checksums(entry)
    if origin.checksum in (UNPACKED, CONTENTS) and origin.address == LOCAL:
        return True
    if expected:
        return origin.sum in expected.values()
    addresses = [_address_for_manifest(address) for address in entry.addresses]
    return origin.address in (LOCAL, *addresses)


def _is_as_recorded(raw: Path, file: FileRecord) -> bool:
    path = raw / file.path
    if not path.is_file() or path.stat().st_size != file.bytes:
        return False
    return tally_of(path, "sha256").sum("sha256") == file.sha256


def _sums_inside(entry: Entry) -> Sums:
    """The checksums of files of the entry, by path inside it, as far as they are given."""
    if isinstance(entry, Local):
        return {}
    sums = entry.contents if isinstance(entry, Download) else entry.sha256
    return {inside: {"sha256": value} for inside, value in (sums or {}).items()}


# Downloads


def _fetch_download(
    name: str, entry: Download, wanted: Sequence[str], folders: _Folders
) -> EntryRecord:
    """The record of a download, from the first source that has the right files."""
    reasons = []
    for label, attempt in _attempts(name, entry, wanted, folders):
        try:
            return attempt()
        except RejectedError as error:
            reasons.append(f"{label}: {error}")
    tried = indented("\n".join(reasons))
    raise SimtError(
        f"{entry.file_name} could not be had:\n{tried}\n"
        f"  {_remedy(name, entry, wanted, folders.corpora)}"
    )


_Attempt = tuple[str, Callable[[], EntryRecord]]


def _attempts(
    name: str, entry: Download, wanted: Sequence[str], folders: _Folders
) -> Iterator[_Attempt]:
    """Each way to get a download, with what to call it: own corpora first, then the addresses."""
    targets = folders.targets(name, wanted)
    yield from _attempts_on_disk(name, entry, targets, folders)
    for address in entry.addresses:
        label = without_password(address)
        yield label, partial(_from_address, name, entry, address, targets, folders)


def _attempts_on_disk(
    name: str, entry: Download, targets: Mapping[str, Path], folders: _Folders
) -> Iterator[_Attempt]:
    corpora = folders.corpora
    if corpora is None:
        return
    files = [corpora / name / entry.file_name, corpora / entry.file_name]
    for path in files:
        if path.is_file():
            yield str(path), partial(_from_disk, name, entry, path, targets)
    found = {inside: plain_or_gz(corpora / name / inside) for inside in targets}
    sources = {inside: path for inside, path in found.items() if path is not None}
    if len(sources) == len(targets) and files[0] not in sources.values():
        yield str(corpora / name), partial(_from_unpacked, name, entry, sources, targets, folders)


def _from_disk(name: str, entry: Download, path: Path, targets: Mapping[str, Path]) -> EntryRecord:
    """The record of a download whose file the user has; the file is read where it is."""
    try:
        problem = why_wrong(path, entry)
    except OSError as error:
        raise RejectedError(error.strerror or str(error)) from error
    if problem:
        raise RejectedError(problem)
    return _unpacked(name, entry, path, targets, LOCAL)


def _from_address(
    name: str, entry: Download, address: str, targets: Mapping[str, Path], folders: _Folders
) -> EntryRecord:
    """The record of a download from the network, or from a file:// address."""
    if address.startswith("file:"):
        return _from_disk(name, entry, _path_of(address), targets)
    key = hashlib.sha256(address.encode()).hexdigest()[:12]  # a part is of one address only
    part = PartFile(folders.transfers / name / f"{entry.file_name}.{key}.part")
    part.path.parent.mkdir(parents=True, exist_ok=True)
    download(address, entry, part, folders.patience)
    try:
        record = _unpacked(name, entry, part.path, targets, _address_for_manifest(address))
    except RejectedError:
        part.discard()
        raise
    shutil.rmtree(part.path.parent)
    return record


def _unpacked(
    name: str, entry: Download, archive: Path, targets: Mapping[str, Path], address: str
) -> EntryRecord:
    """The record of a download whose verified file is ``archive``; its files are then in place.

    Where no checksum proved the archive, a fault in it speaks against its source and another
    one is tried; a proven archive is the same everywhere, and the fault is in the settings.
    """
    sums = _sums_inside(entry)
    try:
        tallies = extract(archive, entry.file_name, targets, sums)
    except ArchiveError as error:
        if checksums(entry):
            raise
        raise RejectedError(str(error)) from error
    proofs = checksums(entry)
    kinds = ", ".join(proofs) or (CONTENTS if targets.keys() <= sums.keys() else NONE_GIVEN)
    origin = Origin(address=address, checksum=kinds, sum=next(iter(proofs.values()), None))
    return EntryRecord(origin=origin, files=_file_records(name, tallies))


def _from_unpacked(
    name: str,
    entry: Download,
    sources: Mapping[str, Path],
    targets: Mapping[str, Path],
    folders: _Folders,
) -> EntryRecord:
    """The record of a download that the user has unpacked by hand."""
    sums = {entry.file_name: checksums(entry), **_sums_inside(entry)}  # a plain file is its content
    try:
        tallies = _copied(sources, targets, sums, folders)
    except ArchiveError as error:
        raise RejectedError(str(error)) from error
    checksum = CONTENTS if all(sums.get(inside) for inside in targets) else UNPACKED
    origin = Origin(address=LOCAL, checksum=checksum, sum=None)
    return EntryRecord(origin=origin, files=_file_records(name, tallies))


def _path_of(address: str) -> Path:
    parts = urlsplit(address)
    path = Path(url2pathname(parts.path))
    if parts.netloc not in ("", "localhost"):
        raise RejectedError("a file address names a file of this machine: file:///path/to/file")
    if not path.is_file():
        raise RejectedError("there is no such file")
    return path


def _address_for_manifest(address: str) -> str:
    return LOCAL if address.startswith("file:") else without_password(address)


def _remedy(name: str, entry: Download, wanted: Sequence[str], corpora: Path | None) -> str:
    """What the user can do where neither disk nor network has the file."""
    root = "$SIMT_CORPORA" if corpora is None else f"SIMT_CORPORA={corpora}"
    state = "set SIMT_CORPORA to a folder and " if corpora is None else ""
    if corpora is not None and not corpora.is_dir():
        state = f"SIMT_CORPORA={corpora} is not a folder: correct it and "
    return (
        f"Without a network, {state}put {entry.file_name} into {name}/ below {root}, "
        f"or, unpacked, {', '.join(f'{name}/{inside}' for inside in wanted)}"
    )


# Files that the user has


def _fetch_from_user(
    name: str, entry: Licensed | Local, wanted: Sequence[str], folders: _Folders
) -> EntryRecord:
    """The record of files that only the user can get, copied from the user's corpora."""
    listed = entry.files if isinstance(entry, Licensed) else wanted
    if strays := [inside for inside in wanted if inside not in listed]:
        raise SimtError(f"{', '.join(strays)}: not among the licensed entry's own files")
    if message := what_is_missing(entry, wanted, folders.corpora):
        raise SimtError(message)
    assert folders.corpora is not None
    found = {inside: plain_or_gz(folders.corpora / entry.folder / inside) for inside in wanted}
    sources = {inside: path for inside, path in found.items() if path is not None}
    sums = _sums_inside(entry)
    tallies = _copied(sources, folders.targets(name, wanted), sums, folders)
    checksum = "sha256" if set(wanted) <= set(sums) else NONE_GIVEN
    origin = Origin(address=LOCAL, checksum=checksum, sum=None)
    return EntryRecord(origin=origin, files=_file_records(name, tallies), folder=entry.folder)


def _copied(
    sources: Mapping[str, Path], targets: Mapping[str, Path], sums: Sums, folders: _Folders
) -> dict[str, Tally]:
    """The tally of each file, copied to its target: all of them, or none and an error.

    One that has only a .gz is decompressed.
    """
    tallies = {}
    folders.transfers.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folders.transfers) as folder:
        copies = {inside: Path(folder, inside) for inside in sources}
        for inside, source in sources.items():
            # The archive of one file, whose name is the last part of its path.
            base = PurePosixPath(inside).name
            unpacked = extract(
                source, source.name, {base: copies[inside]}, {base: sums.get(inside, {})}
            )
            tallies[inside] = unpacked[base]
        for inside, copy in copies.items():
            targets[inside].parent.mkdir(parents=True, exist_ok=True)
            copy.replace(targets[inside])
    return tallies


# Records


def _file_records(name: str, tallies: Mapping[str, Tally]) -> tuple[FileRecord, ...]:
    return tuple(
        FileRecord(path=f"{name}/{inside}", bytes=tally.bytes, sha256=tally.sum("sha256"))
        for inside, tally in sorted(tallies.items())
    )


def _manifest(settings: FetchSettings, records: Mapping[str, EntryRecord]) -> dict[str, Any]:
    """All records as one value for JSON, in an order that does not depend on the settings'."""
    files = [file.model_dump() for record in records.values() for file in record.files]
    origins = {name: records[name].origin.model_dump() for name in sorted(records)}
    return {
        "files": sorted(files, key=lambda file: str(file["path"])),
        "downloads": {name: origins[name] for name in origins if name in settings.downloads},
        "licensed": {name: origins[name] for name in origins if name in settings.licensed},
        "local": {name: origins[name] for name in origins if name in settings.local},
    }
