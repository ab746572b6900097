"""A small project whose systems are served."""

import json
import re
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from simt.live.systems import Served, open_systems
from simt.params import load_params
from simt.translators import choose, study_systems
from tests.samples.live import Live, running
from tests.samples.trained import write_project

EXAMPLES = ("Der Mann liest ein Buch.", "ja " * 30, "Maria isst immer frisches Brot.")
NAMES = ("sm2/bi@0.05", "waitk/k3", "offline/bi")


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny study, finished as far as translating needs it.

    Random models go on and on: here, they are cut off soon.
    """
    folder = tmp_path_factory.mktemp("live")
    write_project(folder)
    params = folder / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(re.sub(r"max_target_tokens: \d+", "max_target_tokens: 15", text), "utf-8")
    test = folder / "results/corpora/tiny-deen/text/test.raw.jsonl"
    test.write_text("".join(json.dumps({"source": one}) + "\n" for one in EXAMPLES), "utf-8")
    return folder


@pytest.fixture(scope="session")
def systems(project: Path) -> list[Served]:
    """Three systems that tell most beside each other."""
    with chdir(project):
        params = load_params(Path("params.yaml"), "tiny")
        known = study_systems(params)
        return open_systems([choose(name, None, known) for name in NAMES])


@pytest.fixture(scope="module")
def live(project: Path, systems: list[Served]) -> Iterator[Live]:
    """A server for them, started in the project, where the examples are."""
    with chdir(project), running(systems) as server:
        yield server
