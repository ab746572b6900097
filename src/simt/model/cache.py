"""What the decoder need not compute again while a translation grows.

Shapes: S sentences that are being translated, B of them in this call, T decoder rows to compute,
Q of them that are asked for, N rows that are known then, X any width.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from simt.model.masks import visible_mask

Projection = tuple[Tensor, ...]  # what a layer's attention to the source makes of the memory


class KeyValueCache:
    """Keys and values of one layer's decoder rows, for all sentences that are translated."""

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._rows_SNX: Tensor | None = None

    def update(
        self, sentences_B: Tensor, positions_BT: Tensor, rows_BTX: Tensor, width: int
    ) -> Tensor:
        """Caches the rows and gives the first ``width`` rows of these sentences, (B, N, X)."""
        cached_SNX = self._grown_to(width, rows_BTX)
        if self._sentences == 1:  # whose new rows are always the last: nothing is copied
            cached_SNX[:, width - rows_BTX.shape[1] : width] = rows_BTX
            return cached_SNX[:, :width]
        cached_SNX[sentences_B.unsqueeze(1), positions_BT] = rows_BTX
        if rows_BTX.shape[1] == width:
            return rows_BTX
        return cached_SNX[:, :width].index_select(0, sentences_B)

    def select(self, sentences_B: Tensor) -> None:
        """Forgets all but these sentences, which are numbered anew in their order."""
        self._sentences = len(sentences_B)
        if self._rows_SNX is not None:
            self._rows_SNX = self._rows_SNX.index_select(0, sentences_B)

    def _grown_to(self, width: int, like_BTX: Tensor) -> Tensor:
        old_SNX = self._rows_SNX
        if old_SNX is not None and old_SNX.shape[1] >= width:
            return old_SNX
        new_SNX = like_BTX.new_zeros(self._sentences, width + width // 2, like_BTX.shape[2])
        if old_SNX is not None:
            new_SNX[:, : old_SNX.shape[1]] = old_SNX
        self._rows_SNX = new_SNX
        return new_SNX


class SourceCache:
    """Keys and values of one sentence's source tokens in each layer of a "uni" encoder."""

    def __init__(self, layers: int) -> None:
        self._key_values = [KeyValueCache(1) for _ in range(layers)]
        self.tokens = 0  # that are known

    def layer_caches(self, positions_BT: Tensor) -> Iterator["LayerCache"]:
        """What each layer knows when tokens are added at ``positions_BT``."""
        self.tokens += positions_BT.shape[1]
        alone_B = torch.zeros_like(positions_BT[:, 0])
        for key_values in self._key_values:
            yield LayerCache((), key_values, alone_B, positions_BT, self.tokens, None)


def take_rows(x_BTX: Tensor, rows_BQ: Tensor) -> Tensor:
    """Some rows of each sentence, (B, Q, X)."""
    return x_BTX.gather(1, rows_BQ.unsqueeze(2).expand(-1, -1, x_BTX.shape[2]))


def take_mask_rows(mask: Tensor | None, rows_BQ: Tensor) -> Tensor | None:
    """The same of an attention mask."""
    if mask is None or mask.shape[2] == 1:
        return mask
    return take_rows(mask.squeeze(1), rows_BQ).unsqueeze(1)


@dataclass(frozen=True, eq=False)
class LayerCache:
    """What one layer knows of the sentences of a call, and which rows are asked of it."""

    source: Projection
    key_values: KeyValueCache
    sentences_B: Tensor
    positions_BT: Tensor
    width: int
    asked_BQ: Tensor | None

    def extend(self, rows_BTX: Tensor) -> Tensor:
        """Keys and values of all rows up to the new ones, (B, N, X); the new ones are cached."""
        return self.key_values.update(self.sentences_B, self.positions_BT, rows_BTX, self.width)

    def ask(self, x_BTX: Tensor) -> Tensor:
        """The rows that are asked for."""
        return x_BTX if self.asked_BQ is None else take_rows(x_BTX, self.asked_BQ)


LayerCall = tuple[Tensor | None, Tensor | None, LayerCache | None]  # self mask, cross mask, cache


@dataclass(frozen=True, eq=False)
class DecoderCache:
    """What the decoder knows of sentences whose rows before ``first_B`` stay as they are.

    A call computes rows from there on, padded on the right; pads are cached like the others, but
    nobody sees them before they are computed. ``width`` rows are known then, in the longest
    sentence. Of the top states, only rows ``asked_BQ`` of the call are given: the top layer needs
    no more of the others than keys and values.
    """

    first_B: Tensor
    asked_BQ: Tensor
    width: int
    sentences_B: Tensor
    sources: Sequence[Projection]  # by layer
    key_values: Sequence[KeyValueCache]  # by layer

    def repeated(self, states: int) -> "DecoderCache":
        """The same where each row is ``states`` rows."""
        states_K = torch.arange(states, device=self.first_B.device)
        asked_BQ = (self.asked_BQ.unsqueeze(2) * states + states_K).flatten(1)
        return replace(
            self, first_B=self.first_B * states, asked_BQ=asked_BQ, width=self.width * states
        )

    def positions(self, rows: int) -> Tensor:
        """Where the rows of this call are in their sentences, (B, T)."""
        return self.first_B.unsqueeze(1) + torch.arange(rows, device=self.first_B.device)

    def layer_calls(
        self, rows: int, self_mask: Tensor | None, cross_mask: Tensor | None
    ) -> Iterator[LayerCall]:
        """Masks and cache of each layer; without a mask, a row sees the rows up to its own.

        The newest row of a single sentence sees all, for which nobody needs a mask.
        """
        positions_BT = self.positions(rows)
        top_mask = self_mask
        is_newest_alone = len(self.first_B) == 1 and rows in (1, self.width)
        if self_mask is None and not is_newest_alone:
            top_mask = visible_mask(positions_BT + 1, self.width)
            self_mask = None if rows == self.width else top_mask  # causal, if nothing is cached
        for number in range(len(self.key_values) - 1):
            yield self_mask, cross_mask, self._layer(number, positions_BT, None)
        yield (
            take_mask_rows(top_mask, self.asked_BQ),
            take_mask_rows(cross_mask, self.asked_BQ),
            self._layer(-1, positions_BT, self.asked_BQ),
        )

    def _layer(self, number: int, positions_BT: Tensor, asked_BQ: Tensor | None) -> LayerCache:
        return LayerCache(
            source=self.sources[number],
            key_values=self.key_values[number],
            sentences_B=self.sentences_B,
            positions_BT=positions_BT,
            width=self.width,
            asked_BQ=asked_BQ,
        )
