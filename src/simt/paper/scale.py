"""At which scale does what hold? Quality against the amount of training, and of text.

The pairs in the role ``scale`` are one corpus with more and with less of both. Those with the text
of the study's analysis pair show what training does, those with its updates what text does.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from simt.curve import interpolated
from simt.paper.figure_data import FigureData, KnobName, Missing, System, is_full, is_simultaneous
from simt.paper.frames import framed
from simt.paper.panels import Axis, Curve, FigureSpec, Mark, Panel
from simt.paper.rows import RUN, Gap, Number, Place, load_training_sentences
from simt.paper.style import Style, style_of
from simt.params import Knob
from simt.systems import label_of

LATENCIES = (1, 2, 3, 5)
_BLEU = Axis("bleu", "SacreBLEU")
_LOSS = Axis("validation_loss", "validation loss")


class _Quality(NamedTuple):
    """What a panel shows: of which knob values, and how one seed's number comes from them."""

    title: str
    axis: Axis
    is_shown: Callable[[Knob], bool]
    of_seed: Callable[[FigureData, list[Place]], Number | Gap]


def scale(data: FigureData) -> FigureSpec:
    """Offline losses, BLEU with the whole source, and at some laggings: a panel for each.

    First against updates, then against training sentences, as far as the pairs differ in them.
    """
    qualities = [
        _Quality("offline", _LOSS, is_full, _offline_loss),
        _Quality("whole source", _BLEU, is_full, _bleu),
        *(
            _Quality(f"AL {latency}", _BLEU, is_simultaneous, partial(_bleu_at, latency))
            for latency in LATENCIES
        ),
    ]
    axes = {
        Axis("updates", "updates", is_doubling=True): _by_updates(data),
        Axis("sentences", "training sentences", is_doubling=True): _by_sentences(data),
    }
    panels = [
        _panel(data, quality, axis, pairs)
        for axis, pairs in axes.items()
        if len(pairs) > 1
        for quality in qualities
    ]
    return FigureSpec(tuple(panel for panel in panels if _has_a_course(panel)))


def _has_a_course(panel: Panel) -> bool:
    """Whether any system is seen at more than one scale."""
    return any(len({mark.x.value for mark in curve.marks}) > 1 for curve in panel.curves)


# --- where a pair lies --------------------------------------------------------------------------


def _by_updates(data: FigureData) -> dict[str, Number]:
    """The updates of the pairs that have the text of the analysis pair."""
    params, own = data.params, data.study.pairs.analysis
    return {
        pair: Number(params.pair_training(pair)["updates"], "setting")
        for pair in data.pairs
        if params.pairs[pair].toy == params.pairs[own].toy
        and params.splits(pair) == params.splits(own)
    }


def _by_sentences(data: FigureData) -> dict[str, Number]:
    """The training sentences of the pairs that are trained as the analysis pair is."""
    training, own = data.params.pair_training, data.study.pairs.analysis
    return {
        pair: Number(load_training_sentences(pair), "stats.json")
        for pair in data.pairs
        if training(pair) == training(own)
    }


# --- how good a seed is there -------------------------------------------------------------------


def _offline_loss(data: FigureData, places: list[Place]) -> Number | Gap:
    """The validation loss of an offline model; those of other methods mean something else."""
    return data.rows.look_up(Place(places[0].run, RUN, None), _LOSS.metric)


def _bleu(data: FigureData, places: list[Place]) -> Number | Gap:
    return data.rows.look_up(places[0], _BLEU.metric)


def _bleu_at(latency: float, data: FigureData, places: list[Place]) -> Number | Gap:
    """BLEU where the curve of a seed crosses a latency."""
    points = []
    for place in places:
        found = data.look_up(place, data.rows.main_latency, _BLEU.metric)
        if isinstance(found, Gap):
            return found
        points.append(found)
    curve = sorted((lag.value, bleu.value) for lag, bleu in points)
    value = interpolated(curve, latency)
    signature = f"{points[0][1].signature}|interpolated:AL {latency:g}"
    return Gap(f"no AL {latency:g}") if value is None else Number(value, signature)


# --- panels -------------------------------------------------------------------------------------


def _panel(data: FigureData, quality: _Quality, x: Axis, pairs: Mapping[str, Number]) -> Panel:
    marks: dict[str, list[Mark]] = {}
    missing: list[Missing] = []
    for pair, at in pairs.items():
        for system in _systems(data, pair, quality):
            own = marks.setdefault(system.key, [])
            for places in _by_seed(data.places(pair, system, quality.is_shown)):
                place = places[0]._replace(knob=None)
                found = quality.of_seed(data, places)
                if isinstance(found, Gap):
                    knob = KnobName(x.metric, f"{at.value:,.0f}")
                    name, seed = label_of(system.key), place.run.seed
                    missing.append(Missing(pair, name, knob, seed, found.reason))
                else:
                    own.append(Mark(place, at, found))
    curves = tuple(Curve(label_of(key), _style(key), tuple(own)) for key, own in marks.items())
    title = f"{quality.title}, by {x.metric}"
    panel = framed(Panel(title, x, quality.axis, curves, missing=tuple(missing)))
    ends = (min(at.value for at in pairs.values()), max(at.value for at in pairs.values()))
    return replace(panel, x_limits=(ends[0] / 1.2, ends[1] * 1.2), inset=None)


def _systems(data: FigureData, pair: str, quality: _Quality) -> list[System]:
    """The systems that have such knob values; of other methods the loss is not comparable."""
    method = "offline" if quality.axis is _LOSS else None
    return [
        system
        for system in data.systems(pair, method)
        if any(data.places(pair, system, quality.is_shown))
    ]


def _by_seed(places: Iterable[Place]) -> list[list[Place]]:
    seeds: dict[int, list[Place]] = {}
    for place in places:
        seeds.setdefault(place.run.seed, []).append(place)
    return list(seeds.values())


def _style(system: str) -> Style:
    """The usual style; offline systems are points here, too."""
    style = style_of(system)
    return style if style.marker else replace(style, marker="x", is_filled=False)
