"""The paper's data figures, one function each: from material to panels.

Nothing is computed here: a figure chooses rows, names and looks.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from simt.paper.material import Material, System, is_full, is_simultaneous
from simt.paper.panels import Axis, Curve, Mark, Panel, Sheet, Shown, Trace, collect, shown
from simt.paper.reference import ANALYSIS_PAIR, paper_number, paper_points
from simt.paper.rows import Number, model_of
from simt.paper.schematics import search_space
from simt.paper.style import ORACLE, PAPER, SHIFTED_ORACLE, label_of, look_of, weight_look
from simt.params import Knob, Variant

MAXIMAL_KNOB = 0.99  # the γ at which the paper reads off the maximal lagging
BLEU = Axis("bleu", "SacreBLEU")
_ROOM = 1.3  # how far SM² may lag behind the slowest other system before the axis is cut


# --- quality against latency --------------------------------------------------------------------


def bleu_al(material: Material) -> Sheet:
    """Figures 3 and 10: BLEU against average lagging, a panel for each pair."""
    return Sheet(tuple(_all_systems(material, pair, BLEU) for pair in material.pairs))


def comet_al(material: Material) -> Sheet:
    """Figures 4 and 11: COMET against average lagging, a panel for each pair."""
    comets = {pair: material.rows.comet(pair) for pair in material.pairs}
    return Sheet(
        tuple(
            _all_systems(material, pair, Axis(metric, f"COMET ({model_of(metric)})"))
            for pair, metric in comets.items()
        )
    )


def prohibition(material: Material) -> Sheet:
    """Figure 6: (a, b) which states are learned from, (c) SM² on all states and on a band."""
    panels = tuple(
        _panel(material, pair, map(shown, material.systems(pair, "sm2")), BLEU, "(c) ")
        for pair in material.pairs
    )
    return Sheet(
        panels, tuple(one for pair in material.pairs for one in search_space(material, pair))
    )


def offline_models(material: Material) -> Sheet:
    """Figure 7: SM² from an offline model (a) among other systems, (b) by size."""
    panels = []
    for pair in material.pairs:
        systems = material.systems(pair)
        alike = [one for one in systems if _recipe(material, one).size == "base"]
        tuned = [one for one in systems if _is_of_sizes(material, pair, one)]
        for letter, some in (("(a) ", alike), ("(b) ", tuned)):
            simultaneous = [shown(one) for one in some if one.method != "offline"]
            offline = [one for one in some if one.method == "offline"]
            panels.append(_panel(material, pair, simultaneous, BLEU, letter, offline))
    return Sheet(tuple(panels))


def ablations(material: Material) -> Sheet:
    """Figure 8: SM² without its offline loss, and without the offline model's hints."""
    return Sheet(
        tuple(
            _panel(material, pair, map(shown, material.systems(pair, "sm2")), BLEU)
            for pair in material.pairs
        )
    )


def _all_systems(material: Material, pair: str, quality: Axis) -> Panel:
    systems = material.systems(pair, other_than="offline")
    return _panel(material, pair, map(shown, systems), quality)


def _panel(
    material: Material,
    pair: str,
    wanted: Iterable[Shown],
    quality: Axis,
    letter: str = "",
    offline: Sequence[System] | None = None,
) -> Panel:
    """Quality of some systems against their lagging, with lines for offline ones: all, or some."""
    wanted = list(wanted)
    if offline is None:
        offline = material.systems(pair, "offline")
    axes = (_lagging(material.rows.main_latency), quality)
    curves = collect(material, pair, wanted, axes, is_simultaneous)
    levels = collect(material, pair, map(shown, offline), axes, is_full)
    panel = Panel(
        title=letter + material.direction(pair),
        x=axes[0],
        y=axes[1],
        curves=curves.curves,
        levels=levels.curves,
        missing=curves.missing + levels.missing,
        traces=_paper_traces(material, pair, [one.system for one in wanted], axes),
    )
    return _cut(material, panel)


def _lagging(metric: str) -> Axis:
    """The axis of a latency: ``al_token`` is AL in tokens."""
    name, _, unit = metric.rpartition("_")
    return Axis(metric, f"{name.upper().replace('_', ' ')} ({unit}s)")


def _recipe(material: Material, system: System) -> Variant:
    return material.params.methods[system.method].variants[system.variants[0]]


def _is_of_sizes(material: Material, pair: str, system: System) -> bool:
    """Whether it is an offline model, or one of which all weights were trained on."""
    if system.method == "offline":
        return True
    has_start = _recipe(material, system).start_from is not None
    return has_start and not material.settings(pair, system).get("adapter_share")


def _cut(material: Material, panel: Panel) -> Panel:
    """The panel with its axis ended where only SM² goes on, and what lies beyond as a remark.

    At its largest γ it hardly ever writes: that point alone would take half of the axis.
    """
    marks = [mark for curve in panel.curves for mark in curve.marks]
    others = [mark for mark in marks if mark.place.run.method != "sm2"]
    usual = [mark for mark in marks if not _is_maximal(mark.place.knob)]
    room = _ROOM if others else 1.05
    traced = [x for trace in panel.traces for x in trace.xs]
    end = max(room * max((mark.x.value for mark in others or usual), default=0.0), *traced, 0.0)
    beyond: dict[str, list[str]] = {}
    for curve in panel.curves:
        knobs = [material.knob_name(mark.place) for mark in curve.marks if mark.x.value > end]
        values = ", ".join(dict.fromkeys(knob.value for knob in knobs))
        if knobs:
            beyond.setdefault(f"{knobs[0].symbol} = {values}", []).append(curve.name)
    if not beyond or end <= 0:
        return panel
    names = "; ".join(f"{', '.join(names)} at {knobs}" for knobs, names in beyond.items())
    farthest = max(mark.x.value for mark in marks)
    remark = f"beyond the axis, up to {farthest:.1f}: {names}"
    return replace(panel, x_end=end, remarks=(*panel.remarks, remark))


# --- long and short sentences -------------------------------------------------------------------


def long_short(material: Material) -> Sheet:
    """Figure 12: long and short sentences, a panel for each encoder."""
    panels = []
    for pair in material.pairs:
        systems = sorted(material.systems(pair, "sm2"), key=_encoder(material, pair))
        for letter, system in zip("abcdefgh", systems, strict=False):
            panels.append(_group_panel(material, pair, system, f"({letter}) "))
    return Sheet(tuple(panels))


def _encoder(material: Material, pair: str) -> Callable[[System], str]:
    return lambda system: str(material.settings(pair, system)["encoder"])


def _group_panel(material: Material, pair: str, system: System, letter: str) -> Panel:
    """One system on long and on short sentences, with the offline model of the same encoder."""
    axes = (_lagging(material.rows.main_latency), BLEU)
    encoder = _encoder(material, pair)
    offline = [one for one in material.systems(pair, "offline") if encoder(one) == encoder(system)]
    curves = collect(material, pair, _both_groups([system]), axes, is_simultaneous)
    levels = collect(material, pair, _both_groups(offline), axes, is_full)
    panel = Panel(
        title=f"{letter}{label_of(system.key)}, {material.direction(pair)}",
        x=axes[0],
        y=axes[1],
        curves=curves.curves,
        levels=levels.curves,
        missing=curves.missing + levels.missing,
        has_named_levels=True,
    )
    return _cut(material, panel)


def _both_groups(systems: Iterable[System]) -> list[Shown]:
    wanted = []
    for system in systems:
        name, look = label_of(system.key), look_of(system.key)
        for group, is_filled in (("long", True), ("short", False)):
            own = replace(look, label=f"{name}, {group}", is_filled=is_filled)
            wanted.append(Shown(system, f"{name} {group}", own, group))
    return wanted


# --- the weight of the penalty ------------------------------------------------------------------


def penalty_weight(material: Material) -> Sheet:
    """Figure 9: (a) BLEU against lagging for each λ, (b) the lagging where hardly ever written."""
    panels = []
    for pair in material.pairs:
        wanted = _by_weight(material, pair)
        panels.append(replace(_panel(material, pair, wanted, BLEU, "(a) "), levels=()))
        panels.append(_maximal_lagging(material, pair, wanted))
    return Sheet(tuple(panels))


def _weight(material: Material, pair: str, system: System) -> float:
    return float(material.settings(pair, system)["confidence_weight"])


def _by_weight(material: Material, pair: str) -> list[Shown]:
    """The systems from the smallest λ to the largest."""
    systems = sorted(material.systems(pair, "sm2"), key=lambda one: _weight(material, pair, one))
    looks = [weight_look(_weight(material, pair, one)) for one in systems]
    return [Shown(one, look.label, look) for one, look in zip(systems, looks, strict=True)]


def _maximal_lagging(material: Material, pair: str, wanted: Sequence[Shown]) -> Panel:
    """The lagging of each λ at the largest γ."""
    latency = _lagging(material.rows.main_latency)
    found = collect(material, pair, wanted, (latency, latency), _is_maximal)
    curves = [
        curve._replace(
            marks=tuple(mark._replace(x=_setting(material, mark)) for mark in curve.marks)
        )
        for curve in found.curves
    ]
    traces: tuple[Trace, ...] = ()
    if material.with_paper_numbers and pair == ANALYSIS_PAIR and latency.metric == "al_token":
        value = paper_number("max_al", "lambda=1.0", "al_at_gamma_0.99")
        traces = (Trace(PAPER, (1.0,), (value,), "the paper's text on λ"),)
    return Panel(
        title=f"(b) at γ = {MAXIMAL_KNOB:g}",
        x=Axis("confidence_weight", "λ"),
        y=latency._replace(label=f"maximal {latency.label}"),
        curves=tuple(curves),
        missing=found.missing,
        traces=traces,
        is_joined=True,
    )


def _setting(material: Material, mark: Mark) -> Number:
    run = mark.place.run
    settings = material.params.method_settings(run.pair, run.method, run.variant)
    return Number(float(settings["confidence_weight"]), "setting")


def _is_maximal(knob: Knob | None) -> bool:
    return knob == MAXIMAL_KNOB


# --- alignments ---------------------------------------------------------------------------------


def alignments(material: Material) -> Sheet:
    """Figures 5 and 13: the share of words written after what they translate had been read.

    Against lagging as in the other figures; then against lagging in words, beside the oracle, which
    knows no other unit.
    """
    panels = []
    for pair in material.pairs:
        oracle = _oracle_traces(material, pair)
        main = _alignment_panel(material, pair, material.rows.main_latency)
        if not oracle or not material.has_alignments(pair):
            panels.append(main)
            continue
        in_words = replace(_alignment_panel(material, pair, "al_word"), traces=oracle)
        is_enough = main.x.metric == "al_word"
        panels += [in_words] if is_enough else [_titled("(a) ", main), _titled("(b) ", in_words)]
    return Sheet(tuple(panels))


def _titled(letter: str, panel: Panel) -> Panel:
    return replace(panel, title=letter + panel.title)


def _alignment_panel(material: Material, pair: str, latency: str) -> Panel:
    axes = (_lagging(latency), Axis("sa_word", "satisfied alignments", is_share=True))
    panel = Panel(material.direction(pair), *axes)
    if not material.has_alignments(pair):
        return replace(panel, remarks=(f"{pair} has no gold alignments",))
    found = collect(material, pair, map(shown, material.systems(pair)), axes, is_simultaneous)
    hidden = _hidden_curves(found.curves)
    panel = replace(panel, curves=found.curves, missing=found.missing, remarks=hidden)
    return _cut(material, panel)


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


def _oracle_traces(material: Material, pair: str) -> tuple[Trace, ...]:
    """The oracle, and what it would reach if it read some words fewer or more than it must."""
    points = sorted(material.oracle(pair))
    if not points:
        return ()
    xs, ys = zip(*points, strict=True)
    own = next(point for point in points if point.sa_word == max(ys))
    origin = "the policy that reads what the gold alignments ask for"
    return (
        Trace(SHIFTED_ORACLE, xs, ys, f"{origin}, or some words fewer or more"),
        Trace(ORACLE, (own.al_word,), (own.sa_word,), origin),
    )


# --- the paper's own numbers --------------------------------------------------------------------


def _paper_traces(
    material: Material, pair: str, systems: Iterable[System], axes: tuple[Axis, Axis]
) -> tuple[Trace, ...]:
    """The paper's curves of the same systems on the same pair, where it prints both scores."""
    traces = []
    for system in systems if material.with_paper_numbers else ():
        points = [
            (point.scores[axes[0].metric], point.scores[axes[1].metric])
            for point in paper_points(pair, system.key)
            if all(axis.metric in point.scores for axis in axes)
        ]
        if points:
            look = replace(PAPER, marker=look_of(system.key).marker)
            xs, ys = zip(*sorted(points), strict=True)
            traces.append(Trace(look, xs, ys, f"the paper's {label_of(system.key)}"))
    return tuple(traces)
