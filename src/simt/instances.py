"""One decoded sentence with its delays: the border between decoding and scoring.

A file holds one JSON object a line. The first eight fields are SimulEval's, in words, so that its
score-only mode and OmniSTEval's short form read them; the others are ours, in tokens, and may all
be missing in the file of another system:

==================== =============================================================================
index                number of the sentence in its split, from 0
source, prediction   text as people write it (the hypothesis detokenised)
reference            the first reference
delays               complete source words read when each word of the prediction was written
elapsed              the same, plus the time spent computing until then, in words of speech
prediction_length    how many words were written: as many as there are delays
source_length        source words
-------------------- -----------------------------------------------------------------------------
knob                 the decode-time number, "full", or null
references           all references, where there are several
tokenised_references the references in words, as the model's side of the text has them
source_tokens        pieces joined by a blank, with the final ``<eos>``
tokens               pieces of the hypothesis, with the final ``<eos>``
token_delays         source tokens read when each token was written; ``<eos>`` counts on both sides
reference_token_length   tokens of the first reference, with ``<eos>``
write_confidence     of each WRITE; null where the policy had no choice
read_confidence      of each READ, in the order of source tokens; null where it had no choice
token_elapsed_ms     time spent computing until each token was written
ms_per_word          the rate of speech that turned it into ``elapsed``
words                what a word is, if not what stands between blanks: {"source": "tokens", ...}
is_forced            true where the reference was forced: no quality can be scored then
==================== =============================================================================

A file may hold several knob values, in any order; a sentence occurs once for each. SimulEval would
keep only the last of them: `simt simuleval` gives it one folder for each knob value.
"""

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.params import Knob

CONTINUES = "@@"  # ends every piece that is not the last of its word
EOS_TOKEN = "<eos>"
INSTANCES_FILE = "instances.jsonl"

Number = int | float
Words = Literal["blanks", "tokens"]
Unit = Literal["word", "char", "ms", "other"]

SIMULEVAL_FIELDS = (
    "index", "prediction", "delays", "elapsed", "prediction_length", "reference", "source",
    "source_length",
)  # fmt: skip
_LARGEST = 2**53  # beyond it, not every whole number is a float


# --- what a line may hold ---------------------------------------------------------------------


def _as_number(value: Any) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{json.dumps(value)[:40]} is not a number")
    if not abs(value) <= _LARGEST:  # nor is it a number if it is not one
        raise ValueError("a number is too large, or none")
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


class Instance(BaseModel):
    """One decoded sentence; the fields are those of the file (see the top of this module)."""

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
    words: WordsOf = WordsOf()
    is_forced: bool = False

    @model_validator(mode="after")
    def _words_agree(self) -> Self:
        length = self.prediction_length
        if length is not None and length != len(self.delays):
            raise ValueError(f"{len(self.delays)} delays, but prediction_length is {length}")
        if self.elapsed and len(self.elapsed) != len(self.delays):
            raise ValueError(f"{len(self.delays)} delays, but {len(self.elapsed)} elapsed")
        if self.delays and self.delays[-1] > self.source_length:
            raise ValueError(
                f"a delay of {self.delays[-1]} in a source of length {self.source_length}"
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
            raise ValueError(f"{len(delays)} token_delays for {len(target)} tokens")
        if delays[-1] > len(source):
            raise ValueError(f"a token delay of {delays[-1]} in a source of {len(source)} tokens")
        lengths = {
            "write_confidence": (self.write_confidence, len(target), "tokens"),
            "read_confidence": (self.read_confidence, delays[-1], "tokens read"),
            "token_elapsed_ms": (self.token_elapsed_ms, len(target), "tokens"),
        }
        for name, (values, expected, noun) in lengths.items():
            if values is not None and len(values) != expected:
                raise ValueError(f"{len(values)} values of {name} for {expected} {noun}")

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

    def as_json(self) -> str:
        """The instance as one line; of our own fields, those that say something."""
        values = {name: getattr(self, name) for name in SIMULEVAL_FIELDS}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name not in values and value != field.default:
                values[name] = value.model_dump() if isinstance(value, WordsOf) else value
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def as_simuleval(self) -> str:
        """The line that SimulEval itself would have written."""
        values = {name: getattr(self, name) for name in SIMULEVAL_FIELDS}
        values["prediction_length"] = len(self.delays)
        return json.dumps(values, ensure_ascii=False, allow_nan=False)


# --- from tokens to words -----------------------------------------------------------------------


def join_pieces(pieces: Sequence[str]) -> list[str]:
    """The words that the pieces make; a word that was never finished ends with the sentence."""
    words, start = [], 0
    for end in word_ends(pieces):
        head = [piece.removesuffix(CONTINUES) for piece in pieces[start : end - 1]]
        last = pieces[end - 1]
        is_cut_off = end == len(pieces) and last.endswith(CONTINUES)
        words.append("".join([*head, last.removesuffix(CONTINUES) if is_cut_off else last]))
        start = end
    return words


def word_ends(pieces: Sequence[str]) -> tuple[int, ...]:
    """How many pieces there are up to the end of each word, ``<eos>`` not among them."""
    ends = [place for place, piece in enumerate(pieces, 1) if not piece.endswith(CONTINUES)]
    if pieces and (not ends or ends[-1] < len(pieces)):
        ends.append(len(pieces))
    return tuple(ends)


@lru_cache(maxsize=1 << 14)  # a source is asked for once for every knob value
def text_word_ends(pieces: tuple[str, ...], text: str) -> tuple[int, ...]:
    """How many pieces there are up to the end of each word between blanks of ``text``.

    By counting characters: detokenising moves blanks only. Where the text was also normalised on
    the way to pieces (a source with typographic quotes), equal characters hold both together.
    """
    words = text.split()
    if not pieces or not words:
        return (0,) * len(words)
    cut = "".join(join_pieces(pieces))
    written = "".join(words)
    ends = list(accumulate(len(word) for word in words))
    if cut != written:
        ends = _carry_over(ends, written, cut)
    reach = list(accumulate(map(_visible_length, pieces)))
    return tuple(min(bisect_left(reach, end), len(pieces) - 1) + 1 for end in ends)


def _visible_length(piece: str) -> int:
    return len(piece.removesuffix(CONTINUES))


def _carry_over(ends: Sequence[int], written: str, cut: str) -> list[int]:
    """Where the ends of words in ``written`` are in ``cut``, which is nearly the same."""
    matcher = SequenceMatcher(None, written, cut, autojunk=False)
    anchors = [(-1, -1)]
    for block in matcher.get_matching_blocks():
        anchors += [(block.a + step, block.b + step) for step in range(block.size)]
    anchors.append((len(written), len(cut)))
    places = [place for place, _ in anchors]
    return [_between(anchors, bisect_left(places, end), end) for end in ends[:-1]] + [len(cut)]


def _between(anchors: Sequence[tuple[int, int]], number: int, end: int) -> int:
    """An end between two characters that occur in both: the gap is shared out from the left."""
    (place, carried), (next_place, next_carried) = anchors[number - 1], anchors[number]
    if end == next_place:
        return next_carried
    return min(carried + end - place, next_carried)


def word_delays(
    source_ends: Sequence[int], target_ends: Sequence[int], token_delays: Sequence[int]
) -> list[int]:
    """Complete source words read when the last token of each target word was written.

    methods.md §12.1; the ends are those of ``word_ends`` or ``text_word_ends``.
    """
    return [bisect_right(source_ends, token_delays[end - 1]) for end in target_ends]


def make_instance(
    *,
    index: int,
    knob: Knob | None,
    source: str,
    source_tokens: Sequence[str],
    references: Sequence[str],
    prediction: str,
    tokens: Sequence[str],
    token_delays: Sequence[int],
    tokenised_references: Sequence[str] | None = None,
    reference_token_length: int | None = None,
    write_confidence: Sequence[float | None] | None = None,
    read_confidence: Sequence[float | None] | None = None,
    token_elapsed_ms: Sequence[float] | None = None,
    ms_per_word: float | None = None,
    words: WordsOf | None = None,
    is_forced: bool = False,
) -> Instance:
    """The instance of a decoding in tokens, with its delays in words.

    ``source_tokens`` and ``tokens`` end with ``<eos>``; ``prediction`` is the detokenised text of
    the others. Chinese has no blanks: ``WordsOf(source="tokens")`` then takes jieba's words.
    """
    words = words or WordsOf()
    source_ends = _ends(source_tokens, source, words.source)
    target_ends = _ends(tokens, prediction, words.target)
    delays = word_delays(source_ends, target_ends, token_delays)
    elapsed: list[float] = []
    if token_elapsed_ms is not None:
        assert ms_per_word is not None, "times need the rate of speech that makes words of them"
        spent = [token_elapsed_ms[end - 1] / ms_per_word for end in target_ends]
        elapsed = [round(delay + time, 6) for delay, time in zip(delays, spent, strict=True)]
    return Instance(
        index=index,
        prediction=prediction,
        delays=tuple(delays),
        elapsed=tuple(elapsed),
        prediction_length=len(delays),
        reference=references[0],
        source=source,
        source_length=len(source_ends),
        knob=float(knob) if isinstance(knob, int) else knob,
        references=tuple(references) if len(references) > 1 else None,
        tokenised_references=None if tokenised_references is None else tuple(tokenised_references),
        source_tokens=" ".join(source_tokens),
        tokens=" ".join(tokens),
        token_delays=tuple(token_delays),
        reference_token_length=reference_token_length,
        write_confidence=_rounded(write_confidence),
        read_confidence=_rounded(read_confidence),
        token_elapsed_ms=_rounded(token_elapsed_ms, 3),
        ms_per_word=None if token_elapsed_ms is None else ms_per_word,
        words=words,
        is_forced=is_forced,
    )


def _ends(tokens: Sequence[str], text: str, words: Words) -> tuple[int, ...]:
    pieces = tuple(tokens[:-1])
    return word_ends(pieces) if words == "tokens" else text_word_ends(pieces, text)


def _rounded(values: Sequence[float | None] | None, digits: int = 6) -> Any:
    """The values as they will be written: six digits are more than any figure shows."""
    if values is None:
        return None
    return tuple(None if value is None else round(float(value), digits) for value in values)


# --- files --------------------------------------------------------------------------------------


def write_instances(path: Path, instances: Iterable[Instance]) -> int:
    """How many instances were written; the file appears when all of them are in it."""
    count = 0
    with atomic_file(path) as stream:
        for count, instance in enumerate(instances, 1):  # noqa: B007 - the last one is returned
            stream.write(f"{instance.as_json()}\n")
    return count


def read_instances(path: Path, unit: Unit = "word") -> Iterator[Instance]:
    """The instances of a file, one at a time; a broken line is an error that names it.

    ``unit`` says what the delays of another system belong to: ``word`` and ``ms`` (speech) go with
    words of the prediction, ``char`` with its characters, ``other`` is not checked.
    """
    seen: dict[tuple[Knob | None, int], int] = {}
    for number, line in _lines(path):
        instance = _parse(line, path, number)
        _check_count(instance, unit, path, number)
        first = seen.setdefault((instance.knob, instance.index), number)
        if first != number:
            at = "" if instance.knob is None else f" at knob {instance.knob}"
            raise SimtError(
                f"{path}, line {number}: sentence {instance.index}{at} is in line {first} already"
            )
        yield instance


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise SimtError(f"{path}, line {number}: not UTF-8 ({error.reason})") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SimtError(f"{path} cannot be read: {reason}") from None


def _parse(line: str, path: Path, number: int) -> Instance:
    try:
        return Instance.model_validate_json(line)
    except ValidationError as error:
        problems = [_problem(dict(detail)) for detail in error.errors(include_url=False)]
        raise SimtError(f"{path}, line {number}: {'; '.join(problems)}") from None


def _problem(detail: dict[str, Any]) -> str:
    """What is wrong with a line, in our words where pydantic's are about Python."""
    kind, field = detail["type"], ".".join(map(str, detail["loc"]))
    message = str(detail["msg"]).removeprefix("Value error, ")
    if kind == "missing":
        return f"no field '{field}'"
    if kind == "json_invalid":
        return f"not JSON: {message.removeprefix('Invalid JSON: ')}"
    if kind == "model_type" and not field:
        return "not a JSON object: each line is {...} with the fields of one sentence"
    return f"{field}: {message}" if field else message


def _check_count(instance: Instance, unit: Unit, path: Path, number: int) -> None:
    """That every delay belongs to something that was written."""
    if unit == "other" or instance.words.target == "tokens":
        return
    text = instance.prediction
    written = len(text.split()) if unit != "char" else len("".join(text.split()))
    if written != len(instance.delays):
        noun = "characters" if unit == "char" else "words"
        raise SimtError(
            f"{path}, line {number}: {len(instance.delays)} delays for {written} {noun} of the "
            f"prediction; say so if they belong to something else (--unit)"
        )


def group_by_knob(
    instances: Iterable[Instance], where: str = "the file"
) -> dict[Knob | None, list[Instance]]:
    """The instances of each knob value, in the order of sentences; all hold the same sentences."""
    groups: dict[Knob | None, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.knob, []).append(instance)
    for group in groups.values():
        group.sort(key=lambda instance: instance.index)
    _check_same_sentences(groups, where)
    return groups


def _check_same_sentences(groups: dict[Knob | None, list[Instance]], where: str) -> None:
    indices = {knob: {instance.index for instance in group} for knob, group in groups.items()}
    everything = set().union(*indices.values())
    for knob, present in indices.items():
        if missing := everything - present:
            raise SimtError(
                f"{where}: {len(missing)} sentences are missing at knob {knob}, the first is "
                f"{min(missing)}; every knob value must have the same ones"
            )


def read_groups(path: Path, unit: Unit = "word") -> dict[Knob | None, list[Instance]]:
    """The instances of a file for each of its knob values; at least one."""
    groups = group_by_knob(read_instances(path, unit), str(path))
    if not groups:
        raise SimtError(f"{path} is empty: it must hold one sentence a line")
    return groups


def write_simuleval_logs(
    groups: dict[Knob | None, list[Instance]], folder: Path
) -> dict[Knob | None, Path]:
    """A folder for each knob value that `simuleval --score-only --output` reads."""
    logs: dict[Knob | None, Path] = {}
    for knob, instances in groups.items():
        name = f"{knob:g}" if isinstance(knob, int | float) else str(knob or "all")
        logs[knob] = folder / name / "instances.log"
        with atomic_file(logs[knob]) as stream:
            stream.writelines(f"{instance.as_simuleval()}\n" for instance in instances)
        with atomic_file(logs[knob].with_name("config.yaml")) as stream:
            stream.write("source_type: text\ntarget_type: text\n")
    return logs
