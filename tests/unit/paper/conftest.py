"""Made-up results of the tiny study, and everything that is drawn from them, once."""

import json
import shutil
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simt.paper import FIGURES, TABLES, data_of, draw_figure, draw_table
from simt.paper.curves import write_curves
from simt.paper.figure_data import FigureData, gather
from simt.paper.report import write_report
from simt.params import Params, load_params
from simt.runs import paper_folder
from tests.samples.report import write_report_sources
from tests.samples.results import OTHER_STUDIES, is_in_tiny, study_with, write_results

PARAMS_FILE = Path(__file__).parents[3] / "params.yaml"


@pytest.fixture(scope="session")
def params() -> Params:
    return load_params(PARAMS_FILE, "tiny")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without results, which a test may fill."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def results(params: Params, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all scores of the tiny study."""
    folder = tmp_path_factory.mktemp("paper")
    with chdir(folder):
        write_results(params, "tiny")
    return folder


@pytest.fixture(scope="session")
def other_results(params: Params, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all scores of the other studies, for what the tiny one leaves out."""
    folder = tmp_path_factory.mktemp("paper")
    with chdir(folder):
        for study in OTHER_STUDIES:
            write_results(params, study)
    return folder


@pytest.fixture(scope="session")
def drawn(
    params: Params, results: Path, other_results: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Every figure and table of the tiny study, and of others those that it leaves out."""
    folder = tmp_path_factory.mktemp("drawn")
    for draw, names in ((draw_figure, FIGURES), (draw_table, TABLES)):
        for name in names:
            study = study_with(params, name)
            at = results if study == "tiny" else other_results
            given = replace(params, study=study)
            with chdir(at):
                draw(name, data_of(name, given, with_paper_numbers=False), folder)
    return folder


@pytest.fixture
def data(
    params: Params, results: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., FigureData]:
    """What a figure or table is made from, by its name; goes to the folder with the results."""

    def make(
        name: str, at: Path = results, study: str = "tiny", seeds: tuple[int, ...] = (1,),
        with_paper_numbers: bool = False,
    ) -> FigureData:  # fmt: skip
        monkeypatch.chdir(at)
        given = with_seeds(params, study, seeds)
        drawings = {**given.paper.figures, **given.paper.tables}
        return gather(given, drawings[name], with_paper_numbers)

    return make


@pytest.fixture
def any_data(
    params: Params, other_results: Path, data: Callable[..., FigureData]
) -> Callable[[str], FigureData]:
    """The same for the tiny study or, where that leaves it out, for another."""

    def make(name: str) -> FigureData:
        study = study_with(params, name)
        return data(name, *() if study == "tiny" else (other_results, study))

    return make


def with_seeds(params: Params, study: str, seeds: tuple[int, ...]) -> Params:
    """The same parameters with other seeds in a study, which is the chosen one."""
    changed = params.studies[study].model_copy(update={"seeds": seeds})
    return replace(params, study=study, studies={**params.studies, study: changed})


@pytest.fixture
def edit() -> Callable[[Path, Callable[[Any], None]], None]:
    """Changes a JSON file in place."""

    def change(path: Path, how: Callable[[Any], None]) -> None:
        values = json.loads(path.read_text(encoding="utf-8"))
        how(values)
        path.write_text(json.dumps(values), encoding="utf-8")

    return change


@pytest.fixture(scope="session")
def reported(
    params: Params, results: Path, drawn: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with all that a report of the tiny study is made from, and the report."""
    folder = tmp_path_factory.mktemp("reported")
    shutil.copytree(results, folder, dirs_exist_ok=True)
    with chdir(folder):
        write_report_sources(params)
        paper = paper_folder("tiny")
        for kind, names in (("figures", FIGURES), ("tables", TABLES)):
            (paper / kind).mkdir()
            for path in drawn.iterdir():
                if path.stem in names and is_in_tiny(params, path.stem):
                    shutil.copy(path, paper / kind)
        write_curves(params, paper)
        write_report(params, paper / "report.html")
    return folder
