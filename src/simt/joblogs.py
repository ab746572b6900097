"""The ends of the logs of jobs, for people to read while the jobs still write them.

A log may be missing, huge, or no text at all: only its last bytes are read, and what cannot be
shown is left out.
"""

import os
import re
from pathlib import Path

_BYTES = 64 * 1024
_LONGEST = 500  # characters of a line
_MESSAGE_LINES = 40  # that a message may have
_UNSHOWABLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# The JSON that a rule gives a command in quotes, up to the quote that ends the argument.
_JSON = re.compile(r"'(\{[^\n]{40})[^\n]*?\}'(?=\s|$)")

# What tqdm says of the time: [passed<left, …].
_TIME_LEFT = re.compile(r"\[[\d:]+<(?:(\d+):)?(\d+):(\d\d)\b")

DONE = "done: "  # how the last line of a step begins that has come to its end


def last_lines(path: Path, most: int) -> tuple[list[str], bool]:
    """The last lines that say something, and whether others stand before them."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - _BYTES))
            text = stream.read(_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return [], False
    lines = [_UNSHOWABLE.sub("", line).rstrip() for line in re.split(r"[\r\n]+", text)]
    lines = [cut(shorten_settings(line)) for line in lines if line]
    return lines[-most:], size > _BYTES or len(lines) > most


def newest_line(path: Path) -> str:
    """The last line that says something; empty where there is none."""
    lines, _ = last_lines(path, 1)
    return lines[0] if lines else ""


def last_message(path: Path) -> str:
    """How the last message of a command of ours begins, else the last line that says something.

    A message may have many lines, and its last one alone tells nothing; what comes before work
    that went on, or before the traceback of another program, is no reason.
    """
    lines, _ = last_lines(path, _MESSAGE_LINES)
    for line in reversed(lines):
        if line.startswith("Traceback") or seconds_left(line) is not None:
            break
        if line.startswith("simt: "):
            return line
    return lines[-1] if lines else ""


def result_in(path: Path) -> str | None:
    """What a step has given, by its own last line; None if it has not come to its end."""
    line = newest_line(path)
    return line.removeprefix(DONE) if line.startswith(DONE) else None


def seconds_left(line: str) -> float | None:
    """How long a bar says that it will still take; None where it does not know, or is none."""
    if (found := _TIME_LEFT.search(line)) is None:
        return None
    hours, minutes, seconds = (int(number or 0) for number in found.groups())
    return 3600.0 * hours + 60 * minutes + seconds


def shorten_settings(text: str) -> str:
    """A command without most of its settings: nobody reads a page of JSON."""
    return _JSON.sub(r"'\1 …}'", text)


def cut(line: str, most: int = _LONGEST) -> str:
    """A line that is not longer than a screen holds."""
    return line if len(line) <= most else f"{line[:most]} …"
