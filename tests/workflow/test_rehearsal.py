"""A dress rehearsal for real: what fails is told, what is done is kept, no result is touched."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from simt.corpus.toy import write_toy_corpus
from tests.samples.cluster import SITE, Cluster, quick_profile
from tests.samples.project import BIN, copy_project, run
from tests.samples.small_study import small_params

pytestmark = pytest.mark.slow

PAIR = "talks-deen"  # of text that the user has
RUNS = {"offline": ["bi"], "sm2": ["bi", "bi-ft"]}
TRAININGS = [f"{PAIR}/{method}/{variant}/seed1" for method in RUNS for variant in RUNS[method]]


def params() -> dict[str, Any]:
    """params.yaml with a study of three runs on text of the user."""
    values = small_params()
    pair = values["pairs"].pop("tiny-deen")
    del pair["toy"]
    splits: dict[str, Any] = {
        split: [{"reader": "plain", "source": f"mine/{split}.de", "targets": [f"mine/{split}.en"],
                 "encoding": "utf-8", "is_dirty": False}]
        for split in ("train", "valid", "test")
    }  # fmt: skip
    splits["aligned"] = {"source": "mine/aligned.de", "target": "mine/aligned.en",
                         "links": "mine/aligned.talp", "base": 0, "encoding": "utf-8"}  # fmt: skip
    of_user = {"local": {"mine": {"folder": "talks"}}, "splits": splits, "comet": []}
    values["pairs"] = {PAIR: pair | of_user}
    values["studies"]["small"] = {
        "pairs": {"main": [PAIR], "analysis": PAIR, "appendix": []},
        "seeds": [1],
        "runs": {PAIR: RUNS},
    }
    return values


def make_project(folder: Path) -> Path:
    """The project with that study."""
    project = copy_project(folder)
    text = yaml.safe_dump(params(), sort_keys=False, allow_unicode=True)
    (project / "params.yaml").write_text(text, encoding="utf-8")
    return project


def rehearse(
    project: Path, *options: str, environment: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """What became of the command."""
    return subprocess.run(
        [BIN / "simt", "rehearse", "--study", "small", *options],
        cwd=project, env=environment, capture_output=True, text=True,
    )  # fmt: skip


def page_of(project: Path) -> str:
    """The words of the page."""
    page = (project / "rehearsals/small/rehearsal.html").read_text(encoding="utf-8")
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.S)).split())


def test_missing_files_are_told_and_nothing_is_run(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    done = rehearse(project, environment=os.environ | {"SIMT_CORPORA": str(tmp_path / "none")})
    assert done.returncode == 1
    assert f"{PAIR}, mine: your own files are not there." in done.stdout
    assert "aligned.talp: missing" in done.stdout
    assert "--stand-in" in done.stderr
    assert not (project / "rehearsals").exists()


def test_broken_corpus_is_told_and_the_next_call_comes_to_the_last_figure(tmp_path: Path) -> None:
    project, corpora = make_project(tmp_path), tmp_path / "corpora"
    sizes = {"train": 80, "valid": 4, "test": 8, "aligned": 10}
    write_toy_corpus(corpora / "talks", seed=1, sizes=sizes)
    english = corpora / "talks" / "train.en"
    whole = english.read_text(encoding="utf-8")
    english.write_text(whole.partition("\n")[2], encoding="utf-8")
    environment = os.environ | {"SIMT_CORPORA": str(corpora)}

    failed = rehearse(project, environment=environment)
    assert failed.returncode == 1
    assert "the files of one part must have equally many sentences" in failed.stderr
    page = page_of(project)
    assert f"prepare {PAIR} the files of one part must have equally many sentences" in page
    assert "mine/train.en: 79" in page
    assert "have not started, since what they read is not there" in page

    english.write_text(whole, encoding="utf-8")
    # Text of the user is copied once: params.yaml says to delete it after a change.
    shutil.rmtree(project / "rehearsals/small/results/corpora" / PAIR)
    done = rehearse(project, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_whole(project)


def assert_whole(project: Path) -> None:
    """Every job is done, weights are gone, and there is nothing outside of the folder."""
    folder = project / "rehearsals/small"
    page = page_of(project)
    assert re.search(r"All \d+ jobs have succeeded", page)
    assert "This is a rehearsal, not a result." in page
    paper = folder / "results/paper/small"
    assert (paper / "figures/fig03-bleu-al.pdf").exists()
    assert "This is a rehearsal, not a result" in (paper / "report.html").read_text()
    assert not list(folder.rglob("model.pt"))
    assert not (project / "results").exists()
    assert "are those of params.yaml" in run(folder, "simt", "check", "paper")
    measured = json.loads((folder / "measurements.json").read_text())
    trained = {one["name"]: one for one in measured if one["rule"] == "train"}
    assert sorted(trained) == sorted(TRAININGS)
    for one in trained.values():
        assert one["tokens_per_s"] > 0
        assert one["bytes"] > 0
        assert one["peak_memory_mb"] > 0
    said = run(project, "simt", "plan", "--study", "small", "--cost")
    assert "Measured here: cpu" in said


@pytest.mark.xdist_group("study")
def test_wrong_partition_is_told_and_the_right_one_comes_to_the_last_figure(
    cluster: Cluster, tmp_path: Path
) -> None:
    project = make_project(tmp_path)
    (project / "quick").mkdir()
    profile = quick_profile(project / "quick")
    wrong = cluster.environment | SITE | {"SIMT_GPU_PARTITION": "nowhere"}
    options = ("--profile", str(profile), "--stand-in")
    failed = rehearse(project, *options, environment=wrong)
    assert failed.returncode == 1
    page = page_of(project)
    assert f"train {PAIR}/offline/bi/seed1" in page
    assert "Invalid partition name specified" in page
    assert "correct SIMT_ACCOUNT, SIMT_PARTITION and SIMT_GPU_PARTITION" in page

    done = rehearse(project, *options, environment=cluster.environment | SITE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{PAIR}, mine your own files are not there." in page_of(project)
    assert_whole(project)
