"""Batches of ids."""

import torch

from simt.corpus.ids import EOS, PAD, SPECIAL_IDS
from simt.model.batch import Batch
from tests.samples.batches import random_batch


def small_batch() -> Batch:
    return Batch(
        torch.tensor([[7, 8, EOS], [9, EOS, PAD]]),
        torch.tensor([3, 2]),
        torch.tensor([[4, EOS, PAD], [5, 6, EOS]]),
        torch.tensor([2, 3]),
        SPECIAL_IDS,
    )


def test_decoder_input_starts_with_eos_and_drops_the_last_token() -> None:
    assert small_batch().decoder_input_BN.tolist() == [[EOS, 4, PAD], [EOS, 5, 6]]


def test_masks_are_true_at_real_tokens() -> None:
    batch = small_batch()
    assert batch.source_mask_BM.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_mask_BN.tolist() == [[True, True, False], [True, True, True]]


def test_target_tokens_are_counted_with_eos_and_without_pads() -> None:
    assert small_batch().target_tokens == 5


def test_tokens_of_a_batch_leave_out_pads_in_order() -> None:
    batch = small_batch()
    assert batch.gold_T.tolist() == [4, EOS, 5, 6, EOS]
    assert batch.tokens_of(batch.decoder_input_BN.unsqueeze(2))[:, 0].tolist() == [
        EOS,
        4,
        EOS,
        5,
        6,
    ]


def test_batch_on_a_device_has_the_same_tokens() -> None:
    batch = random_batch([4, 2], [3, 5])
    moved = batch.to("cpu")
    assert moved.target_tokens == batch.target_tokens
    assert moved.token_rows_T.equal(batch.token_rows_T)
    assert moved.decoder_input_BN.equal(batch.decoder_input_BN)
