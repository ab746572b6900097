"""The Transformer.

Shapes: B sentences, M source tokens, D width.
"""

from typing import Literal

import pytest
import torch
from hypothesis import given

from simt.corpus.ids import PAD, SPECIAL_IDS
from simt.model.masks import key_mask
from simt.model.network import VocabularySizes
from simt.model.transformer import Transformer, sinusoids
from tests.samples.batches import random_batch
from tests.samples.golden import assert_close, golden
from tests.samples.settings import TINY, VOCABULARY
from tests.samples.shapes import few_examples, lengths, seeds


def make_transformer(
    encoder: Literal["uni", "bi"], vocabulary: VocabularySizes = VOCABULARY
) -> Transformer:
    model = Transformer(TINY, vocabulary, 0.0, encoder)
    model.initialise(torch.Generator().manual_seed(1))
    return model.eval()


def count(model: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


def test_positions_equal_the_official_ones() -> None:
    official = golden("sm2_tiny_model_bi")["positions_added"]
    assert_close(sinusoids(len(official), len(official[0])), official)


def test_positions_grow_with_the_sentence() -> None:
    model = make_transformer("bi")
    batch = random_batch([300], [2])
    assert model.encode(batch.source_BM, batch.source_lengths_B).shape == (1, 300, 16)
    assert_close(model.positions_LD, sinusoids(600, 16))


def test_no_position_is_added_at_pads() -> None:
    model = make_transformer("bi")
    embedded = model.embed(torch.tensor([[5, PAD]]), model.target_embedding_VD)
    assert embedded[0, 1].abs().max() == 0


def test_embedding_starts_with_a_standard_deviation_of_one_over_root_width() -> None:
    size = TINY.model_copy(update={"width": 64})
    model = Transformer(size, VocabularySizes(2000, 2000, True, SPECIAL_IDS), 0.0, "bi")
    model.initialise(torch.Generator().manual_seed(1))
    assert float(model.target_embedding_VD.detach().std()) == pytest.approx(64**-0.5, rel=0.02)
    assert model.target_embedding_VD[PAD].abs().max() == 0


def test_separate_vocabularies_have_separate_embeddings() -> None:
    model = make_transformer("uni", VocabularySizes(40, 30, is_joint=False, ids=SPECIAL_IDS))
    joint = make_transformer("uni", VocabularySizes(30, 30, is_joint=True, ids=SPECIAL_IDS))
    assert model.source_embedding_VD.shape == (40, 16)
    assert joint.source_embedding_VD is joint.target_embedding_VD
    assert count(model) == count(joint) + 40 * 16
    memory = model.encode(torch.tensor([[39, 2]]), torch.tensor([2]))
    states = model.decode(torch.tensor([[2, 29]]), memory, None)
    assert model.output.logits(states).shape == (1, 2, 30)


def test_same_generator_draws_the_same_weights() -> None:
    first, second = make_transformer("bi"), make_transformer("bi")
    for name, weight in first.named_parameters():
        assert weight.equal(dict(second.named_parameters())[name])


@few_examples
@given(lengths, seeds)
def test_uni_encoding_of_a_prefix_is_a_slice(pairs: list[tuple[int, int]], seed: int) -> None:
    batch = random_batch([m + 1 for m, _ in pairs], [n for _, n in pairs], seed)
    model = make_transformer("uni")
    whole = model.encode(batch.source_BM, batch.source_lengths_B)
    for j in range(1, batch.source_BM.shape[1] + 1):
        prefix = model.encode(batch.source_BM[:, :j], batch.source_lengths_B.clamp(max=j))
        torch.testing.assert_close(prefix, whole[:, :j], rtol=0, atol=2e-6)


@few_examples
@given(lengths, seeds)
def test_bi_encoding_of_a_prefix_does_not_know_the_rest(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    batch = random_batch([m + 1 for m, _ in pairs], [n for _, n in pairs], seed)
    model = make_transformer("bi")
    prefix_B = (batch.source_lengths_B + 1) // 2
    unread = ~(torch.arange(batch.source_BM.shape[1]) < prefix_B.unsqueeze(1))
    changed = batch.source_BM.masked_fill(unread, 11)
    first, second = (model.encode(ids, prefix_B) for ids in (batch.source_BM, changed))
    for row, prefix in enumerate(prefix_B.tolist()):
        assert first[row, :prefix].equal(second[row, :prefix])
        alone = model.encode(batch.source_BM[row : row + 1, :prefix], prefix_B[row : row + 1])
        torch.testing.assert_close(first[row : row + 1, :prefix], alone, rtol=0, atol=2e-6)


@pytest.mark.parametrize("encoder", ["uni", "bi"])
def test_pads_have_no_influence_on_states(encoder: Literal["uni", "bi"]) -> None:
    model = make_transformer(encoder)
    batch = random_batch([3, 6], [4, 2])
    memory = model.encode(batch.source_BM, batch.source_lengths_B)
    mask = key_mask(batch.source_lengths_B, 6)
    states = model.decode(batch.decoder_input_BN, memory, mask)
    alone = model.encode(batch.source_BM[:1, :3], batch.source_lengths_B[:1])
    expected = model.decode(batch.decoder_input_BN[:1], alone, None)
    torch.testing.assert_close(states[:1], expected, rtol=0, atol=2e-6)
