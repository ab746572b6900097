"""What a line of a file of instances may hold, and what must agree in it."""

import json
from itertools import pairwise
from math import isnan
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from simt.params import Knob
from simt.pieces import join_pieces
from simt.wording import count

EOS_TOKEN = "<eos>"

Number = int | float
Words = Literal["blanks", "tokens"]

SIMULEVAL_FIELDS = (
    "index", "prediction", "delays", "elapsed", "prediction_length", "reference", "source",
    "source_length",
)  # fmt: skip
_LARGEST = 2**53  # beyond it, not every whole number is a float


def _as_number(value: Any) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{json.dumps(value)[:40]} is not a number")
    if abs(value) > _LARGEST:
        raise ValueError("a number is too large")
    if isnan(value):
        raise ValueError("NaN is not a number")
    if value < 0:
        raise ValueError(f"{value} is negative")
    return value


def _as_times(values: Any) -> tuple[Number, ...]:
    """Numbers that never go back."""
    if not isinstance(values, list | tuple):
        raise ValueError("not a list of numbers")
    times = tuple(_as_number(value) for value in values)
    for place, (before, after) in enumerate(pairwise(times), 2):
        if after < before:
            raise ValueError(f"number {place} goes back from {before} to {after}")
    return times


def _as_times_or_none(values: Any) -> tuple[Number, ...] | None:
    return None if values is None else _as_times(values)


def _as_source(value: Any) -> Any:
    """SimulEval describes speech in several strings."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return value


Length = Annotated[Number, PlainValidator(_as_number)]
Times = Annotated[tuple[Number, ...], PlainValidator(_as_times)]
Counted = Annotated[int, Field(ge=0, le=_LARGEST)]
Confidences = tuple[float | None, ...]


class WordsOf(BaseModel):
    """What a word is on each side: what stands between blanks, or the tokeniser's word."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    source: Words = "blanks"
    target: Words = "blanks"


BETWEEN_BLANKS = WordsOf()


class Instance(BaseModel):
    """One decoded sentence; the fields are those of the file (see the top of this package)."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)

    index: Counted
    prediction: str
    delays: Times
    elapsed: Times = ()
    prediction_length: Length | None = None
    reference: str
    source: Annotated[str, BeforeValidator(_as_source)]
    source_length: Length

    knob: Knob | None = None
    references: tuple[str, ...] | None = Field(default=None, min_length=1)
    tokenised_references: tuple[str, ...] | None = Field(default=None, min_length=1)
    source_tokens: str | None = None
    tokens: str | None = None
    token_delays: Annotated[tuple[int, ...] | None, BeforeValidator(_as_times_or_none)] = None
    reference_token_length: Counted | None = None
    write_confidence: Confidences | None = None
    read_confidence: Confidences | None = None
    token_elapsed_ms: Annotated[tuple[Number, ...] | None, PlainValidator(_as_times_or_none)] = None
    ms_per_word: Annotated[float, Field(gt=0)] | None = None
    words: WordsOf = BETWEEN_BLANKS
    is_forced: bool = False

    @model_validator(mode="after")
    def _words_agree(self) -> Self:
        length, delays = self.prediction_length, count(len(self.delays), "delay")
        if length is not None and length != len(self.delays):
            raise ValueError(f"{delays}, but prediction_length is {length}")
        if self.elapsed and len(self.elapsed) != len(self.delays):
            raise ValueError(f"{delays}, but {len(self.elapsed)} elapsed")
        if self.delays and self.delays[-1] > self.source_length:
            raise ValueError(
                f"a delay of {self.delays[-1]} in a source of length {self.source_length}"
            )
        return self

    @model_validator(mode="after")
    def _references_agree(self) -> Self:
        if self.all_references[0] != self.reference:
            raise ValueError("reference is not the first of references")
        tokenised = self.tokenised_references
        if tokenised is not None and len(tokenised) != len(self.all_references):
            raise ValueError(
                f"{count(len(tokenised), 'tokenised_reference')} of "
                f"{count(len(self.all_references), 'reference')}"
            )
        return self

    @model_validator(mode="after")
    def _tokens_agree(self) -> Self:
        together = {
            "source_tokens": self.source_tokens,
            "tokens": self.tokens,
            "token_delays": self.token_delays,
        }
        missing = [name for name, value in together.items() if value is None]
        if missing and len(missing) < len(together):
            raise ValueError(f"without {' and '.join(missing)}: the three go together")
        if not missing:
            self._check_tokens()
        return self

    def _check_tokens(self) -> None:
        assert self.token_delays is not None
        source, target = self.source_pieces, self.pieces
        for name, pieces in (("source_tokens", source), ("tokens", target)):
            if pieces[-1] != EOS_TOKEN:
                raise ValueError(f"{name} does not end with {EOS_TOKEN}")
        delays = self.token_delays
        if len(delays) != len(target):
            each = count(len(delays), "token_delay")
            raise ValueError(f"{each} for {count(len(target), 'token')}")
        if delays[-1] > len(source):
            tokens = count(len(source), "token")
            raise ValueError(f"a token delay of {delays[-1]} in a source of {tokens}")
        lengths = {
            "write_confidence": (self.write_confidence, len(target), ""),
            "read_confidence": (self.read_confidence, delays[-1], " read"),
            "token_elapsed_ms": (self.token_elapsed_ms, len(target), ""),
        }
        for name, (values, expected, done) in lengths.items():
            if values is not None and len(values) != expected:
                each = f"{count(len(values), 'value')} of {name}"
                raise ValueError(f"{each} for {count(expected, 'token')}{done}")

    @property
    def pieces(self) -> list[str]:
        """The tokens of the hypothesis, ``<eos>`` included."""
        assert self.tokens is not None
        return self.tokens.split(" ")

    @property
    def source_pieces(self) -> list[str]:
        """The tokens of the source, ``<eos>`` included."""
        assert self.source_tokens is not None
        return self.source_tokens.split(" ")

    @property
    def tokenised_prediction(self) -> str:
        """The words of the hypothesis before they were put together to text."""
        return " ".join(join_pieces(self.pieces[:-1]))

    @property
    def all_references(self) -> tuple[str, ...]:
        """Every reference, the first one first."""
        return self.references if self.references is not None else (self.reference,)

    @property
    def prediction_in_words(self) -> str:
        """The hypothesis with a blank between words, also where it is written without."""
        has_own = self.words.target == "tokens" and self.tokens is not None
        return self.tokenised_prediction if has_own else self.prediction

    @property
    def reference_in_words(self) -> str:
        """The same of the first reference."""
        if self.words.target == "tokens" and self.tokenised_references is not None:
            return self.tokenised_references[0]
        return self.reference

    def as_json(self) -> str:
        """The instance as one line; of our own fields, those that say something."""
        values = {name: getattr(self, name) for name in SIMULEVAL_FIELDS}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name not in values and value != field.default:
                values[name] = value.model_dump() if isinstance(value, WordsOf) else value
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
