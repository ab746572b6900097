"""Scores as a table for a person: a row for each definition, a column for each knob value."""

from collections.abc import Mapping, Sequence

from simt.knobs import knob_text
from simt.params import Knob
from simt.scoring.latency import DEGENERACY, is_degenerate
from simt.scoring.scores import Score
from simt.wording import count


def score_table(columns: Mapping[Knob | None, Sequence[Score]]) -> str:
    """Scores side by side, each under the signature that says how it was computed.

    Where sentences are left out of a mean, because nothing was written or read, the row says how
    many; YAAL always says how many it counts, and where its policy looks degenerate.
    """
    by_signature = [{score.signature: score for score in scores} for scores in columns.values()]
    signatures = list(dict.fromkeys(one for scores in by_signature for one in scores))
    width = max(map(len, signatures))
    lines = [f"{'':<{width}}" + "".join(f"{_knob(knob):>9}" for knob in columns)]
    for signature in signatures:
        row = [scores.get(signature) for scores in by_signature]
        cells = "".join(f"{_value(score):>9}" for score in row)
        remark = _counted(row, signature, columns) if _is_yaal(signature) else _left_out(row)
        lines.append(f"{signature:<{width}}{cells}{remark}")
    return "\n".join(lines)


def _knob(knob: Knob | None) -> str:
    return "value" if knob is None else knob_text(knob)


def _value(score: Score | None) -> str:
    return "-" if score is None or score.value is None else f"{score.value:.3f}"


def _is_yaal(signature: str) -> bool:
    return signature.startswith("YAAL|")


def _counted(
    row: Sequence[Score | None], signature: str, columns: Mapping[Knob | None, Sequence[Score]]
) -> str:
    """How many sentences a YAAL counts, and for which columns it should not be trusted."""
    counts = ["-" if one is None else str(one.sentences - one.left_out) for one in row]
    total = max(one.sentences for one in row if one is not None)
    test = signature.replace("YAAL|", f"{DEGENERACY}|")
    suspects = [
        _knob(knob)
        for knob, scores in columns.items()
        if any(one.signature == test and is_degenerate(one) for one in scores)
    ]
    where = "" if suspects == ["value"] else f" at {', '.join(suspects)}"
    warning = f"; likely a degenerate policy{where}, see {DEGENERACY}" if suspects else ""
    return f"  (counts {', '.join(counts)} of {count(total, 'sentence')}{warning})"


def _left_out(row: Sequence[Score | None]) -> str:
    left_out = [0 if score is None else score.left_out for score in row]
    if not any(left_out):
        return ""
    return f"  ({', '.join(map(str, left_out))} left out: nothing written or read)"
