"""Fetching from servers on this machine that behave as servers do, and from the user's disk."""

import gzip
import io
import json
import re
import tarfile
import threading
import zipfile
from collections import Counter, namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import md5, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from simt.corpus.download import Patience
from simt.corpus.fetch import fetch
from simt.corpus.formats import read_part
from simt.errors import SimtError
from simt.pairs import FetchSettings, Part

IMPATIENT = Patience(attempts=3, first_wait_s=0.01, connect_timeout_s=10, read_timeout_s=10)
Usage = namedtuple("Usage", "total used free")


# Servers


@dataclass
class Served:
    """A file on a server, and how the server behaves when it is asked for it."""

    content: bytes
    etag: str | None = '"v1"'
    last_modified: str | None = None
    knows_ranges: bool = True
    heeds_if_range: bool = True
    statuses: list[int] = field(default_factory=list)  # the first answers, instead of the file
    cuts: list[int] = field(default_factory=list)  # the first bodies end after so many bytes
    stalls: threading.Event | None = None  # a body that is cut waits for this before it ends
    headers: dict[str, str] = field(default_factory=dict)
    says_length: bool = True
    is_endless: bool = False  # the content is sent over and over
    refusal: str | None = None  # a status line instead of the file


@dataclass
class Request:
    """What a client asked for."""

    path: str
    range: str | None
    if_range: str | None


class Server(ThreadingHTTPServer):
    """Files under 127.0.0.1, and a record of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, Served] = {}
        self.requests: list[Request] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def serve(self, path: str, content: bytes, **behaviour: Any) -> str:
        """The address of a new file."""
        self.files[path] = Served(content, **behaviour)
        return f"{self.address}/{path}"

    def handle_error(self, *_: Any) -> None:
        """Nothing: clients that hang up are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    """HTTP as far as downloads need it."""

    server: Server

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        asked = Request(self.path, self.headers["Range"], self.headers["If-Range"])
        self.server.requests.append(asked)
        served = self.server.files.get(self.path.lstrip("/"))
        if served is None:
            self.send_error(404)
        elif served.statuses:
            self.send_error(served.statuses.pop(0))
        elif served.refusal is not None:
            self.wfile.write(f"HTTP/1.0 {served.refusal}\r\n\r\n".encode("latin-1"))
        else:
            self._send(served, asked)

    def _send(self, served: Served, asked: Request) -> None:
        start = self._start(served, asked)
        body = served.content[start:]
        self.send_response(206 if start else 200)
        if start:
            total = len(served.content)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        if served.says_length:
            self.send_header("Content-Length", str(len(body)))
        for name, value in {
            "ETag": served.etag,
            "Last-Modified": served.last_modified,
            **served.headers,
        }.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: served.cuts.pop(0)] if served.cuts else body)
        while served.is_endless:  # until the client hangs up
            self.wfile.write(body)
        if served.stalls is not None:
            served.stalls.wait(timeout=10)

    def _start(self, served: Served, asked: Request) -> int:
        validators = [value for value in (served.etag, served.last_modified) if value]
        is_same = asked.if_range is None or asked.if_range in validators
        if asked.range is None or not served.knows_ranges:
            return 0
        if served.heeds_if_range and not is_same:
            return 0
        return int(asked.range.removeprefix("bytes=").removesuffix("-"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


# Archives and settings


def tgz(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


MEMBERS = {"dev/valid.de": "Grüße\n".encode() * 20_000, "dev/valid.en": b"Greetings\n" * 20_000}
ARCHIVE = tgz({**MEMBERS, "dev/other": b"not wanted\n"})
WANTED = ("wmt/dev/valid.de", "wmt/dev/valid.en")
# Bytes that do not compress, so that a transfer has a middle.
PLAIN = b"".join(sha256(str(n).encode()).digest() for n in range(20_000))


def sha(data: bytes) -> str:
    return sha256(data).hexdigest()


def settings_of(
    downloads: Mapping[str, Mapping[str, Any]] | None = None,
    licensed: Mapping[str, Mapping[str, Any]] | None = None,
    files: tuple[str, ...] = (),
    local: Mapping[str, Mapping[str, Any]] | None = None,
) -> FetchSettings:
    return FetchSettings.model_validate_json(
        json.dumps(
            {
                "source": "de",
                "target": "en",
                "downloads": downloads or {},
                "licensed": licensed or {},
                "local": local or {},
                "files": files,
            }
        )
    )


def archive_settings(*addresses: str, **entry: Any) -> FetchSettings:
    given = {"addresses": addresses, "sha256": sha(ARCHIVE), **entry}
    return settings_of({"wmt": {k: v for k, v in given.items() if v is not None}}, files=WANTED)


def plain_settings(*addresses: str, **entry: Any) -> FetchSettings:
    given = {"addresses": addresses, "sha256": sha(PLAIN), **entry}
    entries = {"iwslt": {k: v for k, v in given.items() if v is not None}}
    return settings_of(entries, files=("iwslt/train.en",))


def run(settings: FetchSettings, raw: Path, corpora: Path | None = None) -> dict[str, Any]:
    return fetch(settings, raw, corpora, IMPATIENT)


def run_fails(settings: FetchSettings, raw: Path, corpora: Path | None = None) -> str:
    with pytest.raises(SimtError) as caught:
        run(settings, raw, corpora)
    return str(caught.value)


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, without the notes that fetch leaves for itself."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".fetched" not in path.parts
    }


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# What is fetched


def test_an_archive_gives_its_wanted_files_and_nothing_else(server: Server, tmp_path: Path) -> None:
    run(archive_settings(server.serve("dev.tgz", ARCHIVE)), tmp_path)
    assert files_in(tmp_path) == {f"wmt/{name}": data for name, data in MEMBERS.items()}


def test_the_manifest_names_files_sums_and_origin(server: Server, tmp_path: Path) -> None:
    address = server.serve("dev.tgz", ARCHIVE)
    manifest = run(archive_settings(address), tmp_path)
    assert manifest == {
        "files": [
            {"path": f"wmt/{name}", "bytes": len(data), "sha256": sha(data)}
            for name, data in MEMBERS.items()
        ],
        "downloads": {"wmt": {"address": address, "checksum": "sha256", "sum": sha(ARCHIVE)}},
        "licensed": {},
        "local": {},
    }
    assert json.loads(json.dumps(manifest)) == manifest


def test_md5_is_verified_where_that_is_what_is_given(server: Server, tmp_path: Path) -> None:
    address = server.serve("dev.tgz", ARCHIVE)
    right = archive_settings(address, sha256=None, md5=md5(ARCHIVE).hexdigest())
    wrong = archive_settings(address, sha256=None, md5="0" * 32)
    assert f"expected md5 {'0' * 32}" in run_fails(wrong, tmp_path)
    assert run(right, tmp_path)["downloads"]["wmt"]["checksum"] == "md5"


def test_a_download_without_a_checksum_says_so(server: Server, tmp_path: Path) -> None:
    settings = archive_settings(server.serve("dev.tgz", ARCHIVE), sha256=None)
    assert run(settings, tmp_path)["downloads"]["wmt"]["checksum"] == "none given"


def test_plain_compressed_and_zipped_files_are_fetched(server: Server, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/b.txt", b"zipped\n")
    settings = settings_of(
        {
            "plain": {"addresses": [server.serve("train.en", b"plain\n")]},
            "gz": {"addresses": [server.serve("get?f=v2/en-ro.tmx.gz", gzip.compress(b"tmx\n"))]},
            "zip": {"addresses": [server.serve("x.zip", stream.getvalue())]},
        },
        files=("plain/train.en", "gz/en-ro.tmx", "zip/a/b.txt"),
    )
    run(settings, tmp_path)
    assert files_in(tmp_path) == {
        "plain/train.en": b"plain\n",
        "gz/en-ro.tmx": b"tmx\n",
        "zip/a/b.txt": b"zipped\n",
    }


def test_an_archive_that_a_server_calls_an_encoding_is_not_unpacked_on_the_way(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("dev.tgz", ARCHIVE, headers={"Content-Encoding": "x-gzip"})
    run(archive_settings(address), tmp_path)
    assert set(files_in(tmp_path)) == set(WANTED)


def test_a_file_of_unknown_length_is_fetched(server: Server, tmp_path: Path) -> None:
    run(plain_settings(server.serve("train.en", PLAIN, says_length=False)), tmp_path)
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_a_file_address_is_read_in_place_and_not_named(tmp_path: Path) -> None:
    archive = write(tmp_path / "a b" / "dev.tgz", ARCHIVE)
    manifest = run(archive_settings(archive.as_uri()), tmp_path / "raw")
    assert manifest["downloads"]["wmt"]["address"] == "local"
    assert archive.read_bytes() == ARCHIVE


def test_a_file_address_without_a_file_is_told(tmp_path: Path) -> None:
    address = (tmp_path / "dev.tgz").as_uri()
    assert f"{address}: there is no such file" in run_fails(archive_settings(address), tmp_path)


def test_no_password_and_no_path_of_this_machine_is_in_the_manifest(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("train.en", PLAIN).replace("://", "://user:secret@")
    write(tmp_path / "own" / "nist" / "mt02.sgm", b"x")
    settings = settings_of(
        {"iwslt": {"addresses": [address]}},
        {"nist": {"title": "T", "obtain": "O", "folder": "nist", "files": ["mt02.sgm"]}},
        ("iwslt/train.en", "nist/mt02.sgm"),
    )
    written = json.dumps(run(settings, tmp_path / "raw", tmp_path / "own"))
    assert "secret" not in written
    assert str(tmp_path) not in written


def test_the_password_of_an_address_is_not_told_either(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/train.en".replace("://", "://user:secret@")
    assert "secret" not in run_fails(plain_settings(address), tmp_path)


# Nothing to do


def test_a_second_call_with_everything_there_asks_nobody(server: Server, tmp_path: Path) -> None:
    settings = archive_settings(server.serve("dev.tgz", ARCHIVE))
    first = run(settings, tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert run(settings, tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times
    assert len(server.requests) == 1


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_file_that_is_not_as_it_was_is_fetched_again(
    server: Server, tmp_path: Path, damage: str
) -> None:
    settings = archive_settings(server.serve("dev.tgz", ARCHIVE))
    run(settings, tmp_path)
    file = tmp_path / WANTED[0]
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes().replace(b"e", b"a"))
    run(settings, tmp_path)
    assert file.read_bytes() == MEMBERS["dev/valid.de"]


@pytest.mark.parametrize("change", ["sum", "file", "address", "contents"])
def test_changed_settings_are_fetched_anew(server: Server, tmp_path: Path, change: str) -> None:
    address = server.serve("dev.tgz", ARCHIVE)
    other = server.serve("new/dev.tgz", ARCHIVE)
    run(archive_settings(address, sha256=sha(ARCHIVE) if change == "sum" else None), tmp_path)
    changed = {
        "sum": archive_settings(address, sha256="0" * 64),
        "file": settings_of({"wmt": {"addresses": [address]}}, files=(*WANTED, "wmt/dev/other")),
        "address": archive_settings(other, sha256=None),
        "contents": archive_settings(
            address, sha256=None, contents={"dev/valid.de": sha(b"something else")}
        ),
    }[change]
    if change in ("sum", "contents"):
        assert "wrong checksum" in run_fails(changed, tmp_path)
    else:
        run(changed, tmp_path)
    assert len(server.requests) == 2


def test_a_new_mirror_or_a_checksum_kept_fetches_nothing(server: Server, tmp_path: Path) -> None:
    address = server.serve("dev.tgz", ARCHIVE)
    run(archive_settings(address), tmp_path)
    run(archive_settings(f"{server.address}/mirror/dev.tgz", address), tmp_path)
    assert len(server.requests) == 1


def test_a_call_that_failed_half_way_is_continued(server: Server, tmp_path: Path) -> None:
    entries = {
        "wmt": {"addresses": [server.serve("dev.tgz", ARCHIVE)]},
        "iwslt": {"addresses": [f"{server.address}/train.en"]},
    }
    settings = settings_of(entries, files=(*WANTED, "iwslt/train.en"))
    assert "404" in run_fails(settings, tmp_path)
    server.serve("train.en", PLAIN)
    server.requests.clear()
    manifest = run(settings, tmp_path)
    assert [request.path for request in server.requests] == ["/train.en"]
    assert [file["path"] for file in manifest["files"]] == ["iwslt/train.en", *WANTED]


def test_a_note_that_cannot_be_read_is_no_note(server: Server, tmp_path: Path) -> None:
    settings = archive_settings(server.serve("dev.tgz", ARCHIVE))
    run(settings, tmp_path)
    (tmp_path / ".fetched" / "wmt.json").write_text("{", encoding="utf-8")
    run(settings, tmp_path)
    assert len(server.requests) == 2


# Transfers that break


def test_a_broken_transfer_continues_where_it_broke(server: Server, tmp_path: Path) -> None:
    run(plain_settings(server.serve("train.en", PLAIN, cuts=[100_000, 200_000])), tmp_path)
    assert [(request.range, request.if_range) for request in server.requests] == [
        (None, None),
        ("bytes=100000-", '"v1"'),
        ("bytes=300000-", '"v1"'),
    ]
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_progress_renews_the_patience(server: Server, tmp_path: Path) -> None:
    cuts = [50_000] * (3 * IMPATIENT.attempts)
    run(plain_settings(server.serve("train.en", PLAIN, cuts=cuts)), tmp_path)
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_a_later_call_continues_a_transfer(server: Server, tmp_path: Path) -> None:
    address = server.serve("train.en", PLAIN, cuts=[100_000, 0, 0, 0])
    told = run_fails(plain_settings(address), tmp_path)
    assert "the connection failed" in told
    assert "3 attempts in a row" in told
    server.requests.clear()
    run(plain_settings(address), tmp_path)
    assert [request.range for request in server.requests] == ["bytes=100000-"]
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_a_server_that_knows_no_ranges_is_asked_from_the_start(
    server: Server, tmp_path: Path
) -> None:
    run(plain_settings(server.serve("train.en", PLAIN, cuts=[9_000], knows_ranges=False)), tmp_path)
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_a_server_that_always_cuts_and_knows_no_ranges_is_given_up(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("train.en", PLAIN, cuts=[9_000] * 20, knows_ranges=False)
    run_fails(plain_settings(address), tmp_path)
    assert len(server.requests) == 1 + IMPATIENT.attempts


@pytest.mark.parametrize("heeds_if_range", [True, False])
def test_a_file_that_changed_meanwhile_is_fetched_from_the_start(
    server: Server, tmp_path: Path, heeds_if_range: bool
) -> None:
    old = bytes(len(PLAIN))
    address = server.serve("train.en", old, cuts=[100_000, 0, 0, 0])
    settings = plain_settings(address, sha256=None)
    run_fails(settings, tmp_path)
    server.serve("train.en", PLAIN, etag='"v2"', heeds_if_range=heeds_if_range)
    run(settings, tmp_path)
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


@pytest.mark.parametrize(("etag", "validator"), [('W/"v1"', "Mon, 01"), (None, "Mon, 01")])
def test_the_date_vouches_for_a_file_where_the_tag_cannot(
    server: Server, tmp_path: Path, etag: str | None, validator: str
) -> None:
    address = server.serve("train.en", PLAIN, cuts=[9_000], etag=etag, last_modified=validator)
    run(plain_settings(address, sha256=None), tmp_path)
    assert [request.if_range for request in server.requests] == [None, validator]


def test_a_file_that_nothing_vouches_for_is_never_continued(server: Server, tmp_path: Path) -> None:
    address = server.serve("train.en", PLAIN, cuts=[9_000], etag=None)
    run(plain_settings(address, sha256=None), tmp_path)
    assert [request.range for request in server.requests] == [None, None]


def test_a_file_joined_from_two_is_noticed_and_fetched_from_the_start(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("train.en", bytes(len(PLAIN)), cuts=[9_000, 0, 0, 0], etag=None)
    run_fails(plain_settings(address), tmp_path)
    server.serve("train.en", PLAIN, etag=None)
    server.requests.clear()
    run(plain_settings(address), tmp_path)
    assert [request.range for request in server.requests] == ["bytes=9000-", None]
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_a_range_that_the_server_does_not_have_leads_back_to_the_start(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("train.en", PLAIN, cuts=[9_000, 0, 0, 0])
    run_fails(plain_settings(address), tmp_path)
    server.serve("train.en", PLAIN, statuses=[416])
    server.requests.clear()
    run(plain_settings(address), tmp_path)
    assert [request.range for request in server.requests] == ["bytes=9000-", None]


def test_a_server_that_stalls_is_left_and_asked_for_the_rest(
    server: Server, tmp_path: Path
) -> None:
    stalls = threading.Event()
    address = server.serve("train.en", PLAIN, cuts=[200_000], stalls=stalls)
    patience = Patience(attempts=3, first_wait_s=0.01, connect_timeout_s=5, read_timeout_s=0.2)

    def release_after_first_answer() -> None:
        while len(server.requests) < 2 and not stalls.wait(0.01):
            pass
        stalls.set()

    helper = threading.Thread(target=release_after_first_answer)
    helper.start()
    fetch(plain_settings(address), tmp_path, None, patience)
    stalls.set()
    helper.join()
    assert len(server.requests) >= 2
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(
    server: Server, tmp_path: Path
) -> None:
    busy = server.serve("train.en", PLAIN, statuses=[500, 429])
    run(plain_settings(f"{server.address}/mirror/train.en", busy), tmp_path)
    assert [request.path for request in server.requests] == ["/mirror/train.en"] + ["/train.en"] * 3


# Addresses that are wrong


def test_a_wrong_checksum_names_file_expected_and_found_and_leaves_nothing(
    server: Server, tmp_path: Path
) -> None:
    told = run_fails(plain_settings(server.serve("train.en", b"wrong")), tmp_path)
    assert "train.en has the wrong checksum" in told
    assert f"expected sha256 {sha(PLAIN)}, found {sha(b'wrong')}" in told
    assert files_in(tmp_path) == {}


def test_the_next_address_is_tried_after_an_error_or_a_wrong_file(
    server: Server, tmp_path: Path
) -> None:
    addresses = (
        f"{server.address}/nowhere/train.en",
        server.serve("bad/train.en", b"wrong\n"),
        server.serve("good/train.en", PLAIN),
    )
    manifest = run(plain_settings(*addresses), tmp_path)
    assert manifest["downloads"]["iwslt"]["address"] == addresses[2]


def test_all_addresses_are_told_with_their_reasons_and_the_remedy(
    server: Server, tmp_path: Path
) -> None:
    bad = server.serve("bad/train.en", b"wrong\n")
    broken = server.serve("broken/train.en", PLAIN, statuses=[503] * 9)
    told = run_fails(plain_settings(f"{server.address}/train.en", bad, broken), tmp_path)
    assert f"{server.address}/train.en: 404 Not Found" in told
    assert f"{bad}: train.en has the wrong checksum" in told
    assert f"{broken}: 503 Service Unavailable (3 attempts in a row)" in told
    assert "set SIMT_CORPORA to a folder and put train.en into iwslt/" in told


def test_a_node_without_a_network_is_told_what_to_do(server: Server, tmp_path: Path) -> None:
    address = server.serve("train.en", PLAIN)
    server.socket.close()  # nobody listens there any more
    told = run_fails(plain_settings(address), tmp_path)
    assert "the connection failed" in told
    assert "Connection refused" in told
    assert "SIMT_CORPORA" in told


def test_a_corpora_folder_that_is_none_is_told(server: Server, tmp_path: Path) -> None:
    told = run_fails(plain_settings(f"{server.address}/train.en"), tmp_path, tmp_path / "typo")
    assert f"SIMT_CORPORA={tmp_path / 'typo'} is not a folder" in told


def test_a_file_of_another_size_is_refused_before_it_is_transferred(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("train.en", PLAIN)
    told = run_fails(plain_settings(address, sha256=None, bytes=5), tmp_path)
    assert f"{address}: offers {len(PLAIN):,} bytes, expected 5" in told


def test_a_server_that_never_stops_is_left_and_nothing_of_it_is_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simt.corpus.download.MAX_UNANNOUNCED_BYTES", 3_000_000)
    address = server.serve("train.en", PLAIN, says_length=False, is_endless=True)
    told = run_fails(plain_settings(address, sha256=None), tmp_path)
    assert f"{address}: sends more than 3.0 MB and does not say how much will come" in told
    assert "give its size as bytes" in told
    assert files_in(tmp_path) == {}


def test_a_server_that_sends_more_than_the_entry_says_is_left(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("train.en", PLAIN, says_length=False, is_endless=True)
    told = run_fails(plain_settings(address, bytes=len(PLAIN)), tmp_path)
    assert f"sends more than the {len(PLAIN):,} bytes that the file should have" in told
    assert files_in(tmp_path) == {}


def test_a_server_that_never_stops_leaves_half_of_the_disk_free(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(0, 0, 4_000_000))
    address = server.serve("train.en", PLAIN, says_length=False, is_endless=True)
    assert "sends more than 2.0 MB" in run_fails(plain_settings(address, sha256=None), tmp_path)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        ("403 \x1b[2Jall is well\x07", r"403 \x1b[2Jall is well\x07"),
        ("503 \x9b1mwait", r"503 \x9b1mwait (3 attempts in a row)"),
        ("404 " + "x" * 30_000, "404 " + "x" * 100 + "\n"),
    ],
    ids=["colours", "C1", "endless"],
)
def test_the_words_of_a_server_cannot_steer_the_terminal(
    server: Server, tmp_path: Path, refusal: str, told: str
) -> None:
    address = server.serve("train.en", PLAIN, refusal=refusal)
    assert f"{address}: {told}" in run_fails(plain_settings(address), tmp_path)


@pytest.mark.parametrize(
    "to", ["http://127.0.0.1:1/\x1b[2J", "ftp://\x1b]0;x\x07/a", "http://[\x1b"]
)
def test_the_address_that_a_server_sends_us_to_cannot_steer_the_terminal(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str], to: str
) -> None:
    address = server.serve("train.en", PLAIN, refusal=f"302 Found\r\nLocation: {to}")
    told = run_fails(plain_settings(address), tmp_path)
    assert address in told
    assert "\x1b" not in told + capfd.readouterr().err


def test_a_download_shows_itself_at_once_with_address_and_size_and_then_how_far_it_is(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("simt.corpus.download.PROGRESS_EVERY_S", 0)
    address = server.serve("train.en", PLAIN, cuts=[200_000])
    secret = address.replace("http://", "http://me:secret@")
    run(plain_settings(secret), tmp_path)
    lines = capfd.readouterr().err.splitlines()
    assert lines[:2] == [f"{address}: connecting", f"{address}: {len(PLAIN) / 1e6:.1f} MB"]
    assert re.search(r"^train\.en: +\d+%\| .*\d+k/\d+k \[00:00<.*B/s\]$", lines[3])
    again = [line for line in lines if line.startswith(address)][2:]
    assert "; again in 0.01 s" in again[0]
    assert again[1].endswith("of which 0.2 MB are here")


def test_a_page_instead_of_an_archive_is_told_and_the_next_address_tried(
    server: Server, tmp_path: Path
) -> None:
    page = server.serve("dev.tgz", b"<!DOCTYPE html><p>We moved")
    told = run_fails(archive_settings(page, sha256=None), tmp_path)
    assert "not compressed by gzip as its name says; it begins with b'<!DOCTYPE html>" in told
    run(archive_settings(page, server.serve("new/dev.tgz", ARCHIVE), sha256=None), tmp_path)
    assert set(files_in(tmp_path)) == set(WANTED)


def test_contents_decide_where_addresses_compress_anew(server: Server, tmp_path: Path) -> None:
    wrong = server.serve("a/dev.tgz", tgz({**MEMBERS, "dev/valid.en": b"other\n"}))
    right = server.serve("b/dev.tgz", ARCHIVE)
    contents = {name: sha(data) for name, data in MEMBERS.items()}
    manifest = run(archive_settings(wrong, right, sha256=None, contents=contents), tmp_path)
    assert manifest["downloads"]["wmt"] == {
        "address": right,
        "checksum": "sha256 of the unpacked files",
        "sum": None,
    }
    assert files_in(tmp_path)["wmt/dev/valid.en"] == MEMBERS["dev/valid.en"]


def test_an_archive_with_wrong_contents_is_not_kept(server: Server, tmp_path: Path) -> None:
    address = server.serve("dev.tgz", tgz({**MEMBERS, "dev/valid.en": b"other\n"}))
    contents = {name: sha(data) for name, data in MEMBERS.items()}
    told = run_fails(archive_settings(address, sha256=None, contents=contents), tmp_path)
    assert "valid.en in dev.tgz has the wrong checksum" in told
    assert files_in(tmp_path) == {}


def test_a_sum_for_a_file_that_no_split_reads_is_told_before_anything_is_fetched(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("dev.tgz", ARCHIVE)
    settings = archive_settings(address, sha256=None, contents={"dev/vaild.de": "0" * 64})
    assert (
        "wmt: downloads.wmt.contents has a sum for dev/vaild.de, which no split reads; correct "
        "the name (there is dev/valid.de, dev/valid.en) or delete the sum"
    ) in run_fails(settings, tmp_path)
    assert server.requests == []


def test_a_misspelt_sum_is_told_of_files_fetched_earlier_too(
    server: Server, tmp_path: Path
) -> None:
    address = server.serve("dev.tgz", ARCHIVE)
    run(archive_settings(address), tmp_path)
    told = run_fails(archive_settings(address, contents={"dev/vaild.de": "0" * 64}), tmp_path)
    assert "a sum for dev/vaild.de" in told


def test_contents_are_called_verified_only_where_every_file_has_a_sum(
    server: Server, tmp_path: Path
) -> None:
    contents = {"dev/valid.de": sha(MEMBERS["dev/valid.de"])}
    address = server.serve("dev.tgz", ARCHIVE)
    manifest = run(archive_settings(address, sha256=None, contents=contents), tmp_path)
    assert manifest["downloads"]["wmt"]["checksum"] == "none given"


def test_a_proven_archive_without_a_wanted_file_is_kept_for_corrected_settings(
    server: Server, tmp_path: Path
) -> None:
    addresses = [server.serve("dev.tgz", ARCHIVE), server.serve("mirror/dev.tgz", ARCHIVE)]
    entries = {"wmt": {"addresses": addresses, "sha256": sha(ARCHIVE)}}
    told = run_fails(settings_of(entries, files=("wmt/valid.de",)), tmp_path)
    assert "valid.de (it has dev/valid.de)" in told
    run(settings_of(entries, files=WANTED), tmp_path)
    assert len(server.requests) == 1
    assert set(files_in(tmp_path)) == set(WANTED)


def test_a_full_disk_is_told_with_path_and_numbers_and_ends_the_search(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(10, 3, 7))
    address = server.serve("train.en", PLAIN)
    told = run_fails(plain_settings(address, address + "?again"), tmp_path)
    assert f"needs {len(PLAIN):,} bytes, 7 bytes are free" in told
    assert str(tmp_path) in told
    assert len(server.requests) == 1


def test_trouble_with_the_folder_is_told_without_a_traceback(
    server: Server, tmp_path: Path
) -> None:
    write(tmp_path / "iwslt", b"a file where a folder has to be")
    told = run_fails(plain_settings(server.serve("train.en", PLAIN)), tmp_path)
    assert str(tmp_path / "iwslt") in told


def test_what_a_killed_call_left_is_removed(server: Server, tmp_path: Path) -> None:
    write(tmp_path / "iwslt" / ".train.en.k3j2h1.tmp", b"half a file")
    run(plain_settings(server.serve("train.en", PLAIN)), tmp_path)
    assert files_in(tmp_path) == {"iwslt/train.en": PLAIN}


def test_files_that_no_entry_gives_are_told(tmp_path: Path) -> None:
    settings = settings_of({"wmt": {"addresses": ["http://x/a.tgz"]}}, files=("wtm/a", "wmt"))
    told = run_fails(settings, tmp_path)
    assert "files that no entry gives: wtm/a, wmt;" in told
    assert "the entries are wmt" in told


# The user's own corpora


@pytest.mark.parametrize("place", ["wmt/dev.tgz", "dev.tgz"])
def test_an_archive_on_disk_is_used_and_left_alone(tmp_path: Path, place: str) -> None:
    own = tmp_path / "own"
    write(own / place, ARCHIVE)
    manifest = run(archive_settings("http://127.0.0.1:9/dev.tgz"), tmp_path / "raw", own)
    assert manifest["downloads"]["wmt"] == {
        "address": "local",
        "checksum": "sha256",
        "sum": sha(ARCHIVE),
    }
    assert set(files_in(tmp_path / "raw")) == set(WANTED)
    assert files_in(own) == {place: ARCHIVE}


def test_files_unpacked_by_hand_are_used_compressed_or_not(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "wmt/dev/valid.de", MEMBERS["dev/valid.de"])
    write(own / "wmt/dev/valid.en.gz", gzip.compress(MEMBERS["dev/valid.en"]))
    settings = archive_settings("http://127.0.0.1:9/dev.tgz")
    manifest = run(settings, tmp_path / "raw", own)
    assert manifest["downloads"]["wmt"]["checksum"] == "none for unpacked files"
    assert files_in(tmp_path / "raw") == {f"wmt/{name}": data for name, data in MEMBERS.items()}
    assert run(settings, tmp_path / "raw") == manifest


def test_files_unpacked_by_hand_are_verified_where_their_sums_are_known(
    server: Server, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    write(own / "wmt/dev/valid.de", b"wrong\n")
    write(own / "wmt/dev/valid.en", MEMBERS["dev/valid.en"])
    contents = {name: sha(data) for name, data in MEMBERS.items()}
    settings = archive_settings(f"{server.address}/dev.tgz", contents=contents)
    told = run_fails(settings, tmp_path / "raw", own)
    assert f"{own / 'wmt'}: valid.de has the wrong checksum: expected sha256" in told
    assert files_in(tmp_path / "raw") == {}
    write(own / "wmt/dev/valid.de", MEMBERS["dev/valid.de"])
    manifest = run(settings, tmp_path / "raw", own)
    assert manifest["downloads"]["wmt"]["checksum"] == "sha256 of the unpacked files"


def test_no_file_unpacked_by_hand_is_kept_where_the_last_is_broken(
    server: Server, tmp_path: Path
) -> None:
    write(tmp_path / "own/wmt/dev/valid.de", MEMBERS["dev/valid.de"])
    write(tmp_path / "own/wmt/dev/valid.en.gz", gzip.compress(MEMBERS["dev/valid.en"])[:-9])
    settings = archive_settings(f"{server.address}/dev.tgz")
    assert "valid.en.gz is broken" in run_fails(settings, tmp_path / "raw", tmp_path / "own")
    assert files_in(tmp_path / "raw") == {}


@pytest.mark.parametrize("kind", ["sha256", "md5"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_plain_file_on_disk_is_verified_by_the_sum_of_the_download(
    server: Server, tmp_path: Path, kind: str, suffix: str
) -> None:
    own = tmp_path / "own"
    sums = {"sha256": None, kind: sha(PLAIN) if kind == "sha256" else md5(PLAIN).hexdigest()}
    settings = plain_settings(f"{server.address}/train.en", **sums)
    path = own / f"iwslt/train.en{suffix}"
    write(path, gzip.compress(b"wrong\n") if suffix else b"wrong\n")
    assert "wrong checksum" in run_fails(settings, tmp_path / "raw", own)
    write(path, gzip.compress(PLAIN) if suffix else PLAIN)
    run(settings, tmp_path / "raw", own)
    assert files_in(tmp_path / "raw") == {"iwslt/train.en": PLAIN}


def test_a_plain_file_on_disk_of_the_wrong_size_is_refused(server: Server, tmp_path: Path) -> None:
    write(tmp_path / "own" / "iwslt" / "train.en", b"wrong\n")
    settings = plain_settings(f"{server.address}/train.en", sha256=None, bytes=len(PLAIN))
    told = run_fails(settings, tmp_path / "raw", tmp_path / "own")
    assert f"train.en has the wrong size: expected {len(PLAIN):,} bytes, found 6" in told


def test_a_wrong_file_on_disk_gives_way_to_an_address(server: Server, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "train.en", b"wrong\n")
    address = server.serve("train.en", PLAIN)
    manifest = run(plain_settings(address), tmp_path / "raw", own)
    assert manifest["downloads"]["iwslt"]["address"] == address


# Licensed files

NIST = {
    "title": "NIST MT 2002",
    "obtain": "LDC2010T10 of the Linguistic Data Consortium, under its user agreement",
    "folder": "nist/mt02",
    "files": ["src.sgm", "ref.sgm"],
}
NIST_FILES = ("nist/src.sgm", "nist/ref.sgm")


def test_licensed_files_are_copied_from_the_users_corpora(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    write(own / "nist/mt02/ref.sgm.gz", gzip.compress(b"reference"))
    settings = settings_of(licensed={"nist": NIST}, files=NIST_FILES)
    manifest = run(settings, tmp_path / "raw", own)
    assert files_in(tmp_path / "raw") == {"nist/ref.sgm": b"reference", "nist/src.sgm": b"source"}
    assert manifest["licensed"]["nist"]["checksum"] == "none given"
    assert run(settings, tmp_path / "raw") == manifest


def test_missing_licensed_files_are_told_with_title_terms_place_and_state(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    told = run_fails(settings_of(licensed={"nist": NIST}, files=NIST_FILES), tmp_path, own)
    for expected in (
        "NIST MT 2002",
        "LDC2010T10 of the Linguistic Data Consortium, under its user agreement",
        f"SIMT_CORPORA={own}",
        str(own / "nist/mt02"),
        "src.sgm: there",
        "ref.sgm: missing",
    ):
        assert expected in told


def test_licensed_files_without_corpora_are_told_to_set_them(tmp_path: Path) -> None:
    told = run_fails(settings_of(licensed={"nist": NIST}, files=NIST_FILES), tmp_path)
    assert "set SIMT_CORPORA to a folder of your own" in told


def test_a_licensed_file_with_a_wrong_checksum_is_told_and_not_kept(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    entry = {**NIST, "sha256": {"src.sgm": sha(b"other")}}
    settings = settings_of(licensed={"nist": entry}, files=NIST_FILES[:1])
    told = run_fails(settings, tmp_path / "raw", own)
    assert f"src.sgm has the wrong checksum: expected sha256 {sha(b'other')}, found" in told
    assert files_in(tmp_path / "raw") == {}


def test_no_licensed_file_is_kept_where_the_last_has_a_wrong_checksum(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    write(own / "nist/mt02/ref.sgm", b"reference")
    entry = {**NIST, "sha256": {"ref.sgm": sha(b"other")}}
    settings = settings_of(licensed={"nist": entry}, files=NIST_FILES)
    assert "ref.sgm has the wrong checksum" in run_fails(settings, tmp_path / "raw", own)
    assert files_in(tmp_path / "raw") == {}


def test_a_licensed_file_with_the_right_checksum_says_so(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    entry = {**NIST, "sha256": {"src.sgm": sha(b"source")}}
    settings = settings_of(licensed={"nist": entry}, files=NIST_FILES[:1])
    assert run(settings, tmp_path / "raw", own)["licensed"]["nist"]["checksum"] == "sha256"


def test_a_sum_for_a_file_that_a_licensed_entry_does_not_list_is_told(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    entry = {**NIST, "sha256": {"scr.sgm": sha(b"source")}}
    settings = settings_of(licensed={"nist": entry}, files=NIST_FILES[:1])
    assert (
        "nist: licensed.nist.sha256 has a sum for scr.sgm, not among the entry's files; correct "
        "the name (there is src.sgm, ref.sgm) or delete the sum"
    ) in run_fails(settings, tmp_path / "raw", own)


def test_a_licensed_file_that_no_split_reads_may_have_a_sum(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "nist/mt02/src.sgm", b"source")
    entry = {**NIST, "sha256": {"src.sgm": sha(b"source"), "ref.sgm": sha(b"reference")}}
    settings = settings_of(licensed={"nist": entry}, files=NIST_FILES[:1])
    assert run(settings, tmp_path / "raw", own)["licensed"]["nist"]["checksum"] == "sha256"


def test_a_file_that_a_licensed_entry_does_not_list_is_told(tmp_path: Path) -> None:
    told = run_fails(settings_of(licensed={"nist": NIST}, files=("nist/x.sgm",)), tmp_path)
    assert "x.sgm: not among the licensed entry's own files" in told


# Files of one's own


def test_files_of_ones_own_need_no_more_than_a_folder(tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own / "talks/train.de", b"Hallo\n")
    write(own / "talks/train.en.gz", gzip.compress(b"Hello\n"))
    settings = settings_of(local={"mine": {"folder": "talks"}},
                           files=("mine/train.de", "mine/train.en"))  # fmt: skip
    manifest = run(settings, tmp_path / "raw", own)
    assert files_in(tmp_path / "raw") == {"mine/train.de": b"Hallo\n", "mine/train.en": b"Hello\n"}
    assert manifest["local"]["mine"]["address"] == "local"
    assert run(settings, tmp_path / "raw") == manifest


def test_files_of_ones_own_are_copied_anew_from_another_folder(tmp_path: Path) -> None:
    own = tmp_path / "own"
    for folder, text in (("v1", b"Hallo\n"), ("v2", b"Guten Tag\n")):
        write(own / folder / "train.de", text)
        settings = settings_of(local={"mine": {"folder": folder}}, files=("mine/train.de",))
        run(settings, tmp_path / "raw", own)
        assert files_in(tmp_path / "raw") == {"mine/train.de": text}


def test_missing_files_of_ones_own_are_told_with_the_place(tmp_path: Path) -> None:
    settings = settings_of(local={"mine": {"folder": "talks"}}, files=("mine/train.de",))
    own = tmp_path / "own"
    told = run_fails(settings, tmp_path / "raw", own)
    assert "mine: your own files are not there." in told
    assert f"below {own / 'talks'} (SIMT_CORPORA={own} is not a folder)" in told
    assert "train.de: missing" in told
    told = run_fails(settings, tmp_path / "raw")
    assert "below $SIMT_CORPORA/talks (set SIMT_CORPORA to a folder of your own)" in told


def test_settings_without_files_of_ones_own_are_those_of_earlier_corpora() -> None:
    assert "local" not in json.loads(settings_of(licensed={"nist": NIST}).as_json())


def test_the_problems_of_all_entries_are_told_at_once(server: Server, tmp_path: Path) -> None:
    settings = settings_of(
        {"iwslt": {"addresses": [f"{server.address}/train.en"]}},
        {"nist": NIST, "rwth": {**NIST, "title": "Gold Alignments", "folder": "rwth"}},
        ("iwslt/train.en", *NIST_FILES, "rwth/src.sgm"),
    )
    told = run_fails(settings, tmp_path)
    assert told.startswith("fetch has 3 problems:")
    for expected in ("404 Not Found", "NIST MT 2002", "Gold Alignments"):
        assert expected in told


# Real text


def test_real_text_on_disk_is_fetched_and_read(shared_corpora: Path, tmp_path: Path) -> None:
    settings = settings_of(
        {"wmt_deen_news": {"addresses": ["http://127.0.0.1:9/test.tgz"]}},
        files=("wmt_deen_news/test.de", "wmt_deen_news/test.en"),
    )
    run(settings, tmp_path, shared_corpora)
    part = Part.model_validate(
        {
            "reader": "plain",
            "source": "wmt_deen_news/test.de",
            "targets": ("wmt_deen_news/test.en",),
            "encoding": "utf-8",
            "is_dirty": False,
        }
    )
    assert sum(1 for _ in read_part(part, tmp_path, "de", "en", Counter())) == 2169


def test_real_text_is_downloaded_over_a_line_that_breaks(
    server: Server, shared_corpora: Path, tmp_path: Path
) -> None:
    text = gzip.decompress((shared_corpora / "multi30k_deen" / "train.de.gz").read_bytes())
    archive = tgz({"data/train.de": text})
    address = server.serve("task1.tar.gz", archive, cuts=[200_000, 100_000])
    entry = {"addresses": [address], "sha256": sha(archive), "bytes": len(archive)}
    run(settings_of({"multi30k": entry}, files=("multi30k/data/train.de",)), tmp_path)
    assert files_in(tmp_path) == {"multi30k/data/train.de": text}
