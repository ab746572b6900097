"""A real browser without a window, for tests that look at pages as a person would."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have little of it
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1200",
)


@contextmanager
def open_browser(profile: Path) -> Iterator[Chrome]:
    """Debian's Chromium with the new, empty folder ``profile`` for all it wants to remember."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not found: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = programs["chromium"] or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    driver = Chrome(options, ChromeService(programs["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()


def page_text(browser: Chrome) -> str:
    """What a person can read on the page."""
    return str(browser.execute_script("return document.body.innerText"))


def wait_for_text(browser: Chrome, text: str, timeout_s: float = 60) -> str:
    """The page's text as soon as ``text`` is on it."""
    try:
        WebDriverWait(browser, timeout_s).until(lambda _: text in page_text(browser))
    except TimeoutException:
        pytest.fail(f"{text!r} is not on {browser.current_url}, which says:\n{page_text(browser)}")
    return page_text(browser)
