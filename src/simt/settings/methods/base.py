"""What the settings of every method say: their knob, their work, and who implements them."""

from math import inf
from typing import Any, ClassVar, Literal, NamedTuple

from simt.settings.base import LARGEST, Settings
from simt.settings.steps import ModelSettings

METHOD_SETTINGS: dict[str, type["MethodSettings"]] = {}


class KnobRange(NamedTuple):
    """The decode-time numbers that a method takes: ``above`` < knob <= ``up_to``."""

    symbol: str
    above: float
    up_to: float
    is_whole: bool

    def complaint(self, knob: float) -> str | None:
        """Why ``knob`` is not one of them, or None."""
        if knob > LARGEST:
            return f"{self.symbol} = {knob:g} is too large"
        if self.is_whole and knob != int(knob):
            return f"{self.symbol} = {knob} is not a whole number"
        if not self.above < knob <= self.up_to:
            limit = "" if self.up_to == inf else f" and at most {self.up_to:g}"
            return f"{self.symbol} = {knob:g} must be above {self.above:g}{limit}"
        return None


class Work(NamedTuple):
    """What a training step of a method does besides one pass of a plain Transformer.

    Weights are those that the method adds, by the side whose tokens they are applied to.
    """

    source_passes: int = 1
    target_passes: int = 1
    source_weights: int = 0
    target_weights: int = 0
    is_rest_frozen: bool = False  # only the added weights learn
    # For each target token with each source token of its sentence: what a decoder layer keeps for
    # the backward pass, such as a mask that differs by row.
    pair_numbers: int = 0


class MethodSettings(Settings):
    """The settings of a method, which knob values its policy takes, and how much it computes."""

    implemented_by: ClassVar[str]  # the class in simt.methods, which imports torch
    knob_range: ClassVar[KnobRange | None]  # None: decodes with the full source only
    takes_full: ClassVar[bool] = True  # can decode with the full source
    has_confidence: ClassVar[bool] = False  # its model trusts each state more or less

    def __init_subclass__(cls, method: str, **details: Any) -> None:
        """Makes a method known by the name that it has in params.yaml."""
        super().__init_subclass__(**details)
        METHOD_SETTINGS[method] = cls

    @classmethod
    def complaint(cls, knob: float | Literal["full"]) -> str | None:
        """Why the method cannot be decoded at ``knob``, or None."""
        if knob == "full":
            return None if cls.takes_full else "full: this method never waits for the full source"
        if cls.knob_range is None:
            return f"{knob:g}: this method decodes at 'full' only"
        return cls.knob_range.complaint(knob)

    def work(self, size: ModelSettings) -> Work:
        """What a training step computes with a model of ``size``."""
        return Work()

    def policy_in_words(self) -> str:
        """When the policy writes, by its knob; "" if there is none."""
        return ""

    def without_effect(self) -> set[str]:
        """The settings that change nothing, because of what others are."""
        return set()
