"""Losses over the vocabulary, and what every method's loss gives back.

Shapes: T target tokens (pads left out), C tokens of a chunk, D width, V vocabulary.

A tensor of T × V scores would be the largest of a training step by far. It is never made: the
tokens are cut into chunks, and the gradient of a chunk is computed together with its loss, so
that nothing of size V is kept. This is also faster than to keep it, because a chunk stays in the
cache, and faster than to compute it a second time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor

from simt.model.matmul import product_dtype
from simt.model.network import OutputLayer

# Scores in memory at a time: what fits into the cache of a CPU, what keeps a GPU busy. Fewer rows
# than the minimum would make the products slow.
CHUNK_SCORES = {"cpu": 1 << 18, "cuda": 1 << 26}
CHUNK_ROWS = 64


@dataclass(frozen=True, eq=False)
class Loss:
    """The loss of a batch as sums; whoever optimises divides by the tokens of all devices."""

    total: Tensor
    tokens: int
    parts: dict[str, Tensor]  # detached, for the record


def mean_loss(losses: Sequence[Loss]) -> Loss:
    """The mean of several losses of the same batch."""
    count = len(losses)
    return Loss(
        total=torch.stack([loss.total for loss in losses]).mean(),
        tokens=losses[0].tokens,
        parts={
            name: torch.stack([loss.parts[name] for loss in losses]).sum() / count
            for name in losses[0].parts
        },
    )


class Smoothing(NamedTuple):
    """How much of the target distribution the gold class and each other class get."""

    gold: float
    other: float

    @classmethod
    def over_others(cls, epsilon: float, classes: int) -> "Smoothing":
        """ε is spread over all classes but the gold one (SM²)."""
        return cls(gold=1 - epsilon, other=epsilon / (classes - 1))

    @classmethod
    def over_all(cls, epsilon: float, classes: int) -> "Smoothing":
        """ε is spread over all classes (ITST, HMT)."""
        return cls(gold=1 - epsilon + epsilon / classes, other=epsilon / classes)

    def loss(self, gold_log_prob: Tensor, summed_log_probs: Tensor) -> Tensor:
        """Cross-entropy to the smoothed target, from log p(gold) and Σ log p(v)."""
        return -(self.gold - self.other) * gold_log_prob - self.other * summed_log_probs


def chunks(rows: int, classes: int, device: torch.device) -> Iterator[slice]:
    """Cuts ``rows`` into pieces of about ``CHUNK_SCORES`` scores."""
    step = max(CHUNK_ROWS, CHUNK_SCORES.get(device.type, CHUNK_SCORES["cuda"]) // classes)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def loss_dtype(dtype: torch.dtype) -> torch.dtype:
    """fp32, or more if the states have more."""
    return torch.promote_types(dtype, torch.float32)


class VocabularyGradients:
    """Collects, chunk by chunk, the gradients of states and output matrix.

    ``weight_VD`` is in the type of the products; their sum is kept in fp32.
    """

    def __init__(self, weight_VD: Tensor, needs_weight: bool) -> None:
        self.weight_VD = weight_VD
        self.grad_weight_VD: Tensor | None = None
        if needs_weight:
            self.grad_weight_VD = torch.zeros_like(weight_VD, dtype=loss_dtype(weight_VD.dtype))

    def add(self, grad_scores_CV: Tensor, states_CD: Tensor) -> Tensor:
        """The gradient of ``states_CD``; that of the output matrix is added to the sum."""
        grad_scores_CV = grad_scores_CV.to(self.weight_VD.dtype)
        if self.grad_weight_VD is not None:
            _add_product(self.grad_weight_VD, grad_scores_CV.t(), states_CD)
        return grad_scores_CV @ self.weight_VD


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def log_probs(states_CD: Tensor, weight_VD: Tensor, bias_V: Tensor | None) -> Tensor:
    """Log-probabilities in fp32, (C, V)."""
    scores_CV = F.linear(states_CD, weight_VD, bias_V)
    return F.log_softmax(scores_CV, dim=1, dtype=loss_dtype(states_CD.dtype))


def typed(bias_V: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A bias, if there is one, in the type of the products."""
    return None if bias_V is None else bias_V.to(dtype)


def subtract_at(rows_CV: Tensor, columns_C1: Tensor, value: float) -> None:
    """Subtracts ``value`` in one column of each row, in place."""
    rows_CV.scatter_add_(1, columns_C1, rows_CV.new_full(columns_C1.shape, -value))


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        states_TD: Tensor,
        weight_VD: Tensor,
        bias_V: Tensor | None,
        gold_T: Tensor,
        smoothing: Smoothing,
        needs_gradient: bool,
    ) -> Tensor:
        dtype = product_dtype(states_TD)
        typed_TD, typed_VD, typed_V = states_TD.to(dtype), weight_VD.to(dtype), typed(bias_V, dtype)
        total = torch.zeros((), device=states_TD.device, dtype=loss_dtype(dtype))
        gradients = VocabularyGradients(typed_VD, needs_gradient and ctx.needs_input_grad[1])
        grad_states_TD = torch.empty_like(states_TD) if needs_gradient else None
        with torch.autocast(states_TD.device.type, enabled=False):
            for rows in chunks(states_TD.shape[0], weight_VD.shape[0], states_TD.device):
                gold_C1 = gold_T[rows].unsqueeze(1)
                log_probs_CV = log_probs(typed_TD[rows], typed_VD, typed_V)
                total += smoothing.loss(log_probs_CV.gather(1, gold_C1).sum(), log_probs_CV.sum())
                if grad_states_TD is not None:
                    grad_scores_CV = log_probs_CV.exp_().sub_(smoothing.other)
                    subtract_at(grad_scores_CV, gold_C1, smoothing.gold - smoothing.other)
                    grad_states_TD[rows] = gradients.add(grad_scores_CV, typed_TD[rows])
        ctx.save_for_backward(grad_states_TD, gradients.grad_weight_VD)
        return total

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        grad_states_TD, grad_weight_VD = ctx.saved_tensors
        return (*scaled((grad_states_TD, grad_weight_VD), outer[0]), None, None, None, None)


def scaled(gradients: Sequence[Tensor | None], factor: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients of a sum, times the gradient of what was made of the sum."""
    return tuple(None if gradient is None else gradient * factor for gradient in gradients)


def smoothed_cross_entropy(
    states_TD: Tensor, output: OutputLayer, gold_T: Tensor, smoothing: Smoothing
) -> Tensor:
    """Σ over tokens of the label-smoothed cross-entropy.

    docs/methods.md, "Loss and label smoothing".
    """
    total: Tensor = _SmoothedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        output.scaled(states_TD),
        output.weight_VD,
        output.bias_V,
        gold_T,
        smoothing,
        torch.is_grad_enabled(),
    )
    return total


class _TokenLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states_TD: Tensor, weight_VD: Tensor, bias_V: Tensor | None, gold_T: Tensor
    ) -> tuple[Tensor, Tensor]:
        dtype = ctx.product_dtype = product_dtype(states_TD)
        ctx.save_for_backward(states_TD, weight_VD, bias_V, gold_T)
        typed_TD, typed_VD, typed_V = states_TD.to(dtype), weight_VD.to(dtype), typed(bias_V, dtype)
        gold_log_prob_T = states_TD.new_empty(states_TD.shape[0], dtype=loss_dtype(states_TD.dtype))
        summed_log_probs_T = torch.empty_like(gold_log_prob_T)
        with torch.autocast(states_TD.device.type, enabled=False):
            for rows in chunks(states_TD.shape[0], weight_VD.shape[0], states_TD.device):
                log_probs_CV = log_probs(typed_TD[rows], typed_VD, typed_V)
                gold_log_prob_T[rows] = log_probs_CV.gather(1, gold_T[rows].unsqueeze(1)).squeeze(1)
                summed_log_probs_T[rows] = log_probs_CV.sum(1)
        return gold_log_prob_T, summed_log_probs_T

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        states_TD, weight_VD, bias_V, gold_T = ctx.saved_tensors
        outer_gold_T, outer_sum_T = outer
        dtype = ctx.product_dtype
        typed_TD, typed_VD, typed_V = states_TD.to(dtype), weight_VD.to(dtype), typed(bias_V, dtype)
        gradients = VocabularyGradients(typed_VD, ctx.needs_input_grad[1])
        grad_states_TD = torch.empty_like(states_TD)
        for rows in chunks(states_TD.shape[0], weight_VD.shape[0], states_TD.device):
            gold_C1 = gold_T[rows].unsqueeze(1)
            by_gold_C1, by_sum_C1 = outer_gold_T[rows, None], outer_sum_T[rows, None]
            probs_CV = log_probs(typed_TD[rows], typed_VD, typed_V).exp_()
            grad_scores_CV = probs_CV.mul_(-by_gold_C1 - typed_VD.shape[0] * by_sum_C1)
            grad_scores_CV.add_(by_sum_C1).scatter_add_(1, gold_C1, by_gold_C1)
            grad_states_TD[rows] = gradients.add(grad_scores_CV, typed_TD[rows])
        return grad_states_TD, gradients.grad_weight_VD, None, None


def token_log_probs(
    states_TD: Tensor, output: OutputLayer, gold_T: Tensor
) -> tuple[Tensor, Tensor]:
    """log p(gold) and Σ_v log p(v) of each token, (T,) each.

    For losses that are no plain sum over tokens: the scores are computed a second time for the
    gradient, because only then is it known what becomes of each token.
    """
    gold_log_prob_T, summed_log_probs_T = _TokenLogProbs.apply(  # type: ignore[no-untyped-call]
        output.scaled(states_TD), output.weight_VD, output.bias_V, gold_T
    )
    return gold_log_prob_T, summed_log_probs_T
