"""One rehearsal of a study at a time, as far as the file system can see to that."""

from pathlib import Path

import pytest

from simt import rehearsal


def test_rehearsal_goes_on_where_a_file_system_has_no_locks_and_says_so(
    tmp_path: Path, no_locks: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with rehearsal._only_one(tmp_path / "lock") as lock:
        assert lock > 0
    assert capsys.readouterr().err == (
        f"simt: {tmp_path} is on a file system without locks: nothing keeps another rehearsal from "
        "the same folder\n"
    )
