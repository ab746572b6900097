"""One file from one address: continued where it broke off, tried again, and verified.

The bytes received so far lie in a ``.part`` file, with a note beside it of what the server said
the file was. A later attempt, or a later call, asks for the rest only, and only of the same file.
"""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import requests
import urllib3.exceptions

from simt.atomic import atomic_file
from simt.corpus.archives import wrong_kind
from simt.corpus.storage import free_bytes, full_disk_explained, require_space, tally_of
from simt.errors import SimtError, shown
from simt.pairs import Download
from simt.progress import progress_bar
from simt.settings import Settings

RECEIVE_BYTES = 1 << 16  # small enough that a slow line moves the bar
# Of a file whose length neither its entry nor the server says: some servers send for ever.
MAX_UNANNOUNCED_BYTES = 10 << 30
PROGRESS_EVERY_S = 5  # in a log
TRY_AGAIN_STATUS = (408, 425, 429)
CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class RejectedError(SimtError):
    """An address that does not give the right file; another one may."""


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for. ``attempts`` counts those in a row that brought nothing."""

    attempts: int = 4
    first_wait_s: float = 1.0  # doubled each time
    connect_timeout_s: float = 30.0
    read_timeout_s: float = 60.0


def download(address: str, entry: Download, part: "PartFile", patience: Patience) -> None:
    """Download the file at ``address`` into ``part``, whole and verified.

    Raises RejectedError with the reason; a file with a wrong checksum is removed first.
    """
    was_begun_earlier = part.bytes > 0
    _transfer(address, entry, part, patience)
    problem = why_wrong(part.path, entry)
    if problem and was_begun_earlier:
        # The two halves may be of different files: once more, from the beginning.
        part.discard()
        _transfer(address, entry, part, patience)
        problem = why_wrong(part.path, entry)
    if problem:
        part.discard()
        raise RejectedError(problem)


def why_wrong(path: Path, entry: Download) -> str | None:
    """What about the file's size, checksums or first bytes is not as its entry says, if anything.

    The first bytes are no proof: they explain a wrong checksum and stand in for a missing one.
    """
    expected = checksums(entry)
    tally = tally_of(path, *expected)
    kind_problem = wrong_kind(path, entry.file_name)
    problems = [
        f"{kind} {right}, found {tally.sum(kind)}"
        for kind, right in expected.items()
        if tally.sum(kind) != right
    ]
    if problems:
        aside = f" (it is {kind_problem})" if kind_problem else ""
        return f"{entry.file_name} has the wrong checksum: expected {problems[0]}{aside}"
    if entry.bytes not in (None, tally.bytes):
        return (
            f"{entry.file_name} has the wrong size: "
            f"expected {entry.bytes:,} bytes, found {tally.bytes:,}"
        )
    return f"{entry.file_name} is {kind_problem}" if kind_problem and not expected else None


def checksums(entry: Download) -> dict[str, str]:
    """The checksums that the entry gives, by kind."""
    given = {"sha256": entry.sha256, "md5": entry.md5}
    return {kind: value for kind, value in given.items() if value is not None}


def without_password(address: str) -> str:
    """The address as it may stand in a message or a manifest."""
    parts = urlsplit(address)
    return shown(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))


class Offered(Settings):
    """What a server said about the file that it began to send."""

    etag: str | None
    last_modified: str | None
    bytes: int | None

    @property
    def validator(self) -> str | None:
        """What "If-Range" needs to ask for the rest of this very file."""
        if self.etag is not None and not self.etag.startswith("W/"):
            return self.etag
        return self.last_modified

    def agrees_with(self, earlier: "Offered | None") -> bool:
        """Whether both may be of one file: a piece need not repeat everything (RFC 9110 15.3.7)."""
        if earlier is None:
            return False
        return all(
            None in (new, old) or new == old
            for new, old in (
                (self.etag, earlier.etag),
                (self.last_modified, earlier.last_modified),
                (self.bytes, earlier.bytes),
            )
        )


class PartFile:
    """The bytes of one address received so far, and what the server said the file was."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._note = path.with_name(path.name + ".json")

    @property
    def bytes(self) -> int:
        """How many bytes there are."""
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def offered(self) -> Offered | None:
        """What the server said; None where nothing was noted or the note cannot be read."""
        try:
            return Offered.model_validate_json(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def begin(self, offered: Offered) -> None:
        """Forget the bytes; the next ones are of the file described by ``offered``."""
        self.discard()
        with atomic_file(self._note) as stream:
            stream.write(offered.model_dump_json())

    def discard(self) -> None:
        """Leave nothing behind."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


class _BrokenError(Exception):
    """A transfer that ended too early; the same address may do better next time."""


def _transfer(address: str, entry: Download, part: PartFile, patience: Patience) -> None:
    """Fill ``part`` with every byte that the server has to send."""
    furthest, fruitless = part.bytes, 0
    _say(f"{without_password(address)}: connecting")
    while True:
        try:
            with requests.Session() as session:
                return _continue(session, address, entry, part, patience)
        except _BrokenError as error:
            fruitless = 0 if part.bytes > furthest else fruitless + 1
            furthest = max(furthest, part.bytes)
            if fruitless >= patience.attempts:
                raise RejectedError(f"{error} ({patience.attempts} attempts in a row)") from error
            wait_s = patience.first_wait_s * 2 ** max(fruitless - 1, 0)
            _say(f"{without_password(address)}: {error}; again in {wait_s:g} s")
        time.sleep(wait_s)


def _continue(
    session: requests.Session, address: str, entry: Download, part: PartFile, patience: Patience
) -> None:
    """Request the bytes that ``part`` lacks, once."""
    _forget_what_cannot_continue(part, entry)
    if part.bytes and part.offered and part.offered.bytes == part.bytes:
        return  # an earlier call received all and was stopped before it could use it
    with (
        _failures_sorted(),
        session.get(
            address,
            headers=_headers(part),
            stream=True,
            timeout=(patience.connect_timeout_s, patience.read_timeout_s),
        ) as response,
    ):
        _check_status(response, part)
        _prepare_part(response, entry, part)
        _say(f"{without_password(address)}: {_size_told(part)}")
        _receive(response, entry, part)


def _forget_what_cannot_continue(part: PartFile, entry: Download) -> None:
    """Remove a part that might be joined to another file unnoticed."""
    offered = part.offered
    is_safe = offered is not None and (offered.validator is not None or bool(checksums(entry)))
    if not is_safe:
        part.discard()


def _headers(part: PartFile) -> dict[str, str]:
    """The request's headers: as stored, not compressed on the way, and only what is missing."""
    headers = {"Accept-Encoding": "identity"}
    if part.bytes and part.offered:
        headers["Range"] = f"bytes={part.bytes}-"
        if part.offered.validator:
            headers["If-Range"] = part.offered.validator
    return headers


def _check_status(response: requests.Response, part: PartFile) -> None:
    status, told = response.status_code, f"{response.status_code} {shown(response.reason)[:100]}"
    if status == 416:
        part.discard()
        raise _BrokenError(f"{told}: the file on the server is not the one that was begun")
    if status in TRY_AGAIN_STATUS or status >= 500:
        raise _BrokenError(told)
    if status not in (200, 206):
        raise RejectedError(told)


def _prepare_part(response: requests.Response, entry: Download, part: PartFile) -> None:
    """Make ``part`` what the body of the response is to be appended to."""
    start, offered = _described(response)
    if entry.bytes is not None and offered.bytes not in (None, entry.bytes):
        part.discard()
        raise RejectedError(f"offers {offered.bytes:,} bytes, expected {entry.bytes:,}")
    if start == 0:  # also where the server knows no ranges, or has another file by now
        part.begin(offered)
    elif start != part.bytes or not offered.agrees_with(part.offered):
        part.discard()
        raise _BrokenError("sent a piece of another file than the one that was begun")
    if offered.bytes is not None:
        require_space(part.path, offered.bytes - start)


def _described(response: requests.Response) -> tuple[int, Offered]:
    """Where the body begins in the file, and what the server says about the whole of it."""
    start, total = 0, response.headers.get("Content-Length")
    if response.status_code == 206:
        found = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if found is None:
            raise RejectedError("sent a piece without saying which")
        start, total = int(found[1]), found[2]
    return start, Offered(
        etag=response.headers.get("ETag"),
        last_modified=response.headers.get("Last-Modified"),
        bytes=int(total) if total is not None and total.isdecimal() else None,
    )


def _receive(response: requests.Response, entry: Download, part: PartFile) -> None:
    """Append the body to ``part``."""
    offered = part.offered
    total = offered.bytes if offered else None
    most = entry.bytes or total or min(MAX_UNANNOUNCED_BYTES, free_bytes(part.path) // 2)
    with (
        full_disk_explained(part.path, None if total is None else total - part.bytes),
        part.path.open("ab") as sink,
        progress_bar(
            line_every_s=PROGRESS_EVERY_S,
            desc=entry.file_name,
            total=total or entry.bytes,
            initial=part.bytes,
            unit="B",
            unit_scale=True,
        ) as bar,
    ):
        # Undecoded: Apache calls a .tgz "Content-Encoding: x-gzip", and the sum is of the .tgz.
        for data in response.raw.stream(RECEIVE_BYTES, decode_content=False):
            if sink.tell() + len(data) > most:
                part.discard()
                raise RejectedError(_too_much(most, is_announced=bool(entry.bytes or total)))
            sink.write(data)
            bar.update(len(data))
    if total is not None and part.bytes != total:
        raise _BrokenError(f"the connection ended after {part.bytes:,} of {total:,} bytes")


def _say(text: str) -> None:
    """Tell whoever waits, at once."""
    print(text, file=sys.stderr, flush=True)


def _size_told(part: PartFile) -> str:
    """How much is to come, and how much is there already."""
    total = part.offered.bytes if part.offered else None
    size = "of a length that the server does not say" if total is None else _megabytes(total)
    return f"{size}, of which {_megabytes(part.bytes)} are here" if part.bytes else size


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"


def _too_much(most: int, is_announced: bool) -> str:
    if is_announced:
        return f"sends more than the {most:,} bytes that the file should have"
    return (
        f"sends more than {_megabytes(most)} and does not say how much will come; if the file is "
        "that large, give its size as bytes beside its addresses in params.yaml, and make room"
    )


@contextmanager
def _failures_sorted() -> Iterator[None]:
    """A block in which each failure of the network becomes _BrokenError or RejectedError."""
    try:
        yield
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise _BrokenError("no answer in time") from error
    except (
        requests.ConnectionError,
        requests.exceptions.ChunkedEncodingError,
        urllib3.exceptions.HTTPError,
    ) as error:
        raise _BrokenError(f"the connection failed: {shown(str(_root_cause(error)))}") from error
    except (requests.RequestException, ValueError) as error:  # ValueError: sent on to no address
        raise RejectedError(f"cannot be asked: {type(error).__name__}") from error


def _root_cause(error: BaseException) -> BaseException:
    """The first exception of the chain: what the system said, without the layers above it."""
    while error.__context__ is not None:
        error = error.__context__
    return error
