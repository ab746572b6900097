"""The tiny study through the whole graph, as a person would run it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from simt.paper import FIGURES, TABLES
from simt.params import load_params

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PARAMS = load_params(ROOT / "params.yaml", "tiny")

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [BIN / command[0], *command[1:]], cwd=folder, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


SNAKEMAKE = ("snakemake", "--profile", "workflow/profiles/local", "--config", "study=tiny")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tiny study has run to its last figure."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("Snakefile", "params.yaml", "environment.yml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "workflow", folder / "workflow")
    run(folder, *SNAKEMAKE)
    return folder


def test_every_figure_and_table_is_drawn(study: Path) -> None:
    paper = study / "results" / "paper" / "tiny"
    drawn = {path.stem for path in paper.glob("figures/*.pdf")}
    assert drawn == FIGURES.keys()
    assert {path.stem for path in paper.glob("tables/*.tex")} == TABLES.keys()


def test_everything_is_current_and_nothing_is_done_twice(study: Path) -> None:
    assert "all " in run(study, "simt", "check", "points", "--study", "tiny")
    assert "Nothing to be done" in run(study, *SNAKEMAKE)


def test_nothing_half_written_and_nothing_to_resume_is_left(study: Path) -> None:
    names = [path.name for path in (study / "results").rglob("*")]
    assert not [name for name in names if name.endswith(".tmp") or name == "work"]


def test_every_score_carries_its_signature(study: Path) -> None:
    files = list((study / "results" / "points").rglob("scores.json"))
    assert files
    for file in files:
        for point in json.loads(file.read_text())["points"]:
            assert all(score["signature"] for score in point["scores"].values())


def test_oracle_of_the_gold_alignments_satisfies_all_of_them(study: Path) -> None:
    path = study / "results/corpora/tiny-deen/text/oracle.json"
    curve = json.loads(path.read_text())["aligned"]
    assert {point["offset"]: point["sa_word"] for point in curve}[0] == 1.0


def test_no_host_name_and_no_path_of_this_machine_is_in_the_results(study: Path) -> None:
    for file in (study / "results").rglob("*.json*"):
        assert str(study) not in file.read_text(encoding="utf-8"), file


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        ("bi-w1.0: {confidence_weight: 1.0,", "bi-w1.0: {confidence_weight: 0.95,", {"bi-w1.0"}),
        ("bi: {}\n      bi-small", "bi: {peak_lr_share: 0.9}\n      bi-small",
         {"bi", "bi-ft", "bi-adapter"}),
    ],
)  # fmt: skip
def test_changed_setting_retrains_exactly_the_runs_it_touches(
    old: str, new: str, runs: set[str], study: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy, symlinks=True)
    text = (copy / "params.yaml").read_text(encoding="utf-8")
    assert text.count(old) == 1
    (copy / "params.yaml").write_text(text.replace(old, new), encoding="utf-8")
    said = run(copy, *SNAKEMAKE, "-n")
    blocks = [block for block in said.split("\n\n") if "rule train:" in block]
    variants = {line.split("variant=")[1].split(",")[0] for b in blocks for line in b.splitlines()
                if "variant=" in line}  # fmt: skip
    assert variants == runs
