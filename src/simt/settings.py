"""Settings: the resolved values that one step gets as its argument.

Every class is frozen and strict. There are no defaults here: a value that changes a number
stands in params.yaml, where a reader can see it. This file imports neither torch nor any
method, because Snakemake reads it at every parse.
"""

import json
from math import inf
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(gt=0, le=1)]
ShareOrZero = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Encoder = Literal["uni", "bi"]


class Settings(BaseModel):
    """Values that cannot change and know every key they may have."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @classmethod
    def of(cls, values: Any) -> Self:
        """Settings from plain values.

        By way of JSON, which has no tuples: types stay strict, and yet a list may be one.
        """
        return cls.model_validate_json(json.dumps(values, default=str))

    def as_json(self) -> str:
        """One canonical line, to pass to a command and to compare."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)


class KnobRange(NamedTuple):
    """The decode-time numbers that a method takes: ``above`` < knob <= ``up_to``."""

    symbol: str
    above: float
    up_to: float
    is_whole: bool

    def complaint(self, knob: float) -> str | None:
        """Why ``knob`` is not one of them, or None."""
        if self.is_whole and knob != int(knob):
            return f"{self.symbol} = {knob} is not a whole number"
        if not self.above < knob <= self.up_to:
            limit = "" if self.up_to == inf else f" and at most {self.up_to:g}"
            return f"{self.symbol} = {knob:g} must be above {self.above:g}{limit}"
        return None


class ModelSettings(Settings):
    """The size of a Transformer."""

    width: Count
    ffn: Count
    heads: Count
    encoder_layers: Count
    decoder_layers: Count

    @model_validator(mode="after")
    def _heads_divide_width(self) -> "ModelSettings":
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.width}")
        if self.width % 2:
            raise ValueError(f"width {self.width} is odd; sinusoidal positions need an even one")
        return self


class TrainingSettings(Settings):
    """How a run is optimised.

    A batch counts its sentences times the longest side of any, padding included;
    ``batch_tokens`` bounds that over all devices.
    """

    updates: Count
    batch_tokens: Count
    micro_tokens: Count  # what a device takes at a time, the same on every machine
    dropout: BelowOne
    label_smoothing: BelowOne
    peak_lr: Positive
    warmup_updates: Count
    warmup_initial_lr: NonNegative
    adam_betas: tuple[BelowOne, BelowOne]
    adam_epsilon: Positive
    weight_decay: NonNegative
    clip_norm: NonNegative  # 0 does not clip
    max_tokens: Count  # longer training sentences are left out and counted
    validate_every_updates: Count
    early_stop_validations: CountOrZero  # 0 never stops early
    snapshot_every_updates: Count
    average_snapshots: Count  # the model is the mean of the last so many
    precision: Literal["fp32", "bf16"]
    compile: bool

    @model_validator(mode="after")
    def _longest_sentence_fits(self) -> "TrainingSettings":
        smallest = min(self.batch_tokens, self.micro_tokens)
        if self.max_tokens > smallest:
            raise ValueError(
                f"max_tokens {self.max_tokens} is above batch_tokens or micro_tokens ({smallest}): "
                "the longest sentences would fit into no batch"
            )
        return self


class DecodingSettings(Settings):
    """What every policy does alike when it writes."""

    max_target_tokens: Count
    forbid_eos_before_source_end: bool
    ms_per_word: Positive  # of speech: what computing time is counted in


TOY_ESTIMATOR = "simt/toy-estimator"  # the COMET model of pairs that train their own


class EstimatorSettings(Settings):
    """How the toy study's quality estimator is trained."""

    seed: CountOrZero
    pairs: Count


class ScoringSettings(Settings):
    """Which of several definitions a score follows."""

    bleu_text: Literal["detokenised", "tokenised"]
    latency: Literal["bpe_eos_hyp", "bpe_noeos_hyp", "word_ref"]
    length_unit: Literal[
        "source_token_eos", "source_token", "source_word", "target_token_eos", "target_word"
    ]  # by which sentences are long or short
    comet: tuple[str, ...]  # names on the hub, or TOY_ESTIMATOR
    estimator: EstimatorSettings


class Work(NamedTuple):
    """What a training step of a method does besides one pass of a plain Transformer.

    Weights are those that the method adds, by the side whose tokens they are applied to.
    """

    source_passes: int = 1
    target_passes: int = 1
    source_weights: int = 0
    target_weights: int = 0
    is_rest_frozen: bool = False  # only the added weights learn


class MethodSettings(Settings):
    """The settings of a method, which knob values its policy takes, and how much it computes."""

    knob_range: ClassVar[KnobRange | None]  # None: decodes with the full source only
    has_confidence: ClassVar[bool] = False  # its model trusts each state more or less

    def work(self, size: ModelSettings) -> Work:
        """What a training step computes with a model of ``size``."""
        return Work()


class OfflineSettings(MethodSettings):
    """Ordinary translation of the whole source (methods.md §1)."""

    knob_range: ClassVar[KnobRange | None] = None  # only ``full``

    encoder: Encoder


class WaitkSettings(MethodSettings):
    """Read k tokens, then alternate; one model per k (§2)."""

    knob_range: ClassVar[KnobRange | None] = KnobRange("k", 0, inf, True)

    k: Count
    target_states: Literal["frozen", "recompute"]


class MultipathSettings(MethodSettings):
    """One wait-k model for all k (§3)."""

    knob_range: ClassVar[KnobRange | None] = KnobRange("k", 0, inf, True)

    sample_k_per: Literal["batch", "sentence"]
    target_states: Literal["frozen", "recompute"]


class ItstSettings(MethodSettings):
    """Information-transport-based policy (§4)."""

    knob_range: ClassVar[KnobRange | None] = KnobRange("δ", 0, inf, False)

    latency_weight: NonNegative
    norm_weight: NonNegative
    latency_acts_on: Literal["normalised", "raw"]
    norm: Literal["frobenius", "row_sums", "row_sums_squared"]
    pads: Literal["masked", "official"]  # official: padded widths, pads take part
    layers_agree_by: Literal["all", "mean"]
    mask_from_update: CountOrZero
    threshold_floor: Share
    threshold_decay_updates: Positive

    def work(self, size: ModelSettings) -> Work:
        projection = size.width * (size.width + 1)
        weights = size.decoder_layers * projection
        return Work(source_weights=weights, target_weights=weights)


class HmtSettings(MethodSettings):
    """Hidden Markov Transformer (§5): ``low`` is L, ``states`` is K."""

    knob_range: ClassVar[KnobRange | None] = KnobRange("threshold", 0, 1, False)

    low: int
    states: Count
    pads: Literal["masked", "official"]
    state_weight: NonNegative
    latency_weight: NonNegative

    def work(self, size: ModelSettings) -> Work:
        selection = 2 * size.width
        return Work(target_passes=self.states, source_weights=selection, target_weights=selection)


class Sm2Settings(MethodSettings):
    """Self-modifying state modelling and its variants (§6-§10)."""

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
    adapter_share: ShareOrZero  # of the model's width; 0 = none; otherwise all else is frozen
    adapter_place: Literal["ffn", "layer"]

    def work(self, size: ModelSettings) -> Work:
        """The whole source and a prefix of it; a uni encoder sees both in one pass."""
        adapter = self._adapter_weights(size.width)
        return Work(
            source_passes=2 if self.encoder == "bi" else 1,
            target_passes=2,
            source_weights=size.encoder_layers * adapter,
            target_weights=size.decoder_layers * adapter + size.width + 1,
            is_rest_frozen=self.adapter_share > 0,
        )

    def _adapter_weights(self, width: int) -> int:
        """Of one layer: two linear maps with their biases, and a norm behind a whole layer."""
        if not self.adapter_share:
            return 0
        bottleneck = max(1, round(self.adapter_share * width))
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


METHOD_SETTINGS: dict[str, type[MethodSettings]] = {
    "offline": OfflineSettings,
    "waitk": WaitkSettings,
    "multipath": MultipathSettings,
    "itst": ItstSettings,
    "hmt": HmtSettings,
    "sm2": Sm2Settings,
}


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
    start_from: str | None  # method/variant of the same pair and seed


class SentenceChoice(Settings):
    """The argument of ``simt states``: which aligned sentences the report puts on its stage."""

    sentences: Count
    max_source_words: Count  # a longer one does not fit on a phone


class PointSettings(Settings):
    """The argument of ``simt decode``: one run on one split at all its knob values.

    On ``aligned`` the reference is forced, on ``valid`` every state is looked at.
    """

    split: Literal["valid", "test", "aligned"]
    knobs: tuple[float | Literal["full"], ...]
    decoding: DecodingSettings
