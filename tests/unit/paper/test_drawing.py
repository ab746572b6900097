"""From results to files: all there, the same on every call, and light to ask about."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.paper import FIGURE_FORMATS, FIGURES, TABLE_FORMATS, TABLES, draw_figure, draw_table
from simt.params import Params

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
    assert (caption["entry"]["title"], caption["study"]) == (drawing.title, "tiny")


def test_caption_of_a_table_signs_its_numbers(drawn: Path) -> None:
    caption = json.loads((drawn / "tab05-numbers.json").read_text(encoding="utf-8"))
    assert set(caption["signatures"]) == {"al_token", "bleu", "comet:simt/toy-estimator"}
    assert all(len(ways) == 1 for ways in caption["signatures"].values())
    assert {"pair", "method", "variant", "seed", "split", "knob"} <= set(caption["points"][0])


_DRAW = """
import sys
from pathlib import Path
from simt.paper import draw_figure
from simt.params import load_params
params = load_params(Path(sys.argv[1]), "tiny")
draw_figure("fig09-lambda", params, "tiny", Path(sys.argv[2]), Path(sys.argv[3]), False)
"""


def test_another_process_draws_the_same_bytes(
    drawn: Path, results: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    command = [sys.executable, "-c", _DRAW, request.config.rootpath / "params.yaml", results]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "MPLBACKEND": "svg"}
    subprocess.run([*command, tmp_path], check=True, env=environment)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (drawn / path.name).read_bytes(), path.name


def test_a_second_call_draws_the_same_bytes(
    params: Params, results: Path, drawn: Path, tmp_path: Path
) -> None:
    paths = [
        *draw_figure("fig03-bleu-al", params, "tiny", results, tmp_path, False),
        *draw_table("tab05-numbers", params, "tiny", results, tmp_path, False),
    ]
    assert len(paths) == 8
    for path in paths:
        assert path.read_bytes() == (drawn / path.name).read_bytes(), path.name


def test_files_carry_no_date(drawn: Path) -> None:
    assert b"CreationDate" not in (drawn / "fig03-bleu-al.pdf").read_bytes()
    assert b"<dc:date>" not in (drawn / "fig03-bleu-al.svg").read_bytes()


def test_an_unknown_name_lists_the_known_ones(params: Params, tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="there is no figure 'fig99'; there are fig01-paradigms, "):
        draw_figure("fig99", params, "tiny", tmp_path, tmp_path, False)


def test_an_unknown_study_lists_the_known_ones(params: Params, tmp_path: Path) -> None:
    with pytest.raises(SimtError, match="no study 'big'; there are toy, tiny"):
        draw_table("tab05-numbers", params, "big", tmp_path, tmp_path, False)


def test_asking_for_names_loads_no_heavy_library() -> None:
    code = (
        "import sys, simt.paper; "
        "print([m for m in ('matplotlib', 'pandas', 'numpy', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
