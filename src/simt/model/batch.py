"""A batch of sentence pairs as the model reads it.

Shapes: B sentences, M source tokens, N target tokens (both padded), T real target tokens.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from simt.corpus.ids import SpecialIds
from simt.model.masks import length_mask


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentence pairs as int64 ids, padded on the right; both sides end with ``ids.eos``.

    What can be derived is derived once, and on the device where the batch was made:
    ``to`` carries it along, so that a GPU never waits for a count.
    """

    source_BM: Tensor
    source_lengths_B: Tensor
    target_BN: Tensor
    target_lengths_B: Tensor
    ids: SpecialIds

    @cached_property
    def source_mask_BM(self) -> Tensor:
        """True at real source tokens."""
        return length_mask(self.source_lengths_B, self.source_BM.shape[1])

    @cached_property
    def target_mask_BN(self) -> Tensor:
        """True at real target tokens, the final EOS included."""
        return length_mask(self.target_lengths_B, self.target_BN.shape[1])

    @cached_property
    def decoder_input_BN(self) -> Tensor:
        """The start, then the target without its last token."""
        first_B1 = torch.full_like(self.target_BN[:, :1], self.ids.start)
        shifted_BN = torch.cat([first_B1, self.target_BN[:, :-1]], dim=1)
        return shifted_BN.masked_fill(~self.target_mask_BN, self.ids.pad)

    @cached_property
    def target_tokens(self) -> int:
        """How many target tokens are not padding."""
        return int(self.target_lengths_B.sum())

    @cached_property
    def token_rows_T(self) -> Tensor:
        """Where the real target tokens are in the flattened (B·N) target."""
        return self.target_mask_BN.flatten().nonzero().squeeze(1)

    @cached_property
    def gold_T(self) -> Tensor:
        """The real target tokens, one sentence after the other."""
        return self.target_BN.flatten()[self.token_rows_T]

    def tokens_of(self, rows_BNX: Tensor) -> Tensor:
        """The rows of ``rows_BNX`` that belong to real target tokens, (T, X)."""
        return rows_BNX.flatten(0, 1).index_select(0, self.token_rows_T)

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on ``device``."""
        moved = Batch(
            self.source_BM.to(device, non_blocking=True),
            self.source_lengths_B.to(device, non_blocking=True),
            self.target_BN.to(device, non_blocking=True),
            self.target_lengths_B.to(device, non_blocking=True),
            self.ids,
        )
        moved.__dict__["target_tokens"] = self.target_tokens
        moved.__dict__["token_rows_T"] = self.token_rows_T.to(device, non_blocking=True)
        return moved
