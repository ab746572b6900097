"""The mistakes in a user's file, collected so that all are told at once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from simt.errors import SimtError
from simt.settings import Settings

M = TypeVar("M", bound=Settings)


@dataclass
class Problems:
    """Key paths and what is wrong there, in the order they were found."""

    found: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, text: str) -> None:
        """Note a problem; the first one at a path is the one that is told."""
        self.found.setdefault(path, text)

    def unknown(self, path: str, kind: str, owner: str, known: Iterable[str]) -> None:
        """Note a name that does not exist, with those that do."""
        known = list(known)
        close = get_close_matches(path.rsplit(".", 1)[-1], known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        self.add(path, f"unknown {kind}{hint}; {owner} has {', '.join(known) or 'none'}")

    def check_name(self, path: str, name: str, kind: str, known: Iterable[str]) -> bool:
        """Whether ``name`` is one of the known names; if not, a problem is noted."""
        known = list(known)
        if name in known:
            return True
        close = get_close_matches(name, known, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        self.add(path, f"there is no {kind} '{name}'{hint}; there are {', '.join(known)}")
        return False

    def parse(self, schema: type[M], raw: Any, path: str) -> M | None:
        """``raw`` as a ``schema``, or None and a problem for each thing wrong with it."""
        try:
            return schema.of(raw)
        except ValidationError as error:
            for detail in error.errors():
                self._translate(detail, schema, path)
            return None

    def check_values(self, schema: type[BaseModel], raw: Mapping[str, Any], path: str) -> bool:
        """Whether each key of ``raw`` is known to ``schema`` and has a fitting value.

        Keys may be missing: this is for layers that are merged into a whole later.
        """
        before = len(self.found)
        for key, value in raw.items():
            info = schema.model_fields.get(key)
            if info is None:
                self.unknown(f"{path}.{key}", "setting", path.split(".")[-1], schema.model_fields)
                continue
            annotation: Any = info.annotation
            if info.metadata:
                annotation = Annotated[annotation, *info.metadata]
            try:
                TypeAdapter(annotation).validate_json(json.dumps(value, default=str), strict=True)
            except ValidationError as error:
                for detail in error.errors():
                    self._translate(detail, schema, f"{path}.{key}")
        return len(self.found) == before

    def raise_if_any(self, file_name: str) -> None:
        """Stop with one message that lists them all, if there are any."""
        if not self.found:
            return
        count = "1 problem" if len(self.found) == 1 else f"{len(self.found)} problems"
        lines = [f"  {path}: {text}" for path, text in self.found.items()]
        raise SimtError("\n".join([f"{file_name} has {count}:", *lines]))

    def _translate(self, detail: ErrorDetails, schema: type[BaseModel], path: str) -> None:
        """Pydantic's finding in our words."""
        place = ".".join([path, *(str(part) for part in detail["loc"])])
        kind, value = detail["type"], detail["input"]
        if kind == "extra_forbidden":
            owner = _schema_at(schema, detail["loc"][:-1])
            self.unknown(place, "setting", place.split(".")[-2], owner.model_fields)
        elif kind == "missing":
            self.add(place, "missing; there is no default for it")
        elif kind == "literal_error":
            expected = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
            self.add(place, f"'{value}' is not possible; there are {expected}")
        elif kind == "value_error":
            self.add(place, str(detail["ctx"]["error"]))
        else:
            message = detail["msg"][0].lower() + detail["msg"][1:]
            self.add(place, f"{json.dumps(value, default=str)}: {message}")


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
