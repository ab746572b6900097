"""What a run leaves behind when it ends early, and what it takes away when it resumes."""

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from simt.cli import main
from simt.params import load_params
from simt.record import STOP_FILE, work_folder
from simt.runs import Run, run_settings
from simt.settings import Precision, RunSettings
from simt.training import run
from simt.training.devices import Devices
from simt.training.history import History
from simt.training.loop import TrainingStopped

PARAMS = load_params(Path(__file__).parents[3] / "params.yaml", "tiny")
ALONE = Devices(rank=0, world=1, device=torch.device("cpu"))


def short_settings(**training: Any) -> RunSettings:
    settings = run_settings(PARAMS, Run("tiny-deen", "offline", "bi", 1))
    changed = settings.training.model_dump(mode="json") | {"updates": 2} | training
    return RunSettings.of(settings.model_dump(mode="json") | {"training": changed})


def train(encoded: Path, to: Path, devices: Devices = ALONE, updates: int = 2) -> None:
    settings = short_settings(updates=updates)
    run.train_run(settings, encoded, None, to, devices, checkpoint_minutes=10)


def why(to: Path) -> str:
    note = work_folder(short_settings(), to) / "failure.json"
    return str(json.loads(note.read_text())["why"])


def disk_is_full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("writes", ["save_model", "atomic_file", "_report"])
def test_failure_to_write_the_result_is_noted(
    writes: str, encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, writes, disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        train(encoded, tmp_path)
    assert "No space left on device" in why(tmp_path)


def test_failure_that_follows_from_another_does_not_change_its_note(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = work_folder(short_settings(), tmp_path)
    work.mkdir(parents=True)
    (work / "failure.json").write_text('{"why": "the first process has no space left"}')
    monkeypatch.setattr(run, "open_training", disk_is_full)
    with pytest.raises(OSError, match="No space left"):
        train(encoded, tmp_path, Devices(rank=1, world=1, device=torch.device("cpu")))
    assert why(tmp_path) == "the first process has no space left"


def test_note_of_an_earlier_failure_is_gone_after_a_training(encoded: Path, tmp_path: Path) -> None:
    work = work_folder(short_settings(), tmp_path)
    work.mkdir(parents=True)
    (work / "failure.json").write_text('{"why": "the power went off"}')
    train(encoded, tmp_path)
    assert not (work / "failure.json").exists()


def ask_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def press_ctrl_c() -> None:
    raise KeyboardInterrupt


def ask_to_stop_outside_of_the_updates() -> None:
    raise SystemExit(75)


def at_the_first_row(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    add = History.add

    def add_and_more(self: History, update: int, values: dict[str, float]) -> None:
        add(self, update, values)
        if update == 1:
            happens()

    monkeypatch.setattr(History, "add", add_and_more)


@pytest.mark.parametrize(
    ("happens", "ends_with"),
    [
        (ask_to_stop, TrainingStopped),
        (press_ctrl_c, KeyboardInterrupt),
        (ask_to_stop_outside_of_the_updates, SystemExit),
    ],
)
def test_stop_is_noted_until_the_training_resumes(
    happens: Callable[[], None],
    ends_with: type[BaseException],
    encoded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    note = work_folder(short_settings(updates=3), tmp_path) / STOP_FILE
    at_the_first_row(monkeypatch, happens)
    with pytest.raises(ends_with):
        train(encoded, tmp_path, updates=3)
    assert note.exists()
    monkeypatch.undo()
    train(encoded, tmp_path, updates=3)
    assert not note.exists()


def test_stop_that_cannot_be_noted_is_still_a_stop(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_the_first_row(monkeypatch, ask_to_stop)
    monkeypatch.setattr(Path, "touch", disk_is_full)
    with pytest.raises(TrainingStopped, match="saved after update 2"):
        train(encoded, tmp_path, updates=3)


def test_leftovers_of_a_killed_save_are_taken_away(encoded: Path, tmp_path: Path) -> None:
    work = work_folder(short_settings(), tmp_path)
    left = [
        work / "checkpoints" / ".update-1.pt.x1y2.tmp",
        work / "snapshots" / ".update-1.pt.x3y4.tmp",
        work / ".history.jsonl.x5y6.tmp",
        tmp_path / ".model.pt.x7y8.tmp",
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half of it")
    train(encoded, tmp_path)
    assert not [path for path in left if path.exists()]


def test_full_disk_is_a_message_not_a_traceback(
    encoded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(History, "add", disk_is_full)
    options = ["--settings", short_settings().as_json(), "--corpus", str(encoded)]
    assert main(["train", *options, "--to", str(tmp_path)]) == 1
    assert f"simt: cannot write {tmp_path}: No space left on device. What" in (
        capsys.readouterr().err
    )


def test_variables_of_a_foreign_launcher_do_not_make_a_training_wait_for_others(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    options = ["--settings", short_settings().as_json(), "--corpus", str(encoded)]
    assert main(["train", *options, "--to", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "run.json").read_text())["devices"] == 1


def test_training_leaves_the_other_processes_when_all_is_written(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[bool] = []
    is_there = (tmp_path / "settings.json").exists
    monkeypatch.setattr(Devices, "disconnect", lambda self: there.append(is_there()))
    options = ["--settings", short_settings().as_json(), "--corpus", str(encoded)]
    assert main(["train", *options, "--to", str(tmp_path)]) == 0
    assert there == [True]


def pretend_gpu(monkeypatch: pytest.MonkeyPatch, has_bf16: bool) -> None:
    """A GPU that computes in bf16 itself, or one that would only emulate it."""
    monkeypatch.setattr(
        torch.cuda,
        "is_bf16_supported",
        lambda including_emulation=True: has_bf16 or including_emulation,
    )


@pytest.mark.parametrize(
    ("wanted", "on_new_gpu", "on_new_cpu"),
    [
        ("fp32", "fp32", "fp32"),
        ("bf16", "bf16", "fp32"),
        ("bf16-products", "bf16", "bf16-products"),
    ],
)
def test_precision_is_what_the_device_has(
    wanted: Precision,
    on_new_gpu: str,
    on_new_cpu: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu, gpu = (Devices(0, 1, torch.device(kind)) for kind in ("cpu", "cuda"))
    pretend_gpu(monkeypatch, has_bf16=True)
    assert gpu.precision(wanted) == on_new_gpu
    pretend_gpu(monkeypatch, has_bf16=False)
    assert gpu.precision(wanted) == "fp32"
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True})
    assert cpu.precision(wanted) == on_new_cpu
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert cpu.precision(wanted) == "fp32"


def test_record_of_a_run_has_the_precision_that_an_old_gpu_has_trained_in(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = short_settings(precision="bf16")
    training = run.open_training(settings, encoded, None, tmp_path, ALONE, checkpoint_minutes=10)
    training.devices = Devices(rank=0, world=1, device=torch.device("cuda"))
    pretend_gpu(monkeypatch, has_bf16=False)
    record = run._report(settings, training, validation={})
    assert (record["device"], record["precision"]) == ("cuda", "fp32")
