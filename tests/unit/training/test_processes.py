"""Trainings as processes: killed, asked to stop, and several at once."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from simt.params import load_params
from simt.runs import Run, run_settings
from simt.settings import RunSettings

BIN = Path(sys.executable).parent
PARAMS = load_params(Path(__file__).parents[3] / "params.yaml", "tiny")

pytestmark = pytest.mark.slow


def settings_of(method: str, variant: str, **training: Any) -> RunSettings:
    settings = run_settings(PARAMS, Run("tiny-deen", method, variant, 1))
    changed = settings.training.model_dump(mode="json") | training
    return RunSettings.of(settings.model_dump(mode="json") | {"training": changed})


def command(settings: RunSettings, encoded: Path, to: Path, devices: int = 1) -> list[str]:
    options = ["--settings", settings.as_json(), "--corpus", str(encoded), "--to", str(to)]
    return [str(BIN / "simt"), "train", *options, "--devices", str(devices)]


def train(settings: RunSettings, encoded: Path, to: Path) -> None:
    done = subprocess.run(command(settings, encoded, to), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def updates_begun(to: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in to.glob("work/*/history.jsonl"))


def kill_after(settings: RunSettings, encoded: Path, to: Path, updates: int) -> int | None:
    """Start the training and end it when so many rows are written; None if it was too quick."""
    process = subprocess.Popen(command(settings, encoded, to), stderr=subprocess.DEVNULL)
    while process.poll() is None and updates_begun(to) < updates:
        time.sleep(0.002)
    process.kill()
    code = process.wait()
    return code if code < 0 else None


def weights(to: Path) -> bytes:
    return (to / "model.pt").read_bytes()


@pytest.mark.parametrize(("method", "variant"), [("sm2", "bi"), ("itst", "uni")])
def test_training_killed_at_random_moments_ends_with_the_same_bits(
    method: str, variant: str, encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of(method, variant, updates=60, snapshot_every_updates=7)
    train(settings, encoded, tmp_path / "whole")
    moments = random.Random(method).sample(range(2, 55), 3)
    codes = [kill_after(settings, encoded, tmp_path / "killed", n) for n in sorted(moments)]
    assert -signal.SIGKILL in codes
    train(settings, encoded, tmp_path / "killed")
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    left = sorted(path.name for path in (tmp_path / "killed").iterdir())
    assert left == ["history.jsonl", "model.pt", "run.json", "settings.json"]


def start_at_length(encoded: Path, to: Path, devices: int) -> subprocess.Popen[str]:
    """A training that is at work, and will not be done soon."""
    settings = settings_of("waitk", "k3", updates=4000, snapshot_every_updates=500)
    process = subprocess.Popen(
        command(settings, encoded, to, devices), stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and updates_begun(to) < 2:
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_training_asked_to_stop_asks_for_a_retry_and_goes_on(
    number: signal.Signals, devices: int, encoded: Path, tmp_path: Path
) -> None:
    process = start_at_length(encoded, tmp_path, devices)
    process.send_signal(number)
    said = process.communicate()[1]
    assert process.returncode == 75, said
    assert said.count("the same command resumes from there") == 1
    assert "Traceback" not in said
    assert not (tmp_path / "model.pt").exists()
    assert has_checkpoint(tmp_path)


def broken_pipe() -> int:
    """A pipe to write to whose reader has died."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def has_checkpoint(to: Path) -> bool:
    return any(to.glob("work/*/checkpoints/update-*.pt"))


def stop_once(settings: RunSettings, encoded: Path, to: Path) -> None:
    """Begin a training; when it resumes, it says so at once."""
    process = subprocess.Popen(command(settings, encoded, to), stderr=subprocess.DEVNULL)
    while process.poll() is None and updates_begun(to) < 2:
        time.sleep(0.01)
    process.terminate()
    assert process.wait() == 75


def test_training_whose_words_cannot_be_written_ends_with_its_model(
    encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("offline", "bi", updates=200, snapshot_every_updates=50)
    stop_once(settings, encoded, tmp_path / "log")
    program, *options = command(settings, encoded, tmp_path / "log")
    full = subprocess.run([program, "--log", "/dev/full", *options])
    stop_once(settings, encoded, tmp_path / "pipe")
    pipe = broken_pipe()
    broken = subprocess.run(command(settings, encoded, tmp_path / "pipe"), stdout=pipe, stderr=pipe)
    assert full.returncode == broken.returncode == 0
    assert weights(tmp_path / "log") == weights(tmp_path / "pipe")


@pytest.mark.parametrize("is_same", [True, False])
def test_training_goes_on_only_with_the_text_that_it_began_with(
    is_same: bool, encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("offline", "bi", updates=200, snapshot_every_updates=50)
    corpus, to = tmp_path / "bpe", tmp_path / "run"
    shutil.copytree(encoded, corpus)
    marker = corpus / "settings.json"
    made = json.loads(marker.read_text()) if marker.exists() else {"settings": {}, "made_from": {}}
    names = [path.name for path in corpus.iterdir() if path != marker]
    made["files"] = {name: {"bytes": 1, "sha256": "0" * 64} for name in names}
    marker.write_text(json.dumps(made))
    stop_once(settings, corpus, to)
    if not is_same:
        marker.write_text(marker.read_text().replace("0" * 64, "1" * 64))
    done = subprocess.run(command(settings, corpus, to), stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    assert ("it begins anew" in done.stderr) is not is_same
    record = json.loads((to / "run.json").read_text())
    assert (record["resumed_after_updates"] != []) is is_same


def test_training_without_a_reader_saves_before_it_asks_for_a_retry(
    encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("waitk", "k3", updates=4000, snapshot_every_updates=500)
    stop_once(settings, encoded, tmp_path)
    for checkpoint in tmp_path.glob("work/*/checkpoints/*"):
        checkpoint.unlink()
    begun = updates_begun(tmp_path)
    pipe = broken_pipe()
    process = subprocess.Popen(
        command(settings, encoded, tmp_path), stdout=pipe, stderr=pipe, start_new_session=True
    )
    while process.poll() is None and updates_begun(tmp_path) in (0, begun):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait() == 75
    assert has_checkpoint(tmp_path)


def test_training_stopped_before_its_first_update_asks_for_a_retry(
    encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("waitk", "k3", updates=4000)
    process = subprocess.Popen(command(settings, encoded, tmp_path), stderr=subprocess.DEVNULL)
    while not (tmp_path / "work" / "lock").exists():
        time.sleep(0.001)
    process.terminate()
    assert process.wait() == 75


def children(process: int) -> list[int]:
    return [
        int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_processes_of_a_training_end_with_the_one_that_started_them(
    encoded: Path, tmp_path: Path
) -> None:
    process = start_at_length(encoded, tmp_path, devices=2)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    time.sleep(1)
    assert len(workers) == 2
    assert not [worker for worker in workers if is_alive(worker)]


def test_training_whose_process_is_killed_says_so(encoded: Path, tmp_path: Path) -> None:
    process = start_at_length(encoded, tmp_path, devices=2)
    os.kill(children(process.pid)[1], signal.SIGKILL)
    said = process.communicate()[1]
    assert process.returncode == 1
    assert "process 1 of 2 was ended by SIGKILL" in said
    assert "Traceback" not in said


def test_error_of_several_processes_is_a_message_not_a_traceback(
    encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("waitk", "k3", updates=20, peak_lr=1e30)
    failed = command(settings, encoded, tmp_path, devices=2)
    done = subprocess.run(failed, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Lower training.peak_lr" in done.stderr
    assert "Traceback" not in done.stderr


# What befalls the processes of a launcher, and not the launcher: no such GPU, or no memory.
ENDS_AT_ONCE = 'import os\nif "RANK" in os.environ: os._exit(3)\n'


def test_processes_that_fail_are_a_failure_beside_an_earlier_result(
    encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("waitk", "k3", updates=4, snapshot_every_updates=2)
    train(settings, encoded, tmp_path / "run")
    (tmp_path / "sitecustomize.py").write_text(ENDS_AT_ONCE)
    done = subprocess.run(
        command(settings, encoded, tmp_path / "run", devices=2),
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode
    assert "done:" not in done.stdout


def test_second_training_of_a_run_waits_for_the_first_and_leaves_its_results(
    encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of("offline", "bi", updates=200, snapshot_every_updates=50)
    train(settings, encoded, tmp_path / "alone")
    first = subprocess.Popen(command(settings, encoded, tmp_path / "both"))
    while first.poll() is None and updates_begun(tmp_path / "both") < 2:
        time.sleep(0.01)
    first.send_signal(signal.SIGSTOP)  # until the second one has seen it
    with subprocess.Popen(
        command(settings, encoded, tmp_path / "both"), stderr=subprocess.PIPE, text=True
    ) as second:
        assert second.stderr is not None
        assert any("waiting for it" in line for line in second.stderr)
        first.send_signal(signal.SIGCONT)
        second.communicate()
    assert first.wait() == second.returncode == 0
    assert curve(tmp_path / "both") == curve(tmp_path / "alone")
    assert not (tmp_path / "both" / "work").exists()


def curve(to: Path) -> list[float]:
    lines = (to / "history.jsonl").read_text().splitlines()
    return [row["loss"] for row in map(json.loads, lines) if "loss" in row]


@pytest.mark.parametrize(("method", "variant"), [("offline", "bi"), ("sm2", "uni")])
def test_two_processes_have_the_loss_curve_of_one(
    method: str, variant: str, encoded: Path, tmp_path: Path
) -> None:
    settings = settings_of(method, variant, updates=10, batch_tokens=800, micro_tokens=200)
    train(settings, encoded, tmp_path / "one")
    both = command(settings, encoded, tmp_path / "two", devices=2)
    done = subprocess.run(both, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert curve(tmp_path / "two") == pytest.approx(curve(tmp_path / "one"), rel=1e-4)
    assert json.loads((tmp_path / "two" / "run.json").read_text())["devices"] == 2


def test_processes_find_each_other_on_a_machine_that_does_not_know_its_name(
    encoded: Path, tmp_path: Path
) -> None:
    named = ["unshare", "--uts", "sh", "-c", 'hostname node17.invalid && exec "$@"', "sh"]
    if subprocess.run([*named, "true"], capture_output=True).returncode:
        pytest.skip("a process may not have a host name of its own here")
    settings = settings_of("offline", "bi", updates=4)
    both = [*named, *command(settings, encoded, tmp_path / "run", devices=2)]
    done = subprocess.run(both, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# What a client of NFS does with a file that is removed while it is open.
SILLY_RENAME = """
import os
unlink = os.unlink
def rename(path, *, dir_fd=None):
    if os.path.basename(path) != "lock":
        return unlink(path, dir_fd=dir_fd)
    renamed = os.path.join(os.path.dirname(path), ".nfs0001")
    os.rename(path, renamed, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
os.unlink = rename
"""


@pytest.mark.parametrize("devices", [1, 2])
def test_training_ends_well_where_an_open_file_keeps_its_folder(
    devices: int, encoded: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SILLY_RENAME)
    settings = settings_of("waitk", "k3", updates=4, snapshot_every_updates=2)
    done = subprocess.run(
        command(settings, encoded, tmp_path / "run", devices),
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "run/work").iterdir()] == [".nfs0001"]
    assert (tmp_path / "run/settings.json").exists()
