"""The tiny study through the whole graph, as a person would run it."""

import json
from pathlib import Path

import pytest

from simt.paper import FIGURES, TABLES
from tests.samples.project import LOCAL, TINY, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def test_every_figure_and_table_is_drawn(study: Path) -> None:
    paper = study / "results" / "paper" / "tiny"
    drawn = {path.stem for path in paper.glob("figures/*.pdf")}
    assert drawn == FIGURES.keys()
    assert {path.stem for path in paper.glob("tables/*.tex")} == TABLES.keys()


def test_everything_is_current_and_nothing_is_done_twice(study: Path) -> None:
    assert "all " in run(study, "simt", "check", "points", "--study", "tiny")
    assert "Nothing to be done" in run(study, *LOCAL, *TINY)


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
