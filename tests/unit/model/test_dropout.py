"""Dropout: how much is dropped, how it is scaled, and when."""

import pytest
import torch

from simt.model.layers import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_dropout_zeroes_its_fraction_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(1000, 1003)  # not a multiple of four
    dropped = Dropout(rate)(x)
    fraction = float((dropped == 0).float().mean())
    deviation = (rate * (1 - rate) / x.numel()) ** 0.5
    assert abs(fraction - rate) < 5 * deviation + 2**-16
    assert dropped.max() == pytest.approx(1 / (1 - rate), rel=1e-4)


def test_dropout_of_neighbours_is_independent() -> None:
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(1 << 20)) > 0).float() - 0.5
    for distance in (1, 2, 3, 4, 8):  # four neighbours share one draw
        correlation = float((kept[distance:] * kept[:-distance]).mean()) / 0.25
        assert abs(correlation) < 5 / 1024


def test_dropout_gives_gradient_to_what_it_kept() -> None:
    x = torch.ones(64, requires_grad=True)
    dropped = Dropout(0.5)(x)
    dropped.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, dropped.detach())


def test_dropout_follows_the_global_seed() -> None:
    drawn = []
    for _ in range(2):
        torch.manual_seed(3)
        drawn.append(Dropout(0.5)(torch.ones(999)))
    assert torch.equal(*drawn)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_dropout_is_for_training_only(rate: float) -> None:
    x = torch.ones(5)
    assert Dropout(rate).eval()(x) is x
    assert (Dropout(rate)(x) is x) == (rate == 0)
