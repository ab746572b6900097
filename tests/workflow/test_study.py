"""The tiny study through the whole graph, as a person would run it."""

import json
import re
import socket
from pathlib import Path

import pytest

from simt.check import is_recorded
from simt.joblogs import result_in
from simt.paper.claims import load_claims
from simt.params import load_params
from simt.steps import Steps
from tests.samples.project import LOCAL, TINY, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def test_every_figure_and_table_is_drawn(study: Path) -> None:
    paper = study / "results" / "paper" / "tiny"
    drawn = {path.stem[:5] for path in paper.glob("figures/*.pdf")}
    assert drawn == {f"fig{number:02}" for number in range(1, 14)} - {"fig10", "fig11"}
    tables = {path.stem[:5] for path in paper.glob("tables/*.tex")}
    assert tables == {"tab01", "tab02", "tab03", "tab04", "tab05", "tab09", "alg01"}


def test_everything_is_current_and_nothing_is_done_twice(study: Path) -> None:
    assert "steps up to points are those of params.yaml" in run(
        study, "simt", "check", "points", "--study", "tiny"
    )
    assert "Nothing to be done" in run(study, *LOCAL, *TINY)


def test_log_of_every_step_ends_with_what_it_gave(study: Path) -> None:
    logs = [path for path in (study / "logs").rglob("*.log") if path.name != "track.log"]
    assert len(logs) > 100
    assert not [path for path in logs if not result_in(path)]


def test_snakemake_report_shows_every_drawing_with_its_title_by_category(study: Path) -> None:
    run(study, *LOCAL, *TINY, "--report", "report.html")
    page = (study / "report.html").read_text(encoding="utf-8")
    paper = study / "results" / "paper" / "tiny"
    drawn = [
        path.stem for folder in ("figures", "tables") for path in (paper / folder).glob("*.json")
    ]
    assert len(drawn) == 18
    for name in (*drawn, "Figures", "Tables", "Claims"):
        assert f'"{name}"' in page
    assert "The weight of the confidence penalty" in page
    assert "how\\neach number was computed" in page  # of a caption


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


@pytest.mark.parametrize("variant", ["uni", "bi"])
def test_paths_through_the_grid_are_those_of_algorithm_1(study: Path, variant: str) -> None:
    file = study / f"results/points/tiny-deen/sm2/{variant}/seed1/valid/grid.json"
    grid = json.loads(file.read_text(encoding="utf-8"))
    for path in grid["delays"]:
        read, delays = 1, []
        for confidences in grid["confidence"]:
            while confidences[read - 1] < path["knob"] and read < len(grid["source"]):
                read += 1
            delays.append(read)
        assert path["delays"] == delays, path["knob"]


@pytest.mark.parametrize("variant", ["uni", "bi"])
def test_sums_of_sentences_add_up_to_the_correlation(study: Path, variant: str) -> None:
    folder = study / f"results/points/tiny-deen/sm2/{variant}/seed1/valid"
    sums, scores = (
        json.loads((folder / name).read_text()) for name in ("sums.json", "confidence.json")
    )
    assert len(sums) == 3
    for name, rows in sums.items():
        columns = [sum(column) for column in zip(*rows, strict=True)]
        if name == "confidence_kendall":
            concordance, in_x, in_y = columns
            found = concordance / (in_x * in_y) ** 0.5
        else:
            n, x, y, xx, yy, xy = columns
            found = (n * xy - x * y) / ((n * xx - x * x) * (n * yy - y * y)) ** 0.5
        assert found == pytest.approx(scores[name]["value"], abs=1e-5)


def test_every_claim_has_a_verdict_and_none_without_numbers(study: Path) -> None:
    report = json.loads((study / "results/paper/tiny/claims.json").read_text(encoding="utf-8"))
    assert [one["claim"] for one in report["claims"]] == [one.claim for one in load_claims()]
    for one in report["claims"]:
        assert bool(one["results"]) == (one["verdict"] != "not tested")


TEXT = {".json", ".jsonl", ".csv", ".md", ".tex", ".html", ".svg", ".dot", ".txt"}


PICTURE = re.compile(r"base64,[\w+/=\s]+")  # any word may be in it by chance


def test_no_name_and_no_path_of_this_machine_is_in_the_results(study: Path) -> None:
    """Neither its host name, as a word, nor the folders of the study, the tests or the user."""
    host = re.compile(rf"(?<![\w.-]){re.escape(socket.gethostname())}(?![\w-])")
    folders = [str(study), str(Path(__file__).parents[2]), f"{Path.home()}/"]
    files = [file for file in (study / "results").rglob("*") if file.suffix in TEXT]
    assert {file.suffix for file in files} >= {".json", ".jsonl", ".csv", ".html", ".svg"}
    for file in files:
        text = PICTURE.sub("", file.read_text(encoding="utf-8"))
        assert not host.search(text), file
        assert not [folder for folder in folders if folder in text], file


def test_snakemake_has_a_record_of_every_step_where_it_is_looked_for(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    steps = Steps(load_params(Path("params.yaml"), "tiny")).all()
    assert [step.name for step in steps if not is_recorded(step)] == []


def test_published_folder_has_what_was_drawn_and_how_it_was_made(
    study: Path, tmp_path: Path
) -> None:
    to = tmp_path / "published"
    for _ in range(2):  # what it wrote itself, it may replace
        run(study, "simt", "publish", "--study", "tiny", "--to", str(to))
    paper = study / "results" / "paper" / "tiny"
    with_sentences = {"fig01-paradigms.png", "fig02-framework.png", "fig06-prohibition.png"}
    pictures = {path.name for path in (paper / "figures").glob("*.png")} - with_sentences
    assert {path.name for path in (to / "figures").iterdir()} == pictures
    tables = {path.name for path in (paper / "tables").glob("*.md")} - {"alg01-decision-rule.md"}
    assert {path.name for path in (to / "tables").iterdir()} == tables
    for name in ("claims.md", "curves.csv", "tables/tab05-numbers.md"):
        assert (to / name).read_bytes() == (paper / name).read_bytes()
    page = (to / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) > len(pictures)
    assert not [link for link in links if not (to / link).is_file()]
    for claim in load_claims():
        assert claim.sentence in page
    made_by = json.loads((to / "provenance.json").read_text())
    commits = {
        json.loads(path.read_text())["commit"] for path in (study / "results").rglob("run.json")
    }
    assert set(made_by["made_by"]["commit"]) == commits
    assert not [p for p in to.rglob("*.*") if str(study).encode() in p.read_bytes()]
