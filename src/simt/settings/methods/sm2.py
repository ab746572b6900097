"""Settings of SM²."""

from typing import ClassVar, Literal

from pydantic import model_validator

from simt.settings.base import Count, CountOrZero, Encoder, FractionOrZero, NonNegative, Positive
from simt.settings.methods.base import KnobRange, MethodSettings, Work
from simt.settings.steps import ModelSettings


class Sm2Settings(MethodSettings, method="sm2"):
    """Self-modifying state modelling and its variants (docs/methods.md, "SM²")."""

    implemented_by: ClassVar[str] = "simt.methods.sm2.Sm2"
    knob_range: ClassVar[KnobRange | None] = KnobRange("γ", 0, 1, False)
    has_confidence: ClassVar[bool] = True

    encoder: Encoder
    confidence_weight: NonNegative  # λ
    confidence_schedule: Literal["constant", "annealed"]
    annealed_start: Positive  # λ(u) = start · exp(-u / decay)
    annealed_decay_updates: Positive
    prefix_sampling: Literal["sentence", "batch_min"]
    penalty_includes_pad: bool
    smooth_mixture: bool
    detach_full_source: bool
    hint: Literal["full_source", "gold"]  # what the confidence mixes in; gold = w/o p_i
    offline_loss: bool  # False = w/o L_omt
    prohibition: Literal["none", "both", "one_sided"]
    prohibition_lower: CountOrZero  # k1
    prohibition_upper: Count  # k2
    prohibition_normaliser: Literal["tokens", "allowed"]
    prohibition_at_test: bool
    first_read: Count
    adapter_fraction: FractionOrZero  # of the model's width; 0 = none; otherwise all else is frozen
    adapter_place: Literal["ffn", "layer"]

    def work(self, size: ModelSettings) -> Work:
        """The whole source and a prefix of it; a uni encoder sees both in one pass."""
        adapter = self._adapter_weights(size.width)
        return Work(
            source_passes=2 if self.encoder == "bi" else 1,
            target_passes=2,
            source_weights=size.encoder_layers * adapter,
            target_weights=size.decoder_layers * adapter + size.width + 1,
            is_rest_frozen=self.adapter_fraction > 0,
            pair_numbers=1 if self.encoder == "uni" else 0,
        )

    def policy_in_words(self) -> str:
        return "writes as soon as the confidence of a state reaches γ"

    def without_effect(self) -> set[str]:
        idle = set[str]()
        if self.confidence_schedule == "constant":
            idle |= {"annealed_start", "annealed_decay_updates"}  # the constant λ always validates
        if self.prohibition == "none":
            idle |= {name for name in type(self).model_fields if name.startswith("prohibition_")}
        elif self.prohibition == "one_sided":
            idle |= {"prohibition_upper"}
        if self.hint == "gold":
            idle |= {"detach_full_source"}
        if not self.adapter_fraction:
            idle |= {"adapter_place"}
        return idle

    def adapter_width(self, width: int) -> int:
        """How wide an adapter of a layer is inside, in a model that is so wide."""
        return max(1, round(self.adapter_fraction * width))

    def _adapter_weights(self, width: int) -> int:
        """Of one layer: two linear maps with their biases, and a norm behind a whole layer."""
        if not self.adapter_fraction:
            return 0
        bottleneck = self.adapter_width(width)
        norm = 2 * width if self.adapter_place == "layer" else 0
        return 2 * width * bottleneck + bottleneck + width + norm

    @model_validator(mode="after")
    def _makes_sense(self) -> "Sm2Settings":
        if self.prohibition == "both" and self.prohibition_upper < self.prohibition_lower:
            raise ValueError(
                f"prohibition_upper {self.prohibition_upper} is below "
                f"prohibition_lower {self.prohibition_lower}: no state would be allowed"
            )
        return self
