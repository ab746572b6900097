"""Products in bf16, and nothing else."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn

from simt.model.matmul import (
    Linear,
    bf16_products,
    feed_forward,
    has_bf16_products,
    product_dtype,
)


def linear(width: int, wide: int, generator: torch.Generator) -> Linear:
    layer = Linear(width, wide)
    nn.init.normal_(layer.weight, generator=generator)
    nn.init.normal_(layer.bias, generator=generator)
    return layer


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def gradients(layer: nn.Linear, x: Tensor, outer: Tensor) -> tuple[Tensor, ...]:
    product = layer(x)
    return product.detach(), *torch.autograd.grad(product, (x, *layer.parameters()), outer)


def test_linear_map_outside_the_block_is_that_of_torch(generator: torch.Generator) -> None:
    layer = linear(24, 40, generator)
    x = torch.randn(3, 5, 24, generator=generator)
    assert torch.equal(layer(x), nn.functional.linear(x, layer.weight, layer.bias))


def test_product_and_gradients_are_those_of_fp32_up_to_the_rounding_of_bf16(
    generator: torch.Generator,
) -> None:
    layer = linear(24, 40, generator)
    x = torch.randn(3, 5, 24, generator=generator, requires_grad=True)
    outer = torch.randn(3, 5, 40, generator=generator)
    exact = gradients(layer, x, outer)
    with bf16_products():
        rounded = gradients(layer, x, outer)
    for one, other in zip(rounded, exact, strict=True):
        assert one.dtype == torch.float32
        # Two factors and a result with 8 bits each: errors of random signs add up like a walk.
        assert float((one - other).norm() / other.norm()) < 3 * 2**-8
    assert not torch.equal(rounded[0], exact[0])


def test_products_that_bf16_holds_are_exact(generator: torch.Generator) -> None:
    layer = linear(24, 40, generator)
    with torch.no_grad():
        layer.weight.copy_(torch.randint(-3, 4, layer.weight.shape, generator=generator))
        layer.bias.zero_()
    x = torch.randint(0, 2, (7, 24), generator=generator).float().requires_grad_()
    outer = torch.randint(0, 2, (7, 40), generator=generator).float()
    exact = gradients(layer, x, outer)
    with bf16_products():
        rounded = gradients(layer, x, outer)
    for one, other in zip(rounded, exact, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("precision", [bf16_products, nullcontext])
def test_relu_between_two_products_gives_the_same_bits_as_one_in_fp32(
    precision: Callable[[], AbstractContextManager[None]], generator: torch.Generator
) -> None:
    inner, outer = linear(24, 40, generator), linear(40, 24, generator)
    x = torch.randn(3, 5, 24, generator=generator, requires_grad=True)
    upstream = torch.randn(3, 5, 24, generator=generator)
    inputs = (x, *inner.parameters(), *outer.parameters())
    with precision():
        fused, apart = feed_forward(x, inner, outer), outer(torch.relu(inner(x)))
        assert torch.equal(fused, apart)
        of_fused, of_apart = (torch.autograd.grad(one, inputs, upstream) for one in (fused, apart))
    for one, other in zip(of_fused, of_apart, strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)


def test_frozen_weights_get_no_gradient(generator: torch.Generator) -> None:
    layer = linear(24, 40, generator).requires_grad_(False)
    x = torch.randn(2, 24, generator=generator, requires_grad=True)
    with bf16_products():
        layer(x).sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is None
    assert layer.bias.grad is None


def test_products_are_in_bf16_inside_the_block_only() -> None:
    states = torch.zeros(1)
    with bf16_products():
        assert product_dtype(states) == torch.bfloat16
    assert product_dtype(states) == torch.float32


@pytest.mark.parametrize("has_it", [{"avx512_bf16": True}, {"amx_bf16": True}])
def test_processor_says_whether_it_has_them(
    has_it: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    assert not has_bf16_products()
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has_it)
    assert has_bf16_products()
