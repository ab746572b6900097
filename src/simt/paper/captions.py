"""What stands beside a figure or table: which points it shows and how each number was computed."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from simt.paper.cells import score_name
from simt.paper.figure_data import FigureData, Missing
from simt.paper.notes import panel_notes
from simt.paper.panels import FigureSpec, Mark, Panel
from simt.paper.rows import Number, Place
from simt.paper.sketches import Sketch
from simt.paper.tabular import Block, Table, cell_text
from simt.runs import shown_points


def figure_caption(name: str, data: FigureData, spec: FigureSpec) -> dict[str, Any]:
    """The points of every panel, their signatures, and what is missing and why."""
    return {
        **_head(name, data),
        "text": _figure_text(data, spec),
        "panels": [
            *(_sketch_caption(sketch) for sketch in spec.sketches),
            *(_panel_caption(panel) for panel in spec.panels),
        ],
    }


def table_caption(name: str, data: FigureData, table: Table) -> dict[str, Any]:
    """The points of every number of a table, their signatures, and what is missing and why."""
    numbers = [(cell.metric, place, one) for cell in table.measured for place, one in cell.values]
    points: dict[Place, dict[str, float]] = {}
    for metric, place, number in numbers:
        points.setdefault(place, {})[metric] = number.value
    signatures = _signatures((metric, number) for metric, _, number in numbers)
    return {
        **_head(name, data),
        "text": _table_text(data, table, signatures),
        "points": [{**_place(place), **scores} for place, scores in points.items()],
        "signatures": signatures,
        "missing": [_missing(one) for one in table.missing],
        "blocks": [_block(table, block) for block in table.blocks],
    }


def _block(table: Table, block: Block) -> dict[str, Any]:
    """The rows of a pair as they are printed; numbers are set flush right."""
    return {
        "pair": block.pair,
        "heading": block.heading,
        "columns": [column.heading for column in table.columns],
        "is_number": [column.decimals is not None for column in table.columns],
        "rows": [
            [cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)]
            for row in block.rows
        ],
        "notes": list(block.notes),
    }


def _head(name: str, data: FigureData) -> dict[str, Any]:
    return {
        "name": name,
        "entry": data.drawing.as_values(),  # of params.yaml: what it is made from
        "study": data.params.study,
        "fidelity": data.params.fidelity,
        "with_paper_numbers": data.with_paper_numbers,
    }


# --- a caption to print -------------------------------------------------------------------------


def _figure_text(data: FigureData, spec: FigureSpec) -> str:
    """A caption that stands alone: what is shown, of what, what lies outside, and how computed."""
    said = [_title(data)]
    said += ["; ".join([one.title, *one.notes]) for one in spec.sketches]
    said += map(_panel_text, spec.panels)
    signatures: dict[str, list[str]] = {}
    for panel in spec.panels:
        for metric, ways in _panel_signatures(panel).items():
            signatures.setdefault(metric, []).extend(ways)
    return " ".join(f"{one}." for one in (*said, *_signed(signatures)))


def _panel_text(panel: Panel) -> str:
    lines = [level.name for level in panel.levels if level.marks]
    parts = [
        f"{panel.title}: {panel.y.label} against {panel.x.label}",
        f"lines without marks: {', '.join(lines)}" if lines else "",
        "the framed part is enlarged" if panel.inset else "",
        *panel_notes(panel),
    ]
    return "; ".join(part for part in parts if part)


def _table_text(data: FigureData, table: Table, signatures: Mapping[str, list[str]]) -> str:
    said = [_title(data)]
    for block in table.blocks:
        said += ["; ".join(part for part in (block.heading, *block.notes) if part)]
    return " ".join(f"{one}." for one in (*filter(None, said), *_signed(signatures)))


def _title(data: FigureData) -> str:
    of = f"study {data.params.study}, {data.drawing.split} set, {_seeds(data)}"
    return f"{data.drawing.title} ({of})"


def _seeds(data: FigureData) -> str:
    """How many seeds the systems have: ``1 seed``, ``1 or 3 seeds``."""
    study = data.study
    runs = [point.run for point in shown_points(data.params, study, data.drawing)]
    numbers = sorted({len(study.seeds_of(run.method, run.variant)) for run in runs})
    return f"{' or '.join(map(str, numbers))} {'seed' if numbers == [1] else 'seeds'}"


def _signed(signatures: Mapping[str, list[str]]) -> list[str]:
    """How every score was computed, as a sentence; none where there are no scores."""
    ways = [
        f"{score_name(metric)}, {' or '.join(dict.fromkeys(some))}"
        for metric, some in signatures.items()
    ]
    return [f"Computed as: {'; '.join(ways)}"] if ways else []


# --- what it was made from ----------------------------------------------------------------------


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
            {"origin": reference.origin, x: list(reference.xs), y: list(reference.ys)}
            for reference in panel.reference_lines
        ],
        "signatures": _panel_signatures(panel),
        "missing": [_missing(one) for one in panel.missing],
        "notes": panel_notes(panel),
    }


def _panel_signatures(panel: Panel) -> dict[str, list[str]]:
    x, y = panel.x.metric, panel.y.metric
    return _signatures((name, one) for m in panel.marks for name, one in ((x, m.x), (y, m.y)))


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
