"""GPUs of a workstation: a program that names two of them stands in for the driver's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simt.gpus import claim_gpus, gpus_here

HOLD = "from simt.gpus import claim_gpus; print(*claim_gpus(1), flush=True); input()"


@pytest.fixture
def workstation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho GPU-one\necho GPU-two\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


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


def test_machine_without_a_driver_has_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert gpus_here() == claim_gpus(1) == []
