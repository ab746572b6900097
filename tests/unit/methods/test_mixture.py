"""The mixture of SM².

Shapes: T tokens, D width, V vocabulary.
"""

from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from simt.methods import losses
from simt.methods.losses import Smoothing
from simt.methods.mixture import MixtureChoices, mixture_losses
from simt.model.network import OutputLayer

ROWS, WIDTH, CLASSES = 7, 3, 5
CHOICES = [
    MixtureChoices(
        Smoothing.over_others(0.1, CLASSES),
        Smoothing.over_others(smoothing, CLASSES),
        has_full_loss,
        detaches_full,
        hint,  # type: ignore[arg-type]
    )
    for smoothing, has_full_loss, detaches_full, hint in product(
        (0.1, 0.0), (True, False), (True, False), ("full_source", "gold")
    )
]


def draw() -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(ROWS, WIDTH), (ROWS, WIDTH), (ROWS,), (CLASSES, WIDTH)]
    return tuple(
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    )


GOLD = torch.tensor([0, 4, 2, 2, 1, 3, 0])
WEIGHTS = torch.tensor([1.0, 0.0, 2.0, 1.0, 0.5, 1.0, 1.0], dtype=torch.float64)


def smoothed(log_probs: Tensor, smoothing: Smoothing) -> Tensor:
    target = torch.full_like(log_probs, smoothing.other)
    return -(target.scatter(1, GOLD.unsqueeze(1), smoothing.gold) * log_probs).sum(1)


def plain_total(choices: MixtureChoices, inputs: tuple[Tensor, ...]) -> Tensor:
    """docs/methods.md, "SM²: training loss" and "SM²: ablations", word for word."""
    full, prefix, logit, weight = inputs
    lp_full, lp_prefix = (F.log_softmax(x @ weight.t(), dim=1) for x in (full, prefix))
    hint = lp_full.detach() if choices.detaches_full else lp_full
    if choices.hint == "gold":
        hint = torch.where(F.one_hot(GOLD, CLASSES).bool(), 0.0, -torch.inf).double()
    trust, doubt = F.logsigmoid(logit).unsqueeze(1), F.logsigmoid(-logit).unsqueeze(1)
    mixed = (torch.exp(trust + lp_prefix) + torch.exp(doubt + hint)).log()
    total = (smoothed(mixed, choices.mixture_smoothing) * WEIGHTS).sum()
    if choices.has_full_loss:
        total = total + smoothed(lp_full, choices.full_smoothing).sum()
    return total


def total(inputs: tuple[Tensor, ...], choices: MixtureChoices) -> Tensor:
    full, prefix, logit, weight = inputs
    return mixture_losses(full, prefix, logit, OutputLayer(weight), GOLD, WEIGHTS, choices).total


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "CHUNK_SCORES", {"cpu": 1, "cuda": 1})
    monkeypatch.setattr(losses, "CHUNK_ROWS", 3)


@pytest.mark.parametrize("choices", CHOICES)
def test_mixture_and_its_gradient_equal_the_formula(choices: MixtureChoices) -> None:
    inputs = draw()
    ours = total(inputs, choices)
    expected = plain_total(choices, inputs)
    torch.testing.assert_close(ours, expected)
    gradients = torch.autograd.grad(3 * ours, inputs)
    wanted = torch.autograd.grad(3 * expected, inputs, allow_unused=True)
    for gradient, right in zip(gradients, wanted, strict=True):
        right = torch.zeros_like(gradient) if right is None else right
        torch.testing.assert_close(gradient, right)


def test_mixture_without_gradient_is_the_same() -> None:
    inputs = draw()
    with torch.no_grad():
        without = total(inputs, CHOICES[0])
    assert without.equal(total(inputs, CHOICES[0]))


@pytest.mark.parametrize("hint", ["full_source", "gold"])
def test_mixture_stays_finite_where_probabilities_vanish(hint: Any) -> None:
    scores = torch.tensor([[300.0, 0, -300, 0, 0], [-300.0, 0, 300, 0, 0]]).requires_grad_()
    logit = torch.tensor([80.0, -80.0]).requires_grad_()
    smoothing = Smoothing.over_others(0.1, CLASSES)
    choices = MixtureChoices(smoothing, smoothing, True, False, hint)
    output = OutputLayer(torch.eye(CLASSES))
    loss = mixture_losses(
        scores, scores.flip(0), logit, output, GOLD[:2], torch.ones(2), choices
    ).total
    loss.backward()
    assert loss.isfinite()
    assert scores.grad is not None
    assert logit.grad is not None
    assert scores.grad.isfinite().all()
    assert logit.grad.isfinite().all()


@pytest.mark.parametrize("penalty", [0.1, 1.0])
def test_free_confidence_converges_to_the_closed_form(penalty: float) -> None:
    """c* = 1 if p ≥ q/(1+λ), else λ/(1+λ) / (1 - p/q).

    docs/methods.md, "SM²: limit of the confidence".
    """
    p = torch.tensor([0.02, 0.1, 0.3, 0.5, 0.2, 0.62, 0.05])
    q = torch.tensor([0.9, 0.5, 0.4, 0.6, 0.9, 0.6, 0.06])
    two_classes = [torch.stack([x, 1 - x], dim=1).log() for x in (q, p)]
    hard = Smoothing.over_others(0.0, 2)
    choices = MixtureChoices(hard, hard, False, False, "full_source")
    logit = torch.zeros(len(p), requires_grad=True)
    optimiser = torch.optim.Adam([logit], lr=0.5)
    for update in range(600):
        optimiser.param_groups[0]["lr"] = 0.5 * 0.99**update
        losses = mixture_losses(
            *two_classes,
            logit,
            OutputLayer(torch.eye(2)),
            torch.zeros(len(p)).long(),
            torch.ones(len(p)),
            choices,
        )
        optimiser.zero_grad()
        (losses.total - penalty * F.logsigmoid(logit).sum()).backward()
        optimiser.step()
    floor = penalty / (1 + penalty)
    expected = torch.where(p >= q / (1 + penalty), 1.0, floor / (1 - p / q))
    torch.testing.assert_close(logit.detach().sigmoid(), expected, rtol=0, atol=0.01)
