"""The report as text: everything is on the page, and what is missing is named."""

import json
import re
import shutil
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.paper import FIGURES, TABLES
from simt.paper.report import render_page
from simt.paper.report.captions import READING
from simt.paper.report.curves import Scale, thinned
from simt.paper.report.drawings import printed_label
from simt.paper.report.files import Files
from simt.paper.report.policy_viewer import viewer_data
from simt.paper.report.words import hours, many
from simt.params import Params
from simt.runs import study_runs
from tests.samples.report import CLAIM, HARMFUL, LINKS
from tests.samples.results import SIGNATURES, is_in_tiny

pytestmark = pytest.mark.xdist_group("drawn")  # they share a set-up

LARGEST_PAGE = 2_500_000


@pytest.fixture(scope="module")
def page(reported: Path) -> str:
    return (reported / "results/paper/tiny/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*FIGURES, *TABLES])
def test_page_has_every_figure_and_table_of_the_study(page: str, params: Params, name: str) -> None:
    assert (f'id="{name}"' in page) == is_in_tiny(params, name)


def test_page_has_every_claim_with_its_number_and_verdict(page: str) -> None:
    text = unescape(page)
    assert CLAIM["sentence"] in text
    assert "+1.23" in text
    assert '<span class="verdict">holds in this training</span>' in text
    claim = text.split('id="claim-bi-above-baselines"')[1].split("<details>")[0]
    for part in ("<dd>above 0</dd>", "[+0.70, +1.70]", "all of the interval is in this range"):
        assert part in claim, part


def test_page_of_a_study_of_scale_has_the_claims_by_scale(
    reported: Path, params: Params, tmp_path: Path, edit: Callable[..., None]
) -> None:
    scales = [
        {"pair": f"tiny-{updates}", "updates": updates, "sentences": 300, "claims": [CLAIM]}
        for updates in (1500, 3000)
    ]
    shutil.copytree(reported, tmp_path / "copy")
    claims = tmp_path / "copy/results/paper/tiny/claims.json"
    edit(claims, lambda report: report.update(scales=scales))
    with chdir(tmp_path / "copy"):
        text = unescape(render_page(params))
    table = text.split('aria-label="At which scale')[1].split("</table>")[0]
    assert "<th>1,500 updates, 300 training sentences</th>" in table
    said = "<b>holds in this training</b><br>SM²-Bi - wait-k at AL 3 +1.23 [+0.70, +1.70]"
    assert table.count(f"<td>{said}</td>") == 2


def test_page_has_the_signatures_of_its_numbers(page: str) -> None:
    text = unescape(page)
    for score in ("al_token", "al_word", "bleu", "sa_word"):
        assert SIGNATURES[score] in text, score


def test_page_has_commit_versions_and_settings_of_the_runs(page: str, params: Params) -> None:
    text = unescape(page)
    assert "0123456789abcdef0123456789abcdef01234567" in text
    assert "2.13.0" in text
    assert text.count('"confidence_weight": ') == sum(
        run.method == "sm2" for run in study_runs(params.chosen_study)
    )


def test_page_counts_the_trainings_that_were_stopped_and_went_on(page: str, params: Params) -> None:
    runs = len(study_runs(params.chosen_study))
    assert f"<dd>{runs}, of which 1 was stopped and went on</dd>" in page


def test_page_has_planned_and_actual_cost_of_every_run(page: str, params: Params) -> None:
    cost = page.split('<section id="cost">')[1].split("</section>")[0]
    for run in study_runs(params.chosen_study):
        assert f"<td>{run}</td>" in cost
    assert "1.5 s</td>" in cost


def test_numbers_of_a_table_are_those_that_were_drawn(page: str, reported: Path) -> None:
    article = page.split('id="tab05-numbers"')[1].split("</article>")[0]
    shown = [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", article)]
    lines = (reported / "results/paper/tiny/tables/tab05-numbers.md").read_text(encoding="utf-8")
    rows = [line for line in lines.splitlines() if line.startswith("|")][2:]
    assert shown == [cell.strip() for line in rows for cell in line.split("|")[1:-1]]


def links(page: str) -> set[str]:
    return set(re.findall(r'\bhref="([^"]*)"', page))


def test_page_asks_for_nothing_from_elsewhere(page: str) -> None:
    assert "default-src 'none'" in page
    assert "img-src data:" in page  # the colour bar of a figure is an image within it
    assert not re.search(r"\bsrc=|@import|\burl\((?!#)", page)
    assert not [link for link in links(page) if re.match(r"(?!data:)[a-z]+:|/", link)]


def test_links_lead_to_files_beside_the_page_and_to_places_in_it(page: str, reported: Path) -> None:
    beside = {link for link in links(page) if not link.startswith(("#", "data:"))}
    assert {"curves.csv", "claims.json", "figures/fig03-bleu-al.pdf"} <= beside
    assert {"tables/tab05-numbers.tex", "tables/tab05-numbers.csv"} <= beside
    assert not [link for link in beside if not (reported / "results/paper/tiny" / link).is_file()]
    places = {link[1:] for link in links(page) if link.startswith("#")}
    assert places <= set(re.findall(r'\bid="([^"]*)"', page))


def test_every_id_is_there_once(page: str) -> None:
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_page_begins_with_what_was_found(page: str) -> None:
    sections = re.findall(r'<section id="([a-z]+)">', page)
    assert sections[:3] == ["result", "claims", "viewer"]
    result = page.split('<section id="result">')[1].split("</section>")[0]
    # wait-k goes from (-0.3, …) to (1.7, …), SM² begins at 0.9, HMT has one point only.
    assert "At an AL of 1 token on tiny-deen" in result
    assert 'id="fig03-bleu-al"' in result
    assert page.count('id="fig03-bleu-al"') == 1


def test_captions_explain_every_drawing_and_say_what_it_is_of(page: str) -> None:
    assert set(READING) == {*FIGURES, *TABLES}
    caption = page.split('id="fig03-bleu-al"')[1].split("</figcaption>")[0]
    assert "Study tiny, tiny-deen, test set, 19 points of 1 seed." in caption


def test_text_of_a_corpus_cannot_leave_its_place(page: str) -> None:
    assert HARMFUL not in page
    assert "throw(1)" in page


def test_page_is_the_same_for_the_same_results(
    page: str, reported: Path, params: Params
) -> None:  # fmt: skip
    with chdir(reported):
        assert render_page(params) == page


def test_page_is_small(page: str) -> None:
    assert len(page.encode()) < LARGEST_PAGE


def test_links_join_the_end_of_a_source_word_and_the_beginning_of_a_target_word(
    reported: Path, params: Params
) -> None:
    with chdir(reported):
        played = viewer_data(Files("tiny"), params)
    assert played is not None
    assert LINKS[0] == "0-0 1-1 4-1 2-2 3-3"  # of words; "gekauft" is the tokens 4 and 5
    assert sorted(played["sentences"][0]["links"]) == [
        [0, 0, 1], [1, 1, 1], [2, 2, 1], [3, 3, 1], [5, 1, 1]
    ]  # fmt: skip


def test_systems_of_the_viewer_are_those_of_params(reported: Path, params: Params) -> None:
    with chdir(reported):
        played = viewer_data(Files("tiny"), params)
    assert played is not None
    labels = [system["label"] for system in played["systems"]]
    assert labels == ["wait-k", "m-wait-k", "HMT", "ITST", "SM²-Uni", "SM²-Bi"]
    assert [system["label"] for system in played["systems"] if "grids" in system] == labels[-2:]


def test_knobs_of_the_viewer_are_in_words(reported: Path, params: Params) -> None:
    with chdir(reported):
        played = viewer_data(Files("tiny"), params)
    assert played is not None
    said = {system["label"]: system["knobs"][0]["words"] for system in played["systems"]}
    assert all(said.values())
    assert said["wait-k"] == "reads k tokens, then writes one and reads one in turn"
    assert said["SM²-Bi"] == "writes as soon as the confidence of a state reaches γ"
    # L = 2 and K = 4: the first token after 2, 3, 4 or 5.
    assert said["HMT"].startswith("L = 2, K = 4: each token has at most 4 states to be written in")
    assert "the first token after 2 to 5 source tokens" in said["HMT"]


@pytest.mark.parametrize("study", ["multi30k", "scale-toy"])
def test_without_gold_alignments_or_simultaneous_systems_there_is_no_policy_viewer(
    params: Params, study: str
) -> None:
    assert viewer_data(Files(study), replace(params, study=study)) is None


@pytest.mark.parametrize(
    ("file", "remedy"),
    [
        ("paper/tiny/figures/fig03-bleu-al.svg", "results/paper/tiny/figures/fig03-bleu-al.svg"),
        ("paper/tiny/tables/tab05-numbers.json", "results/paper/tiny/tables/tab05-numbers.json"),
        ("paper/tiny/claims.json", "results/paper/tiny/claims.json"),
        ("runs/tiny-deen/sm2/bi/seed1/run.json", "results/runs/tiny-deen/sm2/bi/seed1/run.json"),
        ("points/tiny-deen/sm2/bi/seed1/aligned/instances.jsonl", "points"),
        ("points/tiny-deen/hmt/l2-k4/seed1/aligned/scores.json", "points"),
        (
            "points/tiny-deen/sm2/bi/seed1/aligned/states.jsonl",
            "results/points/tiny-deen/sm2/bi/seed1/aligned/states.jsonl",
        ),
    ],
)
def test_missing_file_is_named_with_the_command_that_makes_it(
    file: str, remedy: str, reported: Path, params: Params, tmp_path: Path
) -> None:
    shutil.copytree(reported, tmp_path / "copy")
    (tmp_path / "copy" / "results" / file).unlink()
    with chdir(tmp_path / "copy"), pytest.raises(SimtError) as caught:
        render_page(params)
    assert str(Path("results") / file).removesuffix("/scores.json") in str(caught.value)
    assert str(caught.value).endswith(f": snakemake --config study=tiny -- {remedy}")


def test_states_of_other_sentences_are_refused(
    reported: Path, params: Params, tmp_path: Path
) -> None:
    shutil.copytree(reported, tmp_path / "copy")
    states = tmp_path / "copy/results/points/tiny-deen/sm2/bi/seed1/aligned/states.jsonl"
    states.write_text(json.dumps({"index": 7, "confidence": [[1]]}) + "\n", encoding="utf-8")
    with chdir(tmp_path / "copy"), pytest.raises(SimtError, match="has other sentences than"):
        render_page(params)


def test_an_undecided_claim_says_what_would_decide_it(reported: Path) -> None:
    page = (reported / "results/paper/tiny/report.html").read_text(encoding="utf-8")
    assert page.count("<dt>Would decide</dt><dd>about 790 sentences</dd>") == 1
    assert "<span>do not hold in this training</span>" in page


def test_claims_of_an_older_version_are_refused(
    reported: Path, params: Params, tmp_path: Path, edit: Callable[..., None]
) -> None:
    shutil.copytree(reported, tmp_path / "copy")
    edit(tmp_path / "copy/results/paper/tiny/claims.json", lambda report: report.pop("intervals"))
    with chdir(tmp_path / "copy"), pytest.raises(SimtError, match="is from an older version"):
        render_page(params)


def test_cells_of_a_table_are_in_its_caption(drawn: Path, reported: Path) -> None:
    """As Markdown shows them, number by number, and so in the page."""
    caption = json.loads((drawn / "tab03-offline-ability.json").read_text(encoding="utf-8"))
    text = (drawn / "tab03-offline-ability.md").read_text(encoding="utf-8")
    (block,) = caption["blocks"]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [block["columns"], *block["rows"]] == [cells[0], *cells[2:]]
    assert block["is_number"] == [rule.endswith(":") for rule in cells[1]]
    page = (reported / "results/paper/tiny/report.html").read_text(encoding="utf-8")
    for cell in block["rows"][0]:
        assert f">{cell}</td>" in page


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("fig03-bleu-al", "Figure 3"),
        ("tab10-x", "Table 10"),
        ("alg01-x", "Algorithm 1"),
        ("x", "x"),
    ],
)
def test_drawing_has_its_number_in_the_paper(name: str, number: str) -> None:
    assert printed_label(name) == number


def test_long_curve_is_thinned_to_means_of_neighbours() -> None:
    assert thinned([(1, 4.0), (2, 2.0), (3, 6.0), (4, 8.0), (5, 1.0)], points=3) == [
        (2, 3.0), (4, 7.0), (5, 1.0)
    ]  # fmt: skip


def test_losses_have_places_on_a_logarithmic_scale() -> None:
    scale = Scale(last_update=10, low=1.0, high=100.0)
    assert scale.place((0, 1.0)) == (0, 170)
    assert scale.place((5, 10.0)) == (150, 85)
    assert scale.place((10, 100.0)) == (300, 0)
    assert [tick.label for tick in scale.y_ticks()] == ["1", "2", "5", "10", "20", "50", "100"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "unknown"), (0.0005, "1.8 s"), (0.03, "108.0 s"), (1.0, "60.0 min"), (35.04, "35.0 h")],
)
def test_hours_are_said_in_a_fitting_unit(value: float | None, text: str) -> None:
    assert hours(value) == text


@pytest.mark.parametrize(("value", "text"), [(12, "12"), (731_800, "731.8 k"), (2.4e15, "2.4 P")])
def test_large_numbers_are_rounded(value: float, text: str) -> None:
    assert many(value) == text
