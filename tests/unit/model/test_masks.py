"""Attention masks."""

import torch

from simt.model.masks import causal_mask_without_pads, key_mask, visible_mask


def test_key_mask_hides_what_is_beyond_each_length() -> None:
    mask = key_mask(torch.tensor([1, 3]), 3)
    assert mask is not None
    assert mask[:, 0, 0].tolist() == [[True, False, False], [True, True, True]]


def test_key_mask_is_left_out_where_nothing_is_hidden() -> None:
    assert key_mask(torch.tensor([3, 3]), 3) is None


def test_visible_mask_shows_each_row_its_own_count() -> None:
    mask = visible_mask(torch.tensor([[1, 2]]), 3)
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False]]


def test_causal_mask_without_pads_shows_pad_rows_real_tokens_only() -> None:
    mask = causal_mask_without_pads(torch.tensor([[True, True, False]]))
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
