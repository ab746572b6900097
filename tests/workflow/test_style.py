"""The checks that read code instead of running it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

CHECKS = {
    "ruff": ["ruff", "check", "."],
    "ruff-format": ["ruff", "format", "--check", "."],
    "mypy": ["mypy"],
    "import-linter": ["lint-imports"],
    "snakefmt": ["snakefmt", "--check", "Snakefile", "workflow"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_code_passes(name: str) -> None:
    program, *arguments = CHECKS[name]
    done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_how_pieces_are_spelt_stands_in_one_file() -> None:
    sources = (ROOT / "src" / "simt").rglob("*.py")
    assert [path.name for path in sources if "@@" in path.read_text()] == ["pieces.py"]


def test_workflow_passes_snakemakes_own_lint() -> None:
    done = subprocess.run([BIN / "snakemake", "--lint"], cwd=ROOT, capture_output=True, text=True)
    said = done.stdout + done.stderr
    found = {line.strip(" *") for line in said.splitlines() if line.startswith("    * ")}
    assert "Lints for" in said
    # Steps run in the environment that Snakemake itself is installed in, beside the package.
    assert found == {"Specify a conda environment or container for each rule.:"}
