"""What the steps of a study are told: the size of a model, how it is trained, decoded, scored."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simt.settings.base import (
    BelowOne,
    Count,
    CountOrZero,
    NonNegative,
    Positive,
    Settings,
)

EvaluationSplit = Literal["valid", "test", "aligned"]
BleuText = Literal["detokenised", "tokenised"]
BleuTokeniser = Literal["13a", "zh", "ja-mecab", "ko-mecab", "char", "intl"]  # sacreBLEU's names
LatencyMode = Literal["bpe_eos_hyp", "bpe_noeos_hyp", "word_ref"]
LengthUnit = Literal[
    "source_token_eos", "source_token", "source_word", "target_token_eos", "target_word"
]


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


# bf16 is for GPUs. A CPU computes in fp32, or with "bf16-products" only multiplies in bf16.
Precision = Literal["fp32", "bf16", "bf16-products"]
LrSchedule = Literal["inverse_sqrt", "linear"]  # how the learning rate falls after its warm-up


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
    # The default is left out of the record: results from before this was a setting stay valid.
    lr_schedule: LrSchedule = Field(
        default="inverse_sqrt", exclude_if=lambda name: name == "inverse_sqrt"
    )
    adam_betas: tuple[BelowOne, BelowOne]
    adam_epsilon: Positive
    weight_decay: NonNegative
    clip_norm: NonNegative  # 0 does not clip
    max_tokens: Count  # longer training sentences are left out and counted
    validate_every_updates: Count
    early_stop_validations: CountOrZero  # 0 never stops early
    snapshot_every_updates: Count
    average_snapshots: Count  # the model is the mean of the last so many
    precision: Precision
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

    bleu_text: BleuText
    # Left out where it is 13a: what was scored before this entry was known stays as it is.
    bleu_tokeniser: BleuTokeniser = Field(default="13a", exclude_if=lambda name: name == "13a")
    latency: LatencyMode
    length_unit: LengthUnit  # by which sentences are long or short
    comet: tuple[str, ...]  # names on the hub, or TOY_ESTIMATOR
    estimator: EstimatorSettings


class SentenceChoice(Settings):
    """The argument of ``simt states``: which aligned sentences the policy viewer shows."""

    sentences: Count
    max_source_words: Count  # a longer one does not fit on a phone


class PointSettings(Settings):
    """The argument of ``simt decode``: one run on one split at all its knob values.

    On ``aligned`` the reference is forced, on ``valid`` every state is looked at.
    """

    split: EvaluationSplit
    knobs: Annotated[tuple[float | Literal["full"], ...], Field(min_length=1)]
    decoding: DecodingSettings

    @model_validator(mode="after")
    def _each_knob_once(self) -> Self:
        if len(set(self.knobs)) < len(self.knobs):
            raise ValueError("a knob value appears twice; leave one out")
        return self
