"""The layers of a post-norm Transformer.

Shapes: B sentences, T positions of the sequence being transformed, M source positions, D width,
H heads, E width of a head, F width of the feed-forward layer.

Projections of the same input are one matrix, because one large product is faster than three
small ones; they are initialised as the separate matrices they stand for.
"""

import math
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor, nn

from simt.model.cache import LayerCache, Projection
from simt.model.matmul import Linear, feed_forward
from simt.settings import ModelSettings


class AdapterShape(NamedTuple):
    """A bottleneck of ``width`` in each layer: in the feed-forward block or behind the layer."""

    width: int
    place: Literal["ffn", "layer"]


@runtime_checkable
class Initialised(Protocol):
    """A module that draws its own weights."""

    def initialise(self, generator: torch.Generator) -> None: ...


def split_heads(x_BTX: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """Cuts a projection into ``parts`` tensors of (B, H, T, E)."""
    batch, length, _ = x_BTX.shape
    # Not one view with an axis for the parts: its gradient would be stacked, then copied.
    return tuple(
        x_BTD.view(batch, length, heads, -1).transpose(1, 2) for x_BTD in x_BTX.chunk(parts, dim=2)
    )


def join_heads(x_BHTE: Tensor) -> Tensor:
    """Undoes ``split_heads`` for one part: (B, T, D)."""
    return x_BHTE.transpose(1, 2).flatten(2)


def initialise_linear(linear: nn.Linear, generator: torch.Generator) -> None:
    """torch's own initialisation of a linear map, from ``generator``."""
    bound = 1 / math.sqrt(linear.in_features)
    nn.init.uniform_(linear.weight, -bound, bound, generator=generator)
    if linear.bias is not None:
        nn.init.uniform_(linear.bias, -bound, bound, generator=generator)


def initialise_projection(linear: nn.Linear, generator: torch.Generator) -> None:
    """Xavier with gain 1/√2 for each square matrix that is stacked in ``linear``."""
    initialise_linear(linear, generator)
    for weight in linear.weight.view(-1, linear.in_features, linear.in_features):
        nn.init.xavier_uniform_(weight, gain=1 / math.sqrt(2), generator=generator)


def initialise_output(linear: nn.Linear, generator: torch.Generator) -> None:
    """Xavier for the matrix behind the heads, no bias."""
    nn.init.xavier_uniform_(linear.weight, generator=generator)
    nn.init.zeros_(linear.bias)


class Dropout(nn.Module):
    """Zeroes a fraction of the numbers in training, and scales the others up.

    On a CPU, torch draws a number of 64 bits for each: that took an eighth of a training step.
    Here each draw serves four, with a rate that is right to 1/65536.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self._dropped = round(rate * (1 << 16))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self._dropped:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device=x.device)
        draws.random_(_LOWEST, None)
        draws = draws.view(torch.int16)[: x.numel()].view(x.shape)
        kept = torch.ge(draws, self._dropped - (1 << 15), out=torch.empty_like(x.detach()))
        return x * kept.mul_(1 / (1 - self._dropped / (1 << 16)))


_LOWEST = -(1 << 63)


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = Linear(width, 3 * width)
        self.output = Linear(width, width)

    def initialise(self, generator: torch.Generator) -> None:
        initialise_projection(self.query_key_value, generator)
        initialise_output(self.output, generator)

    def forward(
        self, x_BTD: Tensor, mask: Tensor | None, is_causal: bool, cache: LayerCache | None = None
    ) -> Tensor:
        """``mask`` hides positions, or ``is_causal`` those behind each row; never both.

        With a ``cache``, the rows that it knows are seen, too, and those it asks for are given.
        """
        if cache is None:
            query, key, value = split_heads(self.query_key_value(x_BTD), 3, self.heads)
        else:
            query_BTD, pairs_BTX = self.query_key_value(x_BTD).tensor_split([x_BTD.shape[2]], 2)
            (query,) = split_heads(cache.ask(query_BTD), 1, self.heads)
            key, value = split_heads(cache.extend(pairs_BTX), 2, self.heads)
        if query.shape[2] == 1:  # torch takes a single row for the first
            is_causal = False
        context_BHTE = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=is_causal
        )
        return self.output(join_heads(context_BHTE))  # type: ignore[no-any-return]


class CrossAttention(nn.Module):
    """Multi-head attention of the target to the source.

    There may be several sequences for each source, next to each other in the batch: they are
    then read as one long sequence, so that keys and values are made once.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = Linear(width, width)
        self.key_value = Linear(width, 2 * width)
        self.output = Linear(width, width)

    def initialise(self, generator: torch.Generator) -> None:
        initialise_projection(self.query, generator)
        initialise_projection(self.key_value, generator)
        initialise_output(self.output, generator)

    def project(self, memory_BMD: Tensor) -> Projection:
        """What is made of the source whoever looks at it: keys and values."""
        return (self.key_value(memory_BMD),)

    def forward(
        self,
        x_BTD: Tensor,
        memory_BMD: Tensor,
        mask: Tensor | None,
        source: Projection | None = None,
    ) -> Tensor:
        """``source`` is what ``project`` made of the memory, if that is known."""
        (pairs_BMX,) = source or self.project(memory_BMD)
        folded = x_BTD.view(memory_BMD.shape[0], -1, x_BTD.shape[2])
        (query,) = split_heads(self.query(folded), 1, self.heads)
        key, value = split_heads(pairs_BMX, 2, self.heads)
        context_BHTE = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.output(join_heads(context_BHTE)).view(x_BTD.shape)  # type: ignore[no-any-return]


class Adapter(nn.Module):
    """A bottleneck around which the input passes unchanged; the identity when it is new."""

    def __init__(self, width: int, bottleneck: int, has_norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width) if has_norm else nn.Identity()
        self.down = Linear(width, bottleneck)
        self.up = Linear(bottleneck, width)

    def initialise(self, generator: torch.Generator) -> None:
        initialise_linear(self.down, generator)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return x_BTD + self.up(F.relu(self.down(self.norm(x_BTD))))  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them, and an adapter behind them where asked for."""

    def __init__(self, size: ModelSettings, adapter: AdapterShape | None) -> None:
        super().__init__()
        self.inner = Linear(size.width, size.ffn)
        self.outer = Linear(size.ffn, size.width)
        self.adapter = _adapter_at("ffn", size.width, adapter)

    def initialise(self, generator: torch.Generator) -> None:
        initialise_linear(self.inner, generator)
        initialise_linear(self.outer, generator)

    def forward(self, x_BTD: Tensor) -> Tensor:
        return self.adapter(feed_forward(x_BTD, self.inner, self.outer))  # type: ignore[no-any-return]


def _adapter_at(place: str, width: int, adapter: AdapterShape | None) -> nn.Module:
    """The adapter that belongs at ``place``; nothing where none does."""
    if adapter is None or adapter.place != place:
        return nn.Identity()
    return Adapter(width, adapter.width, has_norm=place == "layer")


class Layer(nn.Module):
    """What encoder and decoder layers share: self-attention, feed-forward, post-norm."""

    def __init__(self, size: ModelSettings, dropout: float, adapter: AdapterShape | None) -> None:
        super().__init__()
        self.self_attention = SelfAttention(size.width, size.heads)
        self.self_norm = nn.LayerNorm(size.width)
        self.feed_forward = FeedForward(size, adapter)
        self.final_norm = nn.LayerNorm(size.width)
        self.dropout = Dropout(dropout)
        self.adapter = _adapter_at("layer", size.width, adapter)

    def attend_to_self(
        self, x_BTD: Tensor, mask: Tensor | None, is_causal: bool, cache: LayerCache | None = None
    ) -> Tensor:
        update = self.self_attention(x_BTD, mask, is_causal, cache)
        if cache is not None:
            x_BTD = cache.ask(x_BTD)
        return self.self_norm(x_BTD + self.dropout(update))  # type: ignore[no-any-return]

    def transform(self, x_BTD: Tensor) -> Tensor:
        update = self.feed_forward(x_BTD)
        return self.adapter(self.final_norm(x_BTD + self.dropout(update)))  # type: ignore[no-any-return]


class EncoderLayer(Layer):
    """Self-attention, then feed-forward."""

    def forward(
        self, x_BMD: Tensor, mask: Tensor | None, is_causal: bool, cache: LayerCache | None = None
    ) -> Tensor:
        return self.transform(self.attend_to_self(x_BMD, mask, is_causal, cache))


class DecoderLayer(Layer):
    """Self-attention, attention to the source, then feed-forward."""

    def __init__(self, size: ModelSettings, dropout: float, adapter: AdapterShape | None) -> None:
        super().__init__(size, dropout, adapter)
        self.cross_attention = self.make_cross_attention(size)
        self.cross_norm = nn.LayerNorm(size.width)

    def make_cross_attention(self, size: ModelSettings) -> CrossAttention:
        """The attention to the source; a method may have one of its own."""
        return CrossAttention(size.width, size.heads)

    def attend_to_source(
        self,
        x_BTD: Tensor,
        memory_BMD: Tensor,
        mask: Tensor | None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        source = None if cache is None else cache.source
        update = self.cross_attention(x_BTD, memory_BMD, mask, source)
        return self.cross_norm(x_BTD + self.dropout(update))  # type: ignore[no-any-return]

    def forward(
        self,
        x_BTD: Tensor,
        memory_BMD: Tensor,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Without a ``self_mask``, each row sees the rows up to its own."""
        x_BTD = self.attend_to_self(x_BTD, self_mask, self_mask is None, cache)
        x_BTD = self.attend_to_source(x_BTD, memory_BMD, cross_mask, cache)
        return self.transform(x_BTD)
