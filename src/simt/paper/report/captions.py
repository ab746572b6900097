"""Captions that can stand alone: what is shown, of what, and how to read it."""

from collections.abc import Mapping, Sequence
from typing import Any

from simt.wording import count

_SPLITS = {
    "test": "test set",
    "valid": "validation set",
    "aligned": "sentences with gold alignments",
}
_TRADE_OFF = (
    "Each marker is a system at one knob value: farther left writes earlier, higher translates "
    "better; horizontal lines are offline models, which read the whole source first."
)
_ALIGNMENTS = (
    "A word is satisfied if the source words it translates had been read when it was written: "
    "higher guesses less, farther left writes earlier."
)
_EVERY_NUMBER = (
    "Every system at every knob value: average lagging behind the speaker, and translation quality."
)
READING = {
    "fig01-paradigms": "Columns are source tokens read, rows target tokens to be written. A method "
    "that learns from paths of decisions sees the states of one path (a); SM² has a confidence for "
    "every state (b).",
    "fig02-framework": "The same sentence with the whole source and with a prefix: SM² mixes both "
    "predictions by its confidence, which a penalty keeps high only where the prefix is enough.",
    "fig03-bleu-al": _TRADE_OFF,
    "fig04-comet-al": _TRADE_OFF,
    "fig05-alignments": _ALIGNMENTS,
    "fig06-prohibition": "HMT learns from the states of a band (a), SM² from all of them (b). In "
    "(c), SM² without and with such a band (-P): higher at equal lagging is better.",
    "fig07-offline-models": "SM² trained on from an offline model: all weights (FT) or an adapter. "
    f"{_TRADE_OFF}",
    "fig08-ablations": "SM²-Bi whole, without its offline loss (w/o L_omt), and with the gold "
    f"token in place of the offline prediction (w/o p_i). {_TRADE_OFF}",
    "fig09-lambda": "A larger λ punishes low confidence more, so that the model writes earlier: "
    "(a) quality against average lagging, (b) the largest lagging that each model reaches.",
    "fig10-appendix-bleu-al": _TRADE_OFF,
    "fig11-appendix-comet-al": _TRADE_OFF,
    "fig12-long-short": "The long and the short half of the sentences, each against the offline "
    "model on the same half (lines).",
    "fig13-prohibition-alignments": f"SM² trained on all states and on a band of them (-P). "
    f"{_ALIGNMENTS}",
    "scale-bleu": "The same corpus with more and with less training, or text; not a figure of the "
    "paper. Where one line crosses another, the order of two systems changes: claims that hold "
    "only at the right need that much.",
    "tab01-confidence": "Correlation of a state's confidence with the probability of the gold "
    "token there, over all states: 1 is perfect, 0 is none.",
    "tab02-sizes": "BLEU with the whole source read first: of the offline model, and of SM² "
    "trained on from it.",
    "tab03-offline-ability": "BLEU with the whole source read first: what learning to be "
    "simultaneous costs.",
    "tab04-settings": "The settings that the trainings were made with.",
    "tab05-numbers": _EVERY_NUMBER,
    "tab06-numbers": _EVERY_NUMBER,
    "tab07-numbers": _EVERY_NUMBER,
    "tab08-appendix-numbers": _EVERY_NUMBER,
    "tab09-length-groups": "The halves of the sentences that Figure 12 compares.",
    "tab10-beside-paper": "Each number beside the one that the paper prints for the same system.",
    "alg01-decision-rule": "In state (i, j), i - 1 tokens are written and j are read; c is the "
    "confidence and γ the threshold. Below the rule, every decision on one sentence.",
}  # by name; a drawing that nobody has explained has its title and what it is of


def figure_text(caption: Mapping[str, Any]) -> str:
    """What is below a figure, after its title."""
    curves = [line for one in caption["panels"] for line in one["curves"] + one["lines"]]
    return _sentences(caption, [point for curve in curves for point in curve["points"]])


def table_text(caption: Mapping[str, Any]) -> str:
    """What is above a table, after its title."""
    return _sentences(caption, caption["points"])


def _sentences(caption: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> str:
    of = [f"Study {caption['study']}"]
    if points:
        pairs = dict.fromkeys(point["pair"] for point in points)
        seeds = {point["seed"] for point in points}
        split = _SPLITS[caption["entry"]["split"]]
        number = f"{count(len(points), 'point')} of {count(len(seeds), 'seed')}"
        of += [", ".join(pairs), split, number]
    return " ".join([*filter(None, [READING.get(caption["name"])]), f"{', '.join(of)}."])
