"""The SM² paper's own numbers, to be shown beside ours where pair and system match."""

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from simt.paper.rows import COMET_OF_THE_PAPER

_FOLDER = Path(__file__).with_name("reference")
PAPER_PAIRS = {
    "nist-zhen": "zh-en",
    "wmt15-deen": "de-en",
    "wmt16-enro": "en-ro",
    "iwslt15-envi": "en-vi",
}
_SYSTEMS = {
    "waitk": "wait-k",
    "multipath/uni": "m-wait-k",
    "hmt": "hmt",
    "itst/uni": "itst",
    "sm2/uni": "sm2-uni",
    "sm2/bi": "sm2-bi",
}
_COLUMNS = {"al_token": "al", "bleu": "sacrebleu", COMET_OF_THE_PAPER: "comet"}
PAPER_SCORES = tuple(_COLUMNS)
ANALYSIS_PAIR = "wmt15-deen"  # the pair of the paper's analyses


class PaperPoint(NamedTuple):
    """One system at one knob value, as printed: ``knob`` is 0.3, 5 or (2, 4)."""

    knob: tuple[float, ...]
    scores: dict[str, float]  # by our names of the scores


def paper_points(pair: str, system: str) -> list[PaperPoint]:
    """What the paper prints for a system on a pair; empty where it prints nothing."""
    names = (PAPER_PAIRS.get(pair), _SYSTEMS.get(system))
    return [
        PaperPoint(
            tuple(map(float, row["value"].split(","))),
            {ours: float(row[theirs]) for ours, theirs in _COLUMNS.items()},
        )
        for row in _table("latency_quality")
        if (row["pair"], row["method"]) == names
    ]


def paper_number(table: str, row: str, column: str) -> float:
    """One number of the paper's smaller tables."""
    (value,) = (
        float(entry["value"])
        for entry in _table("other_tables")
        if (entry["table"], entry["row"], entry["column"]) == (table, row, column)
    )
    return value


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return tuple(csv.DictReader(stream))
