"""The report in a real browser: it loads, the knob changes the path, the numbers are right."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.samples.report import DELAYS, HARMFUL, IN_TIME, LAGGING, WAIT_3_LAGGING

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("drawn")]  # they share a set-up

PHONE, SCREEN = (390, 844), (1280, 900)


@pytest.fixture
def page(browser: Chrome, reported: Path) -> Iterator[Chrome]:
    """The report of the tiny study, freshly opened, for somebody who wants no motion."""
    browser.get_log("browser")  # of pages before
    show(browser, SCREEN, {"prefers-reduced-motion": "reduce"})
    browser.get((reported / "results/paper/tiny/report.html").as_uri())
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def show(browser: Chrome, size: tuple[int, int], preferences: dict[str, str]) -> None:
    """On a screen of so many pixels, to somebody with preferences."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
    features = [{"name": name, "value": value} for name, value in preferences.items()]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def at(page: Chrome, name: str) -> Any:
    return page.find_element(By.ID, name)


def choose(page: Chrome, name: str, text: str) -> None:
    Select(at(page, name)).select_by_visible_text(text)


def move(page: Chrome, name: str, value: float) -> None:
    """A slider to a value, as dragging it would."""
    code = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    page.execute_script(code, at(page, name), value)


def delays(page: Chrome) -> list[int]:
    return [int(delay) for delay in at(page, "delays").text.split()]


def way(page: Chrome) -> str:
    """The line through the states."""
    (line,) = page.find_elements(By.CSS_SELECTOR, "#grid .way")
    return str(line.get_attribute("points"))


def scored(reported: Path, run: str, knob: float, score: str) -> float:
    path = reported / "results/points/tiny-deen" / run / "aligned/scores.json"
    points = json.loads(path.read_text(encoding="utf-8"))["points"]
    (entry,) = [point for point in points if point["knob"] == knob]
    return float(entry["scores"][score]["value"])


def test_page_loads_without_errors(page: Chrome) -> None:
    assert page.get_log("browser") == []
    assert page.title == "Study tiny: SM² and its baselines"


def test_every_picture_is_shown(page: Chrome) -> None:
    code = """
        const images = [...document.images];
        images.forEach((image) => { image.loading = 'eager'; });
        return Promise.all(images.map((image) => image.decode())).then(() =>
            images.map((image) => image.naturalWidth));
    """
    widths = page.execute_script(code)
    assert len(widths) > 10
    assert min(widths) > 100


@pytest.mark.parametrize("knob", DELAYS)
def test_threshold_decides_path_and_numbers(page: Chrome, knob: float) -> None:
    move(page, "knob", 1000 * knob)
    assert at(page, "knob-name").text == f"γ = {knob:g}"
    assert delays(page) == DELAYS[knob]
    assert float(at(page, "sentence-al").get_attribute("value")) == pytest.approx(LAGGING[knob])
    assert at(page, "satisfied").text == IN_TIME[knob]


def test_moving_the_knob_changes_the_line_through_the_states(page: Chrome) -> None:
    lines = set()
    for knob in DELAYS:
        move(page, "knob", 1000 * knob)
        lines.add(way(page))
    assert len(lines) == len(DELAYS)


def test_numbers_of_the_point_are_those_of_scores_json(page: Chrome, reported: Path) -> None:
    move(page, "knob", 500)
    for score in ("al_token", "sa_word"):
        value = scored(reported, "sm2/bi/seed1", 0.5, score)
        shown = at(page, f"point-{score}")
        assert float(shown.get_attribute("value")) == value
        assert shown.text == f"{value:.2f}"


def test_signature_stands_beside_the_number(page: Chrome) -> None:
    assert "AL|unit:token|eos:both|length:hyp" in at(page, "point").text


def test_between_two_scored_thresholds_the_point_has_no_number(page: Chrome) -> None:
    move(page, "knob", 510)
    assert at(page, "point").text.startswith("not scored at γ = 0.51; scored at 0.3, 0.5")
    assert delays(page) == DELAYS[0.5]


def test_another_system_is_shown_at_its_own_knob_values(page: Chrome, reported: Path) -> None:
    choose(page, "system", "wait-k")
    move(page, "knob", 1)
    assert at(page, "knob-name").text == "k = 3"
    assert delays(page) == [3, 4, 5, 6, 7]
    shown = float(at(page, "sentence-al").get_attribute("value"))
    assert shown == pytest.approx(WAIT_3_LAGGING)
    value = scored(reported, "waitk/k3/seed1", 3, "al_token")
    assert float(at(page, "point-al_token").get_attribute("value")) == value


def test_states_on_the_way_have_the_recorded_value(page: Chrome) -> None:
    choose(page, "system", "ITST")
    titles = page.execute_script(
        "return [...document.querySelectorAll('#grid .state')].map((state) => state.textContent)"
    )
    known = [title for title in titles if "value" in title]
    assert known[0] == "state (0, 1): “He” is next, read up to “Er”, value 0.25"
    assert len(known) == 5


def test_steps_follow_the_keys(page: Chrome) -> None:
    move(page, "knob", 500)
    stage = at(page, "stage")
    stage.send_keys(Keys.HOME)
    assert at(page, "action").text.startswith("Nothing has been read")
    stage.send_keys(Keys.ARROW_RIGHT)
    assert at(page, "action").text.startswith("READ “Er”")
    stage.send_keys(Keys.ARROW_RIGHT)
    assert at(page, "action").text == "WRITE “He” with 1 of 7 tokens read, confidence 0.60"
    stage.send_keys(Keys.ARROW_LEFT)
    assert at(page, "action").text.startswith("READ “Er”")
    stage.send_keys(Keys.END)
    assert at(page, "step").get_attribute("value") == "12"  # 7 READs and 5 WRITEs
    stage.send_keys(Keys.ARROW_UP)
    assert at(page, "knob-name").text == "γ = 0.51"
    stage.send_keys("n")
    assert HARMFUL in at(page, "source").text
    stage.send_keys("s")
    assert Select(at(page, "system")).first_selected_option.text == "wait-k"


def test_replay_runs_from_the_beginning_to_the_end(page: Chrome) -> None:
    at(page, "play").click()
    assert at(page, "play").text == "Pause"
    at(page, "play").click()
    assert at(page, "play").text == "Play"
    assert int(at(page, "step").get_attribute("value")) < 12
    at(page, "stage").send_keys(Keys.SPACE)
    WebDriverWait(page, 60).until(lambda _: at(page, "play").text == "Replay")
    assert at(page, "step").get_attribute("value") == "12"


def test_what_is_not_read_yet_is_not_written_yet(page: Chrome) -> None:
    move(page, "step", 2)
    hidden = page.find_elements(By.CSS_SELECTOR, "#target .hidden")
    assert len(hidden) == 4  # of five, "He" is written
    assert len(page.find_elements(By.CSS_SELECTOR, "#source .ahead")) == 6


def test_pieces_of_a_word_are_joined_in_text_and_apart_in_the_grid(page: Chrome) -> None:
    assert at(page, "source").text == "Er hat das Brot gekauft ↵"
    assert Select(at(page, "sentence")).first_selected_option.text == "Er hat das Brot gekauft"
    labels = [text.text for text in page.find_elements(By.CSS_SELECTOR, "#grid text:not(.value)")]
    assert labels[:7] == ["Er", "hat", "das", "Brot", "ge-", "kauft", "↵"]


def test_word_that_was_written_too_early_is_crossed_out(page: Chrome) -> None:
    move(page, "knob", 200)
    assert len(page.find_elements(By.CSS_SELECTOR, "#grid .cross")) == 2
    move(page, "knob", 500)
    assert not page.find_elements(By.CSS_SELECTOR, "#grid .cross")


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_nothing_is_wider_than_the_screen(page: Chrome, size: tuple[int, int]) -> None:
    show(page, size, {})
    page.refresh()
    assert page.execute_script("return document.documentElement.scrollWidth") <= size[0]
    grid = at(page, "grid").size["width"]
    assert 0 < grid <= size[0]


def background(page: Chrome) -> str:
    return str(page.execute_script("return getComputedStyle(document.body).backgroundColor"))


def test_page_is_dark_or_light_as_the_system_until_it_is_switched(page: Chrome) -> None:
    show(page, SCREEN, {"prefers-color-scheme": "light"})
    light = background(page)
    show(page, SCREEN, {"prefers-color-scheme": "dark"})
    dark = background(page)
    assert light != dark
    at(page, "switch").click()
    assert background(page) == light
    at(page, "switch").click()
    assert background(page) == dark


def test_every_control_has_a_name(page: Chrome) -> None:
    controls = page.find_elements(By.CSS_SELECTOR, "button, select, input, [role=img], img")
    assert all(control.accessible_name for control in controls)
