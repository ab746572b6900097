"""The report in a real browser: it loads, the knob changes the path, the numbers are right."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.samples.report import CLAIMS, DELAYS, HARMFUL, IN_TIME, LAGGING, WAIT_3_LAGGING

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("drawn")]  # they share a set-up

PHONE, SCREEN = (360, 780), (1280, 900)


@pytest.fixture
def page(browser: Chrome, reported: Path) -> Iterator[Chrome]:
    """The report of the tiny study, freshly opened, for somebody who wants no motion."""
    browser.get_log("browser")  # of pages before
    show(browser, SCREEN, {"prefers-reduced-motion": "reduce"})
    open_report(browser, reported)
    choose(browser, "system-2", "no other system")
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def open_report(browser: Chrome, reported: Path, link: str = "") -> None:
    browser.get("about:blank")  # a page that is only sent elsewhere within itself stays as it was
    browser.get((reported / "results/paper/tiny/report.html").as_uri() + link)


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
    return [int(delay) for delay in at(page, "delays-1").text.split()]


def way(page: Chrome) -> str:
    """The line through the states."""
    (line,) = page.find_elements(By.CSS_SELECTOR, "#grid-1 .way")
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
    pictures = page.find_elements(By.CSS_SELECTOR, ".picture svg")
    assert len(pictures) >= 10
    assert min(picture.size["width"] for picture in pictures) > 100
    assert min(picture.size["height"] for picture in pictures) > 50


def shown_claims(page: Chrome) -> list[str]:
    claims = page.find_elements(By.CSS_SELECTOR, ".claim")
    return [claim.get_attribute("id") for claim in claims if claim.is_displayed()]


def test_tiles_choose_the_claims_with_a_verdict(page: Chrome) -> None:
    everything = [f"claim-{claim['claim']}" for claim in CLAIMS]
    tiles = page.find_elements(By.CSS_SELECTOR, "#claims .tile")
    assert [tile.text.split()[0] for tile in tiles] == ["1", "2", "1", "1"]
    _, against, undecided, _ = tiles
    assert shown_claims(page) == everything
    against.send_keys(Keys.ENTER)
    assert shown_claims(page) == ["claim-one-against", "claim-another-against"]
    assert against.get_attribute("aria-pressed") == "true"
    assert at(page, "claims-shown").text == "2 of 5 claims"
    undecided.click()
    assert shown_claims(page) == ["claim-open"]
    assert against.get_attribute("aria-pressed") == "false"
    undecided.send_keys(Keys.SPACE)
    assert shown_claims(page) == everything
    assert at(page, "claims-shown").text == "5 claims"


@pytest.mark.parametrize("knob", DELAYS)
def test_threshold_decides_path_and_numbers(page: Chrome, knob: float) -> None:
    move(page, "knob-1", 1000 * knob)
    assert at(page, "knob-name-1").text == f"γ = {knob:g}"
    assert delays(page) == DELAYS[knob]
    assert float(at(page, "sentence-al-1").get_attribute("value")) == pytest.approx(LAGGING[knob])
    assert at(page, "satisfied-1").text == IN_TIME[knob]


def test_moving_the_knob_changes_the_line_through_the_states(page: Chrome) -> None:
    lines = set()
    for knob in DELAYS:
        move(page, "knob-1", 1000 * knob)
        lines.add(way(page))
    assert len(lines) == len(DELAYS)


def test_numbers_of_the_point_are_those_of_scores_json(page: Chrome, reported: Path) -> None:
    move(page, "knob-1", 500)
    for score in ("al_token", "sa_word"):
        value = scored(reported, "sm2/bi/seed1", 0.5, score)
        shown = at(page, f"point-{score}-1")
        assert float(shown.get_attribute("value")) == value
        assert shown.text == f"{value:.2f}"


def test_signature_stands_beside_the_number(page: Chrome) -> None:
    assert "AL|unit:token|eos:both|length:hyp" in at(page, "point-1").text


def test_between_two_scored_thresholds_the_point_has_no_number(page: Chrome) -> None:
    move(page, "knob-1", 510)
    assert at(page, "point-1").text.startswith("not scored at γ = 0.51; scored at 0.3, 0.5")
    assert delays(page) == DELAYS[0.5]


def test_another_system_is_shown_at_its_own_knob_values(page: Chrome, reported: Path) -> None:
    choose(page, "system-1", "wait-k")
    move(page, "knob-1", 1)
    assert at(page, "knob-name-1").text == "k = 3"
    assert delays(page) == [3, 4, 5, 6, 7]
    shown = float(at(page, "sentence-al-1").get_attribute("value"))
    assert shown == pytest.approx(WAIT_3_LAGGING)
    value = scored(reported, "waitk/k3/seed1", 3, "al_token")
    assert float(at(page, "point-al_token-1").get_attribute("value")) == value


def test_states_on_the_way_have_the_recorded_value(page: Chrome) -> None:
    choose(page, "system-1", "ITST")
    titles = page.execute_script(
        "return [...document.querySelectorAll('#grid-1 .state')].map((state) => state.textContent)"
    )
    known = [title for title in titles if "value" in title]
    assert known[0] == "state (0, 1): “He” is next, read up to “Er”, value 0.25"
    assert len(known) == 5


def test_steps_follow_the_keys(page: Chrome) -> None:
    move(page, "knob-1", 500)
    viewer = at(page, "viewer-panel")
    viewer.send_keys(Keys.HOME)
    assert at(page, "action-1").text.startswith("Nothing has been read")
    viewer.send_keys(Keys.ARROW_RIGHT)
    assert at(page, "action-1").text.startswith("READ “Er”")
    viewer.send_keys(Keys.ARROW_RIGHT)
    assert at(page, "action-1").text == "WRITE “He” with 1 of 7 tokens read, confidence 0.60"
    viewer.send_keys(Keys.ARROW_LEFT)
    assert at(page, "action-1").text.startswith("READ “Er”")
    viewer.send_keys(Keys.END)
    assert at(page, "step").get_attribute("value") == "12"  # 7 READs and 5 WRITEs
    viewer.send_keys(Keys.ARROW_UP)
    assert at(page, "knob-name-1").text == "γ = 0.51"
    viewer.send_keys("n")
    assert HARMFUL in at(page, "source").text
    viewer.send_keys("s")
    assert Select(at(page, "system-1")).first_selected_option.text == "wait-k"


def test_replay_runs_from_the_beginning_to_the_end(page: Chrome) -> None:
    at(page, "play").click()
    assert at(page, "play").text == "Pause"
    at(page, "play").click()
    assert at(page, "play").text == "Play"
    assert int(at(page, "step").get_attribute("value")) < 12
    at(page, "viewer-panel").send_keys(Keys.SPACE)
    WebDriverWait(page, 60).until(lambda _: at(page, "play").text == "Replay")
    assert at(page, "step").get_attribute("value") == "12"


def test_what_is_not_read_yet_is_not_written_yet(page: Chrome) -> None:
    move(page, "step", 2)
    hidden = page.find_elements(By.CSS_SELECTOR, "#target-1 .hidden")
    assert len(hidden) == 4  # of five, "He" is written
    assert len(page.find_elements(By.CSS_SELECTOR, "#source .ahead")) == 6


def test_pieces_of_a_word_are_joined_in_text_and_apart_in_the_grid(page: Chrome) -> None:
    assert at(page, "source").text == "Er hat das Brot gekauft ↵"
    assert Select(at(page, "sentence")).first_selected_option.text == "Er hat das Brot gekauft"
    labels = [text.text for text in page.find_elements(By.CSS_SELECTOR, "#grid-1 text:not(.value)")]
    assert labels[:7] == ["Er", "hat", "das", "Brot", "ge-", "kauft", "↵"]


def test_word_that_was_written_too_early_is_crossed_out(page: Chrome) -> None:
    move(page, "knob-1", 200)
    assert len(page.find_elements(By.CSS_SELECTOR, "#grid-1 .cross")) == 2
    move(page, "knob-1", 500)
    assert not page.find_elements(By.CSS_SELECTOR, "#grid-1 .cross")


# --- two systems side by side -------------------------------------------------------------------


def decoded(reported: Path, run: str, index: int) -> list[int]:
    """The delays of a sentence as the file of instances has them."""
    path = reported / "results/points/tiny-deen" / run / "aligned/instances.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    (one,) = [line for line in lines if line["index"] == index]
    return list(one["token_delays"])


def test_two_systems_show_what_was_decoded(page: Chrome, reported: Path) -> None:
    choose(page, "system-1", "HMT")
    choose(page, "system-2", "wait-k")
    move(page, "knob-2", 1)
    shown = [at(page, f"delays-{side}").text for side in (1, 2)]
    runs = ("hmt/l2-k4/seed1", "waitk/k3/seed1")
    assert shown == [" ".join(map(str, decoded(reported, run, 0))) for run in runs]
    choose(page, "sentence", page.execute_script("return arguments[0].options[1].text",
                                                 at(page, "sentence")))  # fmt: skip
    shown = [at(page, f"delays-{side}").text for side in (1, 2)]
    assert shown == [" ".join(map(str, decoded(reported, run, 1))) for run in runs]


def test_both_systems_have_heard_equally_much(page: Chrome) -> None:
    move(page, "knob-1", 500)
    choose(page, "system-2", "wait-k")
    move(page, "knob-2", 1)
    # SM²-Bi writes with 1 6 6 6 7 tokens read, wait-3 with 3 4 5 6 7. Seven are read; what both
    # write with equally many read is written at once: 1, -, 1, 1, 1, 3 and 1 moments.
    assert at(page, "step").get_attribute("max") == "15"
    move(page, "step", 2)  # one token read, then SM²-Bi writes
    assert at(page, "action-1").text.startswith("WRITE “He” with 1 of 7")
    assert at(page, "action-2").text == "“He” has to wait; the other system writes"
    move(page, "step", 5)  # three tokens read, then wait-3 writes
    assert at(page, "action-1").text == "“bought” has to wait; the other system writes"
    assert at(page, "action-2").text.startswith("WRITE “He” with 3 of 7")
    assert len(page.find_elements(By.CSS_SELECTOR, "#source .ahead")) == 4
    written = [
        len(page.find_elements(By.CSS_SELECTOR, f"#target-{side} span:not(.hidden)"))
        for side in (1, 2)
    ]
    assert written == [1, 1]


def test_second_system_begins_where_it_lags_as_the_first(page: Chrome, reported: Path) -> None:
    choose(page, "system-1", "wait-k")
    move(page, "knob-1", 1)
    choose(page, "system-2", "SM²-Bi")
    lag = scored(reported, "waitk/k3/seed1", 3, "al_token")
    path = reported / "results/points/tiny-deen/sm2/bi/seed1/aligned/scores.json"
    points = json.loads(path.read_text(encoding="utf-8"))["points"]
    nearest = min(
        (point for point in points if point["knob"] != "full"),
        key=lambda point: abs(point["scores"]["al_token"]["value"] - lag),
    )
    assert at(page, "knob-name-2").text == f"γ = {nearest['knob']:g}"


# --- a link to a state --------------------------------------------------------------------------


def state_of(page: Chrome) -> list[str]:
    shown = ("source", "target-1", "target-2", "knob-name-1", "knob-name-2", "action-1",
             "action-2", "delays-1", "delays-2", "policy-1", "policy-2")  # fmt: skip
    chosen = [Select(at(page, f"system-{side}")).first_selected_option.text for side in (1, 2)]
    return [
        *chosen,
        *(at(page, name).text for name in shown),
        at(page, "step").get_property("value"),
    ]


def test_link_leads_back_to_the_state(page: Chrome, reported: Path) -> None:
    choose(page, "system-1", "HMT")
    choose(page, "system-2", "SM²-Uni")
    move(page, "knob-2", 470)
    move(page, "step", 4)
    before = state_of(page)
    assert before[:2] == ["HMT", "SM²-Uni"]
    link = at(page, "link").get_attribute("href")
    open_report(page, reported)
    assert state_of(page) != before
    open_report(page, reported, link[link.index("#") :])
    assert state_of(page) == before
    assert (
        page.execute_script(
            "return arguments[0].getBoundingClientRect().top", at(page, "viewer-panel")
        )
        < 300
    )


def test_link_is_followed_on_a_page_that_is_open(page: Chrome) -> None:
    page.execute_script("location.hash = '#viewer?sentence=0&system=waitk&knob=3&step=4'")
    WebDriverWait(page, 10).until(lambda _: at(page, "knob-name-1").text == "k = 3")
    assert at(page, "action-1").text.startswith("WRITE “He” with 3 of 7")
    assert Select(at(page, "system-2")).first_selected_option.text == "no other system"


def test_link_to_what_the_report_does_not_have_says_so(page: Chrome, reported: Path) -> None:
    open_report(page, reported, "#viewer?sentence=0&system=sm3&knob=2&beside=waitk&beside-knob=8")
    said = "This report does not have: system sm3, beside-knob 8"
    assert at(page, "said").text == said
    assert delays(page)


def test_link_is_copied_or_put_where_it_can_be(page: Chrome) -> None:
    at(page, "copy").click()
    WebDriverWait(page, 10).until(lambda _: at(page, "said").text)
    assert at(page, "said").text in ("Copied.", "It is in the address bar.")
    assert page.current_url == at(page, "link").get_attribute("href")
    assert "#viewer?sentence=0&system=sm2%2Fbi" in page.current_url


# --- how it looks -------------------------------------------------------------------------------

_TOO_WIDE = """
    const width = document.documentElement.clientWidth;
    return [...document.querySelectorAll("main *, header *, footer *")].filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        return (right > width + 1 || left < -1)
            && !element.closest(".scroll, .grid-box, nav, pre, .picture svg *");
    }).map((element) => element.outerHTML.slice(0, 80));
"""


@pytest.mark.parametrize("size", [PHONE, SCREEN], ids=["phone", "screen"])
def test_nothing_is_wider_than_the_screen(page: Chrome, size: tuple[int, int]) -> None:
    show(page, size, {})
    page.refresh()
    assert page.execute_script("return document.documentElement.scrollWidth") <= size[0]
    assert page.execute_script(_TOO_WIDE) == []
    assert 0 < at(page, "grid-1").size["width"] <= size[0]


def test_wide_figure_can_be_enlarged_on_a_phone_within_its_box(page: Chrome) -> None:
    show(page, PHONE, {})
    figure = at(page, "fig05-alignments")
    picture = figure.find_element(By.TAG_NAME, "svg")
    assert picture.size["width"] <= PHONE[0]
    figure.find_element(By.CSS_SELECTOR, ".enlarge").send_keys(Keys.ENTER)
    assert picture.size["width"] > 2 * PHONE[0]
    assert page.execute_script("return document.documentElement.scrollWidth") <= PHONE[0]


_CONTRASTS = """
    // Of every number in the grid with its state, whose colour lies on the card.
    const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const luminance = (colour) => colour.map((one) => one / 255)
        .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
    const card = parse(getComputedStyle(document.getElementById("viewer-panel")).backgroundColor);
    const states = [...document.querySelectorAll("#grid-1 .state")];
    return [...document.querySelectorAll("#grid-1 .value")].map((value) => {
        const box = value.getBoundingClientRect();
        const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
        const state = states.find((one) => {
            const { left, right, top, bottom } = one.getBoundingClientRect();
            return left < x && x < right && top < y && y < bottom;
        });
        const style = getComputedStyle(state);
        const depth = Number(style.fillOpacity);
        const below = parse(style.fill)
            .map((one, place) => depth * one + (1 - depth) * card[place]);
        const [low, high] = [luminance(parse(getComputedStyle(value).fill)), luminance(below)]
            .sort((one, other) => one - other);
        return (high + 0.05) / (low + 0.05);
    });
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_of_states_can_be_read(page: Chrome, scheme: str) -> None:
    show(page, SCREEN, {"prefers-color-scheme": scheme})
    contrasts = page.execute_script(_CONTRASTS)
    assert len(contrasts) == 35  # seven tokens by five
    assert min(contrasts) >= 4.5  # WCAG 2.1, text


def test_no_mark_covers_a_number(page: Chrome) -> None:
    code = """
        const boxes = (what) => [...document.querySelectorAll(`#grid-1 ${what}`)]
            .map((one) => one.getBoundingClientRect());
        const marks = [...boxes(".gold"), ...boxes(".cross")];
        return boxes(".value").filter((number) => {
            const [x, y] = [(number.left + number.right) / 2, (number.top + number.bottom) / 2];
            return marks.some((mark) =>
                mark.left < x && x < mark.right && mark.top < y && y < mark.bottom);
        }).length;
    """
    assert page.find_elements(By.CSS_SELECTOR, "#grid-1 .gold")
    assert page.execute_script(code) == 0


def test_figures_are_dark_on_a_dark_page(page: Chrome) -> None:
    code = """
        const paper = document.querySelector("#fig03-bleu-al .picture path");
        const glyph = document.querySelector("#fig03-bleu-al .picture [id*=text] use");
        return [paper, glyph].map((one) => getComputedStyle(one).fill);
    """
    show(page, SCREEN, {"prefers-color-scheme": "light"})
    assert page.execute_script(code) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    show(page, SCREEN, {"prefers-color-scheme": "dark"})
    card = page.execute_script(
        "return getComputedStyle(document.querySelector('figure')).backgroundColor"
    )
    assert page.execute_script(code) == [card, "rgb(255, 255, 255)"]
    at(page, "switch").click()
    assert page.execute_script(code) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]


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
    assert all(control.accessible_name for control in controls if control.is_displayed())
