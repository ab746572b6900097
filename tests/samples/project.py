"""The project in a folder of its own, and Snakemake in it."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LOCAL = ("snakemake", "--profile", "workflow/profiles/local")
TINY = ("--config", "study=tiny")


def copy_project(to: Path) -> Path:
    """A copy of what Snakemake reads, with no results."""
    for name in ("Snakefile", "params.yaml", "environment.yml"):
        shutil.copy(ROOT / name, to)
    shutil.copytree(ROOT / "workflow", to / "workflow")
    (to / "slurm").symlink_to((ROOT / "slurm").readlink())
    return to


def run(folder: Path, *command: str, environment: Mapping[str, str] | None = None) -> str:
    """All that a command prints; it must succeed."""
    done = subprocess.run(
        [BIN / command[0], *command[1:]],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def refusal(project: Path) -> str:
    """What Snakemake says of a project that it does not plan."""
    done = subprocess.run([BIN / "snakemake", "-n"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def contents(results: Path, pattern: str) -> dict[str, bytes]:
    """The files whose names fit, by their paths."""
    return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob(pattern)}


def planned(project: Path, *arguments: str) -> Counter[str]:
    """How often each rule would run."""
    said = run(project, *LOCAL, "-n", *arguments)
    return Counter(re.findall(r"^(?:local)?rule (\w+):$", said, flags=re.MULTILINE))


def planned_jobs(project: Path, *arguments: str) -> set[tuple[str, str]]:
    """Every job that would run: its rule, and the values of its wildcards with slashes."""
    said = run(project, *LOCAL, "-n", *arguments)
    found = set()
    for block in said.split("\n["):  # each job begins with the time
        rule = re.search(r"^(?:local)?rule (\w+):$", block, flags=re.MULTILINE)
        wildcards = re.search(r"^    wildcards: (.+)$", block, flags=re.MULTILINE)
        if rule and wildcards:
            values = [pair.split("=")[1] for pair in wildcards[1].split(", ")]
            found.add((rule[1], "/".join(values)))
    return found


def change(project: Path, path: str, value: object) -> None:
    """Set one value of params.yaml, by its keys with slashes between them."""
    file = project / "params.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    *parents, last = path.split("/")
    entry = values
    for key in parents:
        entry = entry[key]
    entry[last] = value
    file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
