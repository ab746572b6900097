"""Quality against latency as numbers, for DVC."""

import csv
import json
from pathlib import Path

import pytest

from simt.paper.curves import CurvePoint, metrics, write_curves
from simt.params import Knob, load_params
from tests.samples.results import write_results

PARAMS = load_params(Path(__file__).parents[3] / "params.yaml", "tiny")


def curve(*points: tuple[Knob, float, float]) -> list[CurvePoint]:
    return [CurvePoint("toy-deen", "sm2/bi", 1, "SM²-Bi", *point) for point in points]


def test_metric_is_read_off_the_line_between_two_points() -> None:
    found = metrics(curve((0.3, 2.0, 10.0), (0.5, 4.0, 20.0), ("full", 16.0, 30.0)))
    assert found == {"bleu_at_al_3": pytest.approx(15.0), "bleu_full_source": 30.0}


def test_run_with_one_point_has_that_point_as_its_metrics() -> None:
    assert metrics(curve((3, 2.5, 17.0))) == {"al": 2.5, "bleu": 17.0}


def test_file_has_every_point_of_the_test_set(tmp_path: Path) -> None:
    write_results(tmp_path / "results", PARAMS, "tiny")
    write_curves(PARAMS, "tiny", tmp_path / "results", tmp_path / "to")
    with (tmp_path / "to" / "curves.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    of_k3 = [row for row in rows if row["run"] == "waitk/k3"]
    path = tmp_path / "results/points/tiny-deen/waitk/k3/seed1/test/scores.json"
    (scores,) = json.loads(path.read_text())["points"]
    assert [(row["knob"], float(row["bleu"])) for row in of_k3] == [
        ("3.0", scores["scores"]["bleu"]["value"])
    ]
    assert {row["run"] for row in rows if row["system"] == "wait-k"} == {"waitk/k1", "waitk/k3"}
    assert len([row for row in rows if row["system"] == "SM²-Bi"]) == len(
        PARAMS.knobs("tiny-deen", "sm2", "bi")
    )
    one = json.loads((tmp_path / "to/metrics/tiny-deen/waitk/k3/seed1.json").read_text())
    assert one["bleu"] == scores["scores"]["bleu"]["value"]
