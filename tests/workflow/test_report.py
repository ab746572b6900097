"""The report of a study that has really run."""

import json
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from simt.params import load_params
from tests.samples.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]

PAGE = Path("results/paper/tiny/report.html")
ALIGNED = "results/points/tiny-deen/sm2/{}/seed1/aligned"


def test_report_is_small_and_says_nothing_of_this_machine(study: Path) -> None:
    page = (study / PAGE).read_text(encoding="utf-8")
    assert len(page.encode()) < 2_500_000
    assert str(study) not in page


def test_report_opens_without_errors_and_plays_every_system(study: Path, browser: Chrome) -> None:
    browser.get_log("browser")
    browser.get((study / PAGE).as_uri())
    systems = browser.find_elements(By.CSS_SELECTOR, "#system-1 option")
    for system in systems:
        system.click()
        assert browser.find_element(By.ID, "delays-1").text
    assert len(systems) == 6
    assert browser.get_log("browser") == []


def written_at(grid: list[list[int]], threshold: int) -> list[int]:
    """Delays of the rule "write as soon as the confidence reaches the threshold"."""
    delays: list[int] = []
    for row in grid:
        first = delays[-1] if delays else 1
        ready = (j for j in range(first, len(row)) if row[j - 1] >= threshold)
        delays.append(next(ready, len(row)))
    return delays


@pytest.mark.parametrize("variant", ["uni", "bi"])
def test_states_lead_to_the_delays_that_were_decoded(study: Path, variant: str) -> None:
    folder = study / ALIGNED.format(variant)
    states = {one["index"]: one["confidence"] for one in json_lines(folder / "states.jsonl")}
    compared = 0
    for one in json_lines(folder / "instances.jsonl"):
        if one["index"] in states and one["knob"] != "full":
            threshold = round(1000 * one["knob"])
            assert written_at(states[one["index"]], threshold) == one["token_delays"], one
            compared += 1
    assert states
    knobs = load_params(ROOT / "params.yaml").knobs("tiny-deen", "sm2", variant)
    assert compared == len(states) * len([knob for knob in knobs if knob != "full"])


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
