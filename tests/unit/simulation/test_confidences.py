"""Confidence and probability of gold tokens in all states."""

from typing import Any

import numpy as np
import pytest
import torch

from simt.corpus.ids import EOS
from simt.methods import METHODS, Model, PolicyState
from simt.settings import METHOD_SETTINGS
from simt.simulation import ConfidentModel, StateConfidences, confidences, state_confidences
from tests.samples.reference_loop import all_logits
from tests.samples.settings import lively, make_method, make_model
from tests.samples.simulation import random_sentences

SOURCES = random_sentences([4, 1, 6, 3])
TARGETS = random_sentences([3, 5, 2, 1], seed=2)


def make(encoder: str) -> tuple[Any, Model]:
    method = make_method("sm2", encoder=encoder)
    return method, lively(make_model(method))


def all_states(model: Model, batch_sentences: int = 64) -> list[StateConfidences]:
    found = list(state_confidences(model, SOURCES, TARGETS, batch_sentences))
    return sorted(found, key=lambda each: each.index)


@pytest.mark.parametrize("encoder", ["uni", "bi"])
@torch.no_grad()
def test_states_are_those_that_the_policy_would_see(encoder: str) -> None:
    method, model = make(encoder)
    policy = method.policy(model, 0.5)
    for found, source, target in zip(all_states(model), SOURCES, TARGETS, strict=True):
        assert found.confidence_NM.shape == (len(target), len(source))
        for j in range(1, len(source) + 1):
            memory = model.network.encode(torch.tensor([source[:j]]), torch.tensor([j]))
            for i, gold in enumerate(target):
                state = PolicyState(
                    decoder_input_BN=torch.tensor([[EOS, *target[:i]]]),
                    delays_BN=torch.zeros(1, i + 1, dtype=torch.long),
                    written_B=torch.tensor([i]),
                    read_B=torch.tensor([j]),
                    source_lengths_B=torch.tensor([len(source)]),
                )
                decision = policy.decide(memory, state)
                probability = float(all_logits(decision).softmax(1)[0, gold])
                assert found.confidence_NM[i, j - 1] == pytest.approx(
                    float(decision.value_B), abs=1e-5
                )
                assert found.probability_NM[i, j - 1] == pytest.approx(probability, abs=1e-5)


def test_states_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    _, model = make("bi")
    together = all_states(model)
    monkeypatch.setattr(confidences, "LOGITS", 50)  # one row at a time
    for one, other in zip(together, all_states(model, batch_sentences=1), strict=True):
        np.testing.assert_allclose(one.confidence_NM, other.confidence_NM, atol=1e-5)
        np.testing.assert_allclose(one.probability_NM, other.probability_NM, atol=1e-5)


@pytest.mark.parametrize("name", METHODS)
def test_method_has_a_confidence_if_its_settings_say_so(name: str) -> None:
    is_confident = isinstance(make_model(make_method(name)), ConfidentModel)
    assert is_confident == METHOD_SETTINGS[name].has_confidence


def test_only_sm2_has_a_confidence() -> None:
    assert [name for name in METHODS if METHOD_SETTINGS[name].has_confidence] == ["sm2"]
