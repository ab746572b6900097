"""Layers of the Transformer."""

import math

import pytest
import torch

from simt.model.layers import Adapter, CrossAttention, DecoderLayer, FeedForward, SelfAttention
from simt.model.masks import visible_mask
from tests.samples.settings import TINY


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("part", "rows"), [("query_key_value", 3), ("output", 1)])
def test_self_attention_is_initialised_as_separate_square_matrices(part: str, rows: int) -> None:
    width = 128
    attention = SelfAttention(width, 4)
    attention.initialise(generator())
    weight = getattr(attention, part).weight
    gain = 1 / math.sqrt(2) if part == "query_key_value" else 1.0
    bound = gain * math.sqrt(6 / (2 * width))
    for matrix in weight.view(rows, width, width):
        assert matrix.abs().max() <= bound
        assert float(matrix.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_feed_forward_is_initialised_like_a_linear_layer_of_torch() -> None:
    feed_forward = FeedForward(TINY.model_copy(update={"width": 64, "ffn": 256}), None)
    feed_forward.initialise(generator())
    bound = 1 / math.sqrt(256)
    weight = feed_forward.outer.weight.detach()
    assert weight.abs().max() <= bound
    assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_cross_attention_reads_several_sequences_of_a_source_as_if_it_were_repeated() -> None:
    attention = CrossAttention(16, 2)
    attention.initialise(generator())
    x, memory = torch.randn(6, 4, 16), torch.randn(3, 5, 16)
    visible = torch.tensor([[1, 5], [2, 5], [3, 4]])
    folded = attention(x, memory, visible_mask(visible.repeat_interleave(4, dim=1), 5))
    repeated = visible_mask(visible.flatten().unsqueeze(1).expand(6, 4), 5)
    apart = attention(x, memory.repeat_interleave(2, dim=0), repeated)
    torch.testing.assert_close(folded, apart)


@pytest.mark.parametrize("has_norm", [True, False])
def test_new_adapter_is_the_identity(has_norm: bool) -> None:
    adapter = Adapter(16, 4, has_norm)
    adapter.initialise(generator())
    x = torch.randn(2, 3, 16)
    assert adapter(x).equal(x)


def test_decoder_layer_shows_no_row_the_rows_behind_it() -> None:
    layer = DecoderLayer(TINY, 0.0, None).eval()
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 3, 16)
    changed = x.clone()
    changed[:, 3:] += 1
    before, after = (layer(rows, memory, None, None)[:, :3] for rows in (x, changed))
    assert before.equal(after)
