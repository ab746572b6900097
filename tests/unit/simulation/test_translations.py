"""Translations and the boards that they come from."""

import pytest
import torch

from simt.corpus.ids import EOS
from simt.simulation.board import Board
from simt.simulation.translations import Action, Translation


def test_path_lists_reads_and_writes_in_their_order() -> None:
    translation = Translation(
        index=0,
        tokens=(5, 6, EOS),
        delays=(2, 2, 3),
        write_values=(0.7, 0.8, 0.9),
        read_values=(None, 0.1, 0.2),
        elapsed_s=(0.1, 0.2, 0.3),
    )
    assert list(translation.path()) == [
        Action(False, 0, 0, None),
        Action(False, 0, 1, 0.1),
        Action(True, 0, 2, 0.7),
        Action(True, 1, 2, 0.8),
        Action(False, 2, 2, 0.2),
        Action(True, 2, 3, 0.9),
    ]


def make_board() -> Board:
    return Board(torch.tensor([3, 2]), room=4, layers=1, seconds_per_token=0.5)


def test_board_keeps_what_was_done() -> None:
    board = make_board()
    both, first, second = torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([1])
    board.read_S[:] = 1
    board.read(first, torch.tensor([0.25]))
    board.write(second, torch.tensor([7]), torch.tensor([0.5]))
    board.write(both, torch.tensor([6, EOS]), torch.tensor([0.75, 1.0]))
    assert board.is_done_S.tolist() == [False, True]
    board.write(first, torch.tensor([EOS]), torch.tensor([0.5]))
    one, other = board.translations([8, 3])
    assert (one.index, one.tokens, one.delays) == (8, (6, EOS), (2, 2))
    assert (one.write_values, one.read_values) == ((0.75, 0.5), (None, 0.25))
    assert (other.index, other.tokens, other.delays) == (3, (7, EOS), (1, 1))
    assert (other.write_values, other.read_values) == ((0.5, 1.0), (None,))


def test_time_of_a_call_is_shared_out_and_that_of_the_encoder_paid_by_the_token() -> None:
    board = make_board()
    both = torch.tensor([0, 1])
    board.read_S[:] = torch.tensor([1, 2])
    board.charge(both, 4.0)
    board.write(both, torch.tensor([7, EOS]), torch.tensor([1.0, 1.0]))
    board.charge(torch.tensor([0]), 3.0)
    board.write(torch.tensor([0]), torch.tensor([EOS]), torch.tensor([1.0]))
    one, other = board.translations([0, 1])
    assert one.elapsed_s == pytest.approx((2.0 + 0.5, 5.0 + 0.5))
    assert other.elapsed_s == pytest.approx((2.0 + 1.0,))


def test_state_begins_at_the_first_row_that_is_not_kept() -> None:
    board = make_board()
    both = torch.tensor([0, 1])
    board.read_S[:] = 2
    for token in (5, 6):
        board.write(both, torch.tensor([token, token + 2]), torch.tensor([1.0, 1.0]))
    state = board.state(both, torch.tensor([2, 1]), [])
    assert state.rows_BN.tolist() == [[2, 3], [1, 2]]
    assert state.decoder_input_BN[0, 0] == 6
    assert state.decoder_input_BN[1].tolist() == [7, 8]
    assert state.previous_delay_B.tolist() == [2, 2]
