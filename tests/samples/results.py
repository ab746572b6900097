"""A made-up tree of results in the shape of a real one, for tests of figures and tables."""

import json
from collections.abc import Callable, Mapping
from math import exp
from pathlib import Path
from typing import Any

from simt.params import Knob, Params
from simt.runs import Point, Run, corpus_folder, study_points, study_runs, why_left_out
from simt.scoring.scores import Score

COMET = "comet:simt/toy-estimator"
SIGNATURES = {
    "al_token": "AL|unit:token|eos:both|length:hyp|ref:no|version:0.1.0",
    "laal_token": "LAAL|unit:token|eos:both|length:max|ref:first|version:0.1.0",
    "al_word": "AL|unit:word|eos:no|length:ref|ref:first|version:0.1.0",
    "bleu": "bleu|text:detokenised|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
    COMET: "comet|model:simt/toy-estimator|ref:no|text:detokenised|scale:100",
    "sa_word": "SA|links:sure|position:furthest|unaligned:skip|average:word|forced:reference",
}
_CEILINGS = {"offline": 31.5, "waitk": 30, "multipath": 29, "hmt": 30.5, "itst": 31, "sm2": 32}


def write_results(
    params: Params,
    study: str,
    leave_out: Callable[[Point], bool] = lambda point: False,
    comet: str | None = COMET,
) -> None:
    """Scores of every point of a study but those ``leave_out``, runs and oracles, written here."""
    chosen = params.studies[study]
    for run in study_runs(chosen):
        facts = {"parameters": 1_000 * _spread(run), "updates": 8, "training_seconds": 1.5,
                 "validation": {"loss": 3 + _spread(run) / 100}}  # fmt: skip
        _write(run.folder / "run.json", facts)
    for point in study_points(params, chosen):
        if not leave_out(point):
            _write_point(params, point, comet)
    for pair in {run.pair for run in study_runs(chosen)}:
        curve = [
            {"offset": offset, "al_word": 4.0 + offset, "sa_word": min(1.0, 1.0 + offset / 8)}
            for offset in range(-4, 5)
        ]
        text = corpus_folder(pair, "prepare")
        _write(text / "oracle.json", {"aligned": curve})
        _write(text / "stats.json", {"train": {"kept": _sentences(params, pair)}})


def _write_point(params: Params, point: Point, comet: str | None) -> None:
    folder = point.folder
    if point.split == "valid":
        names = ("confidence_pearson", "confidence_spearman", "confidence_kendall")
        values = [
            score(0.6 + place / 10, f"{name}|over:states") for place, name in enumerate(names)
        ]
        _write(folder / "confidence.json", dict(zip(names, values, strict=True)))
        return
    run = point.run
    knobs = params.knobs(run.pair, run.method, run.variant)
    reason = "COMET model simt/toy-estimator is not on this machine, so its column is left out: …"
    missing = {} if comet else {COMET: reason}
    scores: dict[str, Any] = {
        "points": [entry(params, point, knob, 0.0, comet) for knob in knobs],
        "missing": missing,
        "main_latency": "al_token",
    }
    if point.split == "test":
        scores["groups"] = {
            name: {
                "sentences": 10, "mean_length": length, "unit": "source_token_eos",
                "points": [entry(params, point, knob, shift, None) for knob in knobs],
            }
            for name, length, shift in (("long", 31.25, 1.0), ("short", 12.5, -1.0))
        }  # fmt: skip
    _write(folder / "scores.json", scores)


def entry(
    params: Params, point: Point, knob: Knob, shift: float, comet: str | None
) -> dict[str, Any]:
    """The scores of one knob value."""
    lag = lagging(params, point.run, knob) + shift
    bleu = (
        _CEILINGS[point.run.method]
        + _spread(point.run) / 50
        + point.run.seed % 3 / 3
        - 14 * exp(-max(lag, 0) / 3)
        - shift
    )
    values = {"al_token": lag, "laal_token": lag + 0.25, "al_word": 0.8 * lag}
    if point.split == "aligned":
        values["sa_word"] = 1 - 0.5 * exp(-max(lag, 0) / (3 + _spread(point.run) / 100))
    else:
        values["bleu"] = bleu
    scores = {name: score(value, SIGNATURES[name]) for name, value in values.items()}
    if comet and point.split != "aligned":
        scores[comet] = score(50 + bleu, f"comet|model:{comet.removeprefix('comet:')}")
    return {"knob": knob, "sentences": 20, "empty_outputs": 0, "scores": scores}


OTHER_STUDIES = ("paper", "scale-multi30k")  # that have what the tiny one leaves out


def is_in_tiny(params: Params, name: str) -> bool:
    """Whether the tiny study has a figure or table."""
    return study_with(params, name) == "tiny"


def study_with(params: Params, name: str) -> str:
    """The first study that has a figure or table."""
    drawing = {**params.paper.figures, **params.paper.tables}[name]
    return next(
        study
        for study in ("tiny", *OTHER_STUDIES)
        if not why_left_out(params, params.studies[study], drawing)
    )


def lagging(params: Params, run: Run, knob: Knob) -> float:
    """A latency that rises with the knob, as the method's would."""
    settings = params.method_settings(run.pair, run.method, run.variant)
    drift = 0.15 * (run.seed - 1)
    if knob == "full":
        return 22.0
    if run.method == "hmt":
        return settings["low"] + settings["states"] / 4 - 0.5 + drift
    if run.method in ("waitk", "multipath"):
        return knob - 1.3 + 0.2 * (run.method == "multipath") + drift
    if run.method == "itst":
        return 14 * knob - 2 + drift
    return (11 / (1.25 - knob) - 10.5) / (1 + 1.5 * settings["confidence_weight"]) + drift


def score(value: float | None, signature: str) -> dict[str, Any]:
    """A score as scoring writes it."""
    return Score("", value, signature, sentences=20).as_json()


def _sentences(params: Params, pair: str) -> int:
    """How many are trained on: as many as are drawn, or some."""
    sample = params.splits(pair).train[0].sample
    return 29_000 if sample is None else sample.end - sample.begin


def _spread(run: Run) -> int:
    """A small number that differs between variants and seeds."""
    return sum(run.variant.encode()) % 37 + run.seed


def _write(path: Path, values: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")
