"""Quality by sacreBLEU: BLEU and chrF, cased, with signature, and what BLEU is a sum of.

``detokenised`` compares text as people write it; ``tokenised`` compares the words before they were
put together, which is what the official SM² evaluation does (docs/methods.md, "BLEU").
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from simt.errors import SimtError
from simt.instances import Instance
from simt.scoring.blanks import EAST_ASIAN, is_without_blanks
from simt.scoring.scores import Score
from simt.settings import BleuText, BleuTokeniser

Counts = npt.NDArray[np.int64]  # sentences x (length, reference length, 4 matches, 4 n-grams)
Floats = npt.NDArray[np.float64]

ORDERS = 4

_PACKAGES = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}


class Texts(NamedTuple):
    """Hypotheses, and as many streams of references as the sentence with most has."""

    hypotheses: list[str]
    references: list[list[str | None]]


def texts_of(instances: Sequence[Instance], bleu_text: BleuText) -> Texts:
    """What sacreBLEU compares; a sentence with fewer references has None in the last streams."""
    if not instances:
        raise SimtError("there is no sentence to score")
    if any(instance.is_forced for instance in instances):
        raise SimtError("the reference was forced on these instances: they have no quality")
    if bleu_text == "detokenised":
        hypotheses = [instance.prediction for instance in instances]
        references = [instance.all_references for instance in instances]
    else:
        references = [_tokenised_references(instance) for instance in instances]
        hypotheses = [instance.tokenised_prediction for instance in instances]
    return Texts(hypotheses, [list(stream) for stream in zip_longest(*references)])


def _tokenised_references(instance: Instance) -> tuple[str, ...]:
    if instance.tokenised_references is None or instance.tokens is None:
        raise SimtError(
            f"sentence {instance.index} has no tokens or no tokenised_references; "
            "score it with bleu_text: detokenised"
        )
    return instance.tokenised_references


def quality_scores(
    instances: Sequence[Instance], bleu_text: BleuText, tokeniser: BleuTokeniser = "13a"
) -> list[Score]:
    """BLEU and chrF over all sentences; an empty output counts as such."""
    texts = texts_of(instances, bleu_text)
    scores = []
    for name, metric in _metrics(tuple(map(tuple, texts.references)), tokeniser).items():
        # The counts of each sentence, and the score of some of them: what corpus_score does.
        counts = metric._extract_corpus_statistics(texts.hypotheses, None)
        signature = f"{name}|text:{bleu_text}|{metric.get_signature()}"
        scores.append(Score.of(name, signature, counts, partial(_score_of, metric)))
    return scores


def _score_of(metric: Any, counts: Sequence[Sequence[int]]) -> float:
    return float(metric._aggregate_and_compute(counts).score)


def fingerprint(
    instances: Sequence[Instance], bleu_text: BleuText, tokeniser: BleuTokeniser = "13a"
) -> str:
    """What two systems have in common if they were scored against the very same references.

    In the same way, too: a tokeniser other than 13a counts.
    """
    compared: Any = texts_of(instances, bleu_text).references
    if tokeniser != "13a":
        compared = {tokeniser: compared}
    return sha256(json.dumps(compared, ensure_ascii=True).encode()).hexdigest()


def usual_tokeniser(groups: Mapping[Any, Sequence[Instance]], bleu_text: BleuText) -> BleuTokeniser:
    """13a, for text of any language in which it finds words."""
    instances = next(iter(groups.values()))
    if instances[0].is_forced:
        return "13a"  # no text is compared
    texts = [
        text for stream in texts_of(instances, bleu_text).references for text in stream if text
    ]
    if is_without_blanks("".join(texts), EAST_ASIAN):
        raise SimtError(
            "the references are Chinese, Japanese or Korean without blanks, in which the usual "
            "tokeniser of BLEU (13a) finds no words: give --tokeniser zh, ja-mecab or ko-mecab"
        )
    return "13a"


@lru_cache(maxsize=4)  # all knob values have the same references, and two groups by length
def _metrics(
    references: tuple[tuple[str | None, ...], ...], tokeniser: BleuTokeniser
) -> dict[str, Any]:
    """Metrics that have read the references."""
    from sacrebleu.metrics.chrf import CHRF

    streams: Any = [list(stream) for stream in references]  # None is allowed, though not typed
    return {"bleu": _bleu(tokeniser, references=streams), "chrf": CHRF(references=streams)}


def _bleu(tokeniser: BleuTokeniser, **options: Any) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    try:
        # force: tokenised text is meant where it is given, no need to warn.
        return BLEU(tokenize=tokeniser, force=True, **options)
    except RuntimeError:
        if tokeniser not in _PACKAGES:
            raise
        raise SimtError(
            f"BLEU with the tokeniser {tokeniser} needs packages that are not installed: "
            f"pip install '{_PACKAGES[tokeniser]}'"
        ) from None


# --- sufficient statistics ----------------------------------------------------------------------


def bleu_of(sums: npt.NDArray[Any]) -> Floats:
    """BLEU for each row of summed counts: sacreBLEU's with ``exp`` smoothing, for many at once.

    An order without matches counts as half a match, the next one as a quarter, and so on; without
    any n-gram of some order, or without any match at all, BLEU is 0.
    """
    sums = np.atleast_2d(sums).astype(np.float64)
    length, reference_length = sums[:, 0], sums[:, 1]
    matches, totals = sums[:, 2 : 2 + ORDERS], sums[:, 2 + ORDERS :]
    is_zero = (totals == 0).any(axis=1) | ~matches.any(axis=1)
    length, totals = np.maximum(length, 1), np.maximum(totals, 1)  # only where it is 0 anyway
    halvings = np.cumsum(matches == 0, axis=1)
    smoothed = np.where(matches > 0, matches, 0.5**halvings)
    precision = np.exp(np.log(100 * smoothed / totals).sum(axis=1) / ORDERS)
    brevity = np.exp(np.minimum(0.0, 1 - reference_length / length))
    return np.where(is_zero, 0.0, precision * brevity)
