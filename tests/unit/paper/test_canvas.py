"""What arrives on the canvas."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from simt.paper import FIGURES
from simt.paper.canvas import in_style, render
from simt.paper.material import Material
from simt.paper.panels import Panel, Sheet
from simt.paper.style import COLUMN_INCHES, PAGE_INCHES, label_of, look_of
from simt.params import Params
from tests.samples.results import write_results

Make = Callable[..., Material]


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with in_style():
        yield


def draw(name: str, material: Material) -> tuple[tuple[Panel, ...], Figure]:
    sheet = FIGURES[name](material)
    return sheet.panels, render(sheet)


def lines_of(axes: Any) -> dict[str, tuple[list[float], list[float]]]:
    return {
        line.get_label(): ([*map(float, line.get_xdata())], [*map(float, line.get_ydata())])
        for line in axes.get_lines()
    }


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def notes_of(figure: Figure) -> str:
    return figure.get_supxlabel().replace("\u00a0", " ").replace("\n", " ")


def test_lines_lead_through_the_marks_from_short_to_long_lags(material: Make) -> None:
    (panel,), figure = draw("fig03-bleu-al", material("fig03-bleu-al"))
    lines = lines_of(figure.axes[0])
    for curve in panel.curves:
        expected = sorted((mark.x.value, mark.y.value) for mark in curve.marks)
        xs, ys = lines[curve.look.label]
        assert list(zip(xs, ys, strict=True)) == expected


def test_offline_lines_are_level(material: Make) -> None:
    (panel,), figure = draw("fig03-bleu-al", material("fig03-bleu-al"))
    lines = lines_of(figure.axes[0])
    for level in panel.levels:
        assert set(lines[level.look.label][1]) == {level.marks[0].y.value}


def test_legend_names_each_system_once(material: Make) -> None:
    _, figure = draw("fig07-offline-models", material("fig07-offline-models"))
    legend = legend_of(figure)
    assert len(legend) == len(set(legend))
    assert {"wait-k", "SM²-Bi", "SM²-FT", "SM²-FT (big)", "OMT-Bi"} <= set(legend)


def test_legend_stands_outside_of_the_panels(material: Make) -> None:
    _, figure = draw("fig03-bleu-al", material("fig03-bleu-al"))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_missing_points_are_written_below(material: Make, params: Params, tmp_path: Path) -> None:
    write_results(tmp_path, params, "tiny", leave_out=lambda point: point.run.variant == "k3")
    _, figure = draw("fig03-bleu-al", material("fig03-bleu-al", tmp_path))
    assert "missing: wait-k k = 3 (not decoded)" in notes_of(figure)


def test_notes_fit_the_width_of_the_figure(material: Make, params: Params, tmp_path: Path) -> None:
    write_results(tmp_path, params, "tiny", leave_out=lambda point: point.run.variant != "bi")
    _, figure = draw("fig03-bleu-al", material("fig03-bleu-al", tmp_path))
    figure.draw_without_rendering()
    assert figure._supxlabel.get_window_extent().x1 <= figure.bbox.x1


def test_an_empty_panel_says_that_it_is(material: Make, tmp_path: Path) -> None:
    _, figure = draw("fig03-bleu-al", material("fig03-bleu-al", tmp_path))
    assert [text.get_text() for text in figure.axes[0].texts] == ["no points"]
    assert "missing: every system (not decoded)" in notes_of(figure)


def test_a_single_system_is_named_too(material: Make, params: Params, tmp_path: Path) -> None:
    write_results(
        tmp_path, params, "tiny",
        leave_out=lambda point: (point.run.method, point.run.variant) != ("sm2", "bi"),
    )  # fmt: skip
    _, figure = draw("fig03-bleu-al", material("fig03-bleu-al", tmp_path))
    assert legend_of(figure) == ["SM²-Bi"]


def test_equal_values_do_not_blow_up_the_axis(material: Make) -> None:
    sheet = FIGURES["fig08-ablations"](material("fig08-ablations"))
    (panel,) = sheet.panels
    flat = tuple(
        curve._replace(marks=tuple(m._replace(y=m.y._replace(value=0.0)) for m in curve.marks))
        for curve in panel.curves
    )
    figure = render(Sheet((replace(panel, curves=flat, levels=()),)))
    assert figure.axes[0].get_ylim() == (-1.0, 1.0)


def test_several_seeds_have_a_band_and_their_own_marks(
    material: Make, params: Params, tmp_path: Path
) -> None:
    made = material("fig08-ablations", tmp_path, seeds=(1, 2, 3))
    write_results(tmp_path, made.params, "tiny")
    (panel,), figure = draw(
        "fig08-ablations", material("fig08-ablations", tmp_path, seeds=(1, 2, 3))
    )
    axes = figure.axes[0]
    assert len([one for one in axes.collections if isinstance(one, PolyCollection)]) == 3
    drawn = {
        (float(x), float(y))
        for line in axes.get_lines()
        if line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    assert drawn == {(m.x.value, m.y.value) for curve in panel.curves for m in curve.marks}


def test_one_seed_has_no_band(material: Make) -> None:
    _, figure = draw("fig08-ablations", material("fig08-ablations"))
    assert not figure.axes[0].collections


def test_a_system_has_the_same_colour_in_every_figure(material: Make) -> None:
    colours = set()
    for name in ("fig03-bleu-al", "fig06-prohibition", "fig08-ablations", "fig05-alignments"):
        _, figure = draw(name, material(name))
        lines = (line for axes in figure.axes for line in axes.get_lines())
        line = next(line for line in lines if line.get_label() == "SM²-Bi")
        colours.add(to_hex(line.get_color()))
    assert colours == {look_of("sm2/bi").colour}


def test_encoders_are_told_apart_by_the_line(material: Make) -> None:
    _, figure = draw("fig06-prohibition", material("fig06-prohibition"))
    dashed = {line.get_label() for line in figure.axes[2].get_lines() if line.is_dashed()}
    assert dashed == {"SM²-Uni", "SM²-Uni-P", "OMT-Uni"}


def test_what_several_panels_have_in_common_is_noted_once(material: Make) -> None:
    sheet = FIGURES["fig05-alignments"](material("fig05-alignments"))
    alike = [replace(panel, remarks=("be careful",), missing=()) for panel in sheet.panels]
    assert "(a), (b): be careful" in notes_of(render(Sheet(tuple(alike))))


def test_no_two_systems_share_a_look() -> None:
    keys = [
        "waitk", "multipath/uni", "hmt", "itst/uni", "sm2/uni", "sm2/bi", "sm2/uni-p", "sm2/bi-p",
        "sm2/bi-ft", "sm2/bi-adapter", "sm2/bi-small-ft", "sm2/bi-big-ft", "sm2/bi-no-omt",
        "sm2/bi-no-pi",
    ]  # fmt: skip
    assert len({look_of(key).colour for key in keys}) == len(keys)


def test_a_system_that_nobody_named_is_drawn_under_its_own_name() -> None:
    assert label_of("sm2/bi-new") == "sm2 bi-new"
    assert look_of("sm2/bi-new").colour.startswith("#")


@pytest.mark.parametrize(
    ("name", "inches"), [("fig03-bleu-al", COLUMN_INCHES), ("fig12-long-short", PAGE_INCHES)]
)
def test_a_figure_is_as_wide_as_a_column_or_a_page(
    material: Make, name: str, inches: float
) -> None:
    _, figure = draw(name, material(name))
    assert figure.get_figwidth() == inches


def test_share_of_alignments_is_printed_in_percent(material: Make) -> None:
    _, figure = draw("fig05-alignments", material("fig05-alignments"))
    figure.draw_without_rendering()
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert all(label.endswith("%") for label in labels)


def test_paper_numbers_are_grey_and_in_the_legend(
    material: Make, params: Params, tmp_path: Path
) -> None:
    write_results(tmp_path, params, "paper")
    made = material("fig08-ablations", tmp_path, "paper", with_paper_numbers=True)
    _, figure = draw("fig08-ablations", made)
    assert "paper (same markers)" in legend_of(figure)
    assert tuple(column[0] for column in lines_of(figure.axes[0])["paper (same markers)"]) == (
        1.52,
        24.74,
    )
