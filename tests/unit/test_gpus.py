"""GPUs of a workstation: a program that names two of them stands in for the driver's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from simt.gpus import claim_gpus, gpus_here
from simt.training.devices import Devices

HOLD = """
import os, sys
from simt.gpus import take_gpus

take_gpus(1)
print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def workstation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho GPU-one\necho GPU-two\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def start_job() -> tuple[subprocess.Popen[str], str]:
    """A job that holds one GPU until it is told to end, and which one that is."""
    job = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert job.stdout is not None
    return job, job.stdout.readline().strip()


def test_jobs_side_by_side_take_different_gpus_and_give_them_back(workstation: None) -> None:
    first, of_first = start_job()
    second, of_second = start_job()
    assert (of_first, of_second) == ("GPU-one", "GPU-two")
    first.kill()
    first.communicate()
    third, of_third = start_job()
    assert of_third == "GPU-one"
    for job in (second, third):
        job.communicate("")


def test_gpus_are_shared_where_too_few_are_free(workstation: None) -> None:
    job, taken = start_job()
    assert claim_gpus(2) == ["GPU-two", taken]
    job.communicate("")


@pytest.mark.parametrize(
    ("visible", "named"),
    [("1", ["1"]), ("3, GPU-one,-1,2", ["3", "GPU-one"]), ("", []), ("NoDevFiles", [])],
)
def test_where_someone_has_said_which_gpus_are_visible_there_are_no_others(
    visible: str, named: list[str], workstation: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_here() == named


def test_jobs_side_by_side_take_different_gpus_of_those_that_are_visible(
    workstation: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,MIG-GPU-one/1/0")
    jobs = [start_job() for _ in range(3)]
    assert [taken for _, taken in jobs] == ["5", "MIG-GPU-one/1/0", "5"]  # the last one shares
    for job, _ in jobs:
        job.communicate("")


def test_gpus_that_torch_does_not_see_are_told(
    workstation: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert Devices.connect(rank=0, world=1, local_rank=0).device.type == "cpu"
    assert "does not see them: it computes on the CPU" in capsys.readouterr().err
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # the CPU is meant
    Devices.connect(rank=0, world=1, local_rank=0)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("visible", [None, "0"])
def test_machine_without_a_driver_has_no_gpu(
    visible: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus_here() == claim_gpus(1) == []
