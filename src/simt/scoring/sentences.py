"""What every sentence gives to every score: sentences.json, beside the scores of a point.

Scores are computed once. Whoever needs the score of some sentences, or of drawn ones, sums or
averages these statistics; no text is compared again. One object, sentences in columns::

    {"sentences": [0, 1, …],                       their numbers in the split
     "references": "5f2a…",                        fingerprint of what BLEU compares with, or null
     "groups": {"long": [1, …], "short": [0, …]},  places in the columns, where a set is halved
     "main_latency": "al_token",
     "points": [{"knob": 0.5, "statistics": {
        "bleu": [[9, 10, 8, 6, 4, 2, 9, 8, 7, 6], …],    words, reference words, matches, n-grams
        "chrf": [[…], …],                                sacreBLEU's counts by order
        "al_token": [2.75, null, …],                     null: nothing was written
        "dsptv_token": [[4, 9, 6.25, 10], …],            see ``simt.scoring.latency.Earliness``
        "sa_word": [[5, 6], …],                          words satisfied, words that count
        "comet:simt/toy-estimator": [0.61, …]}}]}        the score of the segment

The value of a score is: of ``bleu``, ``chrf``, ``dsptv_…`` and ``sa_word``, computed from the sums
of the columns; of all others, the mean of the numbers that there are (of COMET times 100).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.knobs import read_knob
from simt.params import Knob
from simt.problems import parse_json, read_text
from simt.scoring.quality import Floats, bleu_of
from simt.scoring.scores import Score
from simt.scoring.significance import KnobStatistics

_REMEDY = "score the point again"


@dataclass(frozen=True, eq=False)
class SentenceStatistics:
    """The statistics of one point; see the file's description above."""

    sentences: tuple[int, ...]
    references: str | None
    main_latency: str
    groups: Mapping[str, Sequence[int]]
    columns: Mapping[Knob | None, Mapping[str, Sequence[Any]]]

    def as_json(self) -> dict[str, Any]:
        """Plain values for the file."""
        points = [{"knob": knob, "statistics": columns} for knob, columns in self.columns.items()]
        return {
            "sentences": self.sentences,
            "references": self.references,
            "groups": self.groups,
            "main_latency": self.main_latency,
            "points": points,
        }

    def score_names(self) -> list[str]:
        """Every score that has statistics at some knob value."""
        return list(dict.fromkeys(name for one in self.columns.values() for name in one))

    def knob_statistics(self, score: str, group: str | None = None) -> dict[Any, KnobStatistics]:
        """A score at each knob value that has it, with the main latency; of a group, or of all."""
        places = slice(None) if group is None else list(self.groups[group])
        return {
            knob: _knob_statistics(score, columns[score], columns[self.main_latency], places)
            for knob, columns in self.columns.items()
            if score in columns
        }


def write_sentences(path: Path, statistics: SentenceStatistics) -> None:
    """Write sentences.json, without the spaces that would be half of it."""
    with atomic_file(path) as stream:
        json.dump(statistics.as_json(), stream, separators=(",", ":"), allow_nan=False)
        stream.write("\n")


def statistics_of(scores: Sequence[Score]) -> dict[str, Sequence[Any]]:
    """The columns of one knob value."""
    return {score.name: score.statistics for score in scores}


def read_sentences(path: Path) -> SentenceStatistics:
    """The statistics of a point, checked to be of one shape."""
    values = parse_json(read_text(path, _REMEDY), path, _REMEDY)
    try:
        statistics = SentenceStatistics(
            tuple(values["sentences"]),
            values["references"],
            values["main_latency"],
            values["groups"],
            {read_knob(one["knob"]): one["statistics"] for one in values["points"]},
        )
        columns = [column for named in statistics.columns.values() for column in named.values()]
        columns += [named[statistics.main_latency] for named in statistics.columns.values()]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise SimtError(f"{path} has no statistics of sentences ({error!r}): {_REMEDY}") from None
    if any(len(column) != len(statistics.sentences) for column in columns):
        raise SimtError(f"{path}: a column has not an entry for each sentence: {_REMEDY}")
    return statistics


# --- as numbers to draw from ----------------------------------------------------------------------


def _knob_statistics(
    score: str, column: Sequence[Any], latencies: Sequence[float | None], places: Any
) -> KnobStatistics:
    lags = np.array(latencies, np.float64)[places]  # None becomes not a number
    return KnobStatistics(_sums(column)[places], lags, score_of(score))


def _sums(column: Sequence[Any]) -> npt.NDArray[Any]:
    """A row of numbers a sentence whose sum gives the score; of a mean, the number and a one."""
    known = [one for one in column if one is not None]
    if known and isinstance(known[0], list | tuple):
        nothing = [0] * len(known[0])
        return np.array([nothing if one is None else one for one in column])
    values = np.array(column, np.float64)
    return np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=1)


def score_of(score: str) -> Callable[[npt.NDArray[Any]], Floats]:
    """From rows of sums over sentences to values of a score."""
    assert not score.startswith(("chrf", "dsptv")), f"nothing is drawn of {score}"
    if score == "bleu":
        return bleu_of
    return percentage_of if score.startswith(("sa_", "comet:")) else ratio_of


def ratio_of(sums: npt.NDArray[Any]) -> Floats:
    """The first column over the second, for each row; not a number where that is 0."""
    part, whole = np.atleast_2d(sums).astype(np.float64).T
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def percentage_of(sums: npt.NDArray[Any]) -> Floats:
    """The same times 100."""
    return 100 * ratio_of(sums)
