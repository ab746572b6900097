"""Files that appear whole or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json


@contextmanager
def atomic_file(path: Path, mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """A file to write that gets its final name only when the block ends without an error.

    It is written under a temporary name in the same folder, so that the rename cannot cross
    a file system. Text is UTF-8 with "\\n" line ends on every machine.
    """
    if "b" not in mode:
        options = {"encoding": "utf-8", "newline": "\n", **options}
    path.parent.mkdir(parents=True, exist_ok=True)
    number, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(number, mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A folder to fill that gets its final name only when the block ends without an error.

    One that has this name already is kept until then. A folder cannot be renamed onto another: a
    process that is killed between both renames leaves the whole old one beside the whole new one.
    """
    path = path.resolve()  # of a link, the folder behind it is replaced
    temporary, old = (path.with_name(f".{path.name}.{end}") for end in ("tmp", "old"))
    if temporary.exists():
        shutil.rmtree(temporary)
    temporary.mkdir(parents=True)
    yield temporary
    if old.exists():
        shutil.rmtree(old)
    if path.exists():
        path.rename(old)
    temporary.rename(path)
    if old.exists():
        shutil.rmtree(old)


def clear_leftovers(*folders: Path) -> None:
    """Take away what processes left that were killed while they wrote.

    Only for folders that nobody else writes to.
    """
    for folder in folders:
        for path in folder.glob(".*.tmp"):
            path.unlink()


def write_json(path: Path, values: Any) -> None:
    """Write plain values for people and programs to read, whole or not at all."""
    with atomic_file(path) as stream:
        json.dump(values, stream, indent=2, ensure_ascii=False)
        stream.write("\n")


def read_object(path: Path) -> dict[str, Any] | None:
    """The values of a JSON file by their keys; None where there is no such file, or another."""
    try:
        values = from_json(path.read_bytes())  # unlike json.loads, bounded in depth
    except (OSError, ValueError):
        return None
    return values if isinstance(values, dict) else None


def _umask() -> int:
    """The process's file mode mask; mkstemp ignores it, other files of the user follow it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
