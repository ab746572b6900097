"""The graph: what a study plans, and what a change plans again."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what Snakemake reads, with no results."""
    for name in ("Snakefile", "params.yaml", "environment.yml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    return tmp_path


def snakemake(project: Path, *arguments: str) -> str:
    command = [BIN / "snakemake", "--profile", "workflow/profiles/local", *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def planned(project: Path, *arguments: str) -> Counter[str]:
    """How often each rule would run."""
    said = snakemake(project, "-n", *arguments)
    return Counter(re.findall(r"^(?:local)?rule (\w+):$", said, flags=re.MULTILINE))


def change(project: Path, path: str, value: object) -> None:
    file = project / "params.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    *parents, last = path.split("/")
    entry = values
    for key in parents:
        entry = entry[key]
    entry[last] = value
    file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def test_paper_study_plans_87_trainings_of_four_pairs(project: Path) -> None:
    plan = planned(project, "--config", "study=paper", "--", "runs")
    assert (plan["fetch"], plan["prepare"], plan["bpe"], plan["train"]) == (4, 4, 4, 87)


def test_mistake_in_params_is_told_without_a_traceback(project: Path) -> None:
    change(project, "training/dropout", 3)
    done = subprocess.run(
        [BIN / "snakemake", "-n"], cwd=project, capture_output=True, text=True
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "training.dropout: 3: input should be less than 1" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_corpora_are_made_once_and_again_only_for_what_changed(project: Path) -> None:
    corpora = ("--config", "study=tiny", "--", "corpora")
    snakemake(project, *corpora)
    assert not planned(project, *corpora)
    change(project, "bpe/joint-toy", {"joint": True, "source_merges": 50, "target_merges": 50,
                                      "min_pair_count": 2})  # fmt: skip
    assert planned(project, *corpora) == {"bpe": 1, "corpora": 1}
    change(project, "text/max_words", 20)
    assert planned(project, *corpora) == {"prepare": 1, "bpe": 1, "corpora": 1}
    change(project, "pairs/tiny-deen/toy/seed", 2)
    assert planned(project, *corpora) == {"fetch": 1, "prepare": 1, "bpe": 1, "corpora": 1}
