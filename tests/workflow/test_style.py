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
    "snakemake-lint": ["snakemake", "--lint"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_code_passes(name: str) -> None:
    program, *arguments = CHECKS[name]
    done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
