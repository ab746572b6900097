"""Where something cannot be installed its tests are skipped, but in CI nothing is."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
outside_and_in_ci = pytest.mark.parametrize(("ci", "goes_on"), [("", True), ("true", False)])


def command(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@outside_and_in_ci
def test_ci_ends_where_packages_cannot_be_installed(tmp_path: Path, ci: str, goes_on: bool) -> None:
    command(tmp_path, "id", "echo 0")
    command(tmp_path, "apt-get", "exit 100")
    command(tmp_path, "make", "echo tested")
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [ROOT / ".ci/run"], env={"PATH": path, "CI": ci}, capture_output=True, text=True
    )
    assert (done.returncode == 0, "tested" in done.stdout) == (goes_on, goes_on), done
    assert "not installable" in done.stderr


@outside_and_in_ci
def test_make_ends_where_simuleval_cannot_be_installed_in_ci(
    tmp_path: Path, ci: str, goes_on: bool
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("tests/simuleval.txt", "pyproject.toml", "constraints.txt", ".venv/.installed"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".venv/bin").mkdir()
    command(tmp_path / ".venv/bin", "python", "exit 1")
    done = subprocess.run(
        ["make", ".simuleval/.installed"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "CI": ci},
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == goes_on, done
    assert "SimulEval and OmniSTEval could not be installed" in done.stderr
    assert not (tmp_path / ".simuleval/.installed").exists()
