"""The paper's data figures, one function each: from data to panels.

Nothing is computed here: a figure chooses rows, names and styles.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from simt.paper.figure_data import FigureData, System, is_full, is_simultaneous
from simt.paper.frames import framed, with_same_limits
from simt.paper.panels import (
    Axis,
    Curve,
    FigureSpec,
    Mark,
    Panel,
    ReferenceLine,
    Shown,
    collect,
    shown,
)
from simt.paper.reference import ANALYSIS_PAIR, paper_number, paper_points
from simt.paper.rows import Number, estimate_name, load_oracle
from simt.paper.schematics import search_space
from simt.paper.style import ORACLE, PAPER, style_of, weight_style
from simt.params import Knob
from simt.settings import TOY_ESTIMATOR
from simt.systems import label_of

MAXIMAL_KNOB = 0.99  # the γ at which the paper reads off the maximal lagging
BLEU = Axis("bleu", "SacreBLEU")
_ROOM = 1.3  # how far SM² may lag behind the slowest other system before the axis is cut


# --- quality against latency --------------------------------------------------------------------


def bleu_al(data: FigureData) -> FigureSpec:
    """Figures 3 and 10: BLEU against average lagging, a panel for each pair."""
    return FigureSpec(tuple(_all_systems(data, pair, BLEU) for pair in data.pairs))


def comet_al(data: FigureData) -> FigureSpec:
    """Figures 4 and 11: estimated quality against average lagging, a panel for each pair."""
    return FigureSpec(
        tuple(_all_systems(data, pair, _estimate(data.rows.comet(pair))) for pair in data.pairs)
    )


def _estimate(metric: str) -> Axis:
    """The axis of what is COMET in the paper; a study may have an estimator of its own."""
    is_own = metric == f"comet:{TOY_ESTIMATOR}"
    return Axis(metric, estimate_name(metric) + (" (trained here)" if is_own else ""))


def prohibition(data: FigureData) -> FigureSpec:
    """Figure 6: (a, b) which states are learned from, (c) SM² on all states and on a band."""
    panels = tuple(
        _panel(data, pair, map(shown, data.systems(pair, "sm2")), BLEU, "(c) ")
        for pair in data.pairs
    )
    return FigureSpec(panels, tuple(one for pair in data.pairs for one in search_space(data, pair)))


def offline_models(data: FigureData) -> FigureSpec:
    """Figure 7: SM² from an offline model (a) among other systems, (b) by size."""
    panels = []
    for pair in data.pairs:
        systems = data.systems(pair)
        alike = [one for one in systems if data.recipe(one).size == "base"]
        tuned = [one for one in systems if _is_of_sizes(data, pair, one)]
        panels.append(_beside_offline(data, pair, alike, "(a) "))
        if len({data.recipe(one).size for one in tuned if one.method != "offline"}) > 1:
            panels.append(_beside_offline(data, pair, tuned, "(b) "))
    return FigureSpec(tuple(panels))


def _beside_offline(data: FigureData, pair: str, systems: Sequence[System], letter: str) -> Panel:
    """The curves of simultaneous systems, and the named levels of offline ones."""
    simultaneous = [shown(one) for one in systems if one.method != "offline"]
    offline = [one for one in systems if one.method == "offline"]
    panel = _panel(data, pair, simultaneous, BLEU, letter, offline)
    return replace(panel, has_named_levels=True)


def ablations(data: FigureData) -> FigureSpec:
    """Figure 8: SM² without its offline loss, and without the offline model's hints."""
    return FigureSpec(
        tuple(
            _panel(data, pair, map(shown, data.systems(pair, "sm2")), BLEU) for pair in data.pairs
        )
    )


def _all_systems(data: FigureData, pair: str, quality: Axis) -> Panel:
    systems = data.systems(pair, other_than="offline")
    return _panel(data, pair, map(shown, systems), quality)


def _panel(
    data: FigureData,
    pair: str,
    wanted: Iterable[Shown],
    quality: Axis,
    letter: str = "",
    offline: Sequence[System] | None = None,
) -> Panel:
    """Quality of some systems against their lagging, with lines for offline ones: all, or some."""
    wanted = list(wanted)
    if offline is None:
        offline = data.systems(pair, "offline")
    axes = (_lagging(data.rows.main_latency), quality)
    curves = collect(data, pair, wanted, axes, is_simultaneous)
    levels = collect(data, pair, map(shown, offline), axes, is_full)
    panel = Panel(
        title=letter + data.direction(pair),
        x=axes[0],
        y=axes[1],
        curves=curves.curves,
        levels=levels.curves,
        missing=curves.missing + levels.missing,
        reference_lines=_paper_lines(data, pair, [one.system for one in wanted], axes),
    )
    return _cut(data, panel)


def _lagging(metric: str) -> Axis:
    """The axis of a latency: ``al_token`` is AL in tokens."""
    name, _, unit = metric.rpartition("_")
    return Axis(metric, f"{name.upper().replace('_', ' ')} ({unit}s)")


def _is_of_sizes(data: FigureData, pair: str, system: System) -> bool:
    """Whether it is an offline model, or one of which all weights were trained on."""
    if system.method == "offline":
        return True
    has_start = data.recipe(system).start_from is not None
    return has_start and not data.settings(pair, system).get("adapter_fraction")


def _cut(data: FigureData, panel: Panel) -> Panel:
    """The framed panel, its axis ended where only SM² goes on, and what lies beyond as a remark.

    At its largest γ it hardly ever writes: that point alone would take half of the axis.
    """
    marks = [mark for curve in panel.curves for mark in curve.marks]
    others = [mark for mark in marks if mark.place.run.method != "sm2"]
    usual = [mark for mark in marks if not _is_maximal(mark.place.knob)]
    room = _ROOM if others else 1.05
    referenced = [x for reference in panel.reference_lines for x in reference.xs]
    end = max(room * max((mark.x.value for mark in others or usual), default=0.0), *referenced, 0.0)
    beyond: dict[str, list[str]] = {}
    for curve in panel.curves:
        knobs = [data.knob_name(mark.place) for mark in curve.marks if mark.x.value > end]
        values = ", ".join(dict.fromkeys(knob.value for knob in knobs))
        if knobs:
            beyond.setdefault(f"{knobs[0].symbol} = {values}", []).append(curve.name)
    if not beyond or end <= 0:
        return framed(panel)
    names = "; ".join(f"{', '.join(names)} at {knobs}" for knobs, names in beyond.items())
    farthest = max(mark.x.value for mark in marks)
    remark = f"beyond the axis, up to {farthest:.1f}: {names}"
    return framed(replace(panel, remarks=(*panel.remarks, remark)), end)


# --- long and short sentences -------------------------------------------------------------------


def long_short(data: FigureData) -> FigureSpec:
    """Figure 12: long and short sentences, a panel for each encoder."""
    panels = []
    for pair in data.pairs:
        systems = sorted(data.systems(pair, "sm2"), key=_encoder(data, pair))
        for letter, system in zip("abcdefgh", systems, strict=False):
            panels.append(_group_panel(data, pair, system, f"({letter}) "))
    return FigureSpec(with_same_limits(panels))


def _encoder(data: FigureData, pair: str) -> Callable[[System], str]:
    return lambda system: str(data.settings(pair, system)["encoder"])


def _group_panel(data: FigureData, pair: str, system: System, letter: str) -> Panel:
    """One system on long and on short sentences, with the offline model of the same encoder."""
    axes = (_lagging(data.rows.main_latency), BLEU)
    encoder = _encoder(data, pair)
    offline = [one for one in data.systems(pair, "offline") if encoder(one) == encoder(system)]
    curves = collect(data, pair, _both_groups([system]), axes, is_simultaneous)
    levels = collect(data, pair, _both_groups(offline), axes, is_full)
    panel = Panel(
        title=f"{letter}{label_of(system.key)}, {data.direction(pair)}",
        x=axes[0],
        y=axes[1],
        curves=curves.curves,
        levels=levels.curves,
        missing=curves.missing + levels.missing,
        has_named_levels=True,
    )
    return _cut(data, panel)


def _both_groups(systems: Iterable[System]) -> list[Shown]:
    wanted = []
    for system in systems:
        name, style = label_of(system.key), style_of(system.key)
        for group, is_filled in (("long", True), ("short", False)):
            own = replace(style, label=f"{name}, {group}", is_filled=is_filled)
            wanted.append(Shown(system, f"{name} {group}", own, group))
    return wanted


# --- the weight of the penalty ------------------------------------------------------------------


def penalty_weight(data: FigureData) -> FigureSpec:
    """Figure 9: (a) BLEU against lagging for each λ, (b) the lagging where hardly ever written."""
    panels = []
    for pair in data.pairs:
        wanted = _by_weight(data, pair)
        panels.append(replace(_panel(data, pair, wanted, BLEU, "(a) "), levels=()))
        panels.append(_maximal_lagging(data, pair, wanted))
    return FigureSpec(tuple(panels))


def _weight(data: FigureData, pair: str, system: System) -> float:
    return float(data.settings(pair, system)["confidence_weight"])


def _by_weight(data: FigureData, pair: str) -> list[Shown]:
    """The systems from the smallest λ to the largest."""
    systems = sorted(data.systems(pair, "sm2"), key=lambda one: _weight(data, pair, one))
    styles = [weight_style(_weight(data, pair, one)) for one in systems]
    return [Shown(one, style.label, style) for one, style in zip(systems, styles, strict=True)]


def _maximal_lagging(data: FigureData, pair: str, wanted: Sequence[Shown]) -> Panel:
    """The lagging of each λ at the largest γ."""
    latency = _lagging(data.rows.main_latency)
    found = collect(data, pair, wanted, (latency, latency), _is_maximal)
    curves = [
        curve._replace(marks=tuple(mark._replace(x=_setting(data, mark)) for mark in curve.marks))
        for curve in found.curves
    ]
    reference_lines: tuple[ReferenceLine, ...] = ()
    if data.with_paper_numbers and pair == ANALYSIS_PAIR and latency.metric == "al_token":
        value = paper_number("max_al", "lambda=1.0", "al_at_gamma_0.99")
        reference_lines = (ReferenceLine(PAPER, (1.0,), (value,), "the paper's text on λ"),)
    panel = Panel(
        title=f"(b) at γ = {MAXIMAL_KNOB:g}",
        x=Axis("confidence_weight", "λ"),
        y=latency._replace(label=f"maximal {latency.label}"),
        curves=tuple(curves),
        missing=found.missing,
        reference_lines=reference_lines,
        is_joined=True,
    )
    return framed(panel)


def _setting(data: FigureData, mark: Mark) -> Number:
    run = mark.place.run
    settings = data.params.method_settings(run.pair, run.method, run.variant)
    return Number(float(settings["confidence_weight"]), "setting")


def _is_maximal(knob: Knob | None) -> bool:
    return knob == MAXIMAL_KNOB


# --- alignments ---------------------------------------------------------------------------------


def alignments(data: FigureData) -> FigureSpec:
    """Figures 5 and 13: the fraction of words written after what they translate had been read.

    Against lagging as in the other figures; then against lagging in words, beside the oracle, which
    knows no other unit.
    """
    panels = []
    for pair in data.pairs:
        oracle = _oracle_traces(pair)
        main = _alignment_panel(data, pair, data.rows.main_latency)
        if not oracle:
            panels.append(main)
            continue
        in_words = _alignment_panel(data, pair, "al_word", oracle)
        is_enough = main.x.metric == "al_word"
        panels += [in_words] if is_enough else [_titled("(a) ", main), _titled("(b) ", in_words)]
    return FigureSpec(tuple(panels))


def _titled(letter: str, panel: Panel) -> Panel:
    return replace(panel, title=letter + panel.title)


def _alignment_panel(
    data: FigureData, pair: str, latency: str, oracle: tuple[ReferenceLine, ...] = ()
) -> Panel:
    axes = (_lagging(latency), Axis("sa_word", "satisfied alignments", is_fraction=True))
    found = collect(data, pair, map(shown, data.systems(pair)), axes, is_simultaneous)
    panel = Panel(
        data.direction(pair),
        *axes,
        curves=found.curves,
        missing=found.missing,
        reference_lines=oracle,
        remarks=(*_hidden_curves(found.curves), *(f"star: {one.origin}" for one in oracle)),
    )
    return _cut(data, panel)


def _hidden_curves(curves: Sequence[Curve]) -> tuple[str, ...]:
    """A remark for each curve that lies wholly under a later one: wait-k may read alike."""
    points = {
        curve.name: {(mark.x.value, mark.y.value) for mark in curve.marks} for curve in curves
    }
    return tuple(
        f"{under} lies under {over}: the same points"
        for under, over in combinations(points, 2)
        if points[under] and points[under] <= points[over]
    )


def _oracle_traces(pair: str) -> tuple[ReferenceLine, ...]:
    """The oracle, which is one point: who reads less than it satisfies fewer alignments.

    Shifted by some words, its path is no bound: real systems are better than that.
    """
    satisfied = [point for point in load_oracle(pair) if point.sa_word == 1]
    if not satisfied:
        return ()
    own = min(satisfied, key=lambda point: point.al_word)
    origin = "what the gold alignments ask for is read before each word, and no more"
    return (ReferenceLine(ORACLE, (own.al_word,), (own.sa_word,), origin),)


# --- the paper's own numbers --------------------------------------------------------------------


def _paper_lines(
    data: FigureData, pair: str, systems: Iterable[System], axes: tuple[Axis, Axis]
) -> tuple[ReferenceLine, ...]:
    """The paper's curves of the same systems on the same pair, where it prints both scores."""
    reference_lines = []
    for system in systems if data.with_paper_numbers else ():
        points = [
            (point.scores[axes[0].metric], point.scores[axes[1].metric])
            for point in paper_points(pair, system.key)
            if all(axis.metric in point.scores for axis in axes)
        ]
        if points:
            style = replace(PAPER, marker=style_of(system.key).marker)
            xs, ys = zip(*sorted(points), strict=True)
            reference_lines.append(
                ReferenceLine(style, xs, ys, f"the paper's {label_of(system.key)}")
            )
    return tuple(reference_lines)
