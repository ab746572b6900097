"""What all settings have in common: frozen, strict, and without defaults.

A value that changes a number stands in params.yaml, where a reader can see it.
"""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Fraction = Annotated[float, Field(gt=0, le=1)]
FractionOrZero = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
LARGEST = 2**53  # beyond it, not every whole number is a float
Count = Annotated[int, Field(ge=1, le=LARGEST)]
CountOrZero = Annotated[int, Field(ge=0, le=LARGEST)]
Encoder = Literal["uni", "bi"]


class Settings(BaseModel):
    """Values that cannot change and know every key they may have."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def of(cls, values: Any) -> Self:
        """Settings from plain values.

        By way of JSON, which has no tuples: types stay strict, and yet a list may be one.
        """
        return cls.model_validate_json(json.dumps(values))

    def as_json(self) -> str:
        """One canonical line, to pass to a command and to compare."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)

    def as_values(self) -> dict[str, Any]:
        """The same as plain values, in the same order."""
        values: dict[str, Any] = json.loads(self.as_json())
        return values
