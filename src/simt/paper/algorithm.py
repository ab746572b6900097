"""Algorithm 1 as a table: when SM² reads and when it writes, and a real sentence decided by it."""

from collections.abc import Iterator

from simt.instances import Instance
from simt.paper.material import Material, System
from simt.paper.schematics import readable_instance, shown_piece
from simt.paper.sketches import DecisionPath
from simt.paper.style import DECISION, label_of
from simt.paper.tabular import Block, Column, Table

Line = tuple[str, str, str, str]
_SHOWN_TOKENS = 8  # on each side of the sentence
_MAX_LINES = 30
_COLUMNS = (
    Column("step", "Step"),
    Column("state", "State"),
    Column("condition", "If"),
    Column("action", "Then"),
)


def decision_rule(material: Material) -> Table:
    """Algorithm 1: the rule by the study's settings, then every decision on one sentence."""
    blocks = []
    for pair in material.pairs:
        for system in material.systems(pair, "sm2"):
            first = material.settings(pair, system)["first_read"]
            room = material.params.decoding.max_target_tokens
            heading = f"{material.direction(pair)}, the rule"
            blocks.append(Block(pair, heading, (tuple(_rule(first, room)),)))
            blocks.append(_trace(material, pair, system))
    return Table(material.drawing.title, _COLUMNS, tuple(blocks))


def _rule(first_read: int, max_tokens: int) -> Iterator[Line]:
    """The rule for a source of M tokens, ⟨eos⟩ included, and a threshold γ."""
    yield "1", f"(1, {first_read})", "begin", f"READ {first_read}"
    yield "2", "(i, j)", "c_ij < γ and j < M", "READ, to (i, j + 1)"
    yield "3", "(i, j)", "c_ij ≥ γ or j = M", "WRITE y_i = argmax p_ij, to (i + 1, j)"
    yield "4", "(i + 1, j)", f"y_i = ⟨eos⟩ or i = {max_tokens}", "end"


def _trace(material: Material, pair: str, system: System) -> Block:
    """Every state that one decoding came by."""
    instance = readable_instance(material, pair, system, _SHOWN_TOKENS)
    if instance is None:
        missing = f"missing: {label_of(system.key)} (not decoded)"
        return Block(pair, f"{material.direction(pair)}, a sentence", (), (missing,))
    heading = (
        f"{label_of(system.key)} at γ = {instance.knob}, sentence {instance.index} of {pair} test"
    )
    lines = tuple(decisions(instance))
    notes = () if len(lines) <= _MAX_LINES else (f"{_MAX_LINES} of {len(lines)} decisions",)
    return Block(pair, heading, (lines[:_MAX_LINES],), notes)


def decisions(instance: Instance) -> Iterator[Line]:
    """Every state that a decoding came by, what was asked there, and what was done."""
    source, target = instance.source_pieces, instance.pieces
    delays = instance.token_delays
    assert delays is not None, instance.index
    states = DecisionPath(DECISION, delays).states()
    for step, (row, read) in enumerate(states, start=1):
        is_write = read == delays[row - 1]
        confidence = _confidence(instance, row, read, is_write)
        if is_write and read == len(source):
            condition = "j = M"
        else:
            sign = "≥" if is_write else "<"
            known = "" if confidence is None else f"c = {confidence:.2f} {sign} {instance.knob}"
            condition = known or "begin"
        action = f"WRITE {shown_piece(target[row - 1])}"
        if not is_write:
            action = f"READ {shown_piece(source[read])}"
        yield str(step), f"({row}, {read})", condition, action


def _confidence(instance: Instance, row: int, read: int, is_write: bool) -> float | None:
    """The confidence that decided; None where the policy was not asked."""
    values = instance.write_confidence if is_write else instance.read_confidence
    return None if values is None else values[row - 1 if is_write else read]
