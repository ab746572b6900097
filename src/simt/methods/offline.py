"""Ordinary translation of the whole source (docs/methods.md, "Offline").

Shapes: B sentences, T target tokens without pads, D width.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from simt.errors import SimtError
from simt.methods.losses import Loss, Smoothing, smoothed_cross_entropy
from simt.methods.model import Model, NetworkNeeds
from simt.methods.policy import Policy, ScheduledPolicy, whole_source
from simt.model.batch import Batch
from simt.model.masks import key_mask
from simt.model.network import Network
from simt.params import Knob
from simt.settings import ModelSettings
from simt.settings.methods.offline import OfflineSettings


@dataclass(frozen=True)
class Offline:
    """Label-smoothed cross-entropy given the whole source."""

    settings: OfflineSettings
    label_smoothing: float

    def needs(self, size: ModelSettings) -> NetworkNeeds:
        return NetworkNeeds(self.settings.encoder)

    def model(self, network: Network) -> Model:
        return Model(network)

    def loss(self, model: Model, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        return self.validation_loss(model, batch)

    def validation_loss(self, model: Model, batch: Batch) -> Loss:
        network = model.network
        memory_BMD = network.encode(batch.source_BM, batch.source_lengths_B)
        mask = key_mask(batch.source_lengths_B, batch.source_BM.shape[1])
        states_TD = batch.tokens_of(network.decode(batch.decoder_input_BN, memory_BMD, mask))
        smoothing = Smoothing.over_others(self.label_smoothing, network.output.classes)
        total = smoothed_cross_entropy(states_TD, network.output, batch.gold_T, smoothing)
        return Loss(total, batch.target_tokens, {"translation": total.detach()})

    def policy(self, model: Model, knob: Knob) -> Policy:
        if knob != "full":
            raise SimtError(
                f"offline reads the whole source, a knob of {knob!r} has no meaning: "
                "set `knobs: [full]` of offline in params.yaml"
            )
        return ScheduledPolicy(model.network, whole_source, "recompute")


def load_offline(model: Model, weights: Mapping[str, Tensor]) -> None:
    """Copies the weights of an offline model into the model of another method, by name.

    What only the other method has keeps its values.
    """
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
    if unknown := sorted(weights.keys() - own.keys()):
        raise SimtError(
            f"the model to start from has weights that are no use here: {', '.join(unknown[:3])} "
            f"({len(unknown)} in all). Name an offline run in `start_from`."
        )
    model.load_state_dict(dict(weights), strict=False)
