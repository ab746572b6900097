"""Random batches of ids.

Shapes: B sentences, M source tokens, N target tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from simt.corpus.ids import EOS, PAD, SPECIAL_IDS
from simt.model.batch import Batch


def random_ids(
    lengths: Sequence[int], generator: torch.Generator, vocabulary_size: int, extra_pads: int
) -> Tensor:
    """Sentences of the given lengths, EOS included."""
    ids_BT = torch.full((len(lengths), max(lengths) + extra_pads), PAD)
    for row, length in zip(ids_BT, lengths, strict=True):
        row[: length - 1] = torch.randint(4, vocabulary_size, (length - 1,), generator=generator)
        row[length - 1] = EOS
    return ids_BT


def random_batch(
    source_lengths: Sequence[int],
    target_lengths: Sequence[int],
    seed: int = 1,
    vocabulary_size: int = 29,
) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    return Batch(
        random_ids(source_lengths, generator, vocabulary_size, 0),
        torch.tensor(source_lengths),
        random_ids(target_lengths, generator, vocabulary_size, 0),
        torch.tensor(target_lengths),
        SPECIAL_IDS,
    )


def with_more_pads(batch: Batch, source_pads: int, target_pads: int) -> Batch:
    """The same sentences in a wider batch."""
    pad = torch.nn.functional.pad
    return Batch(
        pad(batch.source_BM, (0, source_pads), value=PAD),
        batch.source_lengths_B,
        pad(batch.target_BN, (0, target_pads), value=PAD),
        batch.target_lengths_B,
        batch.ids,
    )


def single(batch: Batch, row: int) -> Batch:
    """One sentence of a batch, without pads."""
    source, target = int(batch.source_lengths_B[row]), int(batch.target_lengths_B[row])
    return Batch(
        batch.source_BM[row : row + 1, :source],
        batch.source_lengths_B[row : row + 1],
        batch.target_BN[row : row + 1, :target],
        batch.target_lengths_B[row : row + 1],
        batch.ids,
    )
