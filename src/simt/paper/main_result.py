"""What Figure 3 says, in one sentence a pair: who has how much BLEU at the same lagging."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simt.paper.bands import seed_curve
from simt.paper.figure_data import gather
from simt.paper.figures import bleu_al
from simt.paper.panels import Curve, Panel, by_seed
from simt.params import Params
from simt.runs import MAIN_FIGURE
from simt.scoring.significance import interpolate

_FIXED = ("waitk", "multipath")  # read and write in turn, whatever the words are
_OWN = ("sm2",)


class Reached(NamedTuple):
    """A system and its score at some latency, the mean over seeds."""

    name: str
    method: str
    score: float


def main_results(params: Params) -> list[str]:
    """A sentence for each pair of the main figure."""
    drawing = params.paper.figures[MAIN_FIGURE]
    data = gather(params, drawing, with_paper_numbers=False)
    return [main_result(panel) for panel in bleu_al(data).panels]


def main_result(panel: Panel) -> str:
    """The best system at one lagging, the best of the other kinds, and how far they are behind.

    The lagging is the whole number, 1 or more, that most systems reach, of several the one in the
    middle. A system reaches it if every seed does, between knob values by straight lines.
    """
    curves = [curve for curve in panel.curves if curve.marks]
    if not curves:
        return _whole_source_alone(panel)
    at = _most_reached(curves)
    if at is None:
        return f"On {panel.title}, no curve crosses a whole {panel.x.label} of 1 or more."
    reached = sorted(_reached(curves, at), key=lambda one: -one.score)
    best, *others = _best_of_each_kind(reached)
    said = _ranking([(_called(one, reached), one.score) for one in (best, *others)])
    sentence = f"At {_in_words(panel.x.metric, at)} on {panel.title}, {said}"
    named = [curve for curve in curves if curve.name in {one.name for one in (best, *others)}]
    return f"{sentence}; {_seeds(named)}.{_also(panel, curves, reached)}"


def _whole_source_alone(panel: Panel) -> str:
    """What a study of offline systems has come to."""
    levels = _levels(panel)
    if not levels:
        return f"On {panel.title}, no system has been scored yet."
    ranked = sorted(levels.items(), key=lambda level: -level[1])
    seeds = _seeds([level for level in panel.levels if level.marks])
    return f"With the whole source read first on {panel.title}, {_ranking(ranked)}; {seeds}."


def _levels(panel: Panel) -> dict[str, float]:
    """What each system has with the whole source, the mean over seeds."""
    return {
        level.name: float(np.mean([mark.y.value for mark in level.marks]))
        for level in panel.levels
        if level.marks
    }


def _most_reached(curves: Sequence[Curve]) -> float | None:
    """The whole latency that most of the curves reach; below 1, systems write before they read."""
    highest = max(mark.x.value for curve in curves for mark in curve.marks)
    counts = {float(at): len(_reached(curves, at)) for at in range(1, int(np.floor(highest)) + 1)}
    most = max(counts.values(), default=0)
    places = [at for at, count in counts.items() if count == most]
    return places[(len(places) - 1) // 2] if most else None


def _reached(curves: Sequence[Curve], at: float) -> list[Reached]:
    found = []
    for curve in curves:
        scores = [
            float(interpolate(*seed_curve(marks), np.array([at]))[0, 0])
            for marks in by_seed(curve.marks).values()
        ]
        if not np.isnan(scores).any():
            method = curve.marks[0].place.run.method
            found.append(Reached(curve.name, method, float(np.mean(scores))))
    return found


def _best_of_each_kind(reached: Sequence[Reached]) -> list[Reached]:
    """The first of our own, of the fixed and of the other policies, in their order."""
    kinds: dict[str, Reached] = {}
    for one in reached:
        kinds.setdefault(_kind(one), one)
    return list(kinds.values())


def _kind(one: Reached) -> str:
    return "fixed" if one.method in _FIXED else "own" if one.method in _OWN else "adaptive"


# --- words --------------------------------------------------------------------------------------


def _ranking(scores: Sequence[tuple[str, float]]) -> str:
    """Who has how much, and how far all behind the first are behind it."""
    (best, highest), *others = scores
    behind = [f"{name} {score:.1f} ({_difference(score, highest)})" for name, score in others]
    return _listed([f"{best} has {highest:.1f} BLEU", *behind])


def _called(one: Reached, reached: Sequence[Reached]) -> str:
    """A system by its name; a fixed policy also as the best of them, where there are several."""
    alike = [other for other in reached if _kind(other) == _kind(one)]
    return (
        f"{one.name}, the best fixed policy," if _kind(one) == "fixed" and alike[1:] else one.name
    )


def _difference(score: float, best: float) -> str:
    """Of the numbers as they are printed, so that a reader finds the same; with a real minus."""
    tenths = round(10 * score) - round(10 * best)
    return f"−{-tenths / 10:.1f}" if tenths else "±0.0"


def _in_words(metric: str, at: float) -> str:
    """``al_token`` at 3 is an AL of 3 tokens."""
    name, _, unit = metric.rpartition("_")
    return f"an {name.upper().replace('_', ' ')} of {at:g} {unit}{'' if at == 1 else 's'}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _seeds(curves: Sequence[Curve]) -> str:
    """How many seeds the numbers are means of, and which systems have fewer."""
    counts = {curve.name: len(by_seed(curve.marks)) for curve in curves}
    most = max(counts.values())
    if most == 1:
        return "one seed"
    fewer = [name for name, count in counts.items() if count < most]
    return f"means of {most} seeds" + (f", fewer of {_listed(fewer)}" if fewer else "")


def _also(panel: Panel, curves: Sequence[Curve], reached: Sequence[Reached]) -> str:
    """What the whole source gives, and who is not in the comparison."""
    said = ""
    if levels := _levels(panel):
        name = max(levels, key=lambda one: levels[one])
        said += f" With the whole source read first, {name} has {levels[name]:.1f}."
    absent = [curve.name for curve in curves if curve.name not in {one.name for one in reached}]
    if absent:
        said += f" {_listed(absent)} {'does' if len(absent) == 1 else 'do'} not reach this latency."
    partial = dict.fromkeys(one.system for one in panel.missing)
    if gaps := [curve.name for curve in curves if curve.name in partial]:
        said += f" Points of {_listed(gaps)} are missing; between the others, lines are straight."
    unscored = [curve.name for curve in panel.curves if not curve.marks]
    if unscored:
        said += f" Not scored yet: {_listed(unscored)}."
    return said
