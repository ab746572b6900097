"""The statistics of sentences: what scores are sums of, from file to numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simt.errors import SimtError
from simt.params import Params, load_params
from simt.scoring.sentences import read_sentences, score_of
from simt.scoring.significance import curve_points
from tests.samples.sentences import BAD, BAD_BLEU, GOOD, decoded, write_point

PARAMS_FILE = Path(__file__).parents[3] / "params.yaml"


@pytest.fixture(scope="module")
def params() -> Params:
    return load_params(PARAMS_FILE, "tiny")


@pytest.fixture
def point(params: Params, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four sentences at two knob values; the last one is empty at the second."""
    outputs = {0.1: [GOOD] * 4, 0.3: [GOOD, BAD, BAD, ""]}
    instances = [
        decoded(index, knob, output, round(10 * knob))
        for knob, some in outputs.items()
        for index, output in enumerate(some)
    ]
    monkeypatch.chdir(tmp_path)
    return write_point(params, "sm2/bi", instances)


def scored(point: Path) -> dict[Any, dict[str, float]]:
    values = json.loads((point / "scores.json").read_text(encoding="utf-8"))
    return {
        one["knob"]: {name: score["value"] for name, score in one["scores"].items()}
        for one in values["points"]
    }


def test_every_score_of_a_point_can_be_had_from_its_sentences(point: Path) -> None:
    statistics = read_sentences(point / "sentences.json")
    for knob, scores in scored(point).items():
        assert set(scores) == set(statistics.columns[knob])
        for name in set(scores) - {"chrf", "dsptv_token", "dsptv_word"}:
            (of_knob,) = curve_points([statistics.knob_statistics(name)[knob]])[1][0]
            assert of_knob == pytest.approx(scores[name], abs=1e-9)


def test_bleu_of_some_sentences_is_that_of_their_texts(point: Path) -> None:
    """By hand: one sentence is right, and two are half right."""
    of_knob = read_sentences(point / "sentences.json").knob_statistics("bleu")[0.3]
    latencies, bleu = curve_points([of_knob], np.array([[1.0, 0, 0, 0], [0, 2, 5, 0]]))
    assert bleu[:, 0] == pytest.approx([100.0, BAD_BLEU])
    assert latencies[:, 0] == pytest.approx([3.0, 3.0])  # wait-3


def test_groups_are_places_in_the_columns(point: Path) -> None:
    statistics = read_sentences(point / "sentences.json")
    assert statistics.groups == {"long": [2, 3], "short": [0, 1]}  # all are equally long
    long = statistics.knob_statistics("bleu", "long")[0.1]
    assert long.counts.tolist() == [[10, 10, 10, 9, 8, 7, 10, 9, 8, 7]] * 2


def test_sentences_without_a_value_are_left_out_of_a_mean() -> None:
    assert score_of("al_token")(np.array([[9.0, 2.0], [0.0, 0.0]])).tolist() == pytest.approx(
        [4.5, np.nan], nan_ok=True
    )


def test_comet_and_alignments_are_of_a_hundred() -> None:
    assert score_of("comet:a/b")(np.array([1.5, 2.0])).tolist() == [75.0]
    assert score_of("sa_word")(np.array([1, 4])).tolist() == [25.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "has no statistics of sentences"),
        ("[]", "has no statistics of sentences"),
        ("{", "sentences.json"),
        ('{"sentences": [], "references": null, "groups": {}, "main_latency": {}, '
         '"points": [{"knob": 0.5, "statistics": {"al_token": []}}]}',
         "has no statistics of sentences"),
        ('{"sentences": [0, 1], "references": null, "groups": {}, "main_latency": "al_token", '
         '"points": [{"knob": 0.5, "statistics": {"al_token": [1.0]}}]}',
         "has not an entry for each sentence"),
    ],
)  # fmt: skip
def test_a_file_of_something_else_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "sentences.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SimtError, match=says):
        read_sentences(path)
