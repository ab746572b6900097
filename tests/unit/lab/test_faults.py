"""What fault injection takes for the same, and for whole."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from simt.errors import SimtError
from simt.lab.faults import (
    Fault,
    Hit,
    StudyRun,
    choose_faults,
    differences,
    half_written,
    inject,
    limit_files,
    limit_memory,
    run_with_faults,
)


def study(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / "results" / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "results"


def test_other_number_is_a_difference(tmp_path: Path) -> None:
    baseline = study(tmp_path / "baseline", scores__json='{"bleu": 30.1}', same__csv="1,2\n")
    disturbed = study(tmp_path / "disturbed", scores__json='{"bleu": 30.2}', same__csv="1,2\n")
    assert differences(baseline, disturbed) == ["scores.json: differs"]


def test_measured_time_is_no_difference(tmp_path: Path) -> None:
    rows = [{"update": 1, "loss": 2.0, "seconds": s, "tokens_per_s": 9 * s} for s in (1.0, 2.0)]
    baseline, disturbed = (
        study(tmp_path / name, history__jsonl=json.dumps(row) + "\n")
        for name, row in zip(("baseline", "disturbed"), rows, strict=True)
    )
    assert differences(baseline, disturbed) == []


def test_file_that_only_one_has_is_a_difference(tmp_path: Path) -> None:
    baseline = study(tmp_path / "baseline", model__pt=b"", settings__json="{}")
    disturbed = study(tmp_path / "disturbed", model__pt=b"")
    assert differences(baseline, disturbed) == ["settings.json: only in one of the two"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scores.json", '{"bleu": 30'),
        ("instances.jsonl", '{"index": 0}\n{"ind'),
        ("model.pt", b"PK\x03\x04"),
        ("figure.pdf", b"%PDF-1.4 and no end"),
        ("figure.png", b"\x89PNG\r\n"),
    ],
    ids=lambda value: value if str(value).isidentifier() else None,
)
def test_file_that_breaks_off_is_found(name: str, content: str | bytes, tmp_path: Path) -> None:
    study(tmp_path, **{name: content})
    assert half_written(tmp_path) == [f"{tmp_path / 'results' / name}: breaks off"]


def test_temporary_files_and_what_can_be_resumed_do_not_count(tmp_path: Path) -> None:
    study(tmp_path, **{".scores.json.x.tmp": "{", "runs/work/history.jsonl": '{"upd'})
    assert half_written(tmp_path) == []


def test_every_kind_of_fault_is_chosen_as_often() -> None:
    faults = choose_faults("slurm", seed=3, number=10)
    assert sorted(faults) == sorted(
        ["SIGKILL", "SIGTERM", "Snakemake killed", "scancel", "write error"] * 2
    )
    assert "scancel" not in choose_faults("workflow/profiles/local", seed=3, number=40)


class Snakemake:
    """One whose study is over when it has been looked at so many times."""

    returncode = 0

    def __init__(self, looks: int) -> None:
        self._looks = looks

    def poll(self) -> int | None:
        self._looks -= 1
        return None if self._looks >= 0 else 0


def test_fault_without_a_victim_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = StudyRun(tmp_path, "tiny", "slurm")
    monkeypatch.setattr(run, "start", lambda: Snakemake(looks=4))
    monkeypatch.setattr("simt.lab.faults.PAUSE_S", (0.0, 0.0))
    monkeypatch.setattr(
        "simt.lab.faults.inject", lambda fault, *_: Hit(fault) if fault == "scancel" else None
    )
    faults: list[Fault] = ["SIGKILL", "scancel", "scancel"]
    assert run_with_faults(run, faults, Random(1)) == (["scancel", "scancel"], 1)
    assert faults == ["SIGKILL"]


def test_study_does_not_run_where_one_ran_before(tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="already exists"):
        StudyRun(tmp_path, "tiny", "slurm").copy_project(tmp_path)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="limits of other processes: Linux only")
def test_write_error_breaks_a_write_off_in_the_middle(tmp_path: Path) -> None:
    code = "import sys; sys.stdin.read(1); print(open(sys.argv[1], 'wb', 0).write(bytes(5000)))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "file"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    limit_files(process.pid, 1234)
    assert process.communicate(b"x")[0] == b"1234\n"
    assert (tmp_path / "file").stat().st_size == 1234


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="limits of other processes: Linux only")
def test_process_without_spare_memory_gets_no_more() -> None:
    code = "import sys; print('ready', flush=True); sys.stdin.read(1); bytearray(1 << 26)"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    limit_memory(process.pid)
    assert b"MemoryError" in process.communicate(b"x")[1]


def test_process_that_is_stopped_goes_on_when_the_fault_has_passed(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    class Run(StudyRun):
        def jobs(self) -> list[int]:
            return [process.pid]

    def is_stopped() -> bool:
        state = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").split()[2]
        return state == "T"

    hit = inject("stopped process", Run(tmp_path, "tiny", "local"), process, Random(1))
    assert hit is not None
    wait_until(is_stopped)
    hit.undo()
    wait_until(lambda: not is_stopped())
    process.kill()
    process.wait()


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(1000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("does not come true")
