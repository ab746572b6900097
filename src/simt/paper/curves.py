"""Quality against latency as numbers for programs: DVC shows and compares them.

One CSV file with every point of the test set, and one small JSON file a run, which says how good it
is where its curve crosses some latencies.
"""

import csv
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from simt.atomic import atomic_file, write_json
from simt.paper.comparison import interpolated
from simt.paper.material import system_key
from simt.paper.rows import Gap, Place, load_rows
from simt.paper.style import label_of
from simt.params import Knob, Params
from simt.runs import Run, point_settings, study_points

LATENCIES = (1, 3, 5, 7, 9)


class CurvePoint(NamedTuple):
    """A point of a curve; these are the columns of the file."""

    pair: str
    run: str
    seed: int
    system: str  # whose curve it is, by the name that figures give it
    knob: Knob
    al: float
    bleu: float


def write_curves(params: Params, study: str, results: Path, to: Path) -> None:
    """Write curves.csv and the metrics of every run into ``to``."""
    points = list(_curve_points(params, study, results))
    with atomic_file(to / "curves.csv") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(CurvePoint._fields)
        writer.writerows(points)
    for (pair, run, seed), curve in groupby(points, key=lambda point: point[:3]):
        write_json(to / "metrics" / pair / run / f"seed{seed}.json", metrics(list(curve)))


def _curve_points(params: Params, study: str, results: Path) -> Iterator[CurvePoint]:
    """Those of a run next to each other, by latency."""
    points = [one for one in study_points(params, params.studies[study]) if one.split == "test"]
    rows = load_rows(results, points)
    for point in points:
        found = []
        for knob in point_settings(params, point).knobs:
            place = Place(point.run, "test", knob)
            lag, bleu = (rows.look_up(place, name) for name in (rows.main_latency, "bleu"))
            if not isinstance(lag, Gap) and not isinstance(bleu, Gap):
                found.append(CurvePoint(*_names(point.run), knob, lag.value, bleu.value))
        yield from sorted(found, key=lambda one: one.al)


def _names(run: Run) -> tuple[str, str, int, str]:
    system = label_of(system_key(run.method, run.variant))
    return run.pair, f"{run.method}/{run.variant}", run.seed, system


def metrics(curve: Sequence[CurvePoint]) -> dict[str, float]:
    """BLEU where a curve crosses some latencies; of a run with one point, that point."""
    simultaneous = [(one.al, one.bleu) for one in curve if one.knob != "full"]
    values: dict[str, float | None] = {}
    if len(simultaneous) == 1:
        values["al"], values["bleu"] = simultaneous[0]
    else:
        values |= {f"bleu_at_al_{at}": interpolated(simultaneous, at) for at in LATENCIES}
    for one in curve:
        if one.knob == "full":
            values["bleu_full_source"] = one.bleu
    return {name: value for name, value in values.items() if value is not None}
