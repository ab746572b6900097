"""The paper's schematics, from what real runs did with a real sentence.

Figures 1 and 2 show every state of the sentence that `simt confidences` kept, Figure 6 one of the
test sentences with the paths that were decoded on it; which states a method may learn from is asked
of the method's own code.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from simt.instances import EOS_TOKEN, Instance, read_groups
from simt.paper.figure_data import FigureData, System
from simt.paper.panels import FigureSpec
from simt.paper.rows import read_json
from simt.paper.sketches import DecisionPath, Grid, Region, Sentence, State, TrainingStep
from simt.paper.style import DECISION, style_of
from simt.params import Knob
from simt.pieces import ends_word, visible
from simt.products import GRID_FILE, INSTANCES_FILE
from simt.runs import Point, Run
from simt.systems import label_of

SHOWN_KNOB = 0.5  # the γ of the paths in schematics, or the one nearest to it
_SHOWN_TOKENS = 13  # on a side of Figure 6: more than the band of wait-1 to wait-10 is wide
_MAX_ROWS = 18


# --- every state of one sentence ----------------------------------------------------------------


def paradigms(data: FigureData) -> FigureSpec:
    """Figure 1: a path of decisions, and states that are judged each by itself."""
    sketches = []
    for pair in data.pairs:
        for system in data.systems(pair, "sm2"):
            sketches += _paradigms(data, pair, system)
    return FigureSpec((), tuple(sketches))


def _paradigms(data: FigureData, pair: str, system: System) -> list[Grid]:
    titles = ("(a) one path, decision after decision", "(b) SM²: every state by itself")
    run = _first_run(data, pair, system)
    kept = _kept_states(run)
    if kept is None:
        return [Grid(title, None, {}, notes=_missing(system)) for title in titles]
    sentence, path = _sentence(kept, run), _path_of(kept)
    values = {
        (row, column): float(value)
        for row, line in enumerate(kept["confidence"], start=1)
        for column, value in enumerate(line, start=1)
    }
    note = f"{label_of(system.key)}, {sentence.origin}, the reference forced"
    label = "confidence $c_{ij}$"
    on_path = {state: values[state] for state in path.states()}
    return [
        Grid(titles[0], sentence, on_path, label, paths=(path,), notes=(note,)),
        Grid(titles[1], sentence, values, label, paths=(path,)),
    ]


def framework(data: FigureData) -> FigureSpec:
    """Figure 2: what is computed in one training step."""
    sketches = []
    for pair in data.pairs:
        for system in data.systems(pair, "sm2"):
            sketches.append(_training_step(data, pair, system))
    return FigureSpec((), tuple(sketches))


def _training_step(data: FigureData, pair: str, system: System) -> TrainingStep:
    title = f"one training step of {label_of(system.key)}"
    run = _first_run(data, pair, system)
    kept = _kept_states(run)
    if kept is None:
        return TrainingStep(title, None, 0, (), (), (), _missing(system))
    sentence = _sentence(kept, run)
    prefix = len(sentence.source) // 2
    full, partial = ([row[place] for row in kept["probability"]] for place in (-1, prefix - 1))
    confidence = [row[prefix - 1] for row in kept["confidence"]]
    note = f"numbers after training: {label_of(system.key)}, {sentence.origin}"
    return TrainingStep(title, sentence, prefix, full, partial, confidence, (note,))


def _first_run(data: FigureData, pair: str, system: System) -> Run:
    return Run(pair, system.method, system.variants[0], data.study.seeds[0])


def _kept_states(run: Run) -> dict[str, Any] | None:
    return read_json(Point(run, "valid").folder / GRID_FILE)


def _sentence(kept: dict[str, Any], run: Run) -> Sentence:
    source, target = (tuple(map(shown_piece, kept[side])) for side in ("source", "target"))
    return Sentence(source, target, f"sentence {kept['index']} of {run.pair} valid")


def _path_of(kept: dict[str, Any]) -> DecisionPath:
    entry = min(kept["delays"], key=lambda one: abs(one["knob"] - SHOWN_KNOB))
    return DecisionPath(
        replace(DECISION, label=f"path at γ = {entry['knob']:g}"), tuple(entry["delays"])
    )


def shown_piece(piece: str) -> str:
    """A piece for a reader: ``Haus-`` goes on in the next one."""
    if piece == EOS_TOKEN:
        return "⟨eos⟩"
    return visible(piece) if ends_word(piece) else f"{visible(piece)}-"


def _missing(system: System) -> tuple[str, ...]:
    return (f"missing: {label_of(system.key)} (not decoded)",)


# --- which states a method learns from ----------------------------------------------------------


def search_space(data: FigureData, pair: str) -> tuple[Grid, ...]:
    """Figure 6 (a) and (b): where HMT's states are, and where those of SM², with paths."""
    hmt, sm2 = (data.systems(pair, method) for method in ("hmt", "sm2"))
    banded = [one for one in sm2 if data.settings(pair, one)["prohibition"] != "none"]
    systems = [
        *(one._replace(variants=one.variants[len(one.variants) // 2 :][:1]) for one in hmt),
        *[one for one in sm2 if one not in banded][-1:],
    ]
    instances = _alike(data, pair, systems)
    grids = [
        _hmt_grid(data, pair, one, instance)
        if one.method == "hmt"
        else _sm2_grid(data, pair, one, instance, banded[-1:])
        for one, instance in zip(systems, instances, strict=True)
    ]
    if len({tuple(one.pieces) for one in instances if one}) > 1:
        unlike = "beware: the systems translate no test sentence alike"
        grids = [replace(grid, notes=(*grid.notes, unlike)) for grid in grids]
    return tuple(grids)


def _alike(data: FigureData, pair: str, systems: Sequence[System]) -> list[Instance | None]:
    """One sentence as each system decoded it: one that all translate alike, if there is one.

    Paths can be compared only through the same states, so that is worth more than a good length.
    """
    decoded = [_decoded_at_shown_knob(data, pair, one) for one in systems]
    known = [some for some in decoded if some]
    common = set(known[0]).intersection(*known) if known else set[int]()
    if not common:
        return [None for _ in systems]

    def rank(index: int) -> tuple[int, int, int]:
        targets = {tuple(some[index].pieces) for some in known}
        return len(targets), _excess(known[0][index], _SHOWN_TOKENS), index

    best = min(common, key=rank)
    return [some.get(best) for some in decoded]


def _hmt_grid(data: FigureData, pair: str, system: System, instance: Instance | None) -> Grid:
    settings = data.settings(pair, system)
    title = f"(a) HMT, L = {settings['low']}, K = {settings['states']}"
    if instance is None:
        return Grid(title, None, {}, notes=_missing(system))
    sentence = _decoded(instance, pair)
    return Grid(
        title,
        sentence,
        {},
        allowed=hmt_states(settings, sentence),
        paths=(_path(instance, system),),
        notes=(f"shaded: its states; the path as decoded, {sentence.origin}",),
    )


def _sm2_grid(
    data: FigureData,
    pair: str,
    system: System,
    instance: Instance | None,
    banded: list[System],
) -> Grid:
    title = f"(b) {label_of(system.key)}"
    if instance is None:
        return Grid(title, None, {}, notes=_missing(system))
    sentence = _decoded(instance, pair)
    regions = [
        Region(style_of(one.key), sm2_states(data.settings(pair, one), sentence)) for one in banded
    ]
    bounds = [data.settings(pair, one) for one in banded]
    notes = [
        f"inside the line: {label_of(one.key)}, from wait-{own['prohibition_lower']} "
        f"to wait-{own['prohibition_upper']}"
        for one, own in zip(banded, bounds, strict=True)
    ]
    return Grid(
        title,
        sentence,
        {},
        allowed=sm2_states(data.settings(pair, system), sentence),
        regions=tuple(regions),
        paths=(_path(instance, system),),
        notes=("; ".join([f"as decoded at γ = {instance.knob}, {sentence.origin}", *notes]),),
    )


def hmt_states(settings: dict[str, Any], sentence: Sentence) -> frozenset[State]:
    """The states of a hidden Markov model over this sentence."""
    import torch

    from simt.methods.hmt import state_reads
    from simt.settings.methods.hmt import HmtSettings

    limit_1 = torch.tensor([len(sentence.source)])
    reads_1NK = state_reads(len(sentence.target), limit_1, HmtSettings.of(settings))
    rows = enumerate(reads_1NK[0].tolist(), start=1)
    return frozenset((row, read) for row, reads in rows for read in reads)


def sm2_states(settings: dict[str, Any], sentence: Sentence) -> frozenset[State]:
    """The states that count in the loss when every prefix of the source is drawn once."""
    import torch

    from simt.methods.sm2 import allowed_states
    from simt.settings.methods.sm2 import Sm2Settings

    length = len(sentence.source)
    prefixes_M = torch.arange(1, length + 1)
    allowed_MN = allowed_states(
        prefixes_M,
        torch.full_like(prefixes_M, length),
        len(sentence.target),
        Sm2Settings.of(settings),
    )
    return frozenset((int(row) + 1, int(place) + 1) for place, row in allowed_MN.nonzero())


def readable_instance(data: FigureData, pair: str, system: System, tokens: int) -> Instance | None:
    """The first decoded sentence of about so many tokens, at the γ nearest to the shown one."""
    decoded = _decoded_at_shown_knob(data, pair, system).values()
    return min(decoded, key=lambda instance: _excess(instance, tokens), default=None)


def _decoded_at_shown_knob(data: FigureData, pair: str, system: System) -> dict[int, Instance]:
    """What a system made of each test sentence, by number; empty where nothing was decoded."""
    path = Point(_first_run(data, pair, system), "test").folder / INSTANCES_FILE
    if not path.exists():
        return {}
    groups = read_groups(path)
    return {one.index: one for one in groups[min(groups, key=_distance)]}


def _excess(instance: Instance, tokens: int) -> int:
    """How far the sides of a sentence are from a length; alike for all systems."""
    sides = (len(instance.source_pieces), instance.reference_token_length or 0)
    return sum(abs(side - tokens) for side in sides)


def _distance(knob: Knob | None) -> float:
    return abs(knob - SHOWN_KNOB) if isinstance(knob, float | int) else 1e9


def _decoded(instance: Instance, pair: str) -> Sentence:
    """The tokens of a decoding; what an untrained model babbles is cut off, and said to be."""
    source, target = (
        tuple(map(shown_piece, pieces)) for pieces in (instance.source_pieces, instance.pieces)
    )
    origin = f"sentence {instance.index} of {pair} test"
    if len(target) > _MAX_ROWS:
        origin += f" ({_MAX_ROWS} of {len(target)} target tokens)"
    return Sentence(source, target[:_MAX_ROWS], origin)


def _path(instance: Instance, system: System) -> DecisionPath:
    assert instance.token_delays is not None
    return DecisionPath(style_of(system.key), instance.token_delays[:_MAX_ROWS])
