"""The paper's tables, one function each: from data to cells.

Nothing is computed here but means over seeds: a table chooses rows and names.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from simt.paper.cells import Reader
from simt.paper.figure_data import FigureData, System, is_full, is_simultaneous
from simt.paper.reference import (
    ANALYSIS_PAIR,
    PAPER_PAIRS,
    PAPER_SCORES,
    paper_number,
    paper_points,
)
from simt.paper.rows import RUN, Place, estimate_name
from simt.paper.tabular import Block, Cell, Column, Measured, Table, TableRow
from simt.systems import label_of

_SYSTEM = Column("system", "System")
_BLEU = Column("bleu", "SacreBLEU", 2)


# --- correlations -------------------------------------------------------------------------------


def confidence(data: FigureData) -> Table:
    """Table 1: how far confidence goes with correctness, over all states."""
    reader = Reader(data)
    columns = (
        _SYSTEM,
        Column("confidence_pearson", "Pearson", 2),
        Column("confidence_spearman", "Spearman", 2),
        Column("confidence_kendall", "Kendall τ", 2),
        Column("confidence_states", "States", 0),
    )
    paper: TableRow = ()
    if _is_analysed_in_paper(data):  # which does not say of which encoder
        names = ("pearson", "spearman", "kendall_tau")
        paper = tuple(paper_number("confidence_correlation", "sm2", name) for name in names)
    blocks = []
    for pair in data.pairs:
        lines: list[TableRow] = [
            (
                label_of(one.key),
                *(reader.score(pair, one, None, column.key) for column in columns[1:4]),
                reader.fact(pair, one, "confidence_states", data.drawing.split),
                *paper,
            )
            for one in data.systems(pair)
        ]
        blocks.append(_block(data, pair, lines))
    beside = [_papers(column) for column in columns[1:4]] if paper else []
    return reader.table((*columns, *beside), blocks)


# --- offline quality ----------------------------------------------------------------------------


def sizes(data: FigureData) -> Table:
    """Table 2: offline models of each size, before and after they learned to be simultaneous."""
    reader = Reader(data)
    columns = [
        Column("size", "Model"),
        Column("parameters", "Parameters (M)", 2, 1e-6),
        Column("bleu_before", "BLEU before", 2),
        Column("bleu_after", "BLEU after", 2),
    ]
    blocks = [
        _block(data, pair, [_size_line(reader, pair, one) for one in _by_size(data, pair)])
        for pair in data.pairs
    ]
    if _is_analysed_in_paper(data):
        columns += [_papers(column) for column in columns[1:]]
    return reader.table(columns, blocks)


def _by_size(data: FigureData, pair: str) -> list[System]:
    """The offline systems from small to big."""
    order = ("small", "base", "big")
    systems = data.systems(pair, "offline")
    return sorted(systems, key=lambda one: order.index(data.recipe(one).size))


def _size_line(reader: Reader, pair: str, offline: System) -> TableRow:
    """One size: its parameters, and BLEU of the offline model and of the one that began as it."""
    data = reader.data
    size = data.recipe(offline).size
    start = f"{offline.method}/{offline.variants[0]}"
    tuned = [s for s in data.systems(pair) if data.recipe(s).start_from == start]
    line: TableRow = (
        size,
        reader.fact(pair, offline, "parameters", RUN),
        reader.score(pair, offline, "full", "bleu"),
        reader.score(pair, tuned[0], "full", "bleu") if tuned else None,
    )
    if not _is_analysed_in_paper(data):
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


def offline_ability(data: FigureData) -> Table:
    """Table 3: what SM² and its ablations translate when they read everything first."""
    reader = Reader(data)
    columns = (_SYSTEM, _BLEU, *([_papers(_BLEU)] if _is_analysed_in_paper(data) else []))
    blocks = []
    for pair in data.pairs:
        ours, offline = (
            [_ability_line(reader, pair, one) for one in data.systems(pair, method)]
            for method in ("sm2", "offline")
        )
        blocks.append(_block(data, pair, ours, offline))
    return reader.table(columns, blocks)


def _ability_line(reader: Reader, pair: str, system: System) -> TableRow:
    line: TableRow = (label_of(system.key), reader.score(pair, system, "full", "bleu"))
    if not _is_analysed_in_paper(reader.data):
        return line
    row = _ABLATIONS.get(system.key)
    return (*line, None if row is None else paper_number("ablation_omt_ability", row, "sacrebleu"))


# --- the numbers behind the curves --------------------------------------------------------------


def numbers(data: FigureData) -> Table:
    """Tables 5-8: latency and quality of every system at every knob value.

    Where pairs have different COMET models, each model has a column of its own; without any model,
    there is none.
    """
    reader = Reader(data)
    comets = {pair: data.rows.comet(pair) for pair in data.pairs if data.params.comet_models(pair)}
    scores = [Column(data.rows.main_latency, "AL", 2), _BLEU]
    for comet in dict.fromkeys(comets.values()):
        name = estimate_name(comet)
        scores.append(Column(comet, name[0].upper() + name[1:], 2))
    blocks = []
    for pair in data.pairs:
        others = {comet for comet in comets.values() if comet != comets.get(pair)}
        groups = _number_groups(reader, pair, [one.key for one in scores], others)
        blocks.append(_block(data, pair, *groups))
    columns = [_SYSTEM, Column("knob", "Knob"), *scores]
    columns += [_papers(column) for column in scores if column.key in _printed_scores(data)]
    return reader.table(columns, blocks)


def _number_groups(
    reader: Reader, pair: str, scores: Sequence[str], others: Collection[str]
) -> list[list[TableRow]]:
    """A group of lines for each system; ``others`` are scores that this pair does not have."""
    data = reader.data
    offline, simultaneous = [], []
    for system in data.systems(pair):
        is_shown = is_full if system.method == "offline" else is_simultaneous
        lines: list[TableRow] = [
            (
                label_of(system.key),
                data.knob_name(places[0]),
                *(
                    None if score in others else reader.cell(places, score, label_of(system.key))
                    for score in scores
                ),
                *_printed(data, system, places[0], scores),
            )
            for places in data.places_by_knob(pair, system, is_shown)
        ]
        if system.method == "offline":
            offline += lines
        else:
            simultaneous.append(lines)
    return [offline, *simultaneous]


def _printed(data: FigureData, system: System, place: Place, scores: Sequence[str]) -> TableRow:
    """What the paper prints at this knob value, for those of our scores that it has."""
    points = {point.knob: point for point in paper_points(place.run.pair, system.key)}
    point = points.get(data.knob_numbers(place))
    known = [score for score in scores if score in _printed_scores(data)]
    return tuple(None if point is None else point.scores[score] for score in known)


def _printed_scores(data: FigureData) -> tuple[str, ...]:
    """The scores of which the paper's numbers are shown: none, unless asked for."""
    is_shown = data.with_paper_numbers and any(pair in PAPER_PAIRS for pair in data.pairs)
    return PAPER_SCORES if is_shown else ()


# --- length groups ------------------------------------------------------------------------------


def length_groups(data: FigureData) -> Table:
    """Table 9: how many sentences are long or short, and how long they are."""
    reader = Reader(data)
    facts = (Column("sentences", "Sentences", 0), Column("mean_length", "Mean length", 2))
    paper = map(_papers, facts) if _is_analysed_in_paper(data) else ()
    blocks = []
    for pair in data.pairs:
        lines = [_group_line(reader, pair, group) for group in ("long", "short")]
        units = sorted({_unit(cell) for line in lines for cell in line[1:2] if cell is not None})
        notes = (f"length in {', '.join(units)}",) if units else ()
        blocks.append(replace(_block(data, pair, lines), notes=notes))
    return reader.table((Column("group", "Group"), *facts, *paper), blocks)


def _group_line(reader: Reader, pair: str, group: str) -> TableRow:
    """One group; every run translates the same sentences, so that the first one tells."""
    data = reader.data
    system, split = data.systems(pair)[0], data.drawing.split
    facts = ("sentences", "mean_length")
    line = (group.upper(), *(reader.fact(pair, system, fact, split, group) for fact in facts))
    if not _is_analysed_in_paper(data):
        return line
    names = ("sentences", "average_sentence_length")
    return (*line, *(paper_number("length_groups", group, name) for name in names))


def _unit(cell: Cell) -> str:
    """What the lengths were counted in, as the signature says: ``source_token_eos``."""
    assert isinstance(cell, Measured), cell
    unit = cell.values[0][1].signature.rpartition("unit:")[2]
    name = unit.removesuffix("_eos").replace("_", " ")
    return f"{name}s with ⟨eos⟩" if unit.endswith("_eos") else f"{name}s"


# --- for all of them ----------------------------------------------------------------------------


def _block(data: FigureData, pair: str, *groups: Iterable[TableRow]) -> Block:
    filled = [tuple(group) for group in groups]
    return Block(pair, data.direction(pair), tuple(group for group in filled if group))


def _papers(column: Column) -> Column:
    """The column of the paper's own numbers beside one of ours."""
    heading = f"{column.heading.split(' (')[0]} (paper)"
    return column._replace(key=f"paper_{column.key}", heading=heading)


def _is_analysed_in_paper(data: FigureData) -> bool:
    return data.with_paper_numbers and ANALYSIS_PAIR in data.pairs
