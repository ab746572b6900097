"""Gradients summed over all processes while the backward pass is still computing.

That is what DistributedDataParallel does, less its hooks on ``forward``, which no method here goes
through. A backward pass fills gradients from the output to the input, so weights are taken in the
reverse of their order, some megabytes at a time; a full one is sent off. Every process sends
in the same order, also one that had no sentence of an update.
"""

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor, nn

from simt.training.devices import exchange

BUCKET_BYTES = 25 * 2**20  # as DistributedDataParallel has it


class Bucket:
    """Some weights whose gradients are summed in one go."""

    def __init__(self, weights: list[nn.Parameter]) -> None:
        self.weights = weights
        self._missing = len(weights)
        self._flat: Tensor | None = None
        self._work: dist.Work | None = None

    def expect(self) -> None:
        """Begins to count the gradients of a backward pass."""
        self._missing = len(self.weights)

    def fill(self) -> None:
        """One more gradient is there."""
        self._missing -= 1

    @property
    def is_full(self) -> bool:
        """Whether all gradients are there."""
        return self._missing <= 0

    def send(self) -> None:
        """Starts to sum; weights that no sentence of this process has met count as 0."""
        self._flat = torch.cat([_gradient(weight).flatten() for weight in self.weights])
        self._work = dist.all_reduce(self._flat, async_op=True)

    def receive(self) -> None:
        """Waits for the sum, and puts it where the gradients were."""
        assert self._work is not None
        assert self._flat is not None
        self._work.wait()
        start = 0
        for weight in self.weights:
            end = start + weight.numel()
            _gradient(weight).copy_(self._flat[start:end].view_as(weight))
            start = end
        self._flat, self._work = None, None


class GradientSum:
    """The sum of a model's gradients over all processes, update by update."""

    def __init__(self, model: nn.Module, bucket_bytes: int = BUCKET_BYTES) -> None:
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        self._buckets = [Bucket(part) for part in _parts(weights[::-1], bucket_bytes)]
        self._sent = 0
        self._is_last_pass = False  # of this update
        for bucket in self._buckets:
            for weight in bucket.weights:
                weight.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    lambda _, bucket=bucket: self._add(bucket)
                )

    def start(self) -> None:
        """The backward pass that comes now is the last one of this update."""
        self._is_last_pass = True
        for bucket in self._buckets:
            bucket.expect()

    def finish(self) -> None:
        """Sends what is left, with zeros where there was no gradient, and waits for all sums."""
        with exchange():
            while self._sent < len(self._buckets):
                self._send_next()
            for bucket in self._buckets:
                bucket.receive()
        self._sent, self._is_last_pass = 0, False

    def _add(self, bucket: Bucket) -> None:
        bucket.fill()
        if self._is_last_pass:
            while self._sent < len(self._buckets) and self._buckets[self._sent].is_full:
                self._send_next()

    def _send_next(self) -> None:
        self._buckets[self._sent].send()
        self._sent += 1


def _parts(weights: list[nn.Parameter], part_bytes: int) -> Iterator[list[nn.Parameter]]:
    """The weights in their order, in parts of at least ``part_bytes`` but for the last."""
    part: list[nn.Parameter] = []
    for weight in weights:
        part.append(weight)
        if sum(one.numel() * one.element_size() for one in part) >= part_bytes:
            yield part
            part = []
    if part:
        yield part


def _gradient(weight: nn.Parameter) -> Tensor:
    if weight.grad is None:
        weight.grad = torch.zeros_like(weight)
    return weight.grad
