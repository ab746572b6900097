"""One process trains a run at a time, as far as the file system can see to that."""

from pathlib import Path

import pytest

from simt.training import lock


def test_file_system_without_locks_is_told(
    tmp_path: Path, no_locks: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with lock.only_one(tmp_path / "lock") as has_waited:
        assert not has_waited
    assert capsys.readouterr().err == (
        f"simt: {tmp_path} is on a file system without locks: nothing keeps another process from "
        "the same training\n"
    )
