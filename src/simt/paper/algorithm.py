"""Algorithm 1 as a table: when SM² reads and when it writes, and a real sentence decided by it."""

from collections.abc import Iterator

from simt.instances import Instance
from simt.paper.figure_data import FigureData, System
from simt.paper.schematics import readable_instance, shown_piece
from simt.paper.sketches import DecisionPath
from simt.paper.style import DECISION
from simt.paper.tabular import Block, Cell, Column, Formula, Table
from simt.systems import label_of

AlgorithmLine = tuple[Cell, Cell, Cell]
_SHOWN_TOKENS = 8  # on each side of the sentence
_MAX_LINES = 30
_COLUMNS = (Column("state", "State"), Column("condition", "If"), Column("action", "Then"))


def decision_rule(data: FigureData) -> Table:
    """Algorithm 1: the rule by the study's settings, then every decision on one sentence."""
    blocks = []
    for pair in data.pairs:
        for system in data.systems(pair, "sm2"):
            first = data.settings(pair, system)["first_read"]
            room = data.params.decoding.max_target_tokens
            note = (
                "M source tokens, ⟨eos⟩ among them; c_ij is the confidence in state (i, j), y_i "
                f"its likeliest token; at most {room} are written"
            )
            heading = f"{data.direction(pair)}, the rule"
            blocks.append(Block(pair, heading, (tuple(_rule(first)),), (note,)))
            blocks.append(_trace(data, pair, system))
    return Table(data.drawing.title, _COLUMNS, tuple(blocks))


def _rule(first_read: int) -> Iterator[AlgorithmLine]:
    """The rule for a source of M tokens, ⟨eos⟩ included, and a threshold γ."""
    state = Formula("(i, j)", "$(i, j)$")
    yield "", "begin", Formula(f"READ {first_read} → (1, {first_read})",
                               rf"READ {first_read} $\rightarrow (1, {first_read})$")  # fmt: skip
    yield (
        state,
        Formula("c_ij < γ and j < M", r"$c_{ij} < \gamma$ and $j < M$"),
        Formula("READ → (i, j + 1)", r"READ $\rightarrow (i, j + 1)$"),
    )
    yield (
        state,
        Formula("c_ij ≥ γ or j = M", r"$c_{ij} \geq \gamma$ or $j = M$"),
        Formula("WRITE y_i → (i + 1, j)", r"WRITE $y_i \rightarrow (i + 1, j)$"),
    )
    yield (
        Formula("(i + 1, j)", "$(i + 1, j)$"),
        Formula("y_i = ⟨eos⟩", r"$y_i = \langle\mathrm{eos}\rangle$"),
        "end",
    )


def _trace(data: FigureData, pair: str, system: System) -> Block:
    """Every state that one decoding came by."""
    instance = readable_instance(data, pair, system, _SHOWN_TOKENS)
    if instance is None:
        missing = f"missing: {label_of(system.key)} (not decoded)"
        return Block(pair, f"{data.direction(pair)}, a sentence", (), (missing,))
    heading = (
        f"{label_of(system.key)} at γ = {instance.knob}, sentence {instance.index} of {pair} test"
    )
    lines = tuple(decisions(instance))
    notes = () if len(lines) <= _MAX_LINES else (f"{_MAX_LINES} of {len(lines)} decisions",)
    return Block(pair, heading, (lines[:_MAX_LINES],), notes)


def decisions(instance: Instance) -> Iterator[AlgorithmLine]:
    """Every state that a decoding came by, what was asked there, and what was done."""
    source, target = instance.source_pieces, instance.pieces
    delays = instance.token_delays
    assert delays is not None, instance.index
    states = DecisionPath(DECISION, delays).states()
    for row, read in states:
        is_write = read == delays[row - 1]
        confidence = _confidence(instance, row, read, is_write)
        condition: Cell = "begin"
        if is_write and read == len(source):
            condition = Formula("j = M", "$j = M$")
        elif confidence is not None:
            text = f"c = {confidence:.2f} {'≥' if is_write else '<'} {instance.knob}"
            latex = text.replace("≥", r"\geq")
            condition = Formula(text, f"${latex}$")
        action = f"WRITE {shown_piece(target[row - 1])}"
        if not is_write:
            action = f"READ {shown_piece(source[read])}"
        yield f"({row}, {read})", condition, action


def _confidence(instance: Instance, row: int, read: int, is_write: bool) -> float | None:
    """The confidence that decided; None where the policy was not asked."""
    values = instance.write_confidence if is_write else instance.read_confidence
    return None if values is None else values[row - 1 if is_write else read]
