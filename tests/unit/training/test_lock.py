"""One process trains a run at a time, as far as the file system can see to that."""

import errno
import fcntl
from pathlib import Path

import pytest

from simt.training import lock


def test_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with lock.only_one(tmp_path / "lock") as has_waited:
        assert not has_waited
    assert capsys.readouterr().err == (
        f"simt: {tmp_path} is on a file system without locks: nothing keeps another process from "
        "the same training\n"
    )
