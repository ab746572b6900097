"""The Transformer of docs/methods.md, "Transformer".

Shapes: B sentences, M source tokens, N target tokens, D width, V target vocabulary.
"""

import math
from collections.abc import Iterable
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor, nn

from simt.model.cache import DecoderCache, LayerCall, Projection, SourceCache
from simt.model.layers import AdapterShape, DecoderLayer, Dropout, EncoderLayer, Initialised
from simt.model.masks import key_mask, visible_mask
from simt.model.network import Network, OutputLayer, VocabularySizes
from simt.settings import Encoder, ModelSettings


def sinusoids(length: int, width: int) -> Tensor:
    """What is added at positions 0, 1, …: a sine half, then a cosine half, (length, width).

    Counting starts at 2, behind the pad id, as in fairseq.
    """
    half = width // 2
    frequencies = torch.exp(torch.arange(half) * (-math.log(10000) / max(half - 1, 1)))
    angles = torch.arange(2, length + 2).unsqueeze(1) * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Transformer(Network):
    """Encoder and decoder with one embedding for input and output.

    ``encoder`` "uni" lets a source token see those up to its own, so that the encoding of a
    prefix is a slice of the encoding of the whole; "bi" lets it see all tokens that are given.
    Dropout draws from torch's global generator. A method may have a ``decoder_layer`` of its own.
    """

    takes_row_masks = True

    def __init__(
        self,
        size: ModelSettings,
        vocabularies: VocabularySizes,
        dropout: float,
        encoder: Encoder,
        adapter: AdapterShape | None = None,
        decoder_layer: type[DecoderLayer] = DecoderLayer,
    ) -> None:
        super().__init__()
        self.encoder: Encoder = encoder
        self.width = size.width
        self.ids = vocabularies.ids
        self.target_embedding_VD = nn.Parameter(torch.empty(vocabularies.target_size, size.width))
        self.own_source_embedding_VD: nn.Parameter | None = None
        if not vocabularies.is_joint:
            self.own_source_embedding_VD = nn.Parameter(
                torch.empty(vocabularies.source_size, size.width)
            )
        self.encoder_layers = nn.ModuleList(
            EncoderLayer(size, dropout, adapter) for _ in range(size.encoder_layers)
        )
        self.decoder_layers = nn.ModuleList(
            decoder_layer(size, dropout, adapter) for _ in range(size.decoder_layers)
        )
        self.dropout = Dropout(dropout)
        self.register_buffer("positions_LD", sinusoids(256, size.width), persistent=False)
        self.positions_LD: Tensor

    def initialise(self, generator: torch.Generator) -> None:
        """Draws all weights anew."""
        for embedding_VD in (self.target_embedding_VD, self.own_source_embedding_VD):
            if embedding_VD is not None:
                nn.init.normal_(embedding_VD, std=self.width**-0.5, generator=generator)
                nn.init.zeros_(embedding_VD[self.ids.pad])
        for module in self.modules():
            if module is not self and isinstance(module, Initialised):
                module.initialise(generator)

    @property
    def output(self) -> OutputLayer:
        """The target embedding once more."""
        return OutputLayer(self.target_embedding_VD)

    @property
    def source_embedding_VD(self) -> Tensor:
        own = self.own_source_embedding_VD
        return self.target_embedding_VD if own is None else own

    def embed(
        self, ids_BT: Tensor, embedding_VD: Tensor, positions_BTD: Tensor | None = None
    ) -> Tensor:
        """Embeddings with positions, from 0 on if not given; at pads no position is added."""
        tokens_BTD = F.embedding(ids_BT, embedding_VD, padding_idx=self.ids.pad)
        if positions_BTD is None:
            positions_BTD = self._positions(ids_BT.shape[1])
        positions_BTD = positions_BTD * (ids_BT != self.ids.pad).unsqueeze(2)
        return torch.add(positions_BTD, tokens_BTD, alpha=math.sqrt(self.width))

    def _positions(self, length: int) -> Tensor:
        if length > self.positions_LD.shape[0]:
            self.positions_LD = sinusoids(2 * length, self.width).to(self.positions_LD.device)
        return self.positions_LD[:length]

    def encode(
        self, source_BM: Tensor, lengths_B: Tensor, self_mask: Tensor | None = None
    ) -> Tensor:
        """States of the first ``lengths_B`` source tokens, (B, M, D); states beyond are garbage.

        Tokens beyond ``lengths_B``, pads or not yet read, have no influence on those within.
        ``self_mask`` replaces the encoder's own mask.
        """
        x_BMD: Tensor = self.dropout(self.embed(source_BM, self.source_embedding_VD))
        if self_mask is None and self.encoder == "bi":
            self_mask = key_mask(lengths_B, source_BM.shape[1])
        is_causal = self_mask is None and self.encoder == "uni"
        for layer in self.encoder_layers:
            x_BMD = layer(x_BMD, self_mask, is_causal)
        return x_BMD

    def new_source_cache(self) -> SourceCache | None:
        return SourceCache(len(self.encoder_layers)) if self.encoder == "uni" else None

    def encode_next(self, source_BT: Tensor, cache: SourceCache) -> Tensor:
        first, width = cache.tokens, cache.tokens + source_BT.shape[1]
        positions_BT = torch.arange(first, width, device=source_BT.device).unsqueeze(0)
        positions_BTD = self._positions(width)[positions_BT]
        x_BTD: Tensor = self.embed(source_BT, self.source_embedding_VD, positions_BTD)
        mask = None if first + 1 == width else visible_mask(positions_BT + 1, width)
        caches = cache.layer_caches(positions_BT)
        for layer, layer_cache in zip(self.encoder_layers, caches, strict=True):
            x_BTD = layer(x_BTD, mask, False, layer_cache)
        return x_BTD

    def decode(
        self,
        decoder_input_BN: Tensor,
        memory_BMD: Tensor,
        cross_mask: Tensor | None,
        self_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Top states of the decoder, one for each token to be predicted, (B, N, D).

        ``cross_mask`` says which source states each row sees (``simt.model.masks``); without a
        ``self_mask`` a row sees the rows up to its own, which also keeps pads on the right away.
        There may be r inputs for each row of ``memory_BMD``, next to each other; ``cross_mask``
        then has r·N rows, or 1. With a ``cache``, the input begins at the first row that it does
        not know, and only the rows that it asks for are given.
        """
        embedded_BND = self.embed_target(decoder_input_BN, cache)
        return self.decode_embedded(embedded_BND, memory_BMD, cross_mask, self_mask, cache)

    def embed_target(self, decoder_input_BN: Tensor, cache: DecoderCache | None = None) -> Tensor:
        """The input of the decoder, from the first row on that ``cache`` does not know."""
        positions_BND = None
        if cache is not None:
            rows_BN = cache.positions(decoder_input_BN.shape[1])
            positions_BND = self._positions(cache.width)[rows_BN]
        return self.embed(decoder_input_BN, self.target_embedding_VD, positions_BND)

    def decode_embedded(
        self,
        embedded_BND: Tensor,
        memory_BMD: Tensor,
        cross_mask: Tensor | None,
        self_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Like ``decode``, for input that is already embedded."""
        x_BND: Tensor = self.dropout(embedded_BND)
        calls = self.layer_calls(x_BND.shape[1], self_mask, cross_mask, cache)
        for layer, call in zip(self.decoder_layers, calls, strict=True):
            x_BND = layer(x_BND, memory_BMD, *call)
        return x_BND

    def layer_calls(
        self,
        rows: int,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        cache: DecoderCache | None,
    ) -> Iterable[LayerCall]:
        """Masks and cache of each decoder layer."""
        if cache is None:
            return [(self_mask, cross_mask, None)] * len(self.decoder_layers)
        return cache.layer_calls(rows, self_mask, cross_mask)

    def project_source(self, memory: Tensor) -> list[Projection]:
        """What each decoder layer makes of source states of any shape (…, D)."""
        return [
            cast(DecoderLayer, layer).cross_attention.project(memory)
            for layer in self.decoder_layers
        ]
