"""Bytes counted and summed, and a full disk explained with numbers."""

import errno
import io
from collections import namedtuple
from pathlib import Path

import pytest

from simt.corpus.storage import (
    DiskFullError,
    copy_bytes,
    full_disk_explained,
    require_space,
    tally_of,
)

Usage = namedtuple("Usage", "total used free")


def test_a_tally_has_the_length_and_the_sums_of_what_was_copied(tmp_path: Path) -> None:
    sink = io.BytesIO()
    tally = copy_bytes(io.BytesIO(b"abc"), sink, "sha256", "md5")
    assert (sink.getvalue(), tally.bytes) == (b"abc", 3)
    # RFC 1321, appendix A.5, and FIPS 180-2, appendix B.1.
    assert tally.sum("md5") == "900150983cd24fb0d6963f7d28e17f72"
    assert tally.sum("sha256").startswith("ba7816bf8f01cfea414140de5dae2223")


def test_a_tally_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert tally_of(tmp_path / "f", "md5").sum("md5") == "900150983cd24fb0d6963f7d28e17f72"


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "simt.corpus.storage.shutil.disk_usage", lambda _: Usage(10_000, 8_766, 1_234)
    )
    require_space(tmp_path / "new" / "file", 1_234)
    with pytest.raises(DiskFullError, match="needs 5,000 bytes, 1,234 bytes are free") as caught:
        require_space(tmp_path / "new" / "file", 5_000)
    assert str(tmp_path / "new" / "file") in str(caught.value)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_disk_that_fills_up_while_writing_is_told_with_numbers(tmp_path: Path) -> None:
    with (
        pytest.raises(DiskFullError, match=r"no space left for .*file: it needs 5 bytes, [\d,]+ b"),
        full_disk_explained(tmp_path / "file", 5),
        Path("/dev/full").open("wb") as sink,
    ):
        copy_bytes(io.BytesIO(b"12345"), sink, "sha256")


def test_other_troubles_with_a_disk_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), full_disk_explained(tmp_path, None):
        raise PermissionError(errno.EACCES, "no")
