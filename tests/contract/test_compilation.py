"""Layers that are compiled compute what they did before."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - everybody's name for it

from simt.methods import METHODS
from simt.model.layers import Dropout
from simt.training.loop import compile_layers
from tests.samples.batches import random_batch
from tests.samples.settings import make_method, make_model

every_method = pytest.mark.parametrize("name", METHODS)
without_torchs_warning = pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor:UserWarning"
)
LATE = 10_000  # an update at which every schedule has set in


def loss_of(name: str, is_compiled: bool) -> torch.Tensor:
    method = make_method(name)
    model = make_model(method)
    if is_compiled:
        compile_layers(model)
    batch = random_batch([5, 7, 3], [6, 4, 5])
    total: torch.Tensor = method.loss(model, batch, LATE, torch.Generator().manual_seed(1)).total
    total.backward()  # type: ignore[no-untyped-call]
    return total.detach()


@every_method
@without_torchs_warning
def test_a_compiled_layer_is_one_graph(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With torch's own dropout, as on a GPU; ours draws its numbers on a CPU, outside any graph."""
    monkeypatch.setattr(Dropout, "forward", lambda self, x: F.dropout(x, self.rate))
    strict = partial(torch.compile, backend="eager", fullgraph=True)
    monkeypatch.setattr(torch, "compile", strict)
    loss_of(name, True)


@every_method
@without_torchs_warning
def test_compiled_layers_have_the_same_loss(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    torch.testing.assert_close(loss_of(name, True), loss_of(name, False))


@every_method
def test_every_layer_is_called_as_it_was_compiled(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[torch.nn.Module] = []

    def watched(call: Any, **_: Any) -> Callable[..., Any]:
        def watched_call(*inputs: Any, **options: Any) -> Any:
            called.append(call.__self__)
            return call(*inputs, **options)

        return watched_call

    monkeypatch.setattr(torch, "compile", watched)
    loss_of(name, True)
    assert len(set(called)) == 4  # two of the encoder, two of the decoder
