"""The project in a folder of its own, and Snakemake in it."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
LOCAL = ("snakemake", "--profile", "workflow/profiles/local")
TINY = ("--config", "study=tiny")
RULES = (
    "fetch", "prepare", "bpe", "estimator", "train", "decode", "confidences", "states", "score",
    "figure", "table", "curves", "claims", "report",
)  # fmt: skip
_OF_EACH_PAIR = ("prepare", "bpe", "estimator")


def name_of(rule: str) -> str:
    """What Snakemake calls a rule in the tiny study: some have one for each pair."""
    return f"{rule}_tiny-deen" if rule in _OF_EACH_PAIR else rule


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


def refusal(project: Path, *options: str) -> str:
    """What Snakemake says of a project that it does not plan."""
    command = [BIN / "snakemake", "-n", *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def contents(results: Path, pattern: str) -> dict[str, bytes]:
    """The files whose names fit, by their paths."""
    return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob(pattern)}


class Job(NamedTuple):
    """A job that Snakemake would run."""

    rule: str
    name: str  # its pair, or the values of its wildcards with slashes
    inputs: frozenset[str]
    outputs: frozenset[str]
    reason: str
    command: str


def jobs(project: Path, *arguments: str) -> list[Job]:
    """Every job that would run; of ``bpe_tiny-deen``, the rule is ``bpe``."""
    said = run(project, *LOCAL, "-n", "--printshellcmds", *arguments)
    found = []
    for block in re.split(r"^\[.+\]$", said, flags=re.MULTILINE):  # each begins with the time
        rule = re.search(r"^(?:local)?rule ([a-z]+)(?:_(\S+))?:$", block, flags=re.MULTILINE)
        if rule:
            values = re.findall(r"=([^,]+)", _line(block, "    wildcards"))
            found.append(
                Job(
                    rule[1], rule[2] or "/".join(values),
                    _files(block, "input"), _files(block, "output"),
                    _line(block, "    reason"), _line(block, "Shell command"),
                )
            )  # fmt: skip
    return found


def _line(block: str, key: str) -> str:
    found = re.search(rf"^{key}: (.+)$", block, flags=re.MULTILINE)
    return found[1] if found else ""


def _files(block: str, key: str) -> frozenset[str]:
    return frozenset(re.findall(r"results/[^\s,]+", _line(block, f"    {key}")))


def planned(project: Path, *arguments: str) -> Counter[str]:
    """How often each rule would run."""
    return Counter(job.rule for job in jobs(project, *arguments))


def planned_jobs(project: Path, *arguments: str) -> set[tuple[str, str]]:
    """The rules of the jobs that would run, and what for."""
    return {(job.rule, job.name) for job in jobs(project, *arguments) if job.name}


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
