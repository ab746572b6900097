"""From results to files: all there, the same on every call, and light to ask about."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.paper import FIGURES, TABLES, data_of, draw_figure, draw_table
from simt.paper.figure_data import FigureData
from simt.params import Params
from simt.products import FIGURE_FORMATS, TABLE_FORMATS
from tests.samples.results import study_with

pytestmark = pytest.mark.xdist_group("drawn")  # they share a set-up

BEGINNINGS = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG", "json": b"{"}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_its_formats_and_its_caption(drawn: Path, name: str) -> None:
    for format_ in (*FIGURE_FORMATS, "json"):
        assert (drawn / f"{name}.{format_}").read_bytes().startswith(BEGINNINGS[format_])


@pytest.mark.parametrize("name", TABLES)
def test_every_table_has_its_formats_and_its_caption(drawn: Path, name: str) -> None:
    for format_ in (*TABLE_FORMATS, "json"):
        assert (drawn / f"{name}.{format_}").stat().st_size > 20


def test_nothing_else_is_left_behind(drawn: Path) -> None:
    expected = {f"{name}.{one}" for name in FIGURES for one in (*FIGURE_FORMATS, "json")}
    expected |= {f"{name}.{one}" for name in TABLES for one in (*TABLE_FORMATS, "json")}
    assert {path.name for path in drawn.iterdir()} == expected


@pytest.mark.parametrize("name", [*FIGURES, *TABLES])
def test_caption_names_study_and_title(drawn: Path, params: Params, name: str) -> None:
    caption = json.loads((drawn / f"{name}.json").read_text(encoding="utf-8"))
    drawing = {**params.paper.figures, **params.paper.tables}[name]
    study = study_with(params, name)
    assert (caption["entry"]["title"], caption["study"]) == (drawing.title, study)


def test_caption_of_a_table_signs_its_numbers(drawn: Path) -> None:
    caption = json.loads((drawn / "tab05-numbers.json").read_text(encoding="utf-8"))
    assert set(caption["signatures"]) == {"al_token", "bleu", "comet:simt/toy-estimator"}
    assert all(len(ways) == 1 for ways in caption["signatures"].values())
    assert {"pair", "method", "variant", "seed", "split", "knob"} <= set(caption["points"][0])


_DRAW = """
import sys
from pathlib import Path
from simt.paper import data_of, draw_figure
from simt.params import load_params
params = load_params(Path(sys.argv[1]), "tiny")
data = data_of("fig09-lambda", params, False)
draw_figure("fig09-lambda", data, Path(sys.argv[2]))
"""


def test_another_process_draws_the_same_bytes(
    drawn: Path, results: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = [sys.executable, "-c", _DRAW, request.config.rootpath / "params.yaml"]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "MPLBACKEND": "svg"}
    subprocess.run([*command, tmp_path], check=True, env=environment, cwd=results)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (drawn / path.name).read_bytes(), path.name


def test_a_second_call_draws_the_same_bytes(
    data: Callable[..., FigureData], drawn: Path, tmp_path: Path
) -> None:
    paths = [
        *draw_figure("fig03-bleu-al", data("fig03-bleu-al"), tmp_path),
        *draw_table("tab05-numbers", data("tab05-numbers"), tmp_path),
    ]
    assert len(paths) == 8
    for path in paths:
        assert path.read_bytes() == (drawn / path.name).read_bytes(), path.name


def test_a_face_changes_the_letters_and_no_number(
    data: Callable[..., FigureData], drawn: Path, tmp_path: Path
) -> None:
    draw_figure("fig03-bleu-al", data("fig03-bleu-al"), tmp_path, "serif")
    sans, serif = ((folder / "fig03-bleu-al.pdf").read_bytes() for folder in (drawn, tmp_path))
    for pdf, letters in ((sans, b"DejaVuSans"), (serif, b"STIXGeneral")):
        assert letters in pdf
        assert b"/Type3" not in pdf  # text stays text: TrueType
    captions = [(folder / "fig03-bleu-al.json").read_text() for folder in (drawn, tmp_path)]
    assert captions[0] == captions[1]


def test_files_carry_no_date(drawn: Path) -> None:
    assert b"CreationDate" not in (drawn / "fig03-bleu-al.pdf").read_bytes()
    assert b"<dc:date>" not in (drawn / "fig03-bleu-al.svg").read_bytes()


def test_an_unknown_name_lists_the_known_ones(params: Params) -> None:
    with pytest.raises(SimtError, match="no figure or table 'fig99'; there are fig01-paradigms, "):
        data_of("fig99", params, with_paper_numbers=False)


@pytest.mark.parametrize(
    ("study", "name", "reason"),
    [
        ("tiny", "fig10-appendix-bleu-al", "the study has no appendix pair besides its main ones"),
        ("toy", "tab06-numbers", "the study has no second main pair"),
        ("toy", "tab10-beside-paper", "the study has none of the pairs nist-zhen, wmt15-deen, "),
        ("multi30k", "fig13-prohibition-alignments", "no gold alignments for multi30k-deen"),
        ("scale-toy", "fig12-long-short", "of its runs the study has offline ones only; for a "),
    ],
)
def test_what_a_study_has_nothing_for_is_refused_with_the_reason(
    params: Params, study: str, name: str, reason: str
) -> None:
    with pytest.raises(SimtError, match=f"^{name} is left out of study {study}: {reason}"):
        data_of(name, replace(params, study=study), with_paper_numbers=False)


def test_asking_for_names_loads_no_heavy_library() -> None:
    code = (
        "import sys, simt.paper; "
        "print([m for m in ('matplotlib', 'pandas', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "seeds"), [("fig03-bleu-al", "3 seeds"), ("fig08-ablations", "1 or 3 seeds")]
)
def test_caption_says_how_many_seeds_the_systems_have(
    params: Params, name: str, seeds: str, tmp_path: Path
) -> None:
    data = data_of(name, replace(params, study="multi30k"), False)
    draw_figure(name, data, tmp_path)
    caption = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert f"(study multi30k, test set, {seeds})." in caption["text"]
