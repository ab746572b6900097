"""What steps say that they gave; the files are written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from simt.outcomes import corpus_fetched, point_decoded, point_scored, training_done


def scores(folder: Path, *points: dict[str, float]) -> Path:
    """scores.json with these points."""
    entries = [{"scores": {name: {"value": v} for name, v in one.items()}} for one in points]
    return written(folder / "scores.json", {"points": entries, "main_latency": "al_token"})


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([{"bleu": 84.123, "al_token": 3.02}], "BLEU 84.12 at AL 3.02 (1 knob value)"),
        (
            [
                {"bleu": 87, "al_token": 16},
                {"bleu": 30, "al_token": -1},
                {"bleu": 9, "al_token": 2},
            ],
            "BLEU 30.00 at AL -1.00 … 87.00 at AL 16.00 (3 knob values)",
        ),
        (
            [{"al_token": 2, "sa_word": 0.9}],
            "satisfied alignments 0.90 at AL 2.00 (1 knob value)",
        ),
        ([{"al_token": 2}], "AL 2.00 (1 knob value)"),
    ],
)
def test_score_says_quality_at_the_lowest_and_the_highest_latency(
    points: list[dict[str, float]], line: str, tmp_path: Path
) -> None:
    assert point_scored(scores(tmp_path, *points)) == line


def test_training_says_its_updates_and_its_loss(tmp_path: Path) -> None:
    written(tmp_path / "run.json", {"updates": 60000, "validation": {"loss": 1.26827}})
    assert training_done(tmp_path) == "60,000 updates, validation loss 1.268"


def test_decoding_says_how_many_sentences_at_how_many_knob_values(tmp_path: Path) -> None:
    (tmp_path / "instances.jsonl").write_text("{}\n" * 6)
    assert point_decoded(tmp_path, knobs=3) == "2 sentences at 3 knob values"


def test_fetching_says_how_much_there_is(tmp_path: Path) -> None:
    (tmp_path / "train.gz").write_bytes(bytes(2_500_000))
    written(tmp_path / "manifest.json", {"files": [{"path": "train.gz"}]})
    assert corpus_fetched(tmp_path) == "1 file, 2.5 MB"
