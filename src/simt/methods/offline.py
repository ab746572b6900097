"""Ordinary translation of the whole source (methods.md §1).

Shapes: B sentences, T target tokens without pads, D width.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from simt.errors import SimtError
from simt.methods.losses import Loss, Smoothing, smoothed_cross_entropy
from simt.methods.policy import Knob, Policy, ScheduledPolicy, whole_source
from simt.model.batch import Batch
from simt.model.masks import key_mask
from simt.model.transformer import Transformer, Vocabulary
from simt.settings import ModelSettings, OfflineSettings


@dataclass(frozen=True)
class Offline:
    """Label-smoothed cross-entropy given the whole source."""

    settings: OfflineSettings
    label_smoothing: float

    def build(
        self,
        size: ModelSettings,
        vocabulary: Vocabulary,
        dropout: float,
        generator: torch.Generator,
    ) -> Transformer:
        model = Transformer(size, vocabulary, dropout, self.settings.encoder)
        model.initialise(generator)
        return model

    def loss(
        self, model: Transformer, batch: Batch, update: int, generator: torch.Generator
    ) -> Loss:
        return self.validation_loss(model, batch)

    def validation_loss(self, model: Transformer, batch: Batch) -> Loss:
        memory_BMD = model.encode(batch.source_BM, batch.source_lengths_B)
        mask = key_mask(batch.source_lengths_B, batch.source_BM.shape[1])
        states_TD = batch.tokens_of(model.decode(batch.decoder_input_BN, memory_BMD, mask))
        embedding_VD = model.target_embedding_VD
        smoothing = Smoothing.over_others(self.label_smoothing, embedding_VD.shape[0])
        total = smoothed_cross_entropy(states_TD, embedding_VD, batch.gold_T, smoothing)
        return Loss(total, batch.target_tokens, {"translation": total.detach()})

    def policy(self, model: Transformer, knob: Knob) -> Policy:
        if knob != "full":
            raise SimtError(
                f"offline reads the whole source, a knob of {knob!r} has no meaning: "
                "set `knobs: [full]` of offline in params.yaml"
            )
        return ScheduledPolicy(model, whole_source, "recompute")


@dataclass(frozen=True)
class Unmatched:
    """Weights that one side has and the other has not."""

    missing: tuple[str, ...]  # in the model, not in the file: they keep their values
    unexpected: tuple[str, ...]  # in the file, not in the model


def load_offline(model: Transformer, weights: Mapping[str, Tensor]) -> Unmatched:
    """Copies the weights of an offline model into the model of another method, by name."""
    own = model.state_dict()
    misshapen = [
        f"{name} is {tuple(weights[name].shape)} instead of {tuple(own[name].shape)}"
        for name in own.keys() & weights.keys()
        if own[name].shape != weights[name].shape
    ]
    if misshapen:
        raise SimtError(
            "the model to start from has another size or vocabulary: "
            + "; ".join(sorted(misshapen)[:3])
            + ". Name a run of the same pair and size in `start_from`."
        )
    result = model.load_state_dict(dict(weights), strict=False)
    return Unmatched(tuple(result.missing_keys), tuple(result.unexpected_keys))
