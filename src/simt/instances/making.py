"""Instances of a decoding in tokens, with their delays in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from simt.instances.record import BETWEEN_BLANKS, Confidences, Instance, WordsOf
from simt.instances.words import ends_in_tokens, word_delays
from simt.params import Knob


@dataclass(frozen=True)
class SplitSentence:
    """A sentence of a split: what is known of it before it is decoded.

    ``source_tokens`` end with ``<eos>``, which ``reference_token_length`` counts. Chinese has no
    blanks: "tokens" in ``WordsOf`` then takes jieba's words.
    """

    index: int
    source: str
    source_tokens: Sequence[str]
    references: Sequence[str]
    tokenised_references: Sequence[str] | None = None
    reference_token_length: int | None = None
    words: WordsOf = BETWEEN_BLANKS
    is_forced: bool = False


@dataclass(frozen=True)
class Hypothesis:
    """What a policy wrote for a sentence, and when.

    ``tokens`` end with ``<eos>``; ``prediction`` is the detokenised text of the others.
    """

    prediction: str
    tokens: Sequence[str]
    token_delays: Sequence[int]
    write_confidence: Sequence[float | None] | None = None
    read_confidence: Sequence[float | None] | None = None
    token_elapsed_ms: Sequence[float] | None = None


def make_instance(
    sentence: SplitSentence,
    hypothesis: Hypothesis,
    knob: Knob | None,
    ms_per_word: float | None = None,
) -> Instance:
    """A hypothesis as the record that scoring reads; times need a rate of speech."""
    words = sentence.words
    source_ends = ends_in_tokens(sentence.source_tokens, sentence.source, words.source)
    target_ends = ends_in_tokens(hypothesis.tokens, hypothesis.prediction, words.target)
    delays = word_delays(source_ends, target_ends, hypothesis.token_delays)
    times_ms = hypothesis.token_elapsed_ms
    return Instance(
        index=sentence.index,
        prediction=hypothesis.prediction,
        delays=tuple(delays),
        elapsed=_elapsed(times_ms, target_ends, delays, ms_per_word),
        prediction_length=len(delays),
        reference=sentence.references[0],
        source=sentence.source,
        source_length=len(source_ends),
        knob=float(knob) if isinstance(knob, int) else knob,
        references=_tuple(sentence.references) if len(sentence.references) > 1 else None,
        tokenised_references=_tuple(sentence.tokenised_references),
        source_tokens=" ".join(sentence.source_tokens),
        tokens=" ".join(hypothesis.tokens),
        token_delays=tuple(hypothesis.token_delays),
        reference_token_length=sentence.reference_token_length,
        write_confidence=_rounded(hypothesis.write_confidence),
        read_confidence=_rounded(hypothesis.read_confidence),
        token_elapsed_ms=None if times_ms is None else tuple(round(ms, 3) for ms in times_ms),
        ms_per_word=None if times_ms is None else ms_per_word,
        words=words,
        is_forced=sentence.is_forced,
    )


def _elapsed(
    times_ms: Sequence[float] | None,
    target_ends: Sequence[int],
    delays: Sequence[int],
    ms_per_word: float | None,
) -> tuple[float, ...]:
    """Delays with the time spent computing, in words of speech."""
    if times_ms is None:
        return ()
    assert ms_per_word is not None, "times need the rate of speech that makes words of them"
    spent = [times_ms[end - 1] / ms_per_word for end in target_ends]
    return tuple(round(delay + time, 6) for delay, time in zip(delays, spent, strict=True))


def _tuple(texts: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if texts is None else tuple(texts)


def _rounded(values: Sequence[float | None] | None) -> Confidences | None:
    """The values as they will be written: six digits are more than any figure shows."""
    if values is None:
        return None
    return tuple(None if value is None else round(float(value), 6) for value in values)
