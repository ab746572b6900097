"""Settings of ITST."""

from math import inf
from typing import ClassVar, Literal

from simt.settings.base import CountOrZero, Fraction, NonNegative, Positive
from simt.settings.methods.base import KnobRange, MethodSettings, Work
from simt.settings.steps import ModelSettings


class ItstSettings(MethodSettings, method="itst"):
    """Information-transport-based policy (docs/methods.md, "ITST")."""

    implemented_by: ClassVar[str] = "simt.methods.itst.Itst"
    knob_range: ClassVar[KnobRange | None] = KnobRange("δ", 0, inf, False)

    latency_weight: NonNegative
    norm_weight: NonNegative
    latency_acts_on: Literal["normalised", "raw"]
    norm: Literal["frobenius", "row_sums", "row_sums_squared"]
    pads: Literal["masked", "official"]  # official: padded widths, pads take part
    layers_agree_by: Literal["all", "mean"]
    mask_from_update: CountOrZero
    threshold_floor: Fraction
    threshold_decay_updates: Positive

    def work(self, size: ModelSettings) -> Work:
        """The transport, and attention to the source that is spelt out: a weight for each head."""
        projection = size.width * (size.width + 1)
        weights = size.decoder_layers * projection
        return Work(source_weights=weights, target_weights=weights, pair_numbers=size.heads + 4)

    def policy_in_words(self) -> str:
        return "writes as soon as the next token has a fraction δ of its information"
