"""What a step has given, in one line for people, from the files that it wrote."""

import csv
import json
from pathlib import Path
from typing import Any

from simt.products import CONFIDENCE_FILE, INSTANCES_FILE, MANIFEST_FILE, RUN_FILE, STATS_FILE
from simt.wording import count

_QUALITY = {"bleu": "BLEU", "sa_word": "satisfied alignments"}  # as a score is called


def corpus_fetched(raw: Path) -> str:
    """The sentence pairs of the grammar, or the files and their size."""
    manifest = _read(raw / MANIFEST_FILE)
    if "splits" in manifest:
        return f"{sum(split['pairs'] for split in manifest['splits'].values()):,} pairs"
    files = [raw / file["path"] for file in manifest["files"]]
    return f"{count(len(files), 'file')}, {sum(_size(file) for file in files) / 1e6:,.1f} MB"


def corpus_prepared(text: Path) -> str:
    """How many pairs there are to train on, and how many were left out."""
    train = _read(text / STATS_FILE)["train"]
    return f"{train['kept']:,} training pairs, {train['read'] - train['kept']:,} left out"


def corpus_encoded(bpe: Path) -> str:
    """The sizes of the vocabularies, and of the training text."""
    stats = _read(bpe / STATS_FILE)
    sizes = dict.fromkeys(stats["vocabulary"].values())
    train = stats["splits"]["train"]
    tokens = "/".join(f"{train[side]['tokens']:,}" for side in ("source", "target"))
    return f"{'/'.join(f'{size:,}' for size in sizes)} subwords, {tokens} training tokens"


def training_done(run: Path) -> str:
    """Updates and the loss on the validation set."""
    report = _read(run / RUN_FILE)
    return f"{report['updates']:,} updates, validation loss {report['validation']['loss']:.3f}"


def point_decoded(point: Path, knobs: int) -> str:
    """How much was translated, at so many knob values."""
    with (point / INSTANCES_FILE).open("rb") as stream:
        sentences = sum(1 for _ in stream) // knobs
    return f"{count(sentences, 'sentence')} at {count(knobs, 'knob value')}"


def confidences_written(point: Path) -> str:
    """How confidence and correctness go together."""
    scores = _read(point / CONFIDENCE_FILE)
    parts = [
        f"{name.removeprefix('confidence_')} {_number(score['value'])}"
        for name, score in scores.items()
    ]
    return f"confidence against correctness: {', '.join(parts)}"


def states_written(states: Path) -> str:
    """Of how many sentences."""
    with states.open("rb") as stream:
        return f"all states of {count(sum(1 for _ in stream), 'sentence')}"


def point_scored(scores: Path) -> str:
    """Quality at the lowest and at the highest latency; where there is none, what stands there."""
    found = _read(scores)
    points = [point["scores"] for point in found["points"]]
    latency = found["main_latency"]
    points.sort(key=lambda scores: scores[latency]["value"] or 0.0)
    quality = next((name for name in points[0] if name in _QUALITY), None)
    ends = points if len(points) == 1 else [points[0], points[-1]]
    parts = [_at(point, quality, latency) for point in ends]
    label = f"{_QUALITY[quality]} " if quality else ""
    return f"{label}{' … '.join(parts)} ({count(len(points), 'knob value')})"


def curves_written(curves: Path) -> str:
    """How many points there are in all."""
    with curves.open(encoding="utf-8", newline="") as stream:
        return count(sum(1 for _ in csv.DictReader(stream)), "point")


def file_written(path: Path) -> str:
    """Where it is, and its size."""
    return f"{path} ({_size(path) / 1e6:.1f} MB)"


def _at(scores: dict[str, Any], quality: str | None, latency: str) -> str:
    lag = f"AL {_number(scores[latency]['value'])}"
    return f"{_number(scores[quality]['value'])} at {lag}" if quality else lag


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _size(path: Path) -> int:
    return path.stat().st_size


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
