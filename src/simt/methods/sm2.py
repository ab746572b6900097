"""SM²: translate from a random prefix, and learn how much to trust it.

docs/methods.md, "SM²" and what follows it.

Shapes: B sentences, M source tokens, N target tokens, T target tokens without pads, D width.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor, nn

from simt.methods.losses import Loss, Smoothing, mean_loss
from simt.methods.mixture import MixtureChoices, mixture_losses
from simt.methods.model import Model, NetworkNeeds
from simt.methods.policy import (
    Decision,
    Policy,
    PolicyState,
    RecomputingPolicy,
    ScheduledPolicy,
    newest_states,
    numeric_knob,
    whole_source,
)
from simt.methods.sampling import sample_up_to
from simt.model.batch import Batch
from simt.model.layers import AdapterShape, initialise_linear
from simt.model.masks import causal_mask_without_pads, key_mask, visible_mask
from simt.model.network import Network
from simt.params import Knob
from simt.settings import ModelSettings
from simt.settings.methods.sm2 import Sm2Settings

# The prefixes that validation looks at, as fractions of the source:
# docs/methods.md, "SM²: prefix sampling".
VALIDATION_FRACTIONS = (0.25, 0.5, 0.75, 1.0)


class Sm2Model(Model):
    """A network that also says how much it trusts its next token."""

    def __init__(self, network: Network, learns_adapters_only: bool) -> None:
        super().__init__(network)
        self.confidence = nn.Linear(network.width, 1)
        if learns_adapters_only:
            self._freeze_all_but_adapters()

    def initialise(self, generator: torch.Generator) -> None:
        super().initialise(generator)
        initialise_linear(self.confidence, generator)

    def _freeze_all_but_adapters(self) -> None:
        for name, weight in self.named_parameters():
            weight.requires_grad_("adapter" in name or "confidence" in name)

    def confidence_logits(self, states: Tensor) -> Tensor:
        """Logits of c for top decoder states (…, D), in fp32."""
        with torch.autocast(states.device.type, enabled=False):
            return self.confidence(states.float()).squeeze(-1)  # type: ignore[no-any-return]

    def both_passes(
        self, batch: Batch, prefix_B: Tensor, self_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Top states given the whole source and given its first ``prefix_B`` tokens, (B, N, D).

        The two are neighbours in one batch. A uni encoder sees the source once, for both; a bi
        encoder must see whole and prefix apart.
        """
        seen_B2 = torch.stack([batch.source_lengths_B, prefix_B], dim=1)
        batch_size, width = batch.source_BM.shape
        length = batch.target_BN.shape[1]
        network = self.network
        if network.encoder == "uni":
            memory = network.encode(batch.source_BM, batch.source_lengths_B)
            mask: Tensor | None = visible_mask(seen_B2.repeat_interleave(length, dim=1), width)
        else:
            memory = network.encode(batch.source_BM.repeat_interleave(2, dim=0), seen_B2.flatten())
            mask = key_mask(seen_B2.flatten(), width)
        if self_mask is not None:
            self_mask = self_mask.repeat_interleave(2, dim=0)
        embedded = network.embed_target(batch.decoder_input_BN).repeat_interleave(2, dim=0)
        states = network.decode_embedded(embedded, memory, mask, self_mask)
        full_BND, prefix_BND = states.view(batch_size, 2, length, network.width).unbind(1)
        return full_BND, prefix_BND


def allowed_states(
    prefix_B: Tensor, source_lengths_B: Tensor, rows: int, settings: Sm2Settings
) -> Tensor:
    """Which target rows may learn from the prefix, (B, N).

    docs/methods.md, "SM²: prohibition".
    """
    row_1N = torch.arange(rows, device=prefix_B.device).unsqueeze(0)
    prefix_B1, length_B1 = prefix_B.unsqueeze(1), source_lengths_B.unsqueeze(1)
    lower_1N = row_1N + settings.prohibition_lower
    if settings.prohibition == "both":
        upper_1N = row_1N + settings.prohibition_upper
        is_late_enough = prefix_B1 >= torch.minimum(lower_1N, length_B1)
        return is_late_enough & (prefix_B1 <= torch.minimum(upper_1N, length_B1))
    if settings.prohibition == "one_sided":
        return prefix_B1 >= lower_1N
    return torch.ones_like(prefix_B1 + row_1N, dtype=torch.bool)


@dataclass(frozen=True)
class ConfidenceRule:
    """WRITE if the confidence reaches the threshold (Algorithm 1; ≥ as in the code)."""

    threshold: float
    settings: Sm2Settings

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        min_B = torch.full_like(written_B, self.settings.first_read)
        if self._is_restricted:
            min_B = torch.maximum(min_B, written_B + self.settings.prohibition_lower)
        return torch.minimum(min_B, source_lengths_B)

    def should_write(self, confidence_B: Tensor, state: PolicyState) -> Tensor:
        write_B = (confidence_B >= self.threshold) | state.is_complete_B
        if self._is_restricted and self.settings.prohibition == "both":
            write_B |= state.read_B >= state.written_B + self.settings.prohibition_upper
        return write_B

    @property
    def _is_restricted(self) -> bool:
        return self.settings.prohibition_at_test and self.settings.prohibition != "none"


@dataclass(frozen=True, eq=False)
class ConfidencePolicy(RecomputingPolicy):
    """Asks the model, given the prefix read so far, how much it trusts its next token."""

    model: Sm2Model
    rule: ConfidenceRule

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        states_BD = newest_states(self.model.network, memory_BJD, state, self.target_states)
        confidence_B = self.model.confidence_logits(states_BD).sigmoid()
        write_B = self.rule.should_write(confidence_B, state)
        return Decision(
            logits=lambda rows: self.model.network.output.logits(states_BD[rows]),
            write_B=write_B,
            value_B=confidence_B,
        )


@dataclass(frozen=True)
class Sm2:
    """The method with one set of its many settings."""

    settings: Sm2Settings
    label_smoothing: float

    def needs(self, size: ModelSettings) -> NetworkNeeds:
        if not self.settings.adapter_fraction:
            return NetworkNeeds(self.settings.encoder)
        bottleneck = self.settings.adapter_width(size.width)
        adapter = AdapterShape(bottleneck, self.settings.adapter_place)
        return NetworkNeeds(self.settings.encoder, adapter)

    def model(self, network: Network) -> Sm2Model:
        return Sm2Model(network, learns_adapters_only=bool(self.settings.adapter_fraction))

    def loss(self, model: Sm2Model, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        prefix_B = self.sample_prefixes(batch.source_lengths_B, generator)
        return self.loss_at(model, batch, prefix_B, self.penalty_weight(update))

    def validation_loss(self, model: Sm2Model, batch: Batch) -> Loss:
        """The mean over a fixed grid of prefixes; with the constant λ, even if it is annealed."""
        lengths_B = batch.source_lengths_B
        grid = [(lengths_B * fraction).ceil().long() for fraction in VALIDATION_FRACTIONS]
        weight = self.settings.confidence_weight
        return mean_loss([self.loss_at(model, batch, prefix_B, weight) for prefix_B in grid])

    def policy(self, model: Sm2Model, knob: Knob) -> Policy:
        if knob == "full":
            return ScheduledPolicy(model.network, whole_source, "recompute")
        threshold = numeric_knob("sm2", knob, "the confidence to write at")
        return ConfidencePolicy(model, ConfidenceRule(threshold, self.settings))

    def penalty_weight(self, update: int) -> float:
        """λ at an update."""
        if self.settings.confidence_schedule == "constant":
            return self.settings.confidence_weight
        decay = self.settings.annealed_decay_updates
        return self.settings.annealed_start * math.exp(-update / decay)

    def sample_prefixes(self, source_lengths_B: Tensor, generator: torch.Generator) -> Tensor:
        """A prefix length for each sentence, or one that the shortest sentence has for all."""
        if self.settings.prefix_sampling == "sentence":
            return sample_up_to(source_lengths_B, generator)
        shortest_1 = source_lengths_B.min().unsqueeze(0)
        return sample_up_to(shortest_1, generator).expand_as(source_lengths_B)

    def loss_at(
        self, model: Sm2Model, batch: Batch, prefix_B: Tensor, penalty_weight: float
    ) -> Loss:
        """L_omt + L_S + λ·L_C with the given prefixes."""
        self_mask = None
        if self.settings.penalty_includes_pad:
            self_mask = causal_mask_without_pads(batch.target_mask_BN)
        full_BND, prefix_BND = model.both_passes(batch, prefix_B, self_mask)
        logits_BN = model.confidence_logits(prefix_BND)
        weight_BN = self.state_weights(batch, prefix_B)
        logit_T, weight_T = (
            batch.tokens_of(x_BN.unsqueeze(2)).squeeze(1) for x_BN in (logits_BN, weight_BN)
        )
        losses = mixture_losses(
            batch.tokens_of(full_BND),
            batch.tokens_of(prefix_BND),
            logit_T,
            model.network.output,
            batch.gold_T,
            weight_T,
            self.mixture_choices(model.network.output.classes),
        )
        if self.settings.penalty_includes_pad:
            penalty = -(F.logsigmoid(logits_BN) * weight_BN).sum()
        else:
            penalty = -(F.logsigmoid(logit_T) * weight_T).sum()
        parts = {
            "translation": losses.full,
            "mixture": losses.mixture,
            "penalty": penalty.detach(),
            "confidence": logit_T.detach().sigmoid().sum(),
        }
        return Loss(losses.total + penalty_weight * penalty, batch.target_tokens, parts)

    def state_weights(self, batch: Batch, prefix_B: Tensor) -> Tensor:
        """How much each row counts in L_S and L_C, (B, N)."""
        allowed_BN = allowed_states(
            prefix_B, batch.source_lengths_B, batch.target_BN.shape[1], self.settings
        )
        weight_BN = allowed_BN.float()
        if self.settings.prohibition_normaliser == "allowed":
            allowed = (allowed_BN & batch.target_mask_BN).sum()
            weight_BN = weight_BN * (batch.target_tokens / allowed.clamp(min=1))
        return weight_BN

    def mixture_choices(self, classes: int) -> MixtureChoices:
        epsilon = self.label_smoothing
        return MixtureChoices(
            full_smoothing=Smoothing.over_others(epsilon, classes),
            mixture_smoothing=Smoothing.over_others(
                epsilon if self.settings.smooth_mixture else 0.0, classes
            ),
            has_full_loss=self.settings.offline_loss,
            detaches_full=self.settings.detach_full_source,
            hint=self.settings.hint,
        )
