"""Quality against latency as numbers, for DVC."""

import csv
import json
from dataclasses import replace
from pathlib import Path

from simt.paper.curves import CurvePoint, main_bleu, write_curves
from simt.params import Knob, load_params
from tests.samples.results import write_results

PARAMS = load_params(Path(__file__).parents[3] / "params.yaml", "tiny")


def curve(variant: str, seed: int, *points: tuple[Knob, float, float]) -> list[CurvePoint]:
    system = {"bi": "SM²-Bi", "bi-p": "SM²-Bi-P"}[variant]
    names = ("tiny-deen", f"sm2/{variant}", seed, system, "#d55e00")
    return [CurvePoint(*names, *point) for point in points]


def point(run: str, system: str, *point: float) -> CurvePoint:
    return CurvePoint("tiny-deen", run, 1, system, "#56b4e9", *point)


def test_number_of_a_system_is_read_off_the_line_between_two_points() -> None:
    points = curve("bi", 1, (0.3, 2.0, 10.0), (0.5, 4.0, 20.0), ("full", 16.0, 30.0))
    assert main_bleu(PARAMS, points) == {"SM²-Bi@3": 15.0}


def test_number_of_wait_k_is_read_off_the_line_through_its_models() -> None:
    points = [point("waitk/k3", "wait-k", 3, 4.0, 17.0), point("waitk/k1", "wait-k", 1, 2.0, 12.0)]
    assert main_bleu(PARAMS, points) == {"wait-k@3": 14.5}


def test_number_of_an_offline_system_is_that_with_the_whole_source() -> None:
    points = [CurvePoint("tiny-deen", "offline/bi", 1, "OMT-Bi", "#333333", "full", 16.0, 31.25)]
    assert main_bleu(PARAMS, points) == {"OMT-Bi": 31.25}


def test_system_whose_curve_does_not_reach_the_latency_has_no_number() -> None:
    assert main_bleu(PARAMS, curve("bi", 1, (0.3, 4.0, 10.0), (0.5, 5.0, 20.0))) == {}


def test_variant_that_the_main_figure_does_not_show_has_no_number() -> None:
    assert main_bleu(PARAMS, curve("bi-p", 1, (0.3, 2.0, 10.0), (0.5, 4.0, 20.0))) == {}


def test_number_is_the_mean_over_seeds() -> None:
    study = PARAMS.chosen_study.model_copy(update={"seeds": (1, 2)})
    params = replace(PARAMS, studies={"tiny": study})
    points = [
        *curve("bi", 1, (0.3, 2.0, 10.0), (0.5, 4.0, 20.0)),
        *curve("bi", 2, (0.3, 2.0, 10.0), (0.5, 4.0, 30.0)),
    ]
    assert main_bleu(params, points) == {"SM²-Bi@3": 17.5}


def test_file_has_every_point_of_the_test_set(tmp_path: Path) -> None:
    write_results(PARAMS, "tiny")
    write_curves(PARAMS, tmp_path / "to")
    with (tmp_path / "to" / "curves.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    of_k3 = [row for row in rows if row["run"] == "waitk/k3"]
    path = tmp_path / "results/points/tiny-deen/waitk/k3/seed1/test/scores.json"
    (scores,) = json.loads(path.read_text())["points"]
    of_file = {name: score["value"] for name, score in scores["scores"].items()}
    assert [(row["knob"], *map(float, (row["al"], row["bleu"], row["laal"]))) for row in of_k3] == [
        ("3.0", of_file["al_token"], of_file["bleu"], of_file["laal_token"])
    ]
    assert {row["run"] for row in rows if row["system"] == "wait-k"} == {"waitk/k1", "waitk/k3"}
    assert len([row for row in rows if row["system"] == "SM²-Bi"]) == len(
        PARAMS.knobs("tiny-deen", "sm2", "bi")
    )
    assert "SM²-Bi@3" in json.loads((tmp_path / "to/bleu.json").read_text())
