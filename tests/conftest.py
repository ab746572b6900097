"""What tests of several rooms need."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.samples.browser import open_browser

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Whoever works as the README says has variables set that change what commands do."""
    for name in os.environ.copy():
        if name == "SNAKEMAKE_PROFILE" or name.startswith(("SIMT_", "MLFLOW_")):
            del os.environ[name]


@pytest.fixture(scope="session")
def shared_corpora() -> Path:
    """A folder of real text beside the repository; none of it may be committed."""
    folder = REPOSITORY.parent / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"no real text: {folder} is not there")
    return folder


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Chromium, to be pointed at a page with ``browser.get``; see ``tests.samples.browser``."""
    with open_browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Archives hold the time they were made at: in a name, it would differ between workers."""
    return argname if isinstance(val, bytes) else None
