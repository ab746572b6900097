"""What a command used, beside its log."""

import json
import subprocess
import sys
from pathlib import Path

from simt.usage import read_usage, usage_file, usage_recorded


def test_usage_of_a_process_is_what_it_used(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    code = (
        "import time; from pathlib import Path; from simt.usage import usage_recorded\n"
        f"with usage_recorded(Path({str(log)!r})):\n"
        "    held = bytearray(200 << 20); time.sleep(0.5); sum(range(10**7))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    (usage,) = read_usage(log)
    assert usage.seconds >= 0.5
    assert 0 < usage.cpu_seconds <= usage.seconds + 0.1
    assert 200 <= usage.peak_memory_mb < 1000
    assert usage.is_whole


def test_usage_of_several_attempts_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    for _ in range(2):
        with usage_recorded(log):
            pass
    assert len(read_usage(log)) == 2


def test_failed_command_has_used_something_too(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "job.log"
    failed = [Path(sys.executable).parent / "simt", "--log", log, "plan"]
    assert subprocess.run(failed, cwd=tmp_path).returncode == 1  # there is no params.yaml
    (usage,) = read_usage(log)
    assert not usage.is_whole
    assert usage.cpu_seconds > 0


def test_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    with usage_recorded(log):
        pass
    whole = usage_file(log).read_text()
    usage_file(log).write_text(whole + json.dumps({"started": 1})[:-3])
    assert len(read_usage(log)) == 1


def test_usage_that_cannot_be_written_fails_nothing(tmp_path: Path) -> None:
    usage_file(tmp_path / "job.log").mkdir()
    with usage_recorded(tmp_path / "job.log"):
        pass
    assert read_usage(tmp_path / "job.log") == []
