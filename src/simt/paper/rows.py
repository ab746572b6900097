"""Scores as tidy rows: the one loader behind every figure and table.

A row is one number: which point it is of (pair, method, variant, seed, split, knob, group of
sentences), its name, its value and the signature that says how it was computed. Besides the scores
there are facts of a run (split ``run``: ``parameters``) and of a group (``mean_length``), whose
knob is None. A number that is not there has a reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf, isinf, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simt.corpus.oracle import OraclePoint
from simt.errors import SimtError
from simt.knobs import read_knob
from simt.params import Knob
from simt.problems import parse_json, read_text
from simt.products import ORACLE_FILE, SCORES_FILE, STATS_FILE
from simt.runs import Point, Run, corpus_folder
from simt.settings import TOY_ESTIMATOR

if TYPE_CHECKING:
    from pandas import DataFrame

ALL = "all"  # the group of every sentence
RUN = "run"  # the split of what a run itself has, whatever it translates
# From where to where a score can lie, by how its name begins; all others must be finite.
_RANGES: dict[str, tuple[float, float]] = {
    "bleu": (0, 100), "chrf": (0, 100), "sa_": (0, 1), "ap_": (0, inf), "dal_": (0, inf),
    "atd_": (0, inf), "dsptv_": (-100, inf),  # above 100 where YAAL is negative
    "cw_": (0, inf), "max_cw_": (0, inf), "confidence_states": (0, inf), "confidence_": (-1, 1),
}  # fmt: skip
_ROUNDING = 1e-6  # sacreBLEU's 100 can be 100.00000000000004
COMET_OF_THE_PAPER = "comet:Unbabel/wmt22-cometkiwi-da"


class ScoreRow(NamedTuple):
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
        for row in map(ScoreRow._make, self.frame.itertuples(index=False, name=None)):
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
        return chosen_comet(of_pair) or chosen_comet(asked) or COMET_OF_THE_PAPER


def chosen_comet(names: Iterable[str]) -> str | None:
    """The one COMET score to compare all systems by; None where none is among the scores."""
    models = sorted({name for name in names if name.startswith("comet:")})
    return COMET_OF_THE_PAPER if COMET_OF_THE_PAPER in models else next(iter(models), None)


def estimate_name(comet: str) -> str:
    """What quality was estimated by, for a reader: COMET only where it is one."""
    names = {COMET_OF_THE_PAPER: "COMET-Kiwi", f"comet:{TOY_ESTIMATOR}": "toy estimator"}
    model = comet.removeprefix("comet:").split("/")[-1]
    return names.get(comet, f"COMET ({model})")


def load_rows(points: Sequence[Point]) -> Rows:
    """The numbers of the points and of their runs."""
    from pandas import DataFrame

    rows: list[ScoreRow] = []
    reasons: dict[tuple[Run, str, str | None], str] = {}
    latencies: dict[str, Path] = {}
    for point in points:
        path = point.folder / SCORES_FILE
        scores = read_json(path)
        confidence = read_json(path.with_name("confidence.json"))
        if scores is None and confidence is None:
            is_decoded = path.with_name("instances.jsonl").exists()
            reasons[point.run, point.split, None] = "not scored" if is_decoded else "not decoded"
        try:
            of_confidence = list(_confidence_rows(point, confidence or {}))
            of_point = list(_score_rows(point, scores)) if scores is not None else []
            if scores is not None:
                latencies.setdefault(scores["main_latency"], path)
                for metric, reason in scores["missing"].items():
                    reasons[point.run, point.split, metric] = str(reason)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise SimtError(f"{path} is not a file of scores ({error!r}): score again") from None
        _check_values(path.with_name("confidence.json"), of_confidence)
        _check_values(path, of_point)
        rows += of_confidence + of_point
    rows += _run_rows(dict.fromkeys(point.run for point in points))
    frame = DataFrame(rows, columns=ScoreRow._fields, dtype=object)  # else a knob None becomes nan
    return Rows(frame.astype({"seed": int, "value": float}), reasons, _only(latencies))


def _check_values(path: Path, rows: Iterable[ScoreRow]) -> None:
    """Stop at a number that no system can have: it would be drawn like any other."""
    for row in rows:
        ranges = (_RANGES[start] for start in _RANGES if row.metric.startswith(start))
        low, high = next(ranges, (-inf, inf))
        is_possible = low - _ROUNDING <= row.value <= high + _ROUNDING and not isinf(row.value)
        if not is_possible and not isnan(row.value):
            at = "" if row.knob is None else f" at knob value {row.knob}"
            group = "" if row.group == ALL else f" of the {row.group} sentences"
            raise SimtError(
                f"{path}: {row.metric}{at}{group} is {row.value:g}, which must be "
                f"{_range(low, high)}: remove the file and score again"
            )


def _range(low: float, high: float) -> str:
    if isinf(high):
        return "finite" if isinf(low) else "finite and not negative"
    return f"from {low:g} to {high:g}"


def _only(latencies: Mapping[str, Path]) -> str:
    """The latency that all files name as the main one."""
    if len(latencies) > 1:
        (one, path), (other, its_path) = list(latencies.items())[:2]
        raise SimtError(
            f"{path} has {one} as its main latency, {its_path} {other}: "
            "they cannot share an axis; score one of them again"
        )
    return next(iter(latencies), "al_token")


def _score_rows(point: Point, scores: Mapping[str, Any]) -> Iterator[ScoreRow]:
    yield from _knob_rows(point, ALL, scores["points"])
    for group, entry in scores.get("groups", {}).items():
        unit = entry.get("unit", "unknown")
        for fact in ("sentences", "mean_length"):
            yield _row(
                Place(point.run, point.split, None, group), fact, entry[fact], f"length|unit:{unit}"
            )
        yield from _knob_rows(point, group, entry["points"])


def _knob_rows(
    point: Point, group: str, entries: Iterable[Mapping[str, Any]]
) -> Iterator[ScoreRow]:
    for entry in entries:
        place = Place(point.run, point.split, read_knob(entry["knob"]), group)
        for metric, score in entry["scores"].items():
            yield _row(place, metric, score["value"], score["signature"])


def _confidence_rows(point: Point, scores: Mapping[str, Any]) -> Iterator[ScoreRow]:
    """The correlations of a point, and over how many states they were taken."""
    place = Place(point.run, point.split, None)
    for metric, score in scores.items():
        yield _row(place, metric, score["value"], score["signature"])
    for score in islice(scores.values(), 1):
        yield _row(place, "confidence_states", score["sentences"], "count|of:states")


def _run_rows(runs: Iterable[Run]) -> Iterator[ScoreRow]:
    """How large each finished run is and how long it took."""
    for run in runs:
        path = run.folder / "run.json"
        facts = read_json(path) or {}
        for fact in ("parameters", "trained_parameters", "updates", "training_seconds"):
            if not isinstance(facts.get(fact, 0), int | float):
                raise SimtError(f"{path}: {fact} is not a number; train the run again")
            if fact in facts:
                yield _row(Place(run, RUN, None), fact, facts[fact], "run.json")
        if "validation" in facts:
            loss = facts["validation"]["loss"]
            yield _row(Place(run, RUN, None), "validation_loss", loss, "run.json")


def _row(place: Place, metric: str, value: float | None, signature: str) -> ScoreRow:
    run = place.run
    return ScoreRow(
        run.pair, run.method, run.variant, run.seed, place.split, place.knob, place.group,
        metric, nan if value is None else float(value), signature,
    )  # fmt: skip


def load_oracle(pair: str) -> list[OraclePoint]:
    """The oracle's curve on the aligned sentences of a pair; empty where there is none."""
    path = corpus_folder(pair, "prepare") / ORACLE_FILE
    entries = (read_json(path) or {}).get("aligned", [])
    try:
        points = [
            OraclePoint(int(one["offset"]), float(one["al_word"]), float(one["sa_word"]))
            for one in entries
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise SimtError(f"{path} is not an oracle's curve ({error!r}): prepare again") from None
    return [point for point in points if not any(map(isnan, point))]


def load_training_sentences(pair: str) -> int:
    """How many sentence pairs are left of the training text of a pair."""
    path = corpus_folder(pair, "prepare") / STATS_FILE
    try:
        return int((read_json(path) or {})["train"]["kept"])
    except (KeyError, TypeError, ValueError) as error:
        raise SimtError(f"{path} does not say it ({error!r}): prepare {pair} again") from None


def read_json(path: Path) -> dict[str, Any] | None:
    """A file's values; None where there is no such file."""
    if not path.exists():
        return None
    values = parse_json(read_text(path, "make it again"), path, "make it again")
    if not isinstance(values, dict):
        raise SimtError(f"{path} is not a mapping: make it again")
    return values
