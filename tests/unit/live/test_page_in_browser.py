"""The live page in a real browser: typing, pasting, replaying, the knob, keys and small screens."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from simt.cli import main
from simt.live.systems import Served
from simt.live.tabs import MOST_WORDS, Limits
from tests.samples.live import WAIT_S, Live, running

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("live")]  # they share a set-up

SENTENCE = "Maria isst immer frisches Brot, bevor sie geht."
PHONE, SCREEN = (360, 780), (1280, 900)


@pytest.fixture
def page(browser: Chrome, live: Live) -> Iterator[Chrome]:
    """The page, freshly opened."""
    browser.get_log("browser")  # of pages before
    show(browser, SCREEN, "light")
    open_page(browser, live)
    yield browser
    browser.get("about:blank")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def open_page(browser: Chrome, live: Live) -> None:
    browser.get(live.url)
    wait(browser, lambda: browser.find_element(By.TAG_NAME, "body").get_attribute("data-state"))


def show(browser: Chrome, size: tuple[int, int], scheme: str) -> None:
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def wait(page: Chrome, is_so: Callable[[], Any]) -> None:
    try:
        WebDriverWait(page, WAIT_S, poll_frequency=0.05).until(lambda _: is_so())
    except TimeoutException:
        pytest.fail(page.find_element(By.TAG_NAME, "body").text)


def at(page: Chrome, selector: str) -> Any:
    return page.find_element(By.CSS_SELECTOR, selector)


def lane(place: int) -> str:
    return f'.lane[data-place="{place}"]'


def said(page: Chrome, place: int) -> list[str]:
    """The lines of a translation as they stand on the page."""
    code = """return [...document.querySelectorAll(arguments[0] + " .translation p")].map(
        (line) => [...line.querySelectorAll("b")].map((word) => word.textContent).join(" "))"""
    return [str(line) for line in page.execute_script(code, lane(place))]


def ended(page: Chrome, lines: int = 1) -> bool:
    """Whether all three systems have said so many lines."""
    return len(page.find_elements(By.CSS_SELECTOR, ".translation .over")) == 3 * lines


def word_events(
    capsys: pytest.CaptureFixture[str], project: Path, system: str
) -> list[dict[str, Any]]:
    """The words that `simt translate` writes for the sentence."""
    (project / "one.txt").write_text(SENTENCE + "\n", encoding="utf-8")
    assert main(["translate", system, "--study", "tiny", "--json", "--from", "one.txt"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [event for event in events if event["event"] == "word"]


@pytest.fixture(autouse=True)
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def move(page: Chrome, place: int, keys: str) -> str:
    """A slider by keys, and the value that it then has."""
    at(page, f"{lane(place)} input").send_keys(keys)
    return str(at(page, f"{lane(place)} output").text)


def test_page_loads_without_errors(page: Chrome) -> None:
    assert page.get_log("browser") == []
    assert at(page, ".direction").text.split() == ["German", "→", "English"]


def test_words_appear_while_the_sentence_is_typed(page: Chrome) -> None:
    at(page, "#text").send_keys("Maria isst immer frisches Brot, ")
    wait(page, lambda: said(page, 0) and said(page, 0)[0])
    assert said(page, 2) in ([], [""])  # it waits for the end
    before = said(page, 0)[0]
    at(page, "#text").send_keys("bevor sie geht.", Keys.ENTER)
    wait(page, lambda: ended(page))
    assert said(page, 0)[0].startswith(before)
    assert said(page, 2)[0]


def test_what_stands_on_the_page_is_what_translate_says(
    page: Chrome, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at(page, "#text").send_keys(SENTENCE, Keys.ENTER)
    wait(page, lambda: ended(page))
    knob = at(page, f"{lane(0)} output").text
    for place, system in enumerate((f"sm2/bi@{knob}", "waitk/k3@3", "offline/bi@full")):
        words = word_events(capsys, project, system)
        assert said(page, place) == [" ".join(word["word"] for word in words)]
        notes = [one.text for one in page.find_elements(By.CSS_SELECTOR, f"{lane(place)} small")]
        sure = [note.split(" · ")[0] if " · " in note else None for note in notes]
        known = [word["confidence"] for word in words]
        assert sure == [None if one is None else f"{one:.2f}" for one in known]
        assert all(note.endswith(" s") for note in notes)


def test_knob_acts_at_once_and_as_if_it_had_stood_there_before(
    page: Chrome, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at(page, "#text").send_keys(SENTENCE, Keys.ENTER)
    outcomes = []
    for key in (Keys.END, Keys.HOME):
        knob = move(page, 0, key)
        words = word_events(capsys, project, f"sm2/bi@{knob}")
        lines = [" ".join(word["word"] for word in words)]
        wait(page, lambda expected=lines: ended(page) and said(page, 0) == expected)
        titles = page.find_elements(By.CSS_SELECTOR, f"{lane(0)} .word")
        heard = [int(one.get_attribute("title").split()[2]) for one in titles]
        assert heard == [word["delay_words"] for word in words]
        outcomes.append(heard)
    assert outcomes[0] != outcomes[1]


def test_knob_acts_in_the_middle_of_a_sentence(page: Chrome) -> None:
    assert move(page, 0, Keys.END) == "full"
    at(page, "#text").send_keys("Maria isst immer frisches Brot, ")
    wait(page, lambda: len(page.find_elements(By.CSS_SELECTOR, "#course .heard")) == 15)
    assert said(page, 0) in ([], [""])
    move(page, 0, Keys.HOME)
    wait(page, lambda: said(page, 0) and said(page, 0)[0])


def test_text_can_be_corrected(page: Chrome) -> None:
    at(page, "#text").send_keys("Der Mann liest ein Buch.", Keys.ENTER)
    wait(page, lambda: ended(page))
    right = [said(page, place) for place in range(3)]
    at(page, "#clear").click()
    wait(page, lambda: not any(any(said(page, place)) for place in range(3)))
    at(page, "#text").send_keys("Der Hund liest ", Keys.BACKSPACE * 11)
    at(page, "#text").send_keys("Mann liest ein Buch.", Keys.ENTER)
    wait(page, lambda: ended(page) and [said(page, place) for place in range(3)] == right)


def test_pasted_text_is_whole_sentences(page: Chrome) -> None:
    text = at(page, "#text")
    text.send_keys("Der Mann liest ein Buch.")
    text.send_keys(Keys.CONTROL, "ax")
    assert text.get_attribute("value") == ""
    text.send_keys(Keys.CONTROL, "v")
    wait(page, lambda: ended(page))


def test_example_is_replayed_word_by_word(page: Chrome) -> None:
    Select(at(page, "#speed")).select_by_visible_text("300 words/min")
    at(page, ".examples button").click()
    assert at(page, "#play").text == "■ Stop"
    wait(page, lambda: ended(page))
    wait(page, lambda: at(page, "#play").text == "▶ Replay")
    came = [one.text for one in page.find_elements(By.CSS_SELECTOR, "#course thead small")]
    seconds = [float(one.removesuffix(" s")) for one in came]
    assert seconds == sorted(seconds)
    assert seconds[-1] >= 4 * 0.2 - 0.05  # five words, 300 a minute


def test_replay_gives_the_same_words_and_can_be_stopped(page: Chrome) -> None:
    at(page, "#text").send_keys(SENTENCE, Keys.ENTER)
    wait(page, lambda: ended(page))
    before = [said(page, place) for place in range(3)]
    Select(at(page, "#speed")).select_by_visible_text("60 words/min")
    at(page, "#play").click()
    wait(page, lambda: not ended(page))
    ActionChains(page).send_keys(Keys.ESCAPE).perform()
    wait(page, lambda: ended(page) and [said(page, place) for place in range(3)] == before)


def test_everything_can_be_done_with_the_keyboard(page: Chrome) -> None:
    keys = ActionChains(page)
    assert page.switch_to.active_element == at(page, "#text")
    keys.send_keys("Der Mann liest ein Buch.", Keys.ENTER).perform()
    wait(page, lambda: ended(page))
    reached = []
    for _ in range(12):
        ActionChains(page).send_keys(Keys.TAB).perform()
        reached.append(page.switch_to.active_element)
    assert at(page, "#play") in reached
    assert at(page, f"{lane(0)} input") in reached
    assert at(page, ".examples button") in reached
    at(page, "#text").click()
    keys = ActionChains(page).key_down(Keys.CONTROL).send_keys(Keys.ENTER)
    keys.key_up(Keys.CONTROL).perform()
    wait(page, lambda: at(page, "#play").text == "■ Stop")


def test_too_much_is_told_and_nothing_is_lost(page: Chrome) -> None:
    at(page, "#text").send_keys("Der Mann liest ein Buch.", Keys.ENTER)
    wait(page, lambda: ended(page))
    before = at(page, "#text").get_attribute("value")
    code = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    page.execute_script(code, at(page, "#text"), "ja " * (MOST_WORDS + 1))
    wait(page, lambda: "1,001 words" in at(page, "#said").text)
    page.execute_script(code, at(page, "#text"), before)
    wait(page, lambda: at(page, "#said").text == "" and ended(page))
    page.get_log("browser")  # Chromium notes the refusal


def test_phone_needs_no_scrolling_to_the_side(page: Chrome) -> None:
    show(page, PHONE, "light")
    at(page, "#text").send_keys(SENTENCE, Keys.ENTER)
    wait(page, lambda: ended(page))
    assert page.execute_script("return document.documentElement.scrollWidth") == PHONE[0]


def test_dark_and_light_follow_the_system_until_switched(page: Chrome) -> None:
    def background() -> str:
        return str(at(page, "body").value_of_css_property("background-color"))

    light = background()
    show(page, SCREEN, "dark")
    assert background() != light
    at(page, "#switch").click()
    assert background() == light


def test_every_control_has_a_name(page: Chrome) -> None:
    controls = page.find_elements(By.CSS_SELECTOR, "button, select, input, textarea, [role=log]")
    assert all(control.accessible_name for control in controls if control.is_displayed())


def test_names_of_languages_that_the_browser_does_not_know_stay(
    browser: Chrome, systems: list[Served]
) -> None:
    languages = ("de_AT", "de-simplified")
    own = [replace(one, system=replace(one.system, languages=languages)) for one in systems]
    with running(own) as live:
        open_page(browser, live)
        assert at(browser, ".direction").text.split() == ["de_AT", "→", "de-simplified"]
        browser.get("about:blank")


def test_session_ends_with_its_tab(browser: Chrome, systems: list[Served]) -> None:
    with running(systems) as live:
        open_page(browser, live)
        assert len(live.tabs) == 1
        browser.get("about:blank")
        deadline = time.monotonic() + WAIT_S
        while len(live.tabs) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(live.tabs) == 0


def test_idle_page_goes_on_when_somebody_types(browser: Chrome, systems: list[Served]) -> None:
    with running(systems, Limits(idle_seconds=3)) as live:
        open_page(browser, live)
        wait(browser, lambda: "Type to go on" in at(browser, "#said").text)
        at(browser, "#text").send_keys("Der Mann liest ein Buch.", Keys.ENTER)
        wait(browser, lambda: ended(browser))
        browser.get("about:blank")


def test_page_comes_back_after_an_answer_that_is_no_stream(page: Chrome) -> None:
    def state() -> Any:
        return at(page, "body").get_attribute("data-state")

    page.execute_script("""
        window.usual = EventSource;
        EventSource = class extends usual { constructor() { super("not-there"); } };
        stream.close();
        openStream();""")
    wait(page, lambda: state() == "lost")
    at(page, "#text").send_keys("Der Mann liest ein Buch.", Keys.ENTER)
    assert "trying again" in at(page, "#said").text
    page.execute_script("EventSource = usual")
    wait(page, lambda: ended(page))
    assert state() == "open"
    assert "trying again" not in at(page, "#said").text
