"""Quality against latency as numbers for programs: DVC shows and compares them.

One CSV file with every point of the test set, and a small JSON file with one number for each system
that the paper compares.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from simt.atomic import atomic_file, write_json
from simt.curve import bleu_at_latencies, interpolated
from simt.paper.rows import Gap, Place, load_rows
from simt.params import Knob, Params
from simt.products import BLEU_FILE, CURVES_FILE
from simt.runs import Run, compared_runs, point_settings, study_points
from simt.systems import colour_of, label_of, system_key

COMPARED_AT = 3  # the AL at which one number a system is taken


class CurvePoint(NamedTuple):
    """A point of a curve; these are the columns of the file."""

    pair: str
    run: str
    seed: int
    system: str  # whose curve it is, by the name and in the colour that figures give it
    colour: str
    knob: Knob
    al: float
    bleu: float
    laal: float | None = None  # AL that an early end does not lower


def write_curves(params: Params, to: Path) -> None:
    """Write curves.csv and bleu.json into ``to``."""
    points = list(study_curves(params))
    with atomic_file(to / CURVES_FILE) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(CurvePoint._fields)
        writer.writerows(points)
    write_json(to / BLEU_FILE, main_bleu(params, points))


def study_curves(params: Params) -> Iterator[CurvePoint]:
    """Every point of the test set, those of a run next to each other and by latency."""
    points = [one for one in study_points(params, params.chosen_study) if one.split == "test"]
    rows = load_rows(points)
    for point in points:
        found = []
        for knob in point_settings(params, point).knobs:
            place = Place(point.run, "test", knob)
            al, bleu, laal = (
                rows.look_up(place, name)
                for name in (rows.main_latency, "bleu", f"la{rows.main_latency}")
            )
            if not isinstance(al, Gap) and not isinstance(bleu, Gap):
                adaptive = None if isinstance(laal, Gap) else laal.value
                names = _names(point.run)
                found.append(CurvePoint(*names, knob, al.value, bleu.value, adaptive))
        yield from sorted(found, key=lambda one: one.al)


def _names(run: Run) -> tuple[str, str, int, str, str]:
    system = system_key(run.method, run.variant)
    names = run.pair, f"{run.method}/{run.variant}", run.seed
    return *names, label_of(system), colour_of(system)


def main_bleu(params: Params, points: Iterable[CurvePoint]) -> dict[str, float]:
    """BLEU of each system that the paper compares, on the study's analysis pair.

    Offline systems read the whole source; the others are taken where their curve crosses an AL of
    3, as ``SM²-Bi@3`` says, and left out where it does not. Means over seeds, two decimals.
    """
    chosen = params.chosen_study
    compared = {_names(run)[:3]: run.method for run in compared_runs(params, chosen)}
    curves: dict[str, dict[int, list[CurvePoint]]] = {}
    for point in points:
        method = compared.get(point[:3])
        if method is not None and point.pair == chosen.pairs.analysis:
            name = point.system if method == "offline" else f"{point.system}@{COMPARED_AT}"
            curves.setdefault(name, {}).setdefault(point.seed, []).append(point)
    found = {name: [_bleu(curve) for curve in seeds.values()] for name, seeds in curves.items()}
    return {
        name: round(fmean(value for value in values if value is not None), 2)
        for name, values in found.items()
        if None not in values
    }


def _bleu(curve: Iterable[CurvePoint]) -> float | None:
    """What stands for a curve: its value at the latency, or the one point of an offline system."""
    simultaneous = sorted((one.al, one.bleu) for one in curve if one.knob != "full")
    if simultaneous:
        return interpolated(simultaneous, COMPARED_AT)
    return next(one.bleu for one in curve)


def metrics(curve: Sequence[CurvePoint]) -> dict[str, float]:
    """BLEU where the curve of a run crosses some latencies; of one with one point, that point."""
    simultaneous = [(one.al, one.bleu) for one in curve if one.knob != "full"]
    values = bleu_at_latencies(simultaneous)
    if len(simultaneous) == 1:
        values["al"], values["bleu"] = simultaneous[0]
    for one in curve:
        if one.knob == "full":
            values["bleu_full_source"] = one.bleu
    return values
