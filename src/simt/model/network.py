"""What a method needs of a network that translates: ours, or one that somebody has trained before.

Shapes: B sentences, M source tokens, N decoder rows, D width, V target vocabulary.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor, nn

from simt.corpus.ids import SpecialIds
from simt.model.cache import DecoderCache, Projection, SourceCache
from simt.settings import Encoder


@dataclass(frozen=True)
class VocabularySizes:
    """How many ids each side has, ``is_joint`` if they are the same ids, and the special ones."""

    source_size: int
    target_size: int
    is_joint: bool
    ids: SpecialIds

    def __post_init__(self) -> None:
        assert not self.is_joint or self.source_size == self.target_size


@dataclass(frozen=True, eq=False)
class OutputLayer:
    """Scores of all target tokens: (scale · states) · weightᵀ + bias. The bias does not learn."""

    weight_VD: Tensor
    bias_V: Tensor | None = None
    scale: float = 1.0

    @property
    def classes(self) -> int:
        """The size of the target vocabulary."""
        return self.weight_VD.shape[0]

    def scaled(self, states: Tensor) -> Tensor:
        """What is multiplied with the weight, for states of any shape (…, D)."""
        return states if self.scale == 1.0 else states * self.scale

    def logits(self, states: Tensor) -> Tensor:
        """Scores of all target tokens for states of any shape (…, D)."""
        return F.linear(self.scaled(states), self.weight_VD, self.bias_V)


class Network(nn.Module, ABC):
    """Encoder, decoder and output layer; a method adds its own parts to it.

    ``encoder`` "uni": the encoding of a prefix is a slice of the encoding of the whole. Where it
    ``takes_row_masks``, each decoder row may see another part of the source, and other rows;
    without, all rows see the same prefix and the rows up to their own.
    """

    encoder: Encoder
    width: int
    ids: SpecialIds
    takes_row_masks: bool

    @property
    @abstractmethod
    def output(self) -> OutputLayer:
        """What makes scores of top states."""

    @abstractmethod
    def initialise(self, generator: torch.Generator) -> None:
        """Draws all weights anew."""

    @abstractmethod
    def encode(
        self, source_BM: Tensor, lengths_B: Tensor, self_mask: Tensor | None = None
    ) -> Tensor:
        """States of the first ``lengths_B`` source tokens, (B, M, D); states beyond are garbage."""

    def new_source_cache(self) -> SourceCache | None:
        """What ``encode_next`` fills, for one sentence; None where a token changes those before."""
        return None

    def encode_next(self, source_BT: Tensor, cache: SourceCache) -> Tensor:
        """States of the tokens that follow those in ``cache``, which learns of them, (1, T, D)."""
        raise NotImplementedError(f"{type(self).__name__} encodes each prefix anew")

    @abstractmethod
    def embed_target(self, decoder_input_BN: Tensor, cache: DecoderCache | None = None) -> Tensor:
        """The input of the decoder, from the first row on that ``cache`` does not know."""

    @abstractmethod
    def decode_embedded(
        self,
        embedded_BND: Tensor,
        memory_BMD: Tensor,
        cross_mask: Tensor | None,
        self_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Top states of the decoder for input that is embedded, (B, N, D)."""

    @abstractmethod
    def decode(
        self,
        decoder_input_BN: Tensor,
        memory_BMD: Tensor,
        cross_mask: Tensor | None,
        self_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Top states of the decoder, one for each token to be predicted, (B, N, D)."""

    @abstractmethod
    def project_source(self, memory: Tensor) -> list[Projection]:
        """What each decoder layer makes of source states of any shape (…, D)."""
