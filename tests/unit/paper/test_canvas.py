"""What arrives on the canvas."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from simt.paper import FIGURES
from simt.paper.canvas import in_style, render
from simt.paper.figure_data import FigureData, gather
from simt.paper.frames import framed
from simt.paper.panels import Axis, Curve, FigureSpec, Mark, Panel
from simt.paper.rows import Number, Place
from simt.paper.style import COLUMN_INCHES, PAGE_INCHES, style_of
from simt.params import Params
from simt.runs import Run, study_drawings
from simt.systems import label_of
from tests.samples.results import write_results

Make = Callable[..., FigureData]


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with in_style():
        yield


def draw(name: str, data: FigureData) -> tuple[tuple[Panel, ...], Figure]:
    spec = FIGURES[name](data)
    return spec.panels, render(spec)


def lines_of(axes: Any) -> dict[str, tuple[list[float], list[float]]]:
    return {
        line.get_label(): ([*map(float, line.get_xdata())], [*map(float, line.get_ydata())])
        for line in axes.get_lines()
    }


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def notes_of(figure: Figure) -> str:
    return figure.get_supxlabel().replace("\u00a0", " ").replace("\n", " ")


def test_lines_lead_through_the_marks_from_short_to_long_lags(data: Make) -> None:
    (panel,), figure = draw("fig03-bleu-al", data("fig03-bleu-al"))
    lines = lines_of(figure.axes[0])
    for curve in panel.curves:
        expected = sorted((mark.x.value, mark.y.value) for mark in curve.marks)
        xs, ys = lines[curve.style.label]
        assert list(zip(xs, ys, strict=True)) == expected


def test_offline_lines_are_level(data: Make) -> None:
    (panel,), figure = draw("fig03-bleu-al", data("fig03-bleu-al"))
    lines = lines_of(figure.axes[0])
    for level in panel.levels:
        assert set(lines[level.style.label][1]) == {level.marks[0].y.value}


def test_legend_names_each_system_once(data: Make) -> None:
    _, figure = draw("fig07-offline-models", data("fig07-offline-models"))
    legend = legend_of(figure)
    assert len(legend) == len(set(legend))
    assert {"wait-k", "SM²-Bi", "SM²-FT", "SM²-FT (big)"} <= set(legend)
    assert len(legend) == 9
    for axes in figure.axes:  # lines of offline models have their names on them
        assert "OMT-Bi" in [text.get_text() for text in axes.texts]


def test_legend_stands_outside_of_the_panels(data: Make) -> None:
    _, figure = draw("fig03-bleu-al", data("fig03-bleu-al"))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1


def test_missing_points_are_written_below(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", leave_out=lambda point: point.run.variant == "k3")
    _, figure = draw("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert "missing: wait-k k = 3 (not decoded)" in notes_of(figure)


def test_notes_fit_the_width_of_the_figure(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(params, "tiny", leave_out=lambda point: point.run.variant != "bi")
    _, figure = draw("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    figure.draw_without_rendering()
    assert figure._supxlabel.get_window_extent().x1 <= figure.bbox.x1


def test_an_empty_panel_says_that_it_is(data: Make, tmp_path: Path) -> None:
    _, figure = draw("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert [text.get_text() for text in figure.axes[0].texts] == ["no points"]
    assert "missing: every system (not decoded)" in notes_of(figure)


@pytest.mark.parametrize("method", ["offline", "waitk", "hmt", "sm2"])
def test_a_study_of_one_method_can_draw_all_its_figures(
    params: Params, results: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is, those made from points: the others are of SM² alone."""
    monkeypatch.chdir(results)
    tiny = params.chosen_study
    runs = {"tiny-deen": {method: tiny.runs["tiny-deen"][method]}}
    small = tiny.model_copy(update={"runs": runs})
    for name, drawing in study_drawings(params, small, "figures").items():
        if drawing.split == "test":
            given = replace(params, studies={"tiny": small})
            _, figure = draw(name, gather(given, drawing, False))
            assert figure.axes


def test_a_single_system_is_named_too(data: Make, params: Params, tmp_path: Path) -> None:
    write_results(
        params, "tiny",
        leave_out=lambda point: (point.run.method, point.run.variant) != ("sm2", "bi"),
    )  # fmt: skip
    _, figure = draw("fig03-bleu-al", data("fig03-bleu-al", tmp_path))
    assert legend_of(figure) == ["SM²-Bi"]


def test_equal_values_do_not_blow_up_the_axis(data: Make) -> None:
    spec = FIGURES["fig08-ablations"](data("fig08-ablations"))
    (panel,) = spec.panels
    flat = tuple(
        curve._replace(marks=tuple(m._replace(y=m.y._replace(value=0.0)) for m in curve.marks))
        for curve in panel.curves
    )
    figure = render(FigureSpec((framed(replace(panel, curves=flat, levels=())),)))
    assert figure.axes[0].get_ylim() == (-1.0, 1.0)


def test_several_seeds_have_a_band_and_their_own_marks(
    data: Make, params: Params, tmp_path: Path
) -> None:
    made = data("fig08-ablations", tmp_path, seeds=(1, 2, 3))
    write_results(made.params, "tiny")
    (panel,), figure = draw("fig08-ablations", data("fig08-ablations", tmp_path, seeds=(1, 2, 3)))
    axes = figure.axes[0]
    assert len([one for one in axes.collections if isinstance(one, PolyCollection)]) == 3
    drawn = {
        (float(x), float(y))
        for line in axes.get_lines()
        if line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    assert drawn == {(m.x.value, m.y.value) for curve in panel.curves for m in curve.marks}


def test_one_seed_has_no_band(data: Make) -> None:
    _, figure = draw("fig08-ablations", data("fig08-ablations"))
    assert not figure.axes[0].collections


def test_a_system_has_the_same_colour_in_every_figure(data: Make) -> None:
    colours = set()
    for name in ("fig03-bleu-al", "fig06-prohibition", "fig08-ablations", "fig05-alignments"):
        _, figure = draw(name, data(name))
        lines = (line for axes in figure.axes for line in axes.get_lines())
        line = next(line for line in lines if line.get_label() == "SM²-Bi")
        colours.add(to_hex(line.get_color()))
    assert colours == {style_of("sm2/bi").colour}


def test_encoders_are_told_apart_by_the_line(data: Make) -> None:
    _, figure = draw("fig06-prohibition", data("fig06-prohibition"))
    dashed = {line.get_label() for line in figure.axes[2].get_lines() if line.is_dashed()}
    assert dashed == {"SM²-Uni", "SM²-Uni-P", "OMT-Uni"}


def test_what_several_panels_have_in_common_is_noted_once(data: Make) -> None:
    spec = FIGURES["fig05-alignments"](data("fig05-alignments"))
    alike = [replace(panel, remarks=("be careful",), missing=()) for panel in spec.panels]
    assert "(a), (b): be careful" in notes_of(render(FigureSpec(tuple(alike))))


def test_no_two_systems_share_a_style() -> None:
    keys = [
        "waitk", "multipath/uni", "hmt", "itst/uni", "sm2/uni", "sm2/bi", "sm2/uni-p", "sm2/bi-p",
        "sm2/bi-ft", "sm2/bi-adapter", "sm2/bi-small-ft", "sm2/bi-big-ft", "sm2/bi-no-omt",
        "sm2/bi-no-pi",
    ]  # fmt: skip
    assert len({style_of(key).colour for key in keys}) == len(keys)


# What a deuteranope sees of linear red, green and blue (Machado et al., 2009).
_WITHOUT_GREEN = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def seen_without_green(colour: str) -> Any:
    """CIE L*a*b* of a colour as a deuteranope sees it."""
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = _TO_XYZ @ np.clip(_WITHOUT_GREEN @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(
    "name", ["fig03-bleu-al", "fig06-prohibition", "fig07-offline-models", "fig08-ablations"]
)
def test_systems_side_by_side_differ_in_mark_and_for_deuteranopes_in_colour(
    data: Make, name: str
) -> None:
    for panel in FIGURES[name](data(name)).panels:
        for one, other in combinations([curve.style for curve in panel.curves], 2):
            assert (one.marker, one.is_filled) != (other.marker, other.is_filled)
            far = np.linalg.norm(seen_without_green(one.colour) - seen_without_green(other.colour))
            assert far > 10, (one.label, other.label)  # 2 is a just noticeable difference


def test_thin_lines_lie_over_broad_ones(data: Make) -> None:
    _, figure = draw("fig03-bleu-al", data("fig03-bleu-al"))
    curves = [line for line in figure.axes[0].get_lines() if line.get_label().strip("_")]
    widths = [one.get_linewidth() for one in curves if one.get_marker() not in ("", "None")]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 2


# --- the part that is enlarged ------------------------------------------------------------------


def panel_of(*curves: list[tuple[float, float]]) -> Panel:
    """A panel with made-up marks."""
    made = [
        Curve(str(number), style_of("waitk"), tuple(
            Mark(Place(Run("p", "waitk", "k1", 1), "test", 1.0), Number(x, "s"), Number(y, "s"))
            for x, y in points
        ))
        for number, points in enumerate(curves)
    ]  # fmt: skip
    return Panel("t", Axis("al_token", "AL"), Axis("bleu", "BLEU"), tuple(made))


RISING = [(0.0, 10.0), (1.0, 40.0), (2.0, 60.0), (3.0, 80.0), (4.0, 88.0), (5.0, 89.0),
          (6.0, 89.5), (7.0, 89.6), (8.0, 89.7), (9.0, 89.8), (9.5, 89.9), (10., 90.)]  # fmt: skip


def test_where_marks_are_crowded_is_enlarged_in_the_free_corner() -> None:
    inset = framed(panel_of(RISING)).inset
    assert inset is not None
    left, bottom, width, height = inset.corner
    assert left + width < 1
    assert bottom + height < 0.95
    assert inset.y_limits[0] < 89.5 < 90.0 < inset.y_limits[1]  # the upper half of the marks
    assert inset.y_limits[0] > 89.0
    assert inset.x_limits[0] < 6.0 < 10.0 < inset.x_limits[1]


def test_a_curve_that_ends_lower_is_enlarged_too_if_it_is_near() -> None:
    lower, far = ([(x, y - less) for x, y in RISING[4:]] for less in (6.0, 40.0))
    near = framed(panel_of(RISING, lower)).inset
    assert near is not None
    assert near.y_limits[0] < 84.0  # where it is at its best
    apart = framed(panel_of(RISING, far)).inset
    assert apart is None or apart.y_limits[0] > 50.0


def test_even_curves_and_few_marks_need_no_inset() -> None:
    even = [(float(x), 10.0 * x) for x in range(12)]
    assert framed(panel_of(even)).inset is None
    assert framed(panel_of(RISING[:11])).inset is None


def test_what_fills_the_panel_is_not_shown_again() -> None:
    assert framed(panel_of([(x, 90.0) for x, _ in RISING])).inset is None


def test_no_inset_lies_over_a_curve() -> None:
    low = [(4.0, 20.0), (10.0, 15.0)]
    assert framed(panel_of(RISING, low)).inset is None


def test_inset_has_all_curves_and_a_frame_where_it_is_from() -> None:
    panel = framed(panel_of(RISING))
    assert panel.inset is not None
    figure = render(FigureSpec((panel,)))
    (corner,) = figure.axes[0].child_axes
    assert corner.get_xlim() == panel.inset.x_limits
    assert lines_of(corner).keys() == lines_of(figure.axes[0]).keys()


# --- faces --------------------------------------------------------------------------------------


def test_serif_face_is_set_in_letters_like_times(data: Make) -> None:
    with in_style("serif"):
        _, figure = draw("fig03-bleu-al", data("fig03-bleu-al"))
        title = figure.axes[0].title
        assert title.get_fontname() == "STIXGeneral"
        assert figure.get_figwidth() == COLUMN_INCHES


def test_a_system_that_nobody_named_is_drawn_under_its_own_name() -> None:
    assert label_of("sm2/bi-new") == "sm2 bi-new"
    assert style_of("sm2/bi-new").colour.startswith("#")


@pytest.mark.parametrize(
    ("name", "inches"), [("fig03-bleu-al", COLUMN_INCHES), ("fig12-long-short", PAGE_INCHES)]
)
def test_a_figure_is_as_wide_as_a_column_or_a_page(data: Make, name: str, inches: float) -> None:
    _, figure = draw(name, data(name))
    assert figure.get_figwidth() == inches


def test_share_of_alignments_is_printed_in_percent(data: Make) -> None:
    _, figure = draw("fig05-alignments", data("fig05-alignments"))
    figure.draw_without_rendering()
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert all(label.endswith("%") for label in labels)


def test_paper_numbers_are_grey_and_in_the_legend(
    data: Make, params: Params, tmp_path: Path
) -> None:
    write_results(params, "paper")
    made = data("fig08-ablations", tmp_path, "paper", with_paper_numbers=True)
    _, figure = draw("fig08-ablations", made)
    assert "paper (same markers)" in legend_of(figure)
    assert tuple(column[0] for column in lines_of(figure.axes[0])["paper (same markers)"]) == (
        1.52,
        24.74,
    )
