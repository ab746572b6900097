"""Scores as a table for a person: a row for each definition, a column for each knob value."""

from collections.abc import Mapping, Sequence

from simt.params import Knob
from simt.scoring.scores import Score


def score_table(columns: Mapping[Knob | None, Sequence[Score]]) -> str:
    """Scores side by side, each under the signature that says how it was computed.

    Where sentences are left out of a mean, because nothing was written, the row says how many.
    """
    by_signature = [{score.signature: score for score in scores} for scores in columns.values()]
    signatures = list(dict.fromkeys(one for scores in by_signature for one in scores))
    width = max(map(len, signatures))
    lines = [f"{'':<{width}}" + "".join(f"{_knob(knob):>9}" for knob in columns)]
    for signature in signatures:
        row = [scores.get(signature) for scores in by_signature]
        cells = "".join(f"{_value(score):>9}" for score in row)
        lines.append(f"{signature:<{width}}{cells}{_left_out(row)}")
    return "\n".join(lines)


def _knob(knob: Knob | None) -> str:
    if knob is None:
        return "value"
    return knob if isinstance(knob, str) else f"{knob:g}"


def _value(score: Score | None) -> str:
    return "-" if score is None or score.value is None else f"{score.value:.3f}"


def _left_out(row: Sequence[Score | None]) -> str:
    empty = [0 if score is None else score.empty for score in row]
    if not any(empty):
        return ""
    return f"  ({', '.join(map(str, empty))} left out: nothing written)"
