"""ITST beyond its golden numbers.

Shapes: B sentences, L layers, N target tokens, M source tokens.
"""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simt.methods import PolicyState
from simt.methods.itst import TransportRule, transport_losses, visible_counts
from tests.samples.batches import random_batch, single
from tests.samples.settings import default_settings, lively, make_method, make_model
from tests.samples.shapes import few_examples, seeds


def make_state(written: int, read: int, length: int) -> PolicyState:
    return PolicyState(
        decoder_input_BN=torch.full((1, written + 1), 2),
        delays_BN=torch.ones(1, written + 1, dtype=torch.long),
        written_B=torch.tensor([written]),
        read_B=torch.tensor([read]),
        source_lengths_B=torch.tensor([length]),
    )


@few_examples
@given(st.integers(2, 9), seeds, st.floats(0.1, 2.5))
def test_training_shows_the_first_row_what_the_policy_reads(
    width: int, seed: int, threshold: float
) -> None:
    """Visible count n + 2 = first j at which the sum over j - 1 tokens reaches δ.

    docs/methods.md, "ITST: policy".
    """
    generator = torch.Generator().manual_seed(seed)
    transport_BNM = torch.rand(1, 1, width, generator=generator) + 1e-4
    rule = TransportRule(threshold, default_settings("itst"))
    read = int(rule.min_read(torch.tensor([0]), torch.tensor([width])))
    while True:
        arrived = rule.arrived(transport_BNM[:, :, :read], torch.tensor([read]))
        if rule.should_write(rule.agreed(arrived), make_state(0, read, width)):
            break
        read += 1
    visible = visible_counts(transport_BNM, threshold)
    assert int(visible.clamp(max=width)) == read


def test_visible_counts_never_fall_and_stay_ahead_of_the_diagonal() -> None:
    transport = torch.full((1, 4, 9), 0.1)
    transport[0, 1] = 0.01
    transport[0, 2] = 1.0
    assert visible_counts(transport, 0.35).tolist() == [[5, 11, 11, 11]]
    assert visible_counts(torch.ones(1, 4, 9), 0.5).tolist() == [[2, 3, 4, 5]]


@pytest.mark.parametrize(("agree_by", "agreed"), [("all", 0.2), ("mean", 0.5)])
def test_layers_agree_by_the_least_or_by_the_mean(agree_by: str, agreed: float) -> None:
    rule = TransportRule(0.4, default_settings("itst", layers_agree_by=agree_by))
    value = rule.agreed(torch.tensor([[0.2, 0.8]]))
    assert float(value) == pytest.approx(agreed)
    assert bool(rule.should_write(value, make_state(0, 3, 5))) == (agreed >= 0.4)


def test_exhausted_source_is_written_whatever_arrived() -> None:
    rule = TransportRule(0.9, default_settings("itst"))
    assert rule.should_write(torch.tensor([0.0]), make_state(0, 5, 5))


def losses_of(transport: torch.Tensor, **changes: Any) -> Any:
    lengths = torch.tensor([transport.shape[3]]), torch.tensor([transport.shape[2]])
    return transport_losses(transport, *lengths, default_settings("itst", **changes))


def test_norm_of_row_sums_is_their_distance_from_one() -> None:
    transport = torch.tensor([[[[0.5, 0.2], [0.7, 0.8]], [[0.5, 0.5], [0.1, 0.1]]]])
    # rows sum to 0.7, 1.5, 1.0, 0.2: distances 0.3, 0.5, 0, 0.8; two layers
    assert float(losses_of(transport, norm="row_sums").norm) == pytest.approx(0.8)
    expected = (0.09 + 0.25 + 0.64) / 2
    assert float(losses_of(transport, norm="row_sums_squared").norm) == pytest.approx(expected)


def test_latency_may_act_on_raw_transport() -> None:
    transport = torch.full((1, 1, 1, 4), 0.5)
    # I = 1, J = 4: the diagonal is at j = 4; |j - 4| - 1 = 2, 1, 0, 0 by I·J = 4
    assert float(losses_of(transport, latency_acts_on="raw").latency) == pytest.approx(0.5 * 3 / 4)
    assert float(losses_of(transport).latency) == pytest.approx(0.25 * 3 / 4)


def test_training_mask_of_a_sentence_does_not_depend_on_batch_mates() -> None:
    method: Any = make_method("itst")
    model = lively(make_model(method))
    batch = random_batch([8, 3, 5], [5, 6, 2])
    masked, free = (method.loss_at(model, batch, delta).parts for delta in (0.6, None))
    apart = [method.loss_at(model, single(batch, row), 0.6).parts for row in range(3)]
    assert not torch.isclose(masked["translation"], free["translation"])
    for part in ("translation", "latency"):
        total = torch.stack([parts[part] for parts in apart]).sum()
        torch.testing.assert_close(masked[part], total, rtol=1e-4, atol=1e-5)
