"""Two systems of a study at equal latency: the difference in BLEU, with its confidence interval.

By the machinery of claims: the same sentences, the same paired bootstrap, the same intervals.
"""

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import NamedTuple

import numpy as np

from simt.errors import SimtError
from simt.knobs import knob_text
from simt.paper.evidence import Evidence, NotAtThisKnobError, NotMeasuredError, SystemName
from simt.paper.measurements import (
    DRAWS,
    REACHED,
    ClaimTest,
    Comparison,
    Curves,
    NoSharedLatencyError,
    shared_curves,
)
from simt.params import Params
from simt.problems import did_you_mean
from simt.runs import Run, study_runs
from simt.scoring.significance import SEEDS_OF_A_METHOD, Interval, curve_points, joint_intervals
from simt.systems import label_of, system_key, training_label

_BLEU = ClaimTest(measurement="at-each-latency", score="bleu", systems=())


class Named(NamedTuple):
    """What a person names: a system, and what figures call it."""

    system: SystemName
    label: str
    runs: tuple[Run, ...]  # which it is made of, on all pairs


class Placed(NamedTuple):
    """A system on a pair, and the ALs that each of its seeds reaches; None if it has none."""

    label: str
    system: SystemName
    low: float | None = None
    high: float | None = None

    @property
    def is_point(self) -> bool:
        """Whether it is one point of quality and latency, and not a curve."""
        return self.low is not None and self.low == self.high

    def __str__(self) -> str:
        name = f"{self.label} ({self.system.key})"
        if self.low is None or self.high is None:
            return f"{name} reads the whole source first"
        if self.is_point:
            return f"{name} has AL {self.low:.2f}"
        if self.low > self.high:
            return f"{name} has no AL that all of its seeds reach"
        return f"{name} has AL {self.low:.2f} to {self.high:.2f}"


def describe_difference(params: Params, names: tuple[str, str], at: Sequence[float]) -> str:
    """How much better one system is than another at equal latency, on each pair that has both.

    ``at`` are the ALs to compare at; without any, all whole ones that both reach.
    """
    evidence = Evidence(params)
    one, other, pairs = _both(params, names)
    each = tuple(dict.fromkeys(at))
    parts = [_on_pair(evidence, pair, one, other, each) for pair in pairs]
    return "\n\n".join([*parts, _explained(evidence, (one, other))])


def compared_runs(params: Params, names: tuple[str, str]) -> list[Run]:
    """The runs that two systems are made of, on the pairs that have both."""
    one, other, pairs = _both(params, names)
    return [run for run in (*one.runs, *other.runs) if run.pair in pairs]


# --- names ----------------------------------------------------------------------------------------


def _both(params: Params, names: tuple[str, str]) -> tuple[Named, Named, list[str]]:
    """What two names stand for, and the pairs that have both."""
    one, other = (_named(name, params) for name in names)
    if one.system == other.system:
        raise SimtError(f"{names[0]} and {names[1]} are the same system: name two")
    pairs = [
        pair
        for pair in params.chosen_study.runs
        if all(pair in {run.pair for run in named.runs} for named in (one, other))
    ]
    if not pairs:
        raise SimtError(f"no pair of study {params.study} has both {names[0]} and {names[1]}")
    return one, other, pairs


def _named(text: str, params: Params) -> Named:
    """What a name stands for: ``waitk``, ``sm2/bi@0.5``, ``toy-deen/sm2/bi/seed1``, ``SM²-Bi``."""
    name, _, knob = text.partition("@")
    runs = study_runs(params.chosen_study)
    known: dict[str, list[Run]] = {}
    for run in runs:
        for key in _names_of(run):
            known.setdefault(key, []).append(run)
    for method in {run.method for run in runs} - known.keys():
        of_method = [run for run in runs if run.method == method]
        if len({run.variant for run in of_method}) == 1:
            known[method] = of_method
    chosen = known.get(name.casefold())
    if chosen is None:
        shown = dict.fromkeys(
            name
            for run in runs
            for name in (system_key(run.method, run.variant), f"{run.method}/{run.variant}")
        )
        raise SimtError(
            f"study {params.study} has no system or run {name!r}"
            f"{did_you_mean(name.casefold(), known)}; there are {', '.join(shown)}"
        )
    system = _system(name, knob, chosen)
    return Named(system, _label(chosen, system), tuple(chosen))


def _names_of(run: Run) -> Iterator[str]:
    """All names under which a run can be meant, alone or with others of its system."""
    key = system_key(run.method, run.variant)
    for name in dict.fromkeys((key, f"{run.method}/{run.variant}")):
        for place in (name, f"{run.pair}/{name}"):
            yield from (place, f"{place}/seed{run.seed}")
    yield label_of(key).casefold()


def _system(name: str, knob: str, runs: Sequence[Run]) -> SystemName:
    run = runs[0]
    variants = {one.variant for one in runs}
    key = f"{run.method}/{run.variant}" if len(variants) == 1 else run.method
    seed = run.seed if name.endswith(f"/seed{run.seed}") else None
    try:
        parsed = SystemName.parse(f"{key}@{knob}" if knob else key)
    except ValueError:
        raise SimtError(
            f"{name}@{knob}: after @ comes a knob value, which is a number or full; "
            f"a seed comes before it, as in {key}/seed{run.seed}@0.5"
        ) from None
    return parsed._replace(seed=seed)


def _label(runs: Sequence[Run], system: SystemName) -> str:
    """As in figures; after it a variant of a curve that has several, a seed and a knob value."""
    run = runs[0]
    is_variant = len({one.variant for one in runs}) == 1
    label = (
        training_label(run.method, run.variant)
        if is_variant
        else label_of(system_key(run.method, run.variant))
    )
    seed = "" if system.seed is None else f" seed {system.seed}"
    return f"{label}{seed}{system.where}"


# --- numbers --------------------------------------------------------------------------------------


def _on_pair(evidence: Evidence, pair: str, one: Named, other: Named, at: tuple[float, ...]) -> str:
    """What there is to say of a pair."""
    try:
        both = (_placed(evidence, pair, one), _placed(evidence, pair, other))
    except NotAtThisKnobError as error:
        there_are = ", ".join(map(knob_text, error.knobs))
        raise SimtError(f"{error}; after @ give one that it was decoded at: {there_are}") from None
    except NotMeasuredError as error:
        raise SimtError(f"{error}; `simt runs` lists what is there") from None
    where = "; ".join(map(str, both))
    comparison = Comparison(pair, both[0].system, both[1].system, _latencies(both, at))
    try:
        curves = shared_curves(evidence, comparison, _BLEU)
    except NotMeasuredError as error:
        is_elsewhere = isinstance(error, NoSharedLatencyError)
        why = _why_not_there(comparison.at) if comparison.at and is_elsewhere else str(error)
        raise SimtError(f"{why}. {where}") from None
    lost = ", ".join(f"{latency:g}" for latency in at if latency not in curves.latencies)
    aside = f" Not compared at AL {lost}, which not both reach." if lost else ""
    head = f"BLEU at equal latency on {pair}, {curves.sentences:,} test sentences"
    return "\n".join([head, "", *_table(curves, both), "", f"{where}.{aside}"])


def _why_not_there(at: tuple[float, ...]) -> str:
    """Why systems are not compared where both seem to be: resamples of sentences end elsewhere."""
    asked = ", ".join(f"{latency:.3g}" for latency in at)
    return (
        f"AL {asked} is not reached by both in {REACHED:.0%} of the resamples: compare farther "
        "inside of both"
    )


def _placed(evidence: Evidence, pair: str, named: Named) -> Placed:
    """A system where it is; one with a single point is a level, compared at its own latency."""
    name, runs = named.system, [run for run in named.runs if run.pair == pair]
    knobs = {
        (run.variant, knob)
        for run in runs
        for knob in evidence.params.knobs(pair, run.method, run.variant)
    }
    if name.knob is None and len(knobs) == 1:
        name = name._replace(knob=knobs.pop()[1])
    if name.knob == "full":
        return Placed(named.label, name)
    if name.knob is not None:
        lags = [curve_points(curve)[1] for curve in evidence.system(pair, name, "al")]
        lag = float(np.mean([values[0, 0] for values in lags]))
        return Placed(named.label, name, lag, lag)
    seeds = [curve_points(curve)[0][0] for curve in evidence.system(pair, name, "bleu")]
    low, high = max(np.nanmin(one) for one in seeds), min(np.nanmax(one) for one in seeds)
    return Placed(named.label, name, float(low), float(high))


def _latencies(both: tuple[Placed, Placed], at: tuple[float, ...]) -> tuple[float, ...]:
    """Where two systems are compared: as asked, or where the one that is a point lies."""
    points = [placed for placed in both if placed.is_point]
    if len(points) == 2:
        raise SimtError(
            f"{'; '.join(map(str, both))}: two points have no latency in common. Compare with a "
            "whole curve, such as waitk or sm2/bi"
        )
    if points and at:
        raise SimtError(f"{points[0]} only: leave --at out to compare there")
    return at or tuple(placed.low for placed in points if placed.low is not None)


class Difference(NamedTuple):
    """BLEU of both systems at one latency, the difference and its interval."""

    at: str
    one: float
    other: float
    interval: Interval

    def cells(self, both: tuple[Placed, Placed]) -> tuple[str, ...]:
        """The line of the table."""
        low, high = self.interval
        better = both[0].label if low > 0 else both[1].label if high < 0 else ""
        return (
            self.at, f"{self.one:.2f}", f"{self.other:.2f}", f"{self.one - self.other:+.2f}",
            f"[{low:+.2f}, {high:+.2f}]", f"{better} is better" if better else "cannot tell",
        )  # fmt: skip


def _table(curves: Curves, both: tuple[Placed, Placed]) -> list[str]:
    """A line for each latency, and for the mean over all of them."""
    rows = [
        row.cells(both)
        for row in _rows(curves, is_anywhere=all(placed.low is None for placed in both))
    ]
    head = ("AL", both[0].label, both[1].label, "difference", "interval", "")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
        + f"  {row[-1]}".rstrip()
        for row in (head, *rows)
    ]  # fmt: skip


def _rows(curves: Curves, is_anywhere: bool) -> list[Difference]:
    places = [f"{round(latency, 2) + 0.0:g}" for latency in curves.latencies]  # no "-0"
    observed, resampled = curves.observed, curves.resampled
    if len(places) > 1:
        places.append("mean")
        observed = np.concatenate([observed, observed.mean(axis=1, keepdims=True)], axis=1)
        resampled = np.concatenate([resampled, resampled.mean(axis=2, keepdims=True)], axis=2)
    intervals = joint_intervals(list((resampled[0] - resampled[1]).T))
    return [
        Difference("full" if is_anywhere else place, float(one), float(other), interval)
        for place, (one, other), interval in zip(places, observed.T, intervals, strict=True)
    ]


def _explained(evidence: Evidence, named: tuple[Named, Named]) -> str:
    """What the intervals cover."""
    seeds = [
        1 if one.system.seed is not None else len(evidence.study.seeds_of(run.method, run.variant))
        for one in named
        for run in one.runs
    ]
    is_of_methods = min(seeds) >= SEEDS_OF_A_METHOD
    drawn = "sentences and seeds" if is_of_methods else "sentences"
    text = (
        f"[ , ]: 95 % confidence intervals by the paired bootstrap over {drawn} "
        f"({DRAWS.resamples:,} resamples), simultaneous for all differences of a table."
    )
    if not is_of_methods:
        text += (
            " Seeds are not covered: this is about these trainings, and another seed may say "
            f"otherwise. From {SEEDS_OF_A_METHOD} seeds on it is about the methods."
        )
    return fill(text, 100)
