"""Matrix products in bf16 on a CPU whose processor multiplies it twice as fast.

torch's own autocast also computes everything between the products in bf16, which a CPU does more
slowly than in fp32, and casts weights anew at each use: a training step takes longer than without.
Here only products are in bf16; all that they give is fp32 again, and so are the sums inside them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it
from torch import Tensor, nn

_are_in_bf16 = False  # a plain value, which torch.compile can take for a constant


@contextmanager
def bf16_products() -> Iterator[None]:
    """Inside the block, linear maps and vocabulary losses multiply in bf16."""
    global _are_in_bf16
    _are_in_bf16 = True
    try:
        yield
    finally:
        _are_in_bf16 = False


def has_bf16_products() -> bool:
    """Whether this machine's processor multiplies in bf16 by itself."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def product_dtype(states: Tensor) -> torch.dtype:
    """The type in which a product with ``states`` is computed here; all else is fp32."""
    if _are_in_bf16:
        return torch.bfloat16
    if torch.is_autocast_enabled(states.device.type):
        return torch.get_autocast_dtype(states.device.type)
    return states.dtype


class Linear(nn.Linear):
    """A linear map whose products may be in bf16."""

    def forward(self, x: Tensor) -> Tensor:
        return self.in_bf16(x, x.dtype) if _are_in_bf16 else super().forward(x)

    def in_bf16(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """The product as numbers of ``dtype``, which all have the precision of bf16."""
        product: Tensor = _Bf16Linear.apply(x, self.weight, self.bias, dtype)  # type: ignore[no-untyped-call]
        return product


def feed_forward(x: Tensor, inner: Linear, outer: Linear) -> Tensor:
    """Two linear maps with a ReLU between them.

    After a product in bf16, a ReLU in bf16 gives the same bits as one in fp32, without the casts.
    """
    if not _are_in_bf16:
        return outer(F.relu(inner(x)))  # type: ignore[no-any-return]
    return outer.in_bf16(F.relu(inner.in_bf16(x, torch.bfloat16)), x.dtype)


class _Bf16Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype
    ) -> Tensor:
        x16, weight16 = x.bfloat16(), weight.bfloat16()
        bias16 = None if bias is None else bias.bfloat16()
        ctx.save_for_backward(x16, weight16)
        ctx.dtype = x.dtype
        return F.linear(x16, weight16, bias16).to(dtype)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = outer
        x16, weight16 = ctx.saved_tensors
        grad16 = grad.bfloat16()
        needs_x, needs_weight, needs_bias, _ = ctx.needs_input_grad
        grad_x = (grad16 @ weight16).to(ctx.dtype) if needs_x else None
        grad_weight = grad_bias = None
        if needs_weight:
            grad_weight = (grad16.flatten(0, -2).t() @ x16.flatten(0, -2)).float()
        if needs_bias:
            grad_bias = grad.flatten(0, -2).sum(0, dtype=torch.float32)
        return grad_x, grad_weight, grad_bias, None
