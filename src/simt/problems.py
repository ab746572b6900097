"""The mistakes in a user's file, collected so that all are told at once."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, from_json

from simt.errors import PERMIT, SimtError, short
from simt.settings import Settings

M = TypeVar("M", bound=Settings)
_SHOWN_PLACES = 3  # of a problem that is in many
_SHOWN_NAMES = 3  # that may be meant
_REMEDIES = {  # of pydantic's findings: what a value is not, and what to write instead
    "tuple_type": ("a list", "a list, such as [{}]"),
    "list_type": ("a list", "a list, such as [{}]"),
    "float_type": ("a number", "a number, such as 0.1"),
    "int_type": ("a whole number", "a whole number, such as 10"),
    "int_from_float": ("a whole number", "a whole number, such as 10"),
    "bool_type": ("true or false", "one of these, without quotes"),
}


@dataclass
class Problems:
    """Key paths and what is wrong there, in the order they were found."""

    found: dict[tuple[str, str], None] = field(default_factory=dict)
    _places: set[str] = field(default_factory=set)  # with all that they are inside of

    def add(self, path: str, text: str) -> None:
        """Note a problem, once."""
        self.found[path, text] = None
        self._places.update(accumulate(path.split("."), "{}.{}".format))

    def are_at(self, path: str) -> bool:
        """Whether anything is wrong with what stands at ``path``, or inside it."""
        return path in self._places

    def unknown(self, path: str, kind: str, owner: str, known: Iterable[str]) -> None:
        """Note a name that does not exist, with those that do."""
        known = list(known)
        hint = did_you_mean(path.rsplit(".", 1)[-1], known)
        self.add(path, f"unknown {kind}{hint}; {owner} has {', '.join(known) or 'none'}")

    def check_name(self, path: str, name: object, kind: str, known: Iterable[str]) -> bool:
        """Whether ``name`` is one of the known names; if not, a problem is noted."""
        known = list(known)
        if name in known:
            return True
        self.add(path, no_such(kind, name, known))
        return False

    def parse(self, schema: type[M], raw: Any, path: str) -> M | None:
        """``raw`` as a ``schema``, or None and a problem for each thing wrong with it."""
        try:
            return schema.of(raw)
        except ValidationError as error:
            for detail in error.errors():
                self.translate(detail, schema, path)
            return None

    def check_values(self, schema: type[Settings], raw: Mapping[str, Any], path: str) -> None:
        """Note each key of ``raw`` that is unknown to ``schema`` or has no fitting value.

        Keys may be missing: this is for layers that are merged into a whole later.
        """
        for detail in _findings(schema, raw):
            if not _is_of_the_whole(detail):
                self.translate(detail, schema, path)

    def check_whole(self, schema: type[Settings], raw: Mapping[str, Any], path: str) -> None:
        """Note what is missing in layers put together, or does not go together.

        Their values have been checked layer by layer, where the user wrote them.
        """
        for detail in _findings(schema, raw):
            if _is_of_the_whole(detail):
                self.translate(detail, schema, path)

    def raise_if_any(self, file_name: str) -> None:
        """Stop with one message that lists them all, if there are any."""
        if not self.found:
            return
        together = self._together()
        count = "1 problem" if len(together) == 1 else f"{len(together)} problems"
        lines = [line for (_, text), paths in together.items() for line in _told(text, paths)]
        raise SimtError("\n".join([f"{file_name} has {count}:", *lines]))

    def _together(self) -> dict[tuple[str, str], list[str]]:
        """Where each problem is, by key and text: an anchor repeats one mistake in many places."""
        together: dict[tuple[str, str], list[str]] = {}
        for path, text in self.found:
            together.setdefault((path.rsplit(".", 1)[-1], text), []).append(path)
        return together

    def translate(self, detail: ErrorDetails, schema: type[BaseModel], path: str) -> None:
        """Pydantic's finding in our words."""
        location = [part for part in detail["loc"] if part != "[key]"]
        place = ".".join([path, *(short(str(part)) for part in location)])
        kind, value = detail["type"], detail["input"]
        if kind == "extra_forbidden":
            owner = _schema_at(schema, location[:-1])
            self.unknown(place, "setting", place.split(".")[-2], owner.model_fields)
        elif kind == "missing":
            self.add(place, "missing; there is no default for it")
        elif kind == "literal_error":
            expected = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
            self.add(place, f"'{short(str(value))}' is not possible; there are {expected}")
        elif kind == "value_error":
            self.add(place, str(detail["ctx"]["error"]))
        elif kind == "too_short":
            if not value:  # otherwise it has items, and what is wrong with those is told
                self.add(place, "is empty; give at least one")
        elif kind == "model_type" and (entry := _entry_of(_schema_at(schema, location), value)):
            self.add(place, f"{_quoted(value)} is not an entry; write {entry}")
        elif kind in ("float_type", "int_type") and (number := _number_in(value, kind)):
            self.add(place, f"{_quoted(value)} is text to YAML, not a number; write {number}")
        elif kind in _REMEDIES:
            what, remedy = _REMEDIES[kind]
            self.add(place, f"{_quoted(value)} is not {what}; write {remedy.format(_plain(value))}")
        else:
            message = detail["msg"][0].lower() + detail["msg"][1:]
            self.add(place, f"{_quoted(value)}: {message}")


def _told(text: str, paths: list[str]) -> Iterator[str]:
    """A problem, and where else it is."""
    first, *others = paths
    yield f"  {first}: {text}"
    if others:
        rest = len(others) - _SHOWN_PLACES
        more = f" and {rest} more place{'s' if rest > 1 else ''}" if rest > 0 else ""
        yield f"    the same at {', '.join(others[:_SHOWN_PLACES])}{more}"


def no_such(kind: str, name: object, known: Sequence[str]) -> str:
    """That a name does not exist, which one may be meant, and which there are."""
    quoted, there_are = short(str(name)), ", ".join(known) or "none"
    return f"there is no {kind} '{quoted}'{did_you_mean(quoted, known)}; there are {there_are}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The question whether a known name was meant, for behind one that is not; may be empty.

    A part of a name is enough, whatever zeros are before its numbers: fig3 is fig03-bleu-al.
    """
    known, name = list(known), short(name)
    close = get_close_matches(name, known, n=1) or [
        one for one in known if re.search(rf"(?<!\d){_part(name)}(?!\d)", _part(one))
    ]
    is_clear = 0 < len(close) <= _SHOWN_NAMES
    return f" (did you mean {' or '.join(close)}?)" if is_clear else ""


def _part(name: str) -> str:
    """A name without the zeros that only keep names in order."""
    return re.escape(re.sub(r"(?<!\d)0+(?=\d)", "", name.lower()))


def parse_argument(schema: type[M], text: str) -> M:
    """The settings that a step is given as its argument --settings."""
    return _parse_text(schema, text, "--settings", "snakemake -n -p shows it")


def read_file(schema: type[M], path: Path, remedy: str) -> M:
    """The settings in a JSON file; ``remedy`` is told where it holds none."""
    return _parse_text(schema, read_text(path, remedy), str(path), remedy)


def parse_values(schema: type[M], values: Mapping[str, Any], name: str, remedy: str) -> M:
    """The same for values that were read from the file of that name."""
    return _parse_text(schema, json.dumps(values), name, remedy)


def read_text(path: Path, remedy: str) -> str:
    """A text file; ``remedy`` is told where there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SimtError(f"{path} is missing; {remedy}") from None
    except UnicodeDecodeError:
        raise SimtError(f"{path} is not UTF-8; {remedy}") from None
    except OSError as error:
        remedy = PERMIT if isinstance(error, PermissionError) else remedy
        raise SimtError(f"{path} cannot be read: {error.strerror}; {remedy}") from None


def parse_json(text: str, name: object, remedy: str) -> Any:
    """The values of a JSON text, which is nested no deeper than a program can follow."""
    try:
        return from_json(text)
    except ValueError as error:
        raise SimtError(f"{name} is not JSON ({error}); {remedy}") from None


def _parse_text(schema: type[M], text: str, name: str, remedy: str) -> M:
    problems = Problems()
    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        for detail in error.errors():
            if detail["type"] == "json_invalid":
                message = detail["msg"].removeprefix("Invalid JSON: ")
                raise SimtError(f"{name} is not JSON: {message}; {remedy}") from None
            problems.translate(detail, schema, "settings")
    problems.raise_if_any(name)
    raise AssertionError("a refusal without a reason")


def _findings(schema: type[Settings], raw: Mapping[str, Any]) -> list[ErrorDetails]:
    """All that pydantic finds wrong with ``raw``."""
    try:
        schema.of(raw)
    except ValidationError as error:
        return error.errors()
    return []


def _is_of_the_whole(detail: ErrorDetails) -> bool:
    """Whether a finding is about the keys together and not about the value of one."""
    location = detail["loc"]
    return not location or (detail["type"] == "missing" and len(location) == 1)


def _quoted(value: Any) -> str:
    return short(json.dumps(value, default=str))


def _plain(value: Any) -> str:
    """A value as an item of a list in YAML; 1 in place of what can be none."""
    return short(str(value)) if isinstance(value, str | int | float) else "1"


def _number_in(value: Any, kind: str) -> str | None:
    """The number that a text spells, as YAML wants it: with a point, and a sign after the e."""
    found = re.fullmatch(r"([-+]?\d+)(\.\d+)?(?:e([-+]?)(\d+))?", str(value), re.IGNORECASE)
    if not isinstance(value, str) or not found:
        return None
    if kind == "int_type":
        return f"{float(value):.0f}" if float(value).is_integer() else None
    whole, fraction, sign, exponent = found.groups()
    if exponent is None:
        return f"{value} without quotes"
    return f"{whole}{fraction or '.0'}e{sign or '+'}{exponent}"


def _entry_of(schema: type[BaseModel], value: Any) -> str | None:
    """A text as the entry that was meant, where an entry has one key only."""
    if not isinstance(value, str) or len(schema.model_fields) != 1:
        return None
    return f"{{{next(iter(schema.model_fields))}: {_plain(value)}}}"


def _schema_at(schema: type[BaseModel], location: Iterable[int | str]) -> type[BaseModel]:
    """The model that holds the value at ``location``, to name what it may contain."""
    for part in location:
        if isinstance(part, str) and part in schema.model_fields:
            schema = _model_in(schema.model_fields[part].annotation) or schema
    return schema


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model class inside a type such as ``dict[str, Download] | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        if (found := _model_in(argument)) is not None:
            return found
    return None
