"""The mistakes in a user's file, collected so that all are told at once."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from simt.errors import SimtError
from simt.settings import Settings

M = TypeVar("M", bound=Settings)


@dataclass
class Problems:
    """Key paths and what is wrong there, in the order they were found."""

    found: list[tuple[str, str]] = field(default_factory=list)

    def add(self, path: str, text: str) -> None:
        """Note a problem, once."""
        if (path, text) not in self.found:
            self.found.append((path, text))

    def are_at(self, path: str) -> bool:
        """Whether anything is wrong with what stands at ``path``, or inside it."""
        return any(f"{place}.".startswith(f"{path}.") for place, _ in self.found)

    def unknown(self, path: str, kind: str, owner: str, known: Iterable[str]) -> None:
        """Note a name that does not exist, with those that do."""
        known = list(known)
        close = get_close_matches(path.rsplit(".", 1)[-1], known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        self.add(path, f"unknown {kind}{hint}; {owner} has {', '.join(known) or 'none'}")

    def check_name(self, path: str, name: object, kind: str, known: Iterable[str]) -> bool:
        """Whether ``name`` is one of the known names; if not, a problem is noted."""
        known = list(known)
        if name in known:
            return True
        close = get_close_matches(str(name), known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        there_are = ", ".join(known) or "none"
        self.add(path, f"there is no {kind} '{name}'{hint}; there are {there_are}")
        return False

    def parse(self, schema: type[M], raw: Any, path: str) -> M | None:
        """``raw`` as a ``schema``, or None and a problem for each thing wrong with it."""
        try:
            return schema.of(raw)
        except ValidationError as error:
            for detail in error.errors():
                self._translate(detail, schema, path)
            return None

    def check_values(self, schema: type[Settings], raw: Mapping[str, Any], path: str) -> None:
        """Note each key of ``raw`` that is unknown to ``schema`` or has no fitting value.

        Keys may be missing: this is for layers that are merged into a whole later.
        """
        for detail in _findings(schema, raw):
            if not _is_of_the_whole(detail):
                self._translate(detail, schema, path)

    def check_whole(self, schema: type[Settings], raw: Mapping[str, Any], path: str) -> None:
        """Note what is missing in layers put together, or does not go together.

        Their values have been checked layer by layer, where the user wrote them.
        """
        for detail in _findings(schema, raw):
            if _is_of_the_whole(detail):
                self._translate(detail, schema, path)

    def raise_if_any(self, file_name: str) -> None:
        """Stop with one message that lists them all, if there are any."""
        if not self.found:
            return
        count = "1 problem" if len(self.found) == 1 else f"{len(self.found)} problems"
        lines = [f"  {path}: {text}" for path, text in self.found]
        raise SimtError("\n".join([f"{file_name} has {count}:", *lines]))

    def _translate(self, detail: ErrorDetails, schema: type[BaseModel], path: str) -> None:
        """Pydantic's finding in our words."""
        location = [part for part in detail["loc"] if part != "[key]"]
        place = ".".join([path, *(str(part) for part in location)])
        kind, value = detail["type"], detail["input"]
        if kind == "extra_forbidden":
            owner = _schema_at(schema, location[:-1])
            self.unknown(place, "setting", place.split(".")[-2], owner.model_fields)
        elif kind == "missing":
            self.add(place, "missing; there is no default for it")
        elif kind == "literal_error":
            expected = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
            self.add(place, f"'{value}' is not possible; there are {expected}")
        elif kind == "value_error":
            self.add(place, str(detail["ctx"]["error"]))
        elif kind == "too_short":
            if not value:  # otherwise it has items, and what is wrong with those is told
                self.add(place, "is empty; give at least one")
        elif kind in ("float_type", "int_type") and (number := _number_in(value, kind)):
            self.add(place, f"{json.dumps(value)} is text to YAML, not a number; write {number}")
        else:
            message = detail["msg"][0].lower() + detail["msg"][1:]
            self.add(place, f"{json.dumps(value, default=str)}: {message}")


def parse_argument(schema: type[M], text: str) -> M:
    """The settings that a step is given as its argument --settings."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise SimtError(f"--settings is not JSON: {error}; snakemake -n -p shows it") from None
    problems = Problems()
    settings = problems.parse(schema, values, "settings")
    problems.raise_if_any("--settings")
    assert settings is not None
    return settings


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
