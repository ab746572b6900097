"""Batches of sentences of like length, the same for every number of devices.

Shapes: B sentences, M source tokens, N target tokens.

The plan of an epoch is made of *global* batches, the sentences of one update. Which sentences
these are depends on the corpus, the budget, the seed and the epoch; the split of a global batch
over processes and micro-batches comes after that and cannot change it.

Memory: four bytes a sentence for the plan, about sixteen while it is made; the ids stay in
their memory-mapped files.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simt.corpus.ids import PAD, EncodedSide, EncodedSplit
from simt.errors import SimtError

Indices = npt.NDArray[np.int32]

# Sentences are sorted by length within so many. Enough that hardly any padding is left, and
# little enough that the arrays of one window do not count.
_WINDOW = 2**17

# A batch of more sentences has a multiple of so many. Cut into 2, 4, 8 or 16 micro-batches, its
# last one, with the longest sentences, then has no more of them than the others; otherwise there
# would often be one micro-batch more, and one of the devices would have to do it.
_EVEN = 16


@dataclass(frozen=True)
class NumpyBatch:
    """Sentence pairs side by side, right-padded with ``<pad>``; each side ends in ``<eos>``."""

    source_BM: npt.NDArray[np.int64]
    source_lengths_B: npt.NDArray[np.int64]
    target_BN: npt.NDArray[np.int64]
    target_lengths_B: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source_lengths_B)


@dataclass(frozen=True)
class Epoch:
    """The global batches of one epoch, each an array of sentence numbers, shortest first."""

    _order: Indices
    _starts: npt.NDArray[np.int64]
    _ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Indices:
        return self._order[self._starts[index] : self._ends[index]]

    def __iter__(self) -> Iterator[Indices]:
        return (self[index] for index in range(len(self)))


class BatchPlan:
    """Which sentences make which batch.

    A batch of S sentences counts as S × (its longest sentence, of either side) tokens, padding
    included, as fairseq counts ``--max-tokens``: that bounds the work and the memory of an
    update. ``batch_tokens`` is the most a global batch may count. Pairs with more than
    ``max_tokens`` on a side (with ``<eos>``) are left out; ``left_out`` says how many.

    The whole state is two numbers, epoch and batch: any batch can be asked for at any time.
    """

    def __init__(self, split: EncodedSplit, batch_tokens: int, max_tokens: int, seed: int) -> None:
        if batch_tokens < max_tokens:
            raise SimtError(
                f"batch_tokens {batch_tokens} is below max_tokens {max_tokens}: the longest "
                "sentences would fit into no batch. Raise the first or lower the second."
            )
        self._split = split
        self._batch_tokens = batch_tokens
        self._max_tokens = max_tokens
        self._seed = seed
        self._epochs: dict[int, Epoch] = {}
        self.left_out = sum(
            int(np.count_nonzero(_sizes(split, slice(start, start + _WINDOW)) > max_tokens))
            for start in range(0, len(split), _WINDOW)
        )
        if self.left_out == len(split):
            raise SimtError(
                f"All {len(split)} sentence pairs are longer than max_tokens {max_tokens}."
            )

    def epoch(self, number: int) -> Epoch:
        """The global batches of an epoch, in their order."""
        if number not in self._epochs:
            self._epochs = {number: self._make_epoch(number)}  # only the last is kept
        return self._epochs[number]

    def _make_epoch(self, number: int) -> Epoch:
        random = np.random.Philox(np.random.SeedSequence([self._seed, number]))
        shuffled = _permutation(random, len(self._split))
        kept, bounds = 0, [np.zeros(1, np.int64)]
        for start in range(0, len(shuffled), _WINDOW):
            window = shuffled[start : start + _WINDOW]
            sizes = _sizes(self._split, window)
            by_size = np.argsort(sizes, kind="stable")
            by_size = by_size[: np.searchsorted(sizes[by_size], self._max_tokens, side="right")]
            ends = kept + _cut(sizes[by_size], self._batch_tokens)
            # The sorted window goes where it came from, less what was left out before.
            shuffled[kept : kept + len(by_size)] = window[by_size]
            kept += len(by_size)
            bounds.append(ends)
        edges = np.concatenate(bounds)
        mixed = _permutation(random, len(edges) - 1)
        return Epoch(shuffled, edges[:-1][mixed], edges[1:][mixed])

    def batch(self, epoch: int, index: int) -> NumpyBatch:
        """The sentences of one update."""
        return self.gather(self.epoch(epoch)[index])

    def target_tokens(self, epoch: int, index: int) -> int:
        """Target tokens of one update, ``<eos>`` included and padding not."""
        return int(self._split.target.lengths(self.epoch(epoch)[index]).sum())

    def micro_batches(self, epoch: int, index: int, micro_tokens: int) -> list[Indices]:
        """The sentences of one update in the fewest equal parts of at most ``micro_tokens``.

        They do not depend on the number of processes: process r of n takes ``[r::n]`` of them.
        """
        if micro_tokens < self._max_tokens:
            raise SimtError(
                f"micro-batches of {micro_tokens} tokens cannot hold a sentence of "
                f"max_tokens {self._max_tokens}. Raise the first or lower the second."
            )
        sentences = self.epoch(epoch)[index]
        sizes = _sizes(self._split, sentences)
        parts = 1
        while any(_counts(part) > micro_tokens for part in np.array_split(sizes, parts)):
            parts += 1
        return np.array_split(sentences, parts)

    def gather(self, indices: Indices) -> NumpyBatch:
        """These sentences side by side."""
        source_BM, source_lengths_B = _pad(self._split.source, indices)
        target_BN, target_lengths_B = _pad(self._split.target, indices)
        return NumpyBatch(source_BM, source_lengths_B, target_BN, target_lengths_B)


def _sizes(split: EncodedSplit, indices: Indices | slice) -> npt.NDArray[np.int64]:
    """Tokens of the longer side of each pair."""
    return np.maximum(split.source.lengths(indices), split.target.lengths(indices))


def _counts(sizes: npt.NDArray[np.int64]) -> int:
    """What a batch of sentences of these sizes counts."""
    return len(sizes) * int(sizes.max(initial=0))


def _permutation(random: np.random.Philox, count: int) -> Indices:
    """The numbers below ``count`` in random order.

    From the raw bits, because numpy promises these for ever, but not what ``permutation`` makes
    of them; 32 bits a number are few enough to repeat, and then the lower number comes first.
    """
    bits = random.random_raw((count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]
    return np.argsort(bits, kind="stable").astype(np.int32)


def _cut(sizes: npt.NDArray[np.int64], budget: int) -> npt.NDArray[np.int64]:
    """Where batches of sorted sizes end, each as large as the budget and ``_EVEN`` allow."""
    ends, start = [], 0
    while start < len(sizes):
        # With sorted sizes, the count of sizes[start:end] grows with end: bisect.
        low, high = start + 1, min(len(sizes), start + budget // int(sizes[start]))
        while low < high:
            middle = (low + high + 1) // 2
            if (middle - start) * int(sizes[middle - 1]) <= budget:
                low = middle
            else:
                high = middle - 1
        if low - start > _EVEN and low < len(sizes):  # the rest is not worth one batch more
            low -= (low - start) % _EVEN
        ends.append(low)
        start = low
    return np.array(ends, np.int64)


def _pad(
    side: EncodedSide, indices: Indices
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The sentences as rows of one matrix, and their lengths."""
    lengths = side.lengths(indices)
    columns = np.arange(lengths.max(initial=0))
    is_token = columns < lengths[:, None]
    padded = np.full(is_token.shape, PAD, np.int64)
    padded[is_token] = side.ids[(side.offsets[indices][:, None] + columns)[is_token]]
    return padded, lengths
