"""Archives: the wanted files come out whole, and nothing an archive says is believed."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from hashlib import md5, sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simt.corpus import archives
from simt.corpus.archives import ArchiveError, extract, wrong_kind
from simt.errors import SimtError

TEXT = "Grüß Gott\n".encode()


def tar_bytes(members: Sequence[tuple[tarfile.TarInfo, bytes]], mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:  # type: ignore[call-overload]
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def file_member(name: str, data: bytes = TEXT) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info, data


def odd_member(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def zip_bytes(
    members: Sequence[tuple[str | zipfile.ZipInfo, bytes]], compression: int = zipfile.ZIP_DEFLATED
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return stream.getvalue()


class Bench:
    """A folder to unpack into, and a look at what is there afterwards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"

    def extract(
        self,
        data: bytes,
        file_name: str,
        *wanted: str,
        sums: Mapping[str, Mapping[str, str]] | None = None,
    ) -> dict[str, int]:
        archive = self.folder / "archive.part"
        archive.write_bytes(data)
        targets = {name: self.out / name for name in wanted}
        tallies = extract(archive, file_name, targets, sums or {})
        assert all(
            tally.sum("sha256") == sha256(targets[name].read_bytes()).hexdigest()
            for name, tally in tallies.items()
        )
        return {name: tally.bytes for name, tally in tallies.items()}

    def files(self) -> list[str]:
        found = [path for path in self.folder.rglob("*") if not path.is_dir()]
        names = sorted(str(path.relative_to(self.folder)) for path in found)
        return [name for name in names if name != "archive.part"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("file_name", "data"),
    [
        ("a.tgz", tar_bytes([file_member("dev/x"), file_member("dev/y")])),
        ("a.tar.gz", tar_bytes([file_member("./dev/x"), file_member("y")])),
        ("A.TAR", tar_bytes([file_member("dev/x"), file_member("y")], "w:")),
        ("a.zip", zip_bytes([("dev/x", TEXT), ("y", b"")])),
    ],
)
def test_only_the_wanted_files_of_an_archive_are_unpacked(
    bench: Bench, file_name: str, data: bytes
) -> None:
    assert bench.extract(data, file_name, "dev/x") == {"dev/x": len(TEXT)}
    assert bench.files() == ["out/dev/x"]
    assert (bench.out / "dev/x").read_bytes() == TEXT


def test_a_compressed_file_loses_its_ending(bench: Bench) -> None:
    data = gzip.compress(TEXT) + gzip.compress(TEXT)  # members of gzip may follow each other
    assert bench.extract(data, "en-ro.tmx.gz", "en-ro.tmx") == {"en-ro.tmx": 2 * len(TEXT)}


def test_a_compressed_file_wanted_under_its_own_name_stays_compressed(bench: Bench) -> None:
    bench.extract(gzip.compress(TEXT), "x.gz", "x.gz")
    assert gzip.decompress((bench.out / "x.gz").read_bytes()) == TEXT


def test_a_plain_file_is_copied(bench: Bench) -> None:
    assert bench.extract(TEXT, "train.en", "train.en") == {"train.en": len(TEXT)}


def test_missing_files_are_all_named_with_the_nearest_that_is_there(bench: Bench) -> None:
    data = tar_bytes([file_member("test/newstest2015-src.de.sgm"), file_member("there")])
    with pytest.raises(ArchiveError, match="lacks 2 of 3 wanted files") as caught:
        bench.extract(data, "a.tgz", "there", "newstest2015-src.de.sgm", "zzz")
    assert "newstest2015-src.de.sgm (it has test/newstest2015-src.de.sgm)" in str(caught.value)
    assert bench.files() == []


@pytest.mark.parametrize("name", ["/dev/x", "../dev/x", "dev/../dev/x", "dev\\x", "x/dev/x"])
def test_a_name_that_only_resembles_a_wanted_one_is_not_it(bench: Bench, name: str) -> None:
    for file_name, data in (
        ("a.tgz", tar_bytes([file_member(name)])),
        ("a.zip", zip_bytes([(name, TEXT)])),
    ):
        with pytest.raises(ArchiveError, match="lacks 1 of 1"):
            bench.extract(data, file_name, "dev/x")
    assert bench.files() == []


def test_hostile_members_beside_the_wanted_one_touch_nothing(bench: Bench) -> None:
    data = tar_bytes(
        [
            file_member("../evil"),
            file_member("/tmp/simt-evil"),
            odd_member("out", tarfile.SYMTYPE, "/tmp"),
            odd_member("null", tarfile.CHRTYPE),
            file_member("x"),
        ]
    )
    bench.extract(data, "a.tgz", "x")
    assert bench.files() == ["out/x"]
    assert not Path("/tmp/simt-evil").exists()


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        (tarfile.SYMTYPE, "/etc/passwd", "a link to /etc/passwd"),
        (tarfile.LNKTYPE, "other", "a link to other"),
        (tarfile.CHRTYPE, "", "a device"),
        (tarfile.FIFOTYPE, "", "a device"),
        (tarfile.DIRTYPE, "", "a folder"),
        (tarfile.GNUTYPE_SPARSE, "", "a sparse file"),
    ],
)
def test_a_wanted_member_that_is_no_file_is_refused(
    bench: Bench, kind: bytes, target: str, said: str
) -> None:
    data = tar_bytes([file_member("other"), odd_member("x", kind, target)])
    with pytest.raises(ArchiveError, match=rf"x in a\.tgz is {said}"):
        bench.extract(data, "a.tgz", "other", "x")
    assert bench.files() == []


def zip_entry(name: str, attributes: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = attributes << 16
    return info


@pytest.mark.parametrize(
    ("entry", "said"),
    [(zip_entry("x", 0o120777), "a link"), (zip_entry("x", 0o020666), "a device")],
)
def test_a_wanted_zip_entry_that_is_no_file_is_refused(
    bench: Bench, entry: zipfile.ZipInfo, said: str
) -> None:
    with pytest.raises(ArchiveError, match=f"is {said}"):
        bench.extract(zip_bytes([(entry, b"/etc/passwd")]), "a.zip", "x")
    assert bench.files() == []


def test_an_encrypted_zip_entry_is_refused(bench: Bench) -> None:
    data = bytearray(zip_bytes([("x", TEXT)]))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + flags] |= 1
    with pytest.raises(ArchiveError, match="is encrypted"):
        bench.extract(bytes(data), "a.zip", "x")


def test_a_wanted_file_that_an_archive_holds_twice_is_refused(bench: Bench) -> None:
    data = tar_bytes([file_member("x"), file_member("./x", b"other")])
    with pytest.raises(ArchiveError, match="holds x twice"):
        bench.extract(data, "a.tgz", "x")
    assert bench.files() == []


@pytest.mark.parametrize("kind", ["gz", "tgz", "zip", "unwanted"])
def test_a_decompression_bomb_is_refused(bench: Bench, kind: str) -> None:
    zeros = bytes(48 << 20)
    if kind == "gz":
        data = gzip.compress(zeros)
    elif kind == "zip":
        data = zip_bytes([("x", zeros)])
    elif kind == "tgz":
        data = tar_bytes([file_member("x", zeros)])
    else:
        data = tar_bytes([file_member("x"), file_member("y", zeros)])
    file_name = {"gz": "x.gz", "zip": "a.zip"}.get(kind, "a.tgz")
    with pytest.raises(ArchiveError, match="more than 200 times its size"):
        bench.extract(data, file_name, "x")
    assert bench.files() == []


def test_text_that_shrinks_a_hundred_times_is_no_bomb(bench: Bench) -> None:
    text = b"".join(b"Ja , das ist wahr . %d\n" % (n // 500) for n in range(500_000))
    data = gzip.compress(text)
    assert len(text) / len(data) > 100
    bench.extract(data, "x.gz", "x")


def test_a_tar_header_of_absurd_size_is_refused(bench: Bench) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    data = info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)
    with pytest.raises(ArchiveError, match="a header of absurd size"):
        bench.extract(data, "a.tar", "x")


def test_a_tar_header_that_leads_backwards_is_refused(bench: Bench) -> None:
    first = tarfile.TarInfo("y").tobuf(tarfile.GNU_FORMAT)
    info = tarfile.TarInfo("z")
    info.size = -512  # tarfile itself would go round for ever
    with pytest.raises(ArchiveError, match="leads backwards"):
        bench.extract(first + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024), "a.tar", "x")


def test_too_many_members_are_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    data = zip_bytes([(f"y{n}", b"") for n in range(5)])
    with pytest.raises(ArchiveError, match="holds more than 3 files"):
        bench.extract(data, "a.zip", "x")


def test_a_wrong_sum_of_an_unpacked_file_names_it_and_leaves_nothing(bench: Bench) -> None:
    data = tar_bytes([file_member("x"), file_member("y", b"other")])
    sums = {"x": {"sha256": sha256(TEXT).hexdigest()}, "y": {"sha256": "0" * 64}}
    with pytest.raises(ArchiveError, match=r"y in a\.tgz has the wrong checksum: expected") as e:
        bench.extract(data, "a.tgz", "x", "y", sums=sums)
    assert f"sha256 {'0' * 64}, found {sha256(b'other').hexdigest()}" in str(e.value)
    assert bench.files() == []


def test_right_sums_of_every_kind_are_accepted(bench: Bench) -> None:
    sums = {"x": {"sha256": sha256(TEXT).hexdigest(), "md5": md5(TEXT).hexdigest()}}
    bench.extract(zip_bytes([("x", TEXT)]), "a.zip", "x", sums=sums)
    assert bench.files() == ["out/x"]


def test_a_failed_unpacking_leaves_an_older_file_as_it_was(bench: Bench) -> None:
    bench.out.mkdir()
    (bench.out / "x").write_bytes(b"older")
    with pytest.raises(ArchiveError):
        bench.extract(tar_bytes([file_member("x")]), "a.tgz", "x", "missing")
    assert (bench.out / "x").read_bytes() == b"older"


@pytest.mark.parametrize("file_name", ["a.tgz", "a.tar", "a.zip", "x.gz"])
@pytest.mark.parametrize("data", [b"", b"<html>404</html>", b"\x1f\x8b", bytes(2000)])
def test_something_else_than_an_archive_is_an_error(
    bench: Bench, file_name: str, data: bytes
) -> None:
    with pytest.raises(ArchiveError):
        bench.extract(data, file_name, "x")
    assert bench.files() == []


def test_the_checksum_of_gzip_is_verified_although_it_follows_the_last_file(bench: Bench) -> None:
    data = bytearray(tar_bytes([file_member("x")]))
    data[-5] ^= 1  # the last eight bytes are a CRC and a length
    with pytest.raises(ArchiveError, match="is broken"):
        bench.extract(bytes(data), "a.tgz", "x")
    assert bench.files() == []


VALID = {
    "a.tgz": tar_bytes([file_member("x", TEXT * 50), file_member("y" * 150)]),
    "a.tar": tar_bytes([file_member("x", TEXT * 50), file_member("y" * 150)], "w:"),
    "a.zip": zip_bytes([("x", TEXT * 50), ("y", b"")]),
    "lzma.zip": zip_bytes([("x", TEXT * 50)], zipfile.ZIP_LZMA),
    "bzip2.zip": zip_bytes([("x", TEXT * 50)], zipfile.ZIP_BZIP2),
    "x.gz": gzip.compress(TEXT * 50),
}


@pytest.mark.parametrize("file_name", ["lzma.zip", "bzip2.zip"])
def test_damage_in_a_compressed_member_is_told_with_the_archive(
    bench: Bench, file_name: str
) -> None:
    data = bytearray(VALID[file_name])
    data[40:60] = bytes(20)
    with pytest.raises(ArchiveError, match=rf"^{file_name} is broken: "):
        bench.extract(bytes(data), file_name, "x")
    assert bench.files() == []


def test_names_in_an_archive_cannot_steer_the_terminal(bench: Bench) -> None:
    link, file = odd_member("x", tarfile.SYMTYPE, "\x1b[2J/y"), file_member("text\x1b[8m.de")
    data = tar_bytes([link, file])
    with pytest.raises(ArchiveError, match=r"a link to \\x1b\[2J/y, not a file$"):
        bench.extract(data, "a.tgz", "x")
    with pytest.raises(ArchiveError, match=r"it has text\\x1b\[8m\.de"):
        bench.extract(data, "a.tgz", "text.de")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(sorted(VALID)),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=4),
    st.integers(0, 10_000),
)
def test_a_damaged_archive_gives_the_right_file_or_an_error_and_nothing_else(
    tmp_path: Path, file_name: str, changes: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(VALID[file_name])
    for position, value in changes:
        data[position % len(data)] = value
    bench = Bench(tmp_path)
    sums = {"x": {"sha256": sha256(TEXT * 50).hexdigest()}}
    (bench.out / "x").unlink(missing_ok=True)
    try:
        bench.extract(bytes(data[: len(data) - cut % 700]), file_name, "x", sums=sums)
    except SimtError:
        assert bench.files() == []
    else:
        assert (bench.out / "x").read_bytes() == TEXT * 50


@pytest.mark.parametrize(
    ("file_name", "data", "said"),
    [
        ("a.tgz", b"<!DOCTYPE html>", "not compressed by gzip as its name says"),
        ("a.zip", b"<!DOCTYPE html>", "not a zip archive as its name says"),
        ("train.en", b"\x1f\x8b\x08", "compressed by gzip, which its name does not say"),
    ],
)
def test_the_first_bytes_tell_a_file_of_the_wrong_kind(
    tmp_path: Path, file_name: str, data: bytes, said: str
) -> None:
    (tmp_path / "f").write_bytes(data)
    assert said in (wrong_kind(tmp_path / "f", file_name) or "")


RIGHT = VALID | {"train.en": TEXT, "e": b""}


@pytest.mark.parametrize("file_name", RIGHT)
def test_the_first_bytes_of_a_right_file_say_nothing(tmp_path: Path, file_name: str) -> None:
    (tmp_path / "f").write_bytes(RIGHT[file_name])
    assert wrong_kind(tmp_path / "f", file_name) is None
