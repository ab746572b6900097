"""ITST: how much information each source token transports to each target token.

docs/methods.md, "ITST".

Shapes: B sentences, L decoder layers, M source tokens, N target tokens, D width, H heads, E width
of a head, J source tokens read, T target tokens without pads.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from simt.errors import SimtError
from simt.methods.losses import Loss, Smoothing, smoothed_cross_entropy
from simt.methods.model import Model, NetworkNeeds
from simt.methods.policy import (
    Decision,
    Policy,
    PolicyState,
    RecomputingPolicy,
    ScheduledPolicy,
    numeric_knob,
    whole_source,
)
from simt.model.batch import Batch
from simt.model.cache import DecoderCache, LayerCache, Projection, take_rows
from simt.model.layers import (
    CrossAttention,
    DecoderLayer,
    initialise_linear,
    join_heads,
    split_heads,
)
from simt.model.masks import causal_mask_without_pads, key_mask, length_mask, visible_mask
from simt.model.matmul import Linear
from simt.model.network import Network
from simt.model.transformer import Transformer
from simt.params import Knob
from simt.settings import ModelSettings
from simt.settings.methods.itst import ItstSettings

TRANSPORT_FLOOR = 1e-4  # keeps the renormalisation of attention away from 0/0
FIRST_READ = 2  # the rule leaves out the newest token, so it needs another one


def visible_counts(transport_BNM: Tensor, threshold: float) -> Tensor:
    """How many source tokens each target row sees in training, (B, N); may exceed the source.

    The token whose transport takes the sum to the threshold and one more; at least i + 1 for
    target token i, and never less than the row before.
    """
    needed_BN = (transport_BNM.cumsum(2) < threshold).sum(2) + 1
    rows_N = torch.arange(1, needed_BN.shape[1] + 1, device=needed_BN.device)
    return torch.maximum(needed_BN.cummax(1).values, rows_N) + 1


class TransportAttention(CrossAttention):
    """Attention to the source, reweighted by the information that a token transports."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads)
        self.information_query = Linear(width, width)
        self.information_key = Linear(width, width)

    def initialise(self, generator: torch.Generator) -> None:
        super().initialise(generator)
        initialise_linear(self.information_query, generator)
        initialise_linear(self.information_key, generator)

    def project(self, memory_BMD: Tensor) -> Projection:
        return (*super().project(memory_BMD), self.information_key(memory_BMD))

    def transport(
        self, x_BND: Tensor, memory_BMD: Tensor, source: Projection | None = None
    ) -> Tensor:
        """Information from source token j to target token i, one matrix for all heads."""
        key_BMD: Tensor = source[1] if source else self.information_key(memory_BMD)
        scores_BNM: Tensor = self.information_query(x_BND) @ key_BMD.mT
        scale = math.sqrt(x_BND.shape[2] // self.heads)
        return (scores_BNM.float() / scale).sigmoid() + TRANSPORT_FLOOR

    def attention(
        self,
        x_BND: Tensor,
        memory_BMD: Tensor,
        mask: Tensor | None,
        transport_BNM: Tensor,
        source: Projection | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attention weights a·T / Σ a·T, which is softmax(scores + log T), and the values."""
        (query_BHNE,) = split_heads(self.query(x_BND), 1, self.heads)
        pairs_BMX = source[0] if source else self.key_value(memory_BMD)
        key_BHME, value_BHME = split_heads(pairs_BMX, 2, self.heads)
        scores_BHNM = (query_BHNE @ key_BHME.mT).float() / math.sqrt(key_BHME.shape[3])
        scores_BHNM = scores_BHNM + transport_BNM.log().unsqueeze(1)
        if mask is not None:
            scores_BHNM = scores_BHNM.masked_fill(~mask, -math.inf)
        return scores_BHNM.softmax(3).to(value_BHME.dtype), value_BHME

    def with_transport(
        self,
        x_BND: Tensor,
        memory_BMD: Tensor,
        mask: Tensor | None,
        threshold: float | None,
        source: Projection | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The attended source and the transport; a threshold hides what is not needed for it."""
        transport_BNM = self.transport(x_BND, memory_BMD, source)
        if threshold is not None:
            counts_BN = visible_counts(transport_BNM.detach(), threshold)
            needed = visible_mask(counts_BN, memory_BMD.shape[1])
            mask = needed if mask is None else needed & mask
        weights_BHNM, value_BHME = self.attention(x_BND, memory_BMD, mask, transport_BNM, source)
        return self.output(join_heads(weights_BHNM @ value_BHME)), transport_BNM

    def forward(
        self,
        x_BND: Tensor,
        memory_BMD: Tensor,
        mask: Tensor | None,
        source: Projection | None = None,
    ) -> Tensor:
        return self.with_transport(x_BND, memory_BMD, mask, None, source)[0]


class TransportLayer(DecoderLayer):
    """A decoder layer that also says what it transported."""

    def make_cross_attention(self, size: ModelSettings) -> CrossAttention:
        return TransportAttention(size.width, size.heads)

    def forward(
        self,
        x_BND: Tensor,
        memory_BMD: Tensor,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        return self.with_transport(x_BND, memory_BMD, self_mask, cross_mask, cache, None)[0]

    def compile(self, *options: Any, **more: Any) -> None:
        """Not the call, as in other layers, but what it and ITST itself make use of."""
        compiled = torch.compile(self.with_transport, *options, **more)
        self.with_transport = compiled  # type: ignore[method-assign]

    def with_transport(
        self,
        x_BND: Tensor,
        memory_BMD: Tensor,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        cache: LayerCache | None,
        threshold: float | None,
    ) -> tuple[Tensor, Tensor]:
        """The layer's states, and what it transported; a threshold hides what is not needed."""
        x_BND = self.attend_to_self(x_BND, self_mask, self_mask is None, cache)
        attention = cast(TransportAttention, self.cross_attention)
        source = None if cache is None else cache.source
        update, transport_BNM = attention.with_transport(
            x_BND, memory_BMD, cross_mask, threshold, source
        )
        x_BND = self.cross_norm(x_BND + self.dropout(update))
        return self.transform(x_BND), transport_BNM


class ItstModel(Model):
    """A network whose decoder layers transport information."""

    network: Transformer

    def __init__(self, network: Network) -> None:
        if not isinstance(network, Transformer):
            raise SimtError("ITST needs decoder layers of its own, which only our network takes")
        super().__init__(network)

    def decode_with_transport(
        self,
        embedded_BND: Tensor,
        memory_BMD: Tensor,
        cross_mask: Tensor | None,
        self_mask: Tensor | None,
        threshold: float | None,
        cache: DecoderCache | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Top states (B, N, D) and the transport of all layers (B, L, N, M)."""
        x_BND: Tensor = self.network.dropout(embedded_BND)
        calls = self.network.layer_calls(x_BND.shape[1], self_mask, cross_mask, cache)
        layers = cast(Iterable[TransportLayer], self.network.decoder_layers)
        transports = []
        for layer, call in zip(layers, calls, strict=True):
            x_BND, transport_BNM = layer.with_transport(x_BND, memory_BMD, *call, threshold)
            transports.append(transport_BNM)
        if cache is not None:
            transports[:-1] = [take_rows(each, cache.asked_BQ) for each in transports[:-1]]
        return x_BND, torch.stack(transports, dim=1)


def diagonal_cost(
    target_lengths_B: Tensor, source_lengths_B: Tensor, rows: int, columns: int
) -> Tensor:
    """Distance from the diagonal beyond one token, by the size of the matrix, (B, N, M)."""
    target_B11, source_B11 = target_lengths_B[:, None, None], source_lengths_B[:, None, None]
    i_N1 = torch.arange(1, rows + 1, device=target_lengths_B.device).unsqueeze(1)
    j_M = torch.arange(1, columns + 1, device=target_lengths_B.device)
    distance_BNM = (j_M - i_N1 * (source_B11 / target_B11)).abs() - 1
    return distance_BNM.clamp(min=0) / (target_B11 * source_B11)


@dataclass(frozen=True, eq=False)
class TransportLosses:
    """L_latency and L_norm, unweighted."""

    latency: Tensor
    norm: Tensor


def transport_losses(
    transport_BLNM: Tensor,
    source_lengths_B: Tensor,
    target_lengths_B: Tensor,
    settings: ItstSettings,
) -> TransportLosses:
    """What pulls the transport to the diagonal and its rows to a sum of 1.

    docs/methods.md, "ITST: losses".
    """
    layers, rows, columns = transport_BLNM.shape[1:]
    if settings.pads == "official":
        source_lengths_B = torch.full_like(source_lengths_B, columns)
        target_lengths_B = torch.full_like(target_lengths_B, rows)
    real_BN1 = length_mask(target_lengths_B, rows).unsqueeze(2)
    real_B1NM = (real_BN1 & length_mask(source_lengths_B, columns).unsqueeze(1)).unsqueeze(1)
    transport_BLNM = transport_BLNM * real_B1NM
    sums_BLN1 = transport_BLNM.sum(3, keepdim=True)
    fraction_BLNM = transport_BLNM / sums_BLN1.clamp(min=TRANSPORT_FLOOR)
    cost_BNM = diagonal_cost(target_lengths_B, source_lengths_B, rows, columns)
    moved_BLNM = fraction_BLNM if settings.latency_acts_on == "normalised" else transport_BLNM
    latency = (moved_BLNM.sum(1) * cost_BNM).sum() / layers
    if settings.norm == "frobenius":
        return TransportLosses(latency, torch.linalg.vector_norm(transport_BLNM - fraction_BLNM))
    excess_BLN1 = (sums_BLN1 - 1) * real_BN1.unsqueeze(1)
    excess_BLN1 = excess_BLN1.abs() if settings.norm == "row_sums" else excess_BLN1.square()
    return TransportLosses(latency, excess_BLN1.sum() / layers)


@dataclass(frozen=True)
class TransportRule:
    """WRITE if enough information has arrived from all source tokens but the newest."""

    threshold: float
    settings: ItstSettings

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        return source_lengths_B.clamp(max=FIRST_READ)

    def arrived(self, transport_BLJ: Tensor, read_B: Tensor) -> Tensor:
        """Σ of the transport to the next token without the newest source token, (B, L)."""
        counted_BJ = length_mask(read_B - 1, transport_BLJ.shape[2])
        return (transport_BLJ * counted_BJ.unsqueeze(1)).sum(2)

    def agreed(self, arrived_BL: Tensor) -> Tensor:
        """What the layers agree on: the least of them, or their mean, (B,)."""
        if self.settings.layers_agree_by == "mean":
            return arrived_BL.mean(1)
        return arrived_BL.amin(1)

    def should_write(self, agreed_B: Tensor, state: PolicyState) -> Tensor:
        return (agreed_B >= self.threshold) | state.is_complete_B


@dataclass(frozen=True, eq=False)
class TransportPolicy(RecomputingPolicy):
    """Asks the model how much information has arrived."""

    model: ItstModel
    rule: TransportRule

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        mask = key_mask(state.read_B, memory_BJD.shape[1])
        embedded_BND = self.model.network.embed_target(state.decoder_input_BN, state.cache)
        states_BND, transport_BLNJ = self.model.decode_with_transport(
            embedded_BND, memory_BJD, mask, None, threshold=None, cache=state.cache
        )
        arrived_BL = self.rule.arrived(state.newest(transport_BLNJ.transpose(1, 2)), state.read_B)
        agreed_B = self.rule.agreed(arrived_BL)
        states_BD = state.newest(states_BND)
        return Decision(
            logits=lambda rows: self.model.network.output.logits(states_BD[rows]),
            write_B=self.rule.should_write(agreed_B, state),
            value_B=agreed_B,
        )


@dataclass(frozen=True)
class Itst:
    """Cross-entropy with a pull to the diagonal, under a mask that tightens by a curriculum."""

    settings: ItstSettings
    label_smoothing: float

    def needs(self, size: ModelSettings) -> NetworkNeeds:
        return NetworkNeeds("uni", decoder_layer=TransportLayer)

    def model(self, network: Network) -> ItstModel:
        return ItstModel(network)

    def loss(self, model: ItstModel, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        return self.loss_at(model, batch, self.curriculum_threshold(update))

    def validation_loss(self, model: ItstModel, batch: Batch) -> Loss:
        return self.loss_at(model, batch, threshold=None)

    def policy(self, model: ItstModel, knob: Knob) -> Policy:
        if knob == "full":
            return ScheduledPolicy(model.network, whole_source, "recompute")
        threshold = numeric_knob("itst", knob, "the information to write at")
        return TransportPolicy(model, TransportRule(threshold, self.settings))

    def curriculum_threshold(self, update: int) -> float | None:
        """δ of the curriculum-based training: the mask tightens from 1; None before it sets in."""
        if update < self.settings.mask_from_update:
            return None
        floor = self.settings.threshold_floor
        return floor + (1 - floor) * math.exp(-update / self.settings.threshold_decay_updates)

    def loss_at(self, model: ItstModel, batch: Batch, threshold: float | None) -> Loss:
        """L_ce + L_latency + L_norm with a given mask."""
        states_BND, transport_BLNM = self.run(model, batch, threshold)
        output = model.network.output
        smoothing = Smoothing.over_all(self.label_smoothing, output.classes)
        translation = smoothed_cross_entropy(
            batch.tokens_of(states_BND), output, batch.gold_T, smoothing
        )
        losses = transport_losses(
            transport_BLNM, batch.source_lengths_B, batch.target_lengths_B, self.settings
        )
        total = translation + self.settings.latency_weight * losses.latency
        total = total + self.settings.norm_weight * losses.norm
        parts = {"translation": translation, "latency": losses.latency, "norm": losses.norm}
        parts = {name: part.detach() for name, part in parts.items()}
        return Loss(total, batch.target_tokens, parts)

    def run(self, model: ItstModel, batch: Batch, threshold: float | None) -> tuple[Tensor, Tensor]:
        """Top states and transport. Official pads also take part, but nobody attends to them."""
        source_mask = target_mask = None
        if self.settings.pads == "official":
            source_mask = causal_mask_without_pads(batch.source_mask_BM)
            target_mask = causal_mask_without_pads(batch.target_mask_BN)
        memory_BMD = model.network.encode(batch.source_BM, batch.source_lengths_B, source_mask)
        cross_mask = key_mask(batch.source_lengths_B, batch.source_BM.shape[1])
        embedded_BND = model.network.embed_target(batch.decoder_input_BN)
        return model.decode_with_transport(
            embedded_BND, memory_BMD, cross_mask, target_mask, threshold
        )
