"""Decoder rows that are cached.

Shapes: B sentences, N decoder rows, M source tokens, D width.
"""

import pytest
import torch
from torch import Tensor

from simt.model.cache import DecoderCache, KeyValueCache
from simt.model.masks import key_mask, visible_mask
from simt.model.transformer import Transformer
from tests.samples.batches import random_batch
from tests.samples.settings import TINY, VOCABULARY

BATCH = random_batch([5, 3, 4], [6, 6, 6])


def make_transformer(layers: int) -> Transformer:
    size = TINY.model_copy(update={"decoder_layers": layers})
    model = Transformer(size, VOCABULARY, 0.0, "uni")
    model.initialise(torch.Generator().manual_seed(1))
    return model.eval()


class Growing:
    """A batch whose decoder rows are computed bit by bit."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.memory_BMD = model.encode(BATCH.source_BM, BATCH.source_lengths_B)
        self.mask = key_mask(BATCH.source_lengths_B, 5)
        self.key_values = [KeyValueCache(3) for _ in model.decoder_layers]
        self.expected_BND = model.decode(BATCH.decoder_input_BN, self.memory_BMD, self.mask)

    def compute(self, sentences: list[int], first: list[int], last: list[int]) -> Tensor:
        """The top states of the last rows, given that those before the first are cached."""
        sentences_B, first_B, last_B = map(torch.tensor, (sentences, first, last))
        memory_BMD = self.memory_BMD[sentences_B]
        rows = int((last_B - first_B).max()) + 1
        cache = DecoderCache(
            first_B=first_B,
            asked_BQ=(last_B - first_B).unsqueeze(1),
            width=max(first) + rows,
            sentences_B=sentences_B,
            sources=self.model.project_source(memory_BMD),
            key_values=self.key_values,
        )
        positions_BT = cache.positions(rows)
        input_BT = BATCH.decoder_input_BN[sentences_B.unsqueeze(1), positions_BT.clamp(max=5)]
        assert self.mask is not None
        mask = self.mask[sentences_B]
        return self.model.decode(input_BT, memory_BMD, mask, cache=cache).squeeze(1)


@pytest.mark.parametrize("layers", [1, 2, 3])
@torch.no_grad()
def test_rows_that_follow_kept_ones_are_as_if_all_were_computed(layers: int) -> None:
    growing = Growing(make_transformer(layers))
    for sentences, first, last in (
        ([0, 1, 2], [0, 0, 0], [2, 0, 1]),
        ([2, 0], [2, 3], [3, 3]),
        ([0, 1, 2], [4, 1, 4], [4, 3, 4]),
        ([1], [4], [4]),
        ([1, 0], [5, 2], [5, 5]),
    ):
        found_BD = growing.compute(sentences, first, last)
        expected_BD = growing.expected_BND[sentences, last]
        torch.testing.assert_close(found_BD, expected_BD, rtol=0, atol=1e-5)


@torch.no_grad()
def test_rows_asked_for_have_their_own_rows_of_the_masks() -> None:
    model = make_transformer(2)
    growing = Growing(model)
    visible_BN = torch.tensor([[1, 2, 3, 4, 5, 5], [1, 1, 2, 2, 3, 3], [1, 2, 2, 2, 4, 4]])
    mask = visible_mask(visible_BN, 5)
    every_B = torch.arange(3)
    asked_BQ = torch.tensor([[5, 0], [3, 4], [1, 1]])
    cache = DecoderCache(
        torch.zeros(3, dtype=torch.long),
        asked_BQ,
        6,
        every_B,
        model.project_source(growing.memory_BMD),
        growing.key_values,
    )
    found_BQD = model.decode(BATCH.decoder_input_BN, growing.memory_BMD, mask, cache=cache)
    expected_BND = model.decode(BATCH.decoder_input_BN, growing.memory_BMD, mask)
    expected_BQD = expected_BND[every_B.unsqueeze(1), asked_BQ]
    torch.testing.assert_close(found_BQD, expected_BQD, rtol=0, atol=1e-5)


def test_rows_are_repeated_with_those_that_are_asked_for() -> None:
    first_B, asked_BQ = torch.tensor([0, 3]), torch.tensor([[2], [0]])
    repeated = DecoderCache(first_B, asked_BQ, 4, torch.arange(2), [], []).repeated(3)
    assert repeated.width == 12
    assert repeated.first_B.tolist() == [0, 9]
    assert repeated.asked_BQ.tolist() == [[6, 7, 8], [0, 1, 2]]


def test_kept_rows_stay_when_room_is_made_for_more() -> None:
    key_values = KeyValueCache(2)
    both = torch.tensor([0, 1])
    key_values.update(both, torch.tensor([[0], [0]]), torch.tensor([[[1.0]], [[2.0]]]), width=1)
    found = key_values.update(
        torch.tensor([1]), torch.tensor([[5]]), torch.tensor([[[3.0]]]), width=6
    )
    assert found.shape == (1, 6, 1)
    assert found[0, [0, 5], 0].tolist() == [2.0, 3.0]
    found = key_values.update(
        torch.tensor([0]), torch.tensor([[1]]), torch.tensor([[[4.0]]]), width=2
    )
    assert found[0, :, 0].tolist() == [1.0, 4.0]


def test_selected_rows_are_numbered_anew() -> None:
    key_values = KeyValueCache(3)
    every = torch.arange(3)
    key_values.select(every)
    key_values.update(
        every, torch.zeros(3, 1, dtype=torch.long), every.view(3, 1, 1).float(), width=1
    )
    key_values.select(torch.tensor([2, 1]))
    new = torch.full((2, 1, 1), 7.0)
    found = key_values.update(torch.tensor([0, 1]), torch.tensor([[1], [1]]), new, width=2)
    assert found[:, :, 0].tolist() == [[2.0, 7.0], [1.0, 7.0]]
