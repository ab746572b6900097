"""The decoding state, and the translations that come out of it."""

import pytest
import torch

from simt.corpus.ids import EOS, SPECIAL_IDS
from simt.simulation.decoding_state import DecodingState


def make_decoding() -> DecodingState:
    return DecodingState(
        torch.tensor([3, 2]), max_length=4, layers=1, seconds_per_token=0.5, ids=SPECIAL_IDS
    )


def test_board_keeps_what_was_done() -> None:
    decoding = make_decoding()
    both, first, second = torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([1])
    decoding.read_S[:] = 1
    decoding.read(first, torch.tensor([0.25]))
    decoding.write(second, torch.tensor([7]), torch.tensor([0.5]))
    decoding.write(both, torch.tensor([6, EOS]), torch.tensor([0.75, 1.0]))
    assert decoding.is_done_S.tolist() == [False, True]
    decoding.write(first, torch.tensor([EOS]), torch.tensor([0.5]))
    one, other = decoding.translations([8, 3])
    assert (one.index, one.tokens, one.delays) == (8, (6, EOS), (2, 2))
    assert (one.write_values, one.read_values) == ((0.75, 0.5), (None, 0.25))
    assert (other.index, other.tokens, other.delays) == (3, (7, EOS), (1, 1))
    assert (other.write_values, other.read_values) == ((0.5, 1.0), (None,))


def test_time_of_a_call_is_shared_out_and_that_of_the_encoder_paid_by_the_token() -> None:
    decoding = make_decoding()
    both = torch.tensor([0, 1])
    decoding.read_S[:] = torch.tensor([1, 2])
    decoding.add_time(both, 4.0)
    decoding.write(both, torch.tensor([7, EOS]), torch.tensor([1.0, 1.0]))
    decoding.add_time(torch.tensor([0]), 3.0)
    decoding.write(torch.tensor([0]), torch.tensor([EOS]), torch.tensor([1.0]))
    one, other = decoding.translations([0, 1])
    assert one.elapsed_s == pytest.approx((2.0 + 0.5, 5.0 + 0.5))
    assert other.elapsed_s == pytest.approx((2.0 + 1.0,))


def test_state_begins_at_the_first_row_that_is_not_cached() -> None:
    decoding = make_decoding()
    both = torch.tensor([0, 1])
    decoding.read_S[:] = 2
    for token in (5, 6):
        decoding.write(both, torch.tensor([token, token + 2]), torch.tensor([1.0, 1.0]))
    state = decoding.for_policy(both, torch.tensor([2, 1]), [])
    assert state.rows_BN.tolist() == [[2, 3], [1, 2]]
    assert state.decoder_input_BN[0, 0] == 6
    assert state.decoder_input_BN[1].tolist() == [7, 8]
    assert state.previous_delay_B.tolist() == [2, 2]
