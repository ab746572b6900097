"""The mixture of SM²: prefix and full-source distributions, weighted by the confidence c.

docs/methods.md, "SM²: training loss".

Shapes: T target tokens (pads left out), C tokens of a chunk, D width, V vocabulary.

    log p_mix = logaddexp(log c + log p_prefix, log(1 - c) + log p_full)

With a = logit of c, the prefix makes up r = sigmoid(a + log p_prefix - log p_full) of p_mix, so
that log p_mix = log c + log p_prefix - log r. For target weights w, -Σ w·log p_mix has gradients

    of log p_prefix: -w·r        of log p_full: -w·(1 - r)        of a: c - Σ w·r
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor

from simt.methods.losses import (
    Smoothing,
    VocabularyGradients,
    chunks,
    log_probs,
    loss_dtype,
    scaled,
    typed,
)
from simt.model.matmul import product_dtype
from simt.model.network import OutputLayer


@dataclass(frozen=True)
class MixtureChoices:
    """Which losses are summed up, and what they are made of."""

    full_smoothing: Smoothing
    mixture_smoothing: Smoothing
    has_full_loss: bool
    detaches_full: bool
    hint: Literal["full_source", "gold"]

    @property
    def moves_full(self) -> bool:
        """Whether the mixture's loss has a gradient in the full-source distribution."""
        return self.hint == "full_source" and not self.detaches_full


@dataclass(frozen=True, eq=False)
class MixtureLosses:
    """Sums over tokens. Only ``total`` has a gradient; ``mixture`` is weighted."""

    total: Tensor
    full: Tensor
    mixture: Tensor


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Log-probabilities, log r and what else is known of some tokens."""

    full_CV: Tensor
    prefix_CV: Tensor
    log_fraction_CV: Tensor
    logit_C1: Tensor
    gold_C1: Tensor
    weight_C1: Tensor


def _log_fraction(
    full_CV: Tensor, prefix_CV: Tensor, logit_C1: Tensor, gold_C1: Tensor, hint: str
) -> Tensor:
    """log r. A gold hint is a full-source distribution with all its mass on the gold class."""
    if hint == "gold":
        at_gold_C1 = F.logsigmoid(logit_C1 + prefix_CV.gather(1, gold_C1))
        return torch.zeros_like(prefix_CV).scatter_(1, gold_C1, at_gold_C1)
    return F.logsigmoid((prefix_CV - full_CV).add_(logit_C1))


def _full_loss(chunk: _Chunk, smoothing: Smoothing) -> Tensor:
    return smoothing.loss(chunk.full_CV.gather(1, chunk.gold_C1).sum(), chunk.full_CV.sum())


def _mixture_loss(chunk: _Chunk, smoothing: Smoothing) -> Tensor:
    prefix_CV, log_fraction_CV = chunk.prefix_CV, chunk.log_fraction_CV
    at_gold_C1 = prefix_CV.gather(1, chunk.gold_C1) - log_fraction_CV.gather(1, chunk.gold_C1)
    summed_C1 = prefix_CV.sum(1, keepdim=True) - log_fraction_CV.sum(1, keepdim=True)
    losses_C1 = smoothing.loss(at_gold_C1, summed_C1) - F.logsigmoid(chunk.logit_C1)
    return (losses_C1 * chunk.weight_C1).sum()


def _gradients(chunk: _Chunk, choices: MixtureChoices) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of full scores, prefix scores and confidence logits; uses up the chunk."""
    weight_C1, smoothing = chunk.weight_C1, choices.mixture_smoothing
    weighted_CV = chunk.log_fraction_CV.exp_()  # becomes w·r
    at_gold_C1 = weighted_CV.gather(1, chunk.gold_C1) * (weight_C1 * smoothing.gold)
    weighted_CV.mul_(weight_C1 * smoothing.other).scatter_(1, chunk.gold_C1, at_gold_C1)
    total_C1 = weighted_CV.sum(1, keepdim=True)
    grad_logit_C1 = chunk.logit_C1.sigmoid() * weight_C1 - total_C1
    grad_prefix_CV = chunk.prefix_CV.exp_().mul_(total_C1).sub_(weighted_CV)
    grad_full_CV = _full_gradient(chunk, choices, weighted_CV, total_C1)
    return grad_full_CV, grad_prefix_CV, grad_logit_C1


def _full_gradient(
    chunk: _Chunk, choices: MixtureChoices, weighted_CV: Tensor, total_C1: Tensor
) -> Tensor:
    """Gradient of the full-source scores from both losses."""
    own = float(choices.has_full_loss)
    full, mixed = choices.full_smoothing, choices.mixture_smoothing
    weight_C1 = chunk.weight_C1
    probs_CV = chunk.full_CV.exp_()
    if not choices.moves_full:
        weight_C1, total_C1 = torch.zeros_like(weight_C1), torch.zeros_like(total_C1)
    gradient_CV = probs_CV.mul_(own + weight_C1 - total_C1)
    gradient_CV.sub_(own * full.other + weight_C1 * mixed.other)
    on_gold_C1 = own * (full.gold - full.other) + weight_C1 * (mixed.gold - mixed.other)
    gradient_CV.scatter_add_(1, chunk.gold_C1, -on_gold_C1)
    return gradient_CV.add_(weighted_CV) if choices.moves_full else gradient_CV


class _Mixture(torch.autograd.Function):
    """Gradients are computed with the losses, chunk by chunk, as in ``simt.methods.losses``."""

    @staticmethod
    def forward(  # noqa: PLR0913 - autograd sees tensors that are arguments
        ctx: Any,
        full_TD: Tensor,
        prefix_TD: Tensor,
        logit_T: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        gold_T: Tensor,
        weight_T: Tensor,
        choices: MixtureChoices,
        needs_gradient: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        dtype = product_dtype(full_TD)
        typed_full_TD, typed_prefix_TD = full_TD.to(dtype), prefix_TD.to(dtype)
        typed_V = typed(bias_V, dtype)
        vocabulary = VocabularyGradients(
            weight_VD.to(dtype), needs_gradient and ctx.needs_input_grad[3]
        )
        full_sum = torch.zeros((), device=full_TD.device, dtype=loss_dtype(dtype))
        mixture_sum = torch.zeros_like(full_sum)
        collected = [torch.empty_like(x) for x in (full_TD, prefix_TD, logit_T)]
        with torch.autocast(full_TD.device.type, enabled=False):
            for rows in chunks(full_TD.shape[0], weight_VD.shape[0], full_TD.device):
                chunk = _make_chunk(
                    log_probs(typed_full_TD[rows], vocabulary.weight_VD, typed_V),
                    log_probs(typed_prefix_TD[rows], vocabulary.weight_VD, typed_V),
                    logit_T[rows, None],
                    gold_T[rows, None],
                    weight_T[rows, None],
                    choices.hint,
                )
                full_sum += _full_loss(chunk, choices.full_smoothing)
                mixture_sum += _mixture_loss(chunk, choices.mixture_smoothing)
                if needs_gradient:
                    grad_full_CV, grad_prefix_CV, grad_logit_C1 = _gradients(chunk, choices)
                    collected[0][rows] = vocabulary.add(grad_full_CV, typed_full_TD[rows])
                    collected[1][rows] = vocabulary.add(grad_prefix_CV, typed_prefix_TD[rows])
                    collected[2][rows] = grad_logit_C1.squeeze(1)
        ctx.save_for_backward(*collected, vocabulary.grad_weight_VD)
        total = full_sum + mixture_sum if choices.has_full_loss else mixture_sum.clone()
        ctx.mark_non_differentiable(full_sum, mixture_sum)
        return total, full_sum, mixture_sum

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        return (*scaled(ctx.saved_tensors, outer[0]), None, None, None, None, None)


def _make_chunk(
    full_CV: Tensor,
    prefix_CV: Tensor,
    logit_C1: Tensor,
    gold_C1: Tensor,
    weight_C1: Tensor,
    hint: str,
) -> _Chunk:
    log_fraction_CV = _log_fraction(full_CV, prefix_CV, logit_C1, gold_C1, hint)
    return _Chunk(full_CV, prefix_CV, log_fraction_CV, logit_C1, gold_C1, weight_C1)


def mixture_losses(
    full_TD: Tensor,
    prefix_TD: Tensor,
    logit_T: Tensor,
    output: OutputLayer,
    gold_T: Tensor,
    weight_T: Tensor,
    choices: MixtureChoices,
) -> MixtureLosses:
    """L_omt and L_S, the latter with ``weight_T`` for each token; c = sigmoid(``logit_T``).

    ``logit_T`` and ``weight_T`` are at least fp32.
    """
    total, full, mixture = _Mixture.apply(  # type: ignore[no-untyped-call]
        output.scaled(full_TD),
        output.scaled(prefix_TD),
        logit_T,
        output.weight_VD,
        output.bias_V,
        gold_T,
        weight_T,
        choices,
        torch.is_grad_enabled(),
    )
    return MixtureLosses(total, full, mixture)
