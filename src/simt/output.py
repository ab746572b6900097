"""Where a command's words go: to the terminal or a log, and never in the way of its work."""

import io
import os
import sys
from pathlib import Path
from typing import TextIO


class _Lossy(io.FileIO):
    """A file descriptor that takes every write; what cannot be written is lost."""

    def write(self, data: object) -> int:
        try:
            return super().write(data) or 0  # type: ignore[arg-type]
        except OSError:
            return memoryview(data).nbytes  # type: ignore[arg-type]


def ignore_write_errors(is_output_the_product: bool) -> None:
    """Have messages to people fail nothing: neither a result nor the command's exit code.

    Standard output stays strict where it is what the command is for; what its encoding lacks, such
    as a file's name that is not UTF-8, is written as an escape.
    """
    for descriptor in (1, 2):
        _fill(descriptor)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr = _lossy(2, sys.stderr)
    if not is_output_the_product or sys.stdout is None:
        sys.stdout = _lossy(1, sys.stdout)


def _fill(descriptor: int) -> None:
    """Have a closed descriptor lead nowhere; the next file that is opened would get messages."""
    try:
        os.fstat(descriptor)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != descriptor:
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
        os.set_inheritable(descriptor, True)


def _lossy(descriptor: int, stream: TextIO | None) -> TextIO:
    """Messages to ``descriptor``, written at once; ``stream`` itself where that is not its file.

    None stands for one that was closed when the process began.
    """
    if stream is not None and not _is_of(descriptor, stream):  # a test reads along
        return stream
    raw = _Lossy(descriptor, "wb", closefd=False)
    buffer = io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def _is_of(descriptor: int, stream: TextIO) -> bool:
    try:
        return stream.fileno() == descriptor
    except OSError:  # it has no file
        return False


def log_to(path: Path) -> None:
    """Send all that this process and those it starts say to the end of a file.

    At the level of the system, so that the last words of a crash are there, too. Where the file
    cannot be opened, everything stays as it was: a log must not be able to fail a job.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        print(f"simt: no log in {path}: {error.strerror}", file=sys.stderr)
        return
    sys.stdout.flush()
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)
