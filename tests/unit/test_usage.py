"""What a command used, beside its log."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simt import usage
from simt.usage import note_gpu_memory, read_usage, usage_file, usage_recorded


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


def test_one_of_several_processes_leaves_it_to_the_one_that_has_started_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "job.log"
    monkeypatch.setattr("simt.usage._NOTED", [])
    with usage_recorded(log):
        monkeypatch.setenv("SIMT_LAUNCHER", "1")  # from here on, as for those that it starts
        with usage_recorded(log):
            pass
        note_gpu_memory(300)
    (found,) = read_usage(log)
    assert found.gpu_memory_mb == 300


@pytest.mark.parametrize(("device", "noted"), [("cuda", 700), ("cpu", 0)])
def test_launcher_of_a_training_knows_what_its_processes_took_of_their_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, noted: int
) -> None:
    from simt.training import job, launch

    rows = [{"update": 1, "peak_memory_mb": 700}, {"update": 1, "valid_loss": 5.0}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "history.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps({"device": device}), encoding="utf-8")
    monkeypatch.setenv("SIMT_LAUNCHER", "")  # so that it is as before in the end
    monkeypatch.setattr("simt.usage._NOTED", [])
    monkeypatch.setattr(launch, "run_on_devices", lambda devices, command: 0)
    given = job.Job("{}", tmp_path, None, tmp_path, threads=1, devices=4, checkpoint_minutes=1.0)
    job._train_on_devices(given)
    assert [noted] == usage._NOTED


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
