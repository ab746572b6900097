"""No tensor is left behind on another device than the model's.

There may be no GPU here. But a tensor that is made without saying where comes to lie on torch's
default device: if that is one that holds no numbers, whatever meets such a tensor fails.
"""

from typing import Any

import numpy as np
import pytest
import torch

from simt.corpus.ids import EOS
from simt.methods import METHODS
from simt.methods.sampling import sample_up_to
from simt.settings import DecodingSettings
from simt.simulation import simulate, state_confidences
from tests.samples.batches import random_batch
from tests.samples.settings import KNOBS, lively, make_method, make_model

every_method = pytest.mark.parametrize("name", METHODS)
DECODING = DecodingSettings(
    max_target_tokens=6, forbid_eos_before_source_end=False, ms_per_word=400.0
)
SOURCES = [np.array(ids) for ids in ([5, 9, 12, 7, EOS], [14, 20, EOS])]


@every_method
@pytest.mark.parametrize("update", [1, 10_000])
def test_loss_stays_on_the_device_of_the_batch(name: str, update: int) -> None:
    method = make_method(name)
    model, batch = make_model(method, dropout=0.1), random_batch([5, 7, 3], [6, 4, 5])
    with torch.device("meta"):
        loss = method.loss(model, batch, update, torch.Generator().manual_seed(1))
        loss.total.backward()
        method.validation_loss(model.eval(), batch)
    assert loss.total.isfinite()


def test_drawn_counts_are_sent_to_the_device_without_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[bool] = []
    real = torch.Tensor.to

    def watched(tensor: torch.Tensor, *to: Any, **options: Any) -> torch.Tensor:
        if isinstance(to[0], torch.device):
            waits.append(not options.get("non_blocking"))
        return real(tensor, *to, **options)

    monkeypatch.setattr(torch.Tensor, "to", watched)
    sample_up_to(torch.tensor([3, 5], device="meta"), torch.Generator().manual_seed(1))
    assert waits == [False]


@every_method
@pytest.mark.parametrize("references", [None, SOURCES])
def test_decoding_stays_on_the_device_of_the_model(
    name: str, references: list[np.ndarray] | None
) -> None:
    method = make_method(name)
    model = lively(make_model(method)).eval()
    expected = simulate(
        model.network, [method.policy(model, KNOBS[name])], SOURCES, DECODING, references
    )
    with torch.device("meta"):
        policies = [method.policy(model, KNOBS[name])]
        found = simulate(model.network, policies, SOURCES, DECODING, references)
    assert [one.tokens for one in found[0]] == [one.tokens for one in expected[0]]


def test_confidences_stay_on_the_device_of_the_model() -> None:
    model = make_model(make_method("sm2")).eval()
    with torch.device("meta"):
        found = list(state_confidences(model, SOURCES, SOURCES, title="states"))
    assert sorted(one.index for one in found) == [0, 1]
