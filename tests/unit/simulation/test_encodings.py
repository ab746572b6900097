"""Encodings of all prefixes."""

import time
from typing import Literal

import pytest
import torch

from simt.corpus.ids import PAD
from simt.model.transformer import Transformer
from simt.simulation.encodings import SourceEncodings, count_states, pad_ids
from tests.samples.batches import random_batch
from tests.samples.settings import TINY, VOCABULARY

Encoder = Literal["uni", "bi"]
every_encoder = pytest.mark.parametrize("encoder", ["uni", "bi"])
LENGTHS = [5, 3, 4]


def make_transformer(encoder: Encoder) -> Transformer:
    model = Transformer(TINY, VOCABULARY, 0.0, encoder)
    model.initialise(torch.Generator().manual_seed(1))
    return model.eval()


@torch.no_grad()
def encode(model: Transformer, shortest: list[int]) -> SourceEncodings:
    batch = random_batch(LENGTHS, [1, 1, 1])
    return SourceEncodings.encode(
        model, batch.source_BM, batch.source_lengths_B, torch.tensor(shortest)
    )


def test_shorter_sentences_are_padded() -> None:
    ids_BM, lengths_B = pad_ids([[4, 2], [5, 6, 2]], 1, torch.device("cpu"))
    assert ids_BM.tolist() == [[4, 2, PAD], [5, 6, 2]]
    assert lengths_B.tolist() == [2, 3]


@every_encoder
@torch.no_grad()
def test_prefixes_are_encoded_as_if_nothing_else_were_known(encoder: Encoder) -> None:
    model = make_transformer(encoder)
    batch = random_batch(LENGTHS, [1, 1, 1])
    encodings = encode(model, [1, 1, 1])
    for sentences, reads in (([0, 1, 2], [1, 1, 1]), ([2, 0], [4, 2]), ([1, 0, 2], [3, 5, 1])):
        memory, projections = encodings.prefixes(torch.tensor(sentences), torch.tensor(reads))
        assert memory.shape[1] == max(reads)
        for row, (sentence, read) in enumerate(zip(sentences, reads, strict=True)):
            prefix = batch.source_BM[sentence : sentence + 1, :read]
            alone = model.encode(prefix, torch.tensor([read]))
            torch.testing.assert_close(memory[row, :read], alone[0], rtol=0, atol=2e-6)
            for layer, projection in enumerate(model.project_source(alone)):
                found = projections[layer][0][row, :read]
                torch.testing.assert_close(found, projection[0][0], rtol=0, atol=2e-6)


@every_encoder
@pytest.mark.parametrize("shortest", [[1, 1, 1], [5, 3, 4], [2, 3, 1]])
def test_states_are_counted_before_they_are_made(encoder: Encoder, shortest: list[int]) -> None:
    model = make_transformer(encoder)
    encodings = encode(model, shortest)
    counted = count_states(encoder, torch.tensor(LENGTHS), torch.tensor(shortest))
    pads = 0 if encoder == "bi" else 3 * 5 - sum(LENGTHS)
    assert len(encodings.states_FD) == int(counted.sum()) + pads


def test_time_is_counted_by_source_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "perf_counter", iter([10.0, 13.0]).__next__)
    assert encode(make_transformer("bi"), [1, 1, 1]).seconds_per_token == 3 / sum(LENGTHS)
