"""wait-k and multi-path wait-k: read k tokens, then alternate.

docs/methods.md, "wait-k" and docs/methods.md, "Multi-path wait-k".

Shapes: B sentences, M source tokens, N target tokens, T target tokens without pads, D width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from simt.methods.losses import Loss, Smoothing, mean_loss, smoothed_cross_entropy
from simt.methods.model import Model, NetworkNeeds, require_row_masks
from simt.methods.policy import Policy, ScheduledPolicy, numeric_knob, whole_source
from simt.methods.sampling import sample_up_to
from simt.model.batch import Batch
from simt.model.masks import visible_mask
from simt.model.network import Network
from simt.params import Knob
from simt.settings import ModelSettings
from simt.settings.methods.waitk import MultipathSettings, WaitkSettings

# The k at which the paper decodes; their mean loss is what multi-path is validated by.
VALIDATION_K = (1, 3, 5, 7, 9)


def waitk_delays(written: Tensor, source_lengths: Tensor, k: int | Tensor) -> Tensor:
    """g of the token after ``written`` ones: min(k + written, M)."""
    return torch.minimum(written + k, source_lengths)


def staircase(batch: Batch, k: int | Tensor) -> Tensor:
    """How much source each target row sees, (B, N); ``k`` may differ by sentence, (B, 1)."""
    rows_N = torch.arange(batch.target_BN.shape[1], device=batch.target_BN.device)
    return waitk_delays(rows_N, batch.source_lengths_B.unsqueeze(1), k)


def waitk_loss(model: Model, batch: Batch, k: int | Tensor, label_smoothing: float) -> Loss:
    """Label-smoothed cross-entropy where row i sees min(k + i - 1, M) source tokens."""
    network = model.network
    memory_BMD = network.encode(batch.source_BM, batch.source_lengths_B)
    mask = visible_mask(staircase(batch, k), batch.source_BM.shape[1])
    states_TD = batch.tokens_of(network.decode(batch.decoder_input_BN, memory_BMD, mask))
    smoothing = Smoothing.over_others(label_smoothing, network.output.classes)
    total = smoothed_cross_entropy(states_TD, network.output, batch.gold_T, smoothing)
    return Loss(total, batch.target_tokens, {"translation": total.detach()})


@dataclass(frozen=True)
class _Staircase:
    """What wait-k and multi-path have in common: the network, and the policy for a k."""

    settings: WaitkSettings | MultipathSettings
    label_smoothing: float

    def needs(self, size: ModelSettings) -> NetworkNeeds:
        return NetworkNeeds("uni")

    def model(self, network: Network) -> Model:
        require_row_masks(network, "wait-k")
        return Model(network)

    def policy(self, model: Model, knob: Knob) -> Policy:
        if knob == "full":
            return ScheduledPolicy(model.network, whole_source, self.settings.target_states)
        k = int(numeric_knob("wait-k", knob, "the number of tokens to wait for"))

        def schedule(written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
            return waitk_delays(written_B, source_lengths_B, k)

        return ScheduledPolicy(model.network, schedule, self.settings.target_states)


@dataclass(frozen=True)
class Waitk(_Staircase):
    """One model for one k."""

    settings: WaitkSettings

    def loss(self, model: Model, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        return self.validation_loss(model, batch)

    def validation_loss(self, model: Model, batch: Batch) -> Loss:
        return waitk_loss(model, batch, self.settings.k, self.label_smoothing)


@dataclass(frozen=True)
class Multipath(_Staircase):
    """One model for all k: each update draws a k, the same for all layers."""

    settings: MultipathSettings

    def loss(self, model: Model, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        return waitk_loss(model, batch, self.sample_k(batch, generator), self.label_smoothing)

    def validation_loss(self, model: Model, batch: Batch) -> Loss:
        return mean_loss([waitk_loss(model, batch, k, self.label_smoothing) for k in VALIDATION_K])

    def sample_k(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """One k up to the longest source for all, (1, 1), or one up to each source, (B, 1)."""
        limits_B = batch.source_lengths_B
        if self.settings.sample_k_per == "batch":
            limits_B = limits_B.max().unsqueeze(0)
        return sample_up_to(limits_B, generator).unsqueeze(1)
