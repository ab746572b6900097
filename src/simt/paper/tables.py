"""The paper's tables, one function each: from material to cells.

Nothing is computed here but means over seeds: a table chooses rows and names.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from simt.paper.cells import Reader
from simt.paper.material import Material, System, is_full, is_simultaneous
from simt.paper.reference import (
    ANALYSIS_PAIR,
    PAPER_PAIRS,
    PAPER_SCORES,
    paper_number,
    paper_points,
)
from simt.paper.rows import RUN, Place, model_of
from simt.paper.style import label_of
from simt.paper.tabular import Block, Cell, Column, Measured, Table
from simt.params import Variant

Line = tuple[Cell, ...]
_SYSTEM = Column("system", "System")
_BLEU = Column("bleu", "SacreBLEU", 2)
_ALL = slice(None)


# --- correlations -------------------------------------------------------------------------------


def confidence(material: Material) -> Table:
    """Table 1: how far confidence goes with correctness, over all states."""
    reader = Reader(material)
    columns = (
        _SYSTEM,
        Column("confidence_pearson", "Pearson", 2),
        Column("confidence_spearman", "Spearman", 2),
        Column("confidence_kendall", "Kendall τ", 2),
        Column("confidence_states", "States", 0),
    )
    paper: Line = ()
    if _is_analysed_in_paper(material):  # which does not say of which encoder
        names = ("pearson", "spearman", "kendall_tau")
        paper = tuple(paper_number("confidence_correlation", "sm2", name) for name in names)
    blocks = []
    for pair in material.pairs:
        lines: list[Line] = [
            (
                label_of(one.key),
                *(reader.score(pair, one, None, column.key) for column in columns[1:4]),
                reader.fact(pair, one, "confidence_states", material.drawing.split),
                *paper,
            )
            for one in material.systems(pair)
        ]
        blocks.append(_block(material, pair, lines))
    beside = [_papers(column) for column in columns[1:4]] if paper else []
    return reader.table((*columns, *beside), blocks)


# --- offline quality ----------------------------------------------------------------------------


def sizes(material: Material) -> Table:
    """Table 2: offline models of each size, before and after they learned to be simultaneous."""
    reader = Reader(material)
    columns = [
        Column("size", "Model"),
        Column("parameters", "Parameters (M)", 2, 1e-6),
        Column("bleu_before", "BLEU before", 2),
        Column("bleu_after", "BLEU after", 2),
    ]
    blocks = [
        _block(material, pair, [_size_line(reader, pair, one) for one in _by_size(material, pair)])
        for pair in material.pairs
    ]
    if _is_analysed_in_paper(material):
        columns += [_papers(column) for column in columns[1:]]
    return reader.table(columns, blocks)


def _by_size(material: Material, pair: str) -> list[System]:
    """The offline systems from small to big."""
    order = ("small", "base", "big")
    systems = material.systems(pair, "offline")
    return sorted(systems, key=lambda one: order.index(_recipe(material, one).size))


def _recipe(material: Material, system: System) -> Variant:
    return material.params.methods[system.method].variants[system.variants[0]]


def _size_line(reader: Reader, pair: str, offline: System) -> Line:
    """One size: its parameters, and BLEU of the offline model and of the one that began as it."""
    material = reader.material
    size = _recipe(material, offline).size
    preset = material.params.pairs[pair].sizes[size]
    start = f"{offline.method}/{offline.variants[0]}"
    tuned = [s for s in material.systems(pair) if _recipe(material, s).start_from == start]
    line: Line = (
        size if preset == size else f"{size} ({preset})",
        reader.fact(pair, offline, "parameters", RUN),
        reader.score(pair, offline, "full", "bleu"),
        reader.score(pair, tuned[0], "full", "bleu") if tuned else None,
    )
    if not _is_analysed_in_paper(material):
        return line
    row = ("omt_before_after_finetuning", f"transformer-{size}")
    millions, *bleus = (
        paper_number(*row, column)
        for column in ("parameters_millions", "sacrebleu_before", "sacrebleu_after")
    )
    return (*line, millions * 1e6, *bleus)


_ABLATIONS = {
    "sm2/bi": "sm2-bi",
    "sm2/bi-no-omt": "without_omt_loss",
    "sm2/bi-no-pi": "without_omt_modification",
    "offline/bi": "omt-bi",
}


def offline_ability(material: Material) -> Table:
    """Table 3: what SM² and its ablations translate when they read everything first."""
    reader = Reader(material)
    columns = (_SYSTEM, _BLEU, *([_papers(_BLEU)] if _is_analysed_in_paper(material) else []))
    blocks = []
    for pair in material.pairs:
        ours, offline = (
            [_ability_line(reader, pair, one) for one in material.systems(pair, method)]
            for method in ("sm2", "offline")
        )
        blocks.append(_block(material, pair, ours, offline))
    return reader.table(columns, blocks)


def _ability_line(reader: Reader, pair: str, system: System) -> Line:
    line: Line = (label_of(system.key), reader.score(pair, system, "full", "bleu"))
    if not _is_analysed_in_paper(reader.material):
        return line
    row = _ABLATIONS.get(system.key)
    return (*line, None if row is None else paper_number("ablation_omt_ability", row, "sacrebleu"))


# --- the numbers behind the curves --------------------------------------------------------------


def numbers(material: Material, which: slice = _ALL) -> Table:
    """Tables 5-8: latency and quality of every system at every knob value.

    ``which`` of the pairs are shown: the paper has a table for each of its three main pairs. Where
    pairs have different COMET models, each model has a column of its own.
    """
    reader = Reader(material)
    pairs = material.pairs[which]
    comets = {pair: material.rows.comet(pair) for pair in pairs}
    scores = [Column(material.rows.main_latency, "AL", 2), _BLEU]
    scores += [Column(one, f"COMET ({model_of(one)})", 2) for one in dict.fromkeys(comets.values())]
    blocks = [] if pairs else [_no_pair(material)]
    for pair in pairs:
        others = {comet for comet in comets.values() if comet != comets[pair]}
        groups = _number_groups(reader, pair, [one.key for one in scores], others)
        blocks.append(_block(material, pair, *groups))
    columns = [_SYSTEM, Column("knob", "Knob"), *scores]
    columns += [_papers(column) for column in scores if column.key in _printed_scores(material)]
    return reader.table(columns, blocks)


def _no_pair(material: Material) -> Block:
    """What stands in a table for a pair that the paper has and the study has not."""
    shown = ", ".join(material.pairs) or "none"
    role = material.drawing.pairs
    note = f"study {material.study_name} has no further {role} pair (it has: {shown})"
    return Block("", "", (), (note,))


def _number_groups(
    reader: Reader, pair: str, scores: Sequence[str], others: Collection[str]
) -> list[list[Line]]:
    """A group of lines for each system; ``others`` are scores that this pair does not have."""
    material = reader.material
    offline, simultaneous = [], []
    for system in material.systems(pair):
        is_shown = is_full if system.method == "offline" else is_simultaneous
        lines: list[Line] = [
            (
                label_of(system.key),
                material.knob_name(places[0]),
                *(
                    None if score in others else reader.cell(places, score, label_of(system.key))
                    for score in scores
                ),
                *_printed(material, system, places[0], scores),
            )
            for places in material.places_by_knob(pair, system, is_shown)
        ]
        if system.method == "offline":
            offline += lines
        else:
            simultaneous.append(lines)
    return [offline, *simultaneous]


def _printed(material: Material, system: System, place: Place, scores: Sequence[str]) -> Line:
    """What the paper prints at this knob value, for those of our scores that it has."""
    points = {point.knob: point for point in paper_points(place.run.pair, system.key)}
    point = points.get(material.knob_numbers(place))
    known = [score for score in scores if score in _printed_scores(material)]
    return tuple(None if point is None else point.scores[score] for score in known)


def _printed_scores(material: Material) -> tuple[str, ...]:
    """The scores of which the paper's numbers are shown: none, unless asked for."""
    is_shown = material.with_paper_numbers and any(pair in PAPER_PAIRS for pair in material.pairs)
    return PAPER_SCORES if is_shown else ()


# --- length groups ------------------------------------------------------------------------------


def length_groups(material: Material) -> Table:
    """Table 9: how many sentences are long or short, and how long they are."""
    reader = Reader(material)
    facts = (Column("sentences", "Sentences", 0), Column("mean_length", "Mean length", 2))
    paper = map(_papers, facts) if _is_analysed_in_paper(material) else ()
    blocks = []
    for pair in material.pairs:
        lines = [_group_line(reader, pair, group) for group in ("long", "short")]
        units = sorted({_unit(cell) for line in lines for cell in line[1:2] if cell is not None})
        notes = (f"length in {', '.join(units)}",) if units else ()
        blocks.append(replace(_block(material, pair, lines), notes=notes))
    return reader.table((Column("group", "Group"), *facts, *paper), blocks)


def _group_line(reader: Reader, pair: str, group: str) -> Line:
    """One group; every run translates the same sentences, so that the first one tells."""
    material = reader.material
    system, split = material.systems(pair)[0], material.drawing.split
    facts = ("sentences", "mean_length")
    line = (group.upper(), *(reader.fact(pair, system, fact, split, group) for fact in facts))
    if not _is_analysed_in_paper(material):
        return line
    names = ("sentences", "average_sentence_length")
    return (*line, *(paper_number("length_groups", group, name) for name in names))


def _unit(cell: Cell) -> str:
    """What the lengths were counted in, as the signature says."""
    assert isinstance(cell, Measured), cell
    return cell.values[0][1].signature.rpartition("unit:")[2]


# --- for all of them ----------------------------------------------------------------------------


def _block(material: Material, pair: str, *groups: Iterable[Line]) -> Block:
    filled = [tuple(group) for group in groups]
    return Block(pair, material.direction(pair), tuple(group for group in filled if group))


def _papers(column: Column) -> Column:
    """The column of the paper's own numbers beside one of ours."""
    heading = f"{column.heading.split(' (')[0]} (paper)"
    return column._replace(key=f"paper_{column.key}", heading=heading)


def _is_analysed_in_paper(material: Material) -> bool:
    return material.with_paper_numbers and ANALYSIS_PAIR in material.pairs
