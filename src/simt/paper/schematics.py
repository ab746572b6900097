"""The paper's schematics, from what real runs did with a real sentence.

Figures 1 and 2 show every state of the sentence that `simt confidences` kept, Figure 6 one of the
test sentences with the paths that were decoded on it; which states a method may learn from is asked
of the method's own code.
"""

from dataclasses import replace
from typing import Any

from simt.instances import EOS_TOKEN, INSTANCES_FILE, Instance, read_groups
from simt.paper.material import Material, System
from simt.paper.panels import Sheet
from simt.paper.rows import read_json
from simt.paper.sketches import DecisionPath, Grid, Region, Sentence, State, TrainingStep
from simt.paper.style import DECISION, label_of, look_of
from simt.params import Knob
from simt.runs import GRID_FILE, Point, Run

SHOWN_KNOB = 0.5  # the γ of the paths in schematics, or the one nearest to it
_SHOWN_TOKENS = 13  # on a side of Figure 6: more than the band of wait-1 to wait-10 is wide
_MAX_ROWS = 18


# --- every state of one sentence ----------------------------------------------------------------


def paradigms(material: Material) -> Sheet:
    """Figure 1: a path of decisions, and states that are judged each by itself."""
    sketches = []
    for pair in material.pairs:
        for system in material.systems(pair, "sm2"):
            sketches += _paradigms(material, pair, system)
    return Sheet((), tuple(sketches))


def _paradigms(material: Material, pair: str, system: System) -> list[Grid]:
    titles = ("(a) one path, decision after decision", "(b) SM²: every state by itself")
    run = _first_run(material, pair, system)
    kept = _kept_states(material, run)
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


def framework(material: Material) -> Sheet:
    """Figure 2: what is computed in one training step."""
    sketches = []
    for pair in material.pairs:
        for system in material.systems(pair, "sm2"):
            sketches.append(_training_step(material, pair, system))
    return Sheet((), tuple(sketches))


def _training_step(material: Material, pair: str, system: System) -> TrainingStep:
    title = f"one training step of {label_of(system.key)}"
    run = _first_run(material, pair, system)
    kept = _kept_states(material, run)
    if kept is None:
        return TrainingStep(title, None, 0, (), (), (), _missing(system))
    sentence = _sentence(kept, run)
    prefix = len(sentence.source) // 2
    full, partial = ([row[place] for row in kept["probability"]] for place in (-1, prefix - 1))
    confidence = [row[prefix - 1] for row in kept["confidence"]]
    note = f"numbers after training: {label_of(system.key)}, {sentence.origin}"
    return TrainingStep(title, sentence, prefix, full, partial, confidence, (note,))


def _first_run(material: Material, pair: str, system: System) -> Run:
    return Run(pair, system.method, system.variants[0], material.study.seeds[0])


def _kept_states(material: Material, run: Run) -> dict[str, Any] | None:
    return read_json(material.results / "points" / str(Point(run, "valid")) / GRID_FILE)


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
    return piece.replace(EOS_TOKEN, "⟨eos⟩").replace("@@", "-")


def _missing(system: System) -> tuple[str, ...]:
    return (f"missing: {label_of(system.key)} (not decoded)",)


# --- which states a method learns from ----------------------------------------------------------


def search_space(material: Material, pair: str) -> tuple[Grid, ...]:
    """Figure 6 (a) and (b): where HMT's states are, and where those of SM², with paths."""
    hmt, sm2 = (material.systems(pair, method) for method in ("hmt", "sm2"))
    grids = []
    if hmt:
        middle = hmt[0].variants[len(hmt[0].variants) // 2]
        grids.append(_hmt_grid(material, pair, hmt[0]._replace(variants=(middle,))))
    if sm2:
        banded = [one for one in sm2 if material.settings(pair, one)["prohibition"] != "none"]
        whole = [one for one in sm2 if one not in banded]
        grids.append(_sm2_grid(material, pair, whole[-1], banded[-1:]))
    return tuple(grids)


def _hmt_grid(material: Material, pair: str, system: System) -> Grid:
    settings = material.settings(pair, system)
    title = f"(a) HMT, L = {settings['low']}, K = {settings['states']}"
    instance = readable_instance(material, pair, system, _SHOWN_TOKENS)
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


def _sm2_grid(material: Material, pair: str, system: System, banded: list[System]) -> Grid:
    title = f"(b) {label_of(system.key)}"
    instance = readable_instance(material, pair, system, _SHOWN_TOKENS)
    if instance is None:
        return Grid(title, None, {}, notes=_missing(system))
    sentence = _decoded(instance, pair)
    regions = [
        Region(look_of(one.key), sm2_states(material.settings(pair, one), sentence))
        for one in banded
    ]
    bounds = [material.settings(pair, one) for one in banded]
    notes = [
        f"inside the line: {label_of(one.key)}, from wait-{own['prohibition_lower']} "
        f"to wait-{own['prohibition_upper']}"
        for one, own in zip(banded, bounds, strict=True)
    ]
    return Grid(
        title,
        sentence,
        {},
        allowed=sm2_states(material.settings(pair, system), sentence),
        regions=tuple(regions),
        paths=(_path(instance, system),),
        notes=("; ".join([f"as decoded at γ = {instance.knob}, {sentence.origin}", *notes]),),
    )


def hmt_states(settings: dict[str, Any], sentence: Sentence) -> frozenset[State]:
    """The states of a hidden Markov model over this sentence."""
    import torch

    from simt.methods.hmt import state_reads
    from simt.settings import HmtSettings

    limit_1 = torch.tensor([len(sentence.source)])
    reads_1NK = state_reads(len(sentence.target), limit_1, HmtSettings.of(settings))
    rows = enumerate(reads_1NK[0].tolist(), start=1)
    return frozenset((row, read) for row, reads in rows for read in reads)


def sm2_states(settings: dict[str, Any], sentence: Sentence) -> frozenset[State]:
    """The states that count in the loss when every prefix of the source is drawn once."""
    import torch

    from simt.methods.sm2 import allowed_states
    from simt.settings import Sm2Settings

    length = len(sentence.source)
    prefixes_M = torch.arange(1, length + 1)
    allowed_MN = allowed_states(
        prefixes_M,
        torch.full_like(prefixes_M, length),
        len(sentence.target),
        Sm2Settings.of(settings),
    )
    return frozenset((int(row) + 1, int(place) + 1) for place, row in allowed_MN.nonzero())


def readable_instance(
    material: Material, pair: str, system: System, tokens: int
) -> Instance | None:
    """The first decoded sentence of about so many tokens, at the γ nearest to the shown one."""
    run = _first_run(material, pair, system)
    path = material.results / "points" / str(Point(run, "test")) / INSTANCES_FILE
    if not path.exists():
        return None
    groups = read_groups(path)
    knob = min(groups, key=_distance)
    return min(groups[knob], key=lambda instance: _excess(instance, tokens))


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
    return DecisionPath(look_of(system.key), instance.token_delays[:_MAX_ROWS])
