"""Encodings of growing prefixes."""

from typing import Literal

import pytest
import torch

from simt.model.transformer import Transformer
from tests.samples.batches import random_batch
from tests.samples.prefixes import PrefixEncodings
from tests.samples.settings import TINY, VOCABULARY

READS = [[1, 1, 1], [1, 2, 1], [3, 2, 4], [5, 3, 4]]


def make_transformer(encoder: Literal["uni", "bi"]) -> Transformer:
    model = Transformer(TINY, VOCABULARY, 0.0, encoder)
    model.initialise(torch.Generator().manual_seed(1))
    return model.eval()


@pytest.mark.parametrize("encoder", ["uni", "bi"])
@torch.no_grad()
def test_prefixes_are_encoded_as_if_nothing_else_were_known(encoder: Literal["uni", "bi"]) -> None:
    model = make_transformer(encoder)
    batch = random_batch([5, 3, 4], [1, 1, 1])
    encodings = PrefixEncodings.start(model, batch.source_BM, batch.source_lengths_B)
    for reads in READS:
        memory = encodings.memory(torch.tensor(reads))
        assert memory.shape[1] == max(reads)
        for row, read in enumerate(reads):
            alone = model.encode(batch.source_BM[row : row + 1, :read], torch.tensor([read]))
            torch.testing.assert_close(memory[row, :read], alone[0], rtol=0, atol=2e-6)


@pytest.mark.parametrize("encoder", ["uni", "bi"])
@torch.no_grad()
def test_selected_sentences_go_on_where_they_were(encoder: Literal["uni", "bi"]) -> None:
    model = make_transformer(encoder)
    batch = random_batch([5, 3, 4], [1, 1, 1])
    encodings = PrefixEncodings.start(model, batch.source_BM, batch.source_lengths_B)
    encodings.memory(torch.tensor([2, 3, 1]))
    chosen = encodings.select(torch.tensor([2, 0]))
    memory = chosen.memory(torch.tensor([1, 3]))
    alone = model.encode(batch.source_BM[:1, :3], torch.tensor([3]))
    torch.testing.assert_close(memory[1], alone[0], rtol=0, atol=2e-6)


@torch.no_grad()
def test_bi_prefixes_that_did_not_grow_are_not_encoded_again() -> None:
    model = make_transformer("bi")
    batch = random_batch([5, 3, 4], [1, 1, 1])
    encodings = PrefixEncodings.start(model, batch.source_BM, batch.source_lengths_B)
    encodings.memory(torch.tensor([2, 2, 2]))
    seen: list[int] = []
    model.encoder_layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(len(inputs[0])))
    encodings.memory(torch.tensor([2, 3, 2]))
    encodings.memory(torch.tensor([2, 3, 2]))
    assert seen == [1]
