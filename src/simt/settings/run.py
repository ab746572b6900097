"""The settings of one training, those of its method included."""

from typing import Any, Self

from pydantic import ValidationError, model_validator

from simt.errors import short
from simt.settings.base import Count, Settings
from simt.settings.methods import METHOD_SETTINGS
from simt.settings.steps import ModelSettings, TrainingSettings


class RunSettings(Settings):
    """The argument of ``simt train``: everything that a training's numbers depend on."""

    pair: str
    method: str
    variant: str
    seed: Count
    revision: Count
    model: ModelSettings
    training: TrainingSettings
    method_settings: dict[str, Any]  # of the method's own class in METHOD_SETTINGS
    start_from: str | None  # method/variant of the same pair and seed, or a digest of weights

    @model_validator(mode="after")
    def _method_has_its_settings(self) -> Self:
        schema = METHOD_SETTINGS.get(self.method)
        if schema is None:
            raise ValueError(f"there is no method '{short(self.method)}'")
        try:
            schema.of(self.method_settings)
        except ValidationError as error:
            details = error.errors(include_url=False)
            found = (f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in details)
            raise ValueError(f"method_settings of {self.method}: {'; '.join(found)}") from None
        return self
