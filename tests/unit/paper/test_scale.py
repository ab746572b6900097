"""The figure of scale: every mark is a run of the right pair, at the place that the pair has."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simt.errors import SimtError
from simt.paper.figure_data import FigureData, gather
from simt.paper.panels import Panel
from simt.paper.rows import Place
from simt.paper.scale import LATENCIES, scale
from simt.params import Params
from simt.runs import Run, corpus_folder
from tests.samples.results import write_results

REFERENCE = "multi30k-deen-long"
BY_UPDATES = {f"{REFERENCE}-u{n}": n for n in (1500, 3000)} | {REFERENCE: 6000}
BY_SENTENCES = {f"{REFERENCE}-s7250": 7250, REFERENCE: 29_000}


@pytest.fixture
def sheet_material(any_data: Callable[[str], FigureData]) -> FigureData:
    return any_data("scale-bleu")


def panels_of(data: FigureData, metric: str) -> list[Panel]:
    return [panel for panel in scale(data).panels if panel.x.metric == metric]


def places_of(panel: Panel, name: str) -> dict[str, float]:
    (curve,) = (curve for curve in panel.curves if curve.name == name)
    return {mark.place.run.pair: mark.x.value for mark in curve.marks}


def test_scale_has_a_panel_for_loss_whole_source_and_every_latency(
    sheet_material: FigureData,
) -> None:
    assert len(panels_of(sheet_material, "updates")) == 2 + len(LATENCIES)


def test_panel_in_which_no_system_has_two_scales_is_left_out(sheet_material: FigureData) -> None:
    titles = [panel.title for panel in panels_of(sheet_material, "sentences")]
    assert titles == ["offline, by sentences", "whole source, by sentences"]


def test_latencies_that_no_system_is_measured_at_have_no_panel(params: Params) -> None:
    write_results(params, "scale-toy")
    entry = params.paper.figures["scale-bleu"]
    panels = scale(gather(replace(params, study="scale-toy"), entry, False)).panels
    assert [panel.title for panel in panels] == ["offline, by updates", "whole source, by updates"]
    assert sorted(places_of(panels[0], "OMT-Bi").values()) == [450, 900, 1800, 4800]


def test_pairs_with_the_same_text_lie_at_their_updates(sheet_material: FigureData) -> None:
    loss, whole, *at_latencies = panels_of(sheet_material, "updates")
    assert places_of(loss, "OMT-Uni") == places_of(whole, "OMT-Bi") == BY_UPDATES
    for panel in at_latencies:
        assert places_of(panel, "m-wait-k") == BY_UPDATES


def test_pairs_with_as_many_updates_lie_at_their_sentences(sheet_material: FigureData) -> None:
    for panel in panels_of(sheet_material, "sentences"):
        assert places_of(panel, "OMT-Bi") == BY_SENTENCES


def test_loss_is_of_offline_models_only(sheet_material: FigureData) -> None:
    loss, *_ = panels_of(sheet_material, "updates")
    assert [curve.name for curve in loss.curves] == ["OMT-Uni", "OMT-Bi"]


def test_bleu_at_a_latency_lies_on_the_line_between_knob_values(sheet_material: FigureData) -> None:
    data = sheet_material
    run = Run(REFERENCE, "multipath", "uni", 1)
    points = []
    for knob in data.params.knobs(run.pair, run.method, run.variant):
        found = data.look_up(Place(run, "test", knob), "al_token", "bleu")
        assert isinstance(found, tuple)
        points.append((found[0].value, found[1].value))
    lags, scores = zip(*sorted(points), strict=True)
    for panel, latency in zip(panels_of(data, "updates")[2:], LATENCIES, strict=True):
        (curve,) = (curve for curve in panel.curves if curve.name == "m-wait-k")
        (mark,) = (mark for mark in curve.marks if mark.place.run.pair == REFERENCE)
        assert mark.y.value == pytest.approx(np.interp(latency, lags, scores))


def test_system_that_does_not_reach_a_latency_is_named_as_missing(
    sheet_material: FigureData,
) -> None:
    *_, at_five = panels_of(sheet_material, "updates")
    (curve,) = (curve for curve in at_five.curves if curve.name == "HMT")
    assert not curve.marks
    assert {one.reason for one in at_five.missing if one.system == "HMT"} == {"no AL 5"}


def test_corpus_without_statistics_is_told(sheet_material: FigureData, other_results: Path) -> None:
    path = other_results / corpus_folder(REFERENCE, "prepare") / "stats.json"
    before = path.read_text(encoding="utf-8")
    path.write_text("{}", encoding="utf-8")
    try:
        with pytest.raises(SimtError, match=f"prepare {REFERENCE} again"):
            scale(sheet_material)
    finally:
        path.write_text(before, encoding="utf-8")
