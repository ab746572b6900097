"""Losses over the vocabulary.

Shapes: T tokens, D width, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from simt.methods import losses
from simt.methods.losses import (
    Loss,
    Smoothing,
    mean_loss,
    smoothed_cross_entropy,
    token_log_probs,
)
from simt.methods.mixture import MixtureChoices, mixture_losses
from simt.model.network import OutputLayer


def draw(rows: int, width: int, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(rows, width, generator=generator, dtype=torch.float64)
    weight = torch.randn(classes, width, generator=generator, dtype=torch.float64)
    gold = torch.randint(classes, (rows,), generator=generator)
    return states.requires_grad_(), weight.requires_grad_(), gold


def plain_cross_entropy(
    states: Tensor, weight: Tensor, gold: Tensor, smoothing: Smoothing
) -> Tensor:
    target = torch.full((len(gold), len(weight)), smoothing.other, dtype=states.dtype)
    target.scatter_(1, gold.unsqueeze(1), smoothing.gold)
    return -(target * F.log_softmax(states @ weight.t(), dim=1)).sum()


@pytest.fixture
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "CHUNK_SCORES", {"cpu": 1, "cuda": 1})
    monkeypatch.setattr(losses, "CHUNK_ROWS", 3)


def test_smoothing_over_others_gives_gold_what_is_left() -> None:
    assert Smoothing.over_others(0.1, 11) == pytest.approx((0.9, 0.01))


def test_smoothing_over_all_gives_gold_its_part_too() -> None:
    assert Smoothing.over_all(0.1, 10) == pytest.approx((0.91, 0.01))


@pytest.mark.usefixtures("_small_chunks")
def test_cross_entropy_in_chunks_equals_the_plain_one() -> None:
    states, weight, gold = draw(10, 4, 7)
    smoothing = Smoothing.over_others(0.1, 7)
    ours = smoothed_cross_entropy(states, OutputLayer(weight), gold, smoothing)
    torch.testing.assert_close(ours, plain_cross_entropy(states, weight, gold, smoothing))


@pytest.mark.usefixtures("_small_chunks")
def test_cross_entropy_in_chunks_has_the_right_gradient() -> None:
    states, weight, gold = draw(7, 3, 5)
    smoothing = Smoothing.over_others(0.1, 5)

    def scaled(states: Tensor, weight: Tensor) -> Tensor:
        return 0.5 * smoothed_cross_entropy(states, OutputLayer(weight), gold, smoothing)

    assert torch.autograd.gradcheck(scaled, (states, weight))


@pytest.mark.usefixtures("_small_chunks")
def test_token_log_probs_have_the_right_gradient() -> None:
    states, weight, gold = draw(7, 3, 5)
    factors = torch.linspace(-1, 2, 14, dtype=torch.float64)

    def mixed(states: Tensor, weight: Tensor) -> Tensor:
        return torch.cat(token_log_probs(states, OutputLayer(weight), gold)) * factors

    assert torch.autograd.gradcheck(mixed, (states, weight))


def test_token_log_probs_are_those_of_the_softmax() -> None:
    states, weight, gold = draw(6, 3, 5)
    gold_log_probs, summed = token_log_probs(states, OutputLayer(weight), gold)
    expected = F.log_softmax(states @ weight.t(), dim=1)
    torch.testing.assert_close(gold_log_probs, expected[torch.arange(6), gold])
    torch.testing.assert_close(summed, expected.sum(1))


def test_cross_entropy_without_gradient_is_the_same() -> None:
    states, weight, gold = draw(6, 3, 5)
    smoothing = Smoothing.over_all(0.1, 5)
    with torch.no_grad():
        without = smoothed_cross_entropy(states, OutputLayer(weight), gold, smoothing)
    assert without.equal(smoothed_cross_entropy(states, OutputLayer(weight), gold, smoothing))
    assert not without.requires_grad


def test_frozen_output_matrix_gets_no_gradient() -> None:
    states, weight, gold = draw(6, 3, 5)
    frozen = weight.detach()
    smoothed_cross_entropy(states, OutputLayer(frozen), gold, Smoothing.over_all(0.1, 5)).backward()
    assert states.grad is not None
    assert frozen.grad is None


def test_cross_entropy_under_autocast_is_summed_in_fp32() -> None:
    states, weight, gold = draw(64, 8, 300)
    states32, weight32 = (x.detach().float().requires_grad_() for x in (states, weight))
    smoothing = Smoothing.over_others(0.1, 300)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = smoothed_cross_entropy(states32.bfloat16(), OutputLayer(weight32), gold, smoothing)
    loss.backward()
    assert loss.dtype == torch.float32
    assert weight32.grad is not None
    assert weight32.grad.dtype == torch.float32
    exact = plain_cross_entropy(states, weight, gold, smoothing)
    exact.backward()
    assert float(loss.detach()) == pytest.approx(float(exact.detach()), rel=1e-2)
    error = (weight32.grad - weight.grad).norm() / weight.grad.norm()  # type: ignore[operator,union-attr]
    assert error < 0.02


def test_mean_loss_is_the_mean_of_total_and_parts() -> None:
    first = Loss(torch.tensor(2.0), 3, {"a": torch.tensor(1.0)})
    second = Loss(torch.tensor(4.0), 3, {"a": torch.tensor(5.0)})
    mean = mean_loss([first, second])
    assert (float(mean.total), mean.tokens, float(mean.parts["a"])) == (3.0, 3, 3.0)


class LargestTensor(TorchDispatchMode):
    """Notes how many numbers the largest tensor has that is made under it."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        for value in made if isinstance(made, tuple | list) else [made]:
            if isinstance(value, Tensor):
                self.numbers = max(self.numbers, value.numel())
        return made


def vocabulary_losses() -> dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]]:
    smoothing = Smoothing.over_others(0.1, 4000)
    choices = MixtureChoices(smoothing, smoothing, True, False, "full_source")

    def mixture(states: Tensor, weight: Tensor, gold: Tensor) -> Tensor:
        ones = torch.ones(len(gold))
        return mixture_losses(
            states, states.flip(0), states[:, 0], OutputLayer(weight), gold, ones, choices
        ).total

    return {
        "cross-entropy": lambda s, w, g: smoothed_cross_entropy(s, OutputLayer(w), g, smoothing),
        "log-probs": lambda s, w, g: torch.cat(token_log_probs(s, OutputLayer(w), g)).sum(),
        "mixture": mixture,
    }


@pytest.mark.parametrize("name", vocabulary_losses())
def test_largest_tensor_of_a_loss_does_not_grow_with_the_tokens(name: str) -> None:
    sizes = []
    for rows in (500, 1500):
        states, weight, gold = draw(rows, 8, 4000)
        states, weight = (x.detach().float().requires_grad_() for x in (states, weight))
        with LargestTensor() as largest:
            vocabulary_losses()[name](states, weight, gold).backward()
        sizes.append(largest.numbers)
    assert sizes[0] == sizes[1] < 500 * 4000


def test_bias_and_scale_of_an_output_layer_are_part_of_its_scores() -> None:
    generator = torch.Generator().manual_seed(3)
    states, weight, bias = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((6, 4), (5, 4), (5,))
    )
    gold = torch.tensor([0, 1, 2, 3, 4, 0])
    output = OutputLayer(weight, bias.detach(), scale=0.5)
    smoothing = Smoothing.over_all(0.1, 5)
    ours = smoothed_cross_entropy(states, output, gold, smoothing)
    gold_log_probs, summed = token_log_probs(states, output, gold)
    scores = 0.5 * states @ weight.t() + bias.detach()
    theirs = F.cross_entropy(scores, gold, reduction="sum", label_smoothing=0.1)
    torch.testing.assert_close(output.logits(states), scores)
    for total in (ours, smoothing.loss(gold_log_probs, summed).sum()):
        torch.testing.assert_close(total, theirs)
        gradients = torch.autograd.grad(total, (states, weight), retain_graph=True)
        wanted = torch.autograd.grad(theirs, (states, weight), retain_graph=True)
        torch.testing.assert_close(gradients, wanted)
