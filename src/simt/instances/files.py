"""Files of instances: written whole, read line by line, and grouped by knob value."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Literal, cast

from pydantic import ValidationError

from simt.atomic import atomic_file
from simt.errors import SimtError
from simt.instances.record import Instance
from simt.instances.words import delays_by_tokens
from simt.params import Knob
from simt.wording import count

Unit = Literal["word", "char", "ms", "other"]

_LONGEST_LINE = 1 << 24  # bytes: no sentence is so long, and a file without line ends is no log


def write_instances(path: Path, instances: Iterable[Instance]) -> int:
    """How many instances were written; the file appears when all of them are in it."""
    number = 0
    with atomic_file(path) as stream:
        for number, instance in enumerate(instances, 1):  # noqa: B007 - the last one is returned
            stream.write(f"{instance.as_json()}\n")
    return number


def read_instances(path: Path, unit: Unit = "word") -> Iterator[Instance]:
    """The instances of a file, one at a time; a broken line is an error that names it.

    ``unit`` says what the delays of another system belong to: ``word`` and ``ms`` (speech) go with
    words of the prediction, ``char`` with its characters, ``other`` is not checked.
    """
    seen: dict[tuple[Knob | None, int], int] = {}
    for number, line in _lines(path):
        instance = _parse(line, path, number)
        if complaint := _miscount(instance, unit):
            raise SimtError(f"{path}, line {number}: {complaint}")
        first = seen.setdefault((instance.knob, instance.index), number)
        if first != number:
            at = "" if instance.knob is None else f" at knob {instance.knob}"
            raise SimtError(
                f"{path}, line {number}: sentence {instance.index}{at} is in line {first} already"
            )
        yield instance


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, plain or gzip, with their numbers; it may end with blank ones."""
    blank = 0
    try:
        with _open(path) as stream:
            read = partial(stream.readline, _LONGEST_LINE + 1)
            for number, line in enumerate(iter(read, b""), 1):
                if len(line) > _LONGEST_LINE:
                    raise SimtError(f"{path}, line {number}: too long for a sentence")
                if not line.strip():
                    blank = blank or number
                    continue
                if blank:
                    raise SimtError(f"{path}, line {blank}: blank, with sentences after it")
                yield number, _decoded(line, path, number)
    except (OSError, EOFError, zlib.error) as error:  # the latter two: gzip that is cut or damaged
        code = getattr(error, "errno", None)
        raise SimtError(f"{path} cannot be read: {os.strerror(code) if code else error}") from None


@contextmanager
def _open(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as stream:  # once: it may be a pipe
        is_compressed = stream.peek(2).startswith(b"\x1f\x8b")
        yield cast(IO[bytes], gzip.GzipFile(fileobj=stream)) if is_compressed else stream


def _decoded(line: bytes, path: Path, number: int) -> str:
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise SimtError(f"{path}, line {number}: not UTF-8 ({error.reason})") from None


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
    if kind == "string_type" and field == "reference" and isinstance(detail["input"], list):
        return "reference: a list; several go into references, and the first into reference, too"
    return f"{field}: {message}" if field else message


def _miscount(instance: Instance, unit: Unit) -> str | None:
    """Why lengths and delays are not those of the text, or None."""
    if unit == "other":
        return None
    text, words = instance.prediction, instance.words
    written = len(text.split()) if unit != "char" else len("".join(text.split()))
    if words.target == "blanks" and written != len(instance.delays):
        delays = count(len(instance.delays), "delay")
        units = count(written, "character" if unit == "char" else "word")
        return f"{delays} for {units} of the prediction; {_SAY_SO}"
    if unit != "word":
        return None
    present = len(instance.source.split())
    if words.source == "blanks" and present != instance.source_length:
        return f"source_length is {instance.source_length} for {count(present, 'word')}; {_SAY_SO}"
    if instance.token_delays is None:
        return None
    counted = delays_by_tokens(instance)
    for place, (given, found) in enumerate(zip_longest(instance.delays, counted), 1):
        if given != found:
            return f"delay {place} is {given}, but {found} by token_delays"
    return None


_SAY_SO = "say so if it counts something else (--unit)"


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
                f"{where}: knob {knob} lacks {count(len(missing), 'sentence')}, the first is "
                f"{min(missing)}; every knob value must have the same ones"
            )
    (first, expected), *others = groups.items() if groups else [(None, [])]
    for knob, group in others:
        for one, other in zip(expected, group, strict=True):
            for name in _OF_SENTENCE:
                if getattr(one, name) != getattr(other, name):
                    raise SimtError(
                        f"{where}: sentence {one.index} has another {name} at knob {knob} than at "
                        f"knob {first}; score files of different test sets one by one"
                    )


_OF_SENTENCE = (
    "source", "source_length", "reference", "references", "tokenised_references", "source_tokens",
    "reference_token_length",
)  # fmt: skip


def read_groups(path: Path, unit: Unit = "word") -> dict[Knob | None, list[Instance]]:
    """The instances of a file for each of its knob values; at least one."""
    groups = group_by_knob(read_instances(path, unit), str(path))
    if not groups:
        raise SimtError(f"{path} is empty: it must hold one sentence a line")
    return groups
