"""Snakemake asks for what only the user can provide before it downloads anything."""

import os
import subprocess
from pathlib import Path

from tests.samples.project import BIN, change, run

PAPER = ("--config", "study=paper")


def start(folder: Path, *arguments: str) -> str:
    """What Snakemake says that does not get to work."""
    done = subprocess.run(
        [BIN / "snakemake", "-c1", *PAPER, *arguments],
        cwd=folder, env=_without_corpora(), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def _without_corpora() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "SIMT_CORPORA"}


def test_study_stops_before_its_first_download(project: Path) -> None:
    told = start(project, "--", "corpora")
    assert "nothing has been downloaded yet" in told
    assert "https://www.ldc.upenn.edu" in told
    assert "RWTH German-English gold word alignments" in told
    assert not (project / "results").exists()
    assert not (project / "logs").exists()


def test_dry_run_warns_and_plans(project: Path) -> None:
    told = run(project, "snakemake", "-n", *PAPER, "--", "corpora", environment=_without_corpora())
    assert "Files that only you can provide are missing (nist-zhen, wmt15-deen)" in told
    assert "rule fetch:" in told


def test_other_pairs_of_the_study_are_fetched_nevertheless(project: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("train.en", "train.vi"):
        (own / name).write_text("x\n")
    part = {"reader": "plain", "source": "mine/train.en", "targets": ["mine/train.vi"],
            "encoding": "utf-8", "is_dirty": False}  # fmt: skip
    change(project, "pairs/iwslt15-envi/downloads", {})
    change(project, "pairs/iwslt15-envi/local", {"mine": {"folder": "own"}})
    change(project, "pairs/iwslt15-envi/splits", {s: [part] for s in ("train", "valid", "test")})
    target = "results/corpora/iwslt15-envi/raw/settings.json"
    run(project, "snakemake", "-c1", *PAPER, "--", target,
        environment=_without_corpora() | {"SIMT_CORPORA": str(tmp_path)})  # fmt: skip
    assert (project / "results/corpora/iwslt15-envi/raw/mine/train.vi").read_text() == "x\n"
