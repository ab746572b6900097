"""Scores as tidy rows: the one loader behind every figure and table.

A row is one number: which point it is of (pair, method, variant, seed, split, knob, group of
sentences), its name, its value and the signature that says how it was computed. Besides the scores
there are facts of a run (split ``run``: ``parameters``) and of a group (``mean_length``), whose
knob is None. A number that is not there has a reason.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simt.errors import SimtError
from simt.params import Knob
from simt.runs import Point, Run

if TYPE_CHECKING:
    from pandas import DataFrame

ALL = "all"  # the group of every sentence
RUN = "run"  # the split of what a run itself has, whatever it translates
COMET_OF_THE_PAPER = "comet:Unbabel/wmt22-cometkiwi-da"


class Row(NamedTuple):
    """One number with its origin; these are the columns of the frame."""

    pair: str
    method: str
    variant: str
    seed: int
    split: str
    knob: Knob | None
    group: str
    metric: str
    value: float  # not a number where no sentence has one
    signature: str


class Number(NamedTuple):
    """A value and how it was computed."""

    value: float
    signature: str


class Gap(NamedTuple):
    """Why a number is not there."""

    reason: str


class Place(NamedTuple):
    """Where a number was measured."""

    run: Run
    split: str
    knob: Knob | None
    group: str = ALL


@dataclass(frozen=True)
class Rows:
    """Every number of some points, and why others are missing.

    ``reasons`` has an entry for each point without scores, under the metric None, and for each
    score that could not be computed.
    """

    frame: "DataFrame"
    reasons: Mapping[tuple[Run, str, str | None], str]
    main_latency: str

    @cached_property
    def _numbers(self) -> dict[tuple[Place, str], Number]:
        numbers = {}
        for row in map(Row._make, self.frame.itertuples(index=False, name=None)):
            run = Run(row.pair, row.method, row.variant, row.seed)
            place = Place(run, row.split, row.knob, row.group)
            numbers[place, row.metric] = Number(row.value, row.signature)
        return numbers

    @cached_property
    def _places(self) -> set[Place]:
        return {place for place, _ in self._numbers}

    def look_up(self, place: Place, metric: str) -> Number | Gap:
        """A number, or the reason why there is none."""
        number = self._numbers.get((place, metric))
        if number is not None:
            return Gap("no sentence has a value") if isnan(number.value) else number
        for key in (None, metric):
            if (place.run, place.split, key) in self.reasons:
                return Gap(self.reasons[place.run, place.split, key])
        if place in self._places:
            return Gap(f"no {metric}")
        return Gap("not decoded" if place.group == ALL else f"no group {place.group}")

    def comet(self, pair: str) -> str:
        """The COMET score to show for a pair: by the paper's model where it was run."""
        of_pair = self.frame[self.frame["pair"] == pair]["metric"].unique().tolist()
        asked = [metric or "" for run, _, metric in self.reasons if run.pair == pair]
        for names in (of_pair, asked):
            models = sorted({name for name in names if name.startswith("comet:")})
            if models:
                return COMET_OF_THE_PAPER if COMET_OF_THE_PAPER in models else models[0]
        return COMET_OF_THE_PAPER


def model_of(comet: str) -> str:
    """The model of a COMET score for a reader: ``wmt22-cometkiwi-da``."""
    return comet.removeprefix("comet:").split("/")[-1]


def load_rows(results: Path, points: Sequence[Point]) -> Rows:
    """The numbers of the points and of their runs, below a folder ``results``."""
    from pandas import DataFrame

    rows: list[Row] = []
    reasons: dict[tuple[Run, str, str | None], str] = {}
    latencies: dict[str, Path] = {}
    for point in points:
        path = results / "points" / str(point) / "scores.json"
        scores = read_json(path)
        confidence = read_json(path.with_name("confidence.json"))
        if scores is None and confidence is None:
            is_decoded = path.with_name("instances.jsonl").exists()
            reasons[point.run, point.split, None] = "not scored" if is_decoded else "not decoded"
        try:
            rows += _confidence_rows(point, confidence or {})
            if scores is not None:
                rows += _score_rows(point, scores)
                latencies.setdefault(scores["main_latency"], path)
                for metric, reason in scores["missing"].items():
                    reasons[point.run, point.split, metric] = str(reason)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise SimtError(f"{path} is not a file of scores ({error!r}): score again") from None
    rows += _run_rows(results, dict.fromkeys(point.run for point in points))
    frame = DataFrame(rows, columns=Row._fields, dtype=object)  # else a knob None becomes nan
    return Rows(frame.astype({"seed": int, "value": float}), reasons, _only(latencies))


def _only(latencies: Mapping[str, Path]) -> str:
    """The latency that all files name as the main one."""
    if len(latencies) > 1:
        (one, path), (other, its_path) = list(latencies.items())[:2]
        raise SimtError(
            f"{path} has {one} as its main latency, {its_path} {other}: "
            "they cannot share an axis; score one of them again"
        )
    return next(iter(latencies), "al_token")


def _score_rows(point: Point, scores: Mapping[str, Any]) -> Iterator[Row]:
    yield from _knob_rows(point, ALL, scores["points"])
    for group, entry in scores.get("groups", {}).items():
        unit = entry.get("unit", "unknown")
        for fact in ("sentences", "mean_length"):
            yield _row(
                Place(point.run, point.split, None, group), fact, entry[fact], f"length|unit:{unit}"
            )
        yield from _knob_rows(point, group, entry["points"])


def _knob_rows(point: Point, group: str, entries: Iterable[Mapping[str, Any]]) -> Iterator[Row]:
    for entry in entries:
        knob = entry["knob"]
        value = knob if knob in ("full", None) else float(knob)
        place = Place(point.run, point.split, value, group)
        for metric, score in entry["scores"].items():
            yield _row(place, metric, score["value"], score["signature"])


def _confidence_rows(point: Point, scores: Mapping[str, Any]) -> Iterator[Row]:
    """The correlations of a point, and over how many states they were taken."""
    place = Place(point.run, point.split, None)
    for metric, score in scores.items():
        yield _row(place, metric, score["value"], score["signature"])
    for score in islice(scores.values(), 1):
        yield _row(place, "confidence_states", score["sentences"], "count|of:states")


def _run_rows(results: Path, runs: Iterable[Run]) -> Iterator[Row]:
    """How large each finished run is and how long it took."""
    for run in runs:
        facts = read_json(results / "runs" / str(run) / "run.json") or {}
        for fact in ("parameters", "trained_parameters", "updates", "training_seconds"):
            if fact in facts:
                yield _row(Place(run, RUN, None), fact, facts[fact], "run.json")


def _row(place: Place, metric: str, value: float | None, signature: str) -> Row:
    run = place.run
    return Row(
        run.pair, run.method, run.variant, run.seed, place.split, place.knob, place.group,
        metric, nan if value is None else float(value), signature,
    )  # fmt: skip


class OraclePoint(NamedTuple):
    """What the policy that knows the gold alignments reaches, in words."""

    al_word: float
    sa_word: float


def load_oracle(results: Path, pair: str) -> list[OraclePoint]:
    """The oracle's curve on the aligned sentences of a pair; empty where there is none."""
    path = results / "corpora" / pair / "text" / "oracle.json"
    entries = (read_json(path) or {}).get("aligned", [])
    try:
        points = [OraclePoint(float(one["al_word"]), float(one["sa_word"])) for one in entries]
    except (KeyError, TypeError, ValueError) as error:
        raise SimtError(f"{path} is not an oracle's curve ({error!r}): prepare again") from None
    return [point for point in points if not any(map(isnan, point))]


def read_json(path: Path) -> dict[str, Any] | None:
    """A file's values; None where there is no such file."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        raise SimtError(f"{path} is not JSON ({error}): make it again") from None
    if not isinstance(values, dict):
        raise SimtError(f"{path} is not a mapping: make it again")
    return values
