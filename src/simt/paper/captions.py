"""What stands beside a figure or table: which points it shows and how each number was computed."""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from simt.paper.material import Material, Missing
from simt.paper.notes import panel_notes
from simt.paper.panels import Mark, Panel, Sheet
from simt.paper.rows import Number, Place
from simt.paper.sketches import Sketch
from simt.paper.tabular import Table


def figure_caption(name: str, material: Material, sheet: Sheet) -> dict[str, Any]:
    """The points of every panel, their signatures, and what is missing and why."""
    return {
        **_head(name, material),
        "panels": [
            *(_sketch_caption(sketch) for sketch in sheet.sketches),
            *(_panel_caption(panel) for panel in sheet.panels),
        ],
    }


def table_caption(name: str, material: Material, table: Table) -> dict[str, Any]:
    """The points of every number of a table, their signatures, and what is missing and why."""
    numbers = [(cell.metric, place, one) for cell in table.measured for place, one in cell.values]
    points: dict[Place, dict[str, float]] = {}
    for metric, place, number in numbers:
        points.setdefault(place, {})[metric] = number.value
    return {
        **_head(name, material),
        "points": [{**_place(place), **scores} for place, scores in points.items()],
        "signatures": _signatures((metric, number) for metric, _, number in numbers),
        "missing": [_missing(one) for one in table.missing],
        "notes": {block.pair: list(block.notes) for block in table.blocks},
    }


def _head(name: str, material: Material) -> dict[str, Any]:
    return {
        "name": name,
        "entry": json.loads(material.drawing.as_json()),  # of params.yaml: what it is made from
        "study": material.study_name,
        "fidelity": material.params.fidelity,
        "with_paper_numbers": material.with_paper_numbers,
    }


def _sketch_caption(sketch: Sketch) -> dict[str, Any]:
    """A schematic has no scores, but a sentence that it shows."""
    sentence = None if sketch.sentence is None else sketch.sentence._asdict()
    return {
        "title": sketch.title,
        "sentence": sentence,
        "curves": [],
        "lines": [],
        "signatures": {},
        "notes": list(sketch.notes),
    }


def _panel_caption(panel: Panel) -> dict[str, Any]:
    x, y = panel.x.metric, panel.y.metric
    signed = [(x, mark.x) for mark in panel.marks] + [(y, mark.y) for mark in panel.marks]
    return {
        "title": panel.title,
        "x": x,
        "y": y,
        "curves": [
            {"name": curve.name, "points": [_mark(panel, mark) for mark in curve.marks]}
            for curve in panel.curves
        ],
        "lines": [
            {"name": level.name, "points": [_mark(panel, mark) for mark in level.marks]}
            for level in panel.levels
        ],
        "others": [
            {"origin": trace.origin, x: list(trace.xs), y: list(trace.ys)} for trace in panel.traces
        ],
        "signatures": _signatures(signed),
        "missing": [_missing(one) for one in panel.missing],
        "notes": panel_notes(panel),
    }


def _mark(panel: Panel, mark: Mark) -> dict[str, Any]:
    values = {panel.x.metric: mark.x.value, panel.y.metric: mark.y.value}
    assert all(map(isfinite, values.values())), mark
    return {**_place(mark.place), **values}


def _place(place: Place) -> dict[str, Any]:
    run = place.run
    return {
        "pair": run.pair,
        "method": run.method,
        "variant": run.variant,
        "seed": run.seed,
        "split": place.split,
        "knob": place.knob,
        "group": place.group,
    }


def _signatures(numbers: Iterable[tuple[str, Number]]) -> dict[str, list[str]]:
    """Every way in which each score was computed."""
    ways: dict[str, dict[str, None]] = {}
    for metric, number in numbers:
        ways.setdefault(metric, {})[number.signature] = None
    return {metric: list(signatures) for metric, signatures in ways.items()}


def _missing(missing: Missing) -> dict[str, Any]:
    return {
        "pair": missing.pair,
        "system": missing.system,
        "knob": str(missing.knob),
        "seed": missing.seed,
        "reason": missing.reason,
    }
