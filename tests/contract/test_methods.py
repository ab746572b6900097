"""The same questions to every method.

Shapes: B sentences, N decoder rows, M source tokens.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, get_type_hints

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from simt.corpus.ids import EOS, SPECIAL_IDS
from simt.errors import SimtError
from simt.methods import METHODS, Decision, Loss, Model, Policy, PolicyState
from simt.model.batch import Batch
from simt.model.matmul import bf16_products
from simt.model.network import VocabularySizes
from simt.settings import METHOD_SETTINGS
from tests.samples.batches import random_batch, single, with_more_pads
from tests.samples.prefixes import PrefixEncodings
from tests.samples.reference_loop import all_logits, translate_source
from tests.samples.settings import KNOBS, VOCABULARY, lively, make_method, make_model
from tests.samples.shapes import few_examples, lengths, seeds

LATE = 10_000  # an update at which every schedule has set in
every_method = pytest.mark.parametrize("name", METHODS)


def make(name: str, dropout: float = 0.0) -> tuple[Any, Model]:
    method = make_method(name)
    return method, make_model(method, dropout=dropout)


def generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch_of(pairs: list[tuple[int, int]], seed: int) -> Batch:
    return random_batch([m for m, _ in pairs], [n for _, n in pairs], seed)


@every_method
def test_method_takes_its_own_settings(name: str) -> None:
    assert get_type_hints(METHODS[name])["settings"] is METHOD_SETTINGS[name]


@every_method
def test_settings_know_whether_the_policy_takes_the_full_source(name: str) -> None:
    method, model = make(name)
    if METHOD_SETTINGS[name].complaint("full") is None:
        method.policy(model, "full")
    else:
        with pytest.raises(SimtError):
            method.policy(model, "full")


@every_method
@pytest.mark.parametrize("update", [1, LATE])
def test_gradients_reach_every_weight_that_learns(name: str, update: int) -> None:
    method, model = make(name, dropout=0.1)
    batch = random_batch([5, 7, 3], [6, 4, 5])
    torch.manual_seed(1)
    method.loss(model, batch, update, generator()).total.backward()
    for weight_name, weight in model.named_parameters():
        if weight.requires_grad:
            assert weight.grad is not None, weight_name
            assert weight.grad.isfinite().all(), weight_name
            assert weight.grad.any(), weight_name


@every_method
def test_gradients_reach_separate_embeddings(name: str) -> None:
    method = make_method(name)
    model = make_model(method, vocabulary=VocabularySizes(40, 29, is_joint=False, ids=SPECIAL_IDS))
    method.loss(model, random_batch([5, 7], [6, 4]), LATE, generator()).total.backward()
    own = model.network.own_source_embedding_VD
    assert own is not None
    assert own.grad is not None
    assert own.grad.any()


@every_method
def test_loss_is_a_sum_over_target_tokens_with_detached_parts(name: str) -> None:
    method, model = make(name)
    batch = random_batch([5, 7, 3], [6, 4, 5])
    loss = method.loss(model, batch, 1, generator())
    assert loss.tokens == 15
    assert loss.total.requires_grad
    assert loss.total.shape == ()
    assert not any(part.requires_grad for part in loss.parts.values())


@every_method
def test_loss_draws_from_the_given_generator_only(name: str) -> None:
    method, model = make(name)
    batch = random_batch([9, 7, 8], [6, 4, 5])
    first = method.loss(model, batch, LATE, generator(3)).total
    torch.rand(5)
    assert method.loss(model, batch, LATE, generator(3)).total.equal(first)


@every_method
def test_validation_loss_is_the_same_every_time(name: str) -> None:
    method, model = make(name, dropout=0.3)
    model.eval()
    batch = random_batch([5, 7, 3], [6, 4, 5])
    with torch.no_grad():
        first = method.validation_loss(model, batch).total
        torch.rand(5)
        assert method.validation_loss(model, batch).total.equal(first)


def assert_same_parts(first: Loss, second: Loss) -> None:
    assert first.tokens == second.tokens
    torch.testing.assert_close(first.total, second.total, rtol=1e-5, atol=1e-5)
    for part, value in first.parts.items():
        torch.testing.assert_close(value, second.parts[part], rtol=1e-5, atol=1e-5)


@every_method
@few_examples
@given(pairs=lengths, seed=seeds, pads=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_pads_change_no_loss(
    name: str, pairs: list[tuple[int, int]], seed: int, pads: tuple[int, int]
) -> None:
    method, model = make(name)
    batch = batch_of(pairs, seed)
    wider = with_more_pads(batch, *pads)
    assert_same_parts(method.validation_loss(model, batch), method.validation_loss(model, wider))
    for update in (1, LATE):
        first, second = (
            method.loss(model, each, update, generator(seed)) for each in (batch, wider)
        )
        assert_same_parts(first, second)


@every_method
@few_examples
@given(pairs=lengths, seed=seeds)
def test_loss_of_a_batch_is_that_of_its_sentences(
    name: str, pairs: list[tuple[int, int]], seed: int
) -> None:
    """Every part is a sum over sentences, but for ITST's norm: one over all of them."""
    method, model = make(name)
    batch = batch_of(pairs, seed)
    together = method.validation_loss(model, batch)
    apart = [method.validation_loss(model, single(batch, row)) for row in range(len(pairs))]
    for part, value in together.parts.items():
        parts = torch.stack([loss.parts[part] for loss in apart])
        is_norm = (name, part) == ("itst", "norm")
        expected = parts.norm() if is_norm else parts.sum()
        torch.testing.assert_close(value, expected, rtol=1e-4, atol=1e-5, msg=part)
    assert together.tokens == sum(loss.tokens for loss in apart)


def state_at(batch: Batch, written_B: Tensor, read_B: Tensor) -> PolicyState:
    """As if the targets had been written with all delays equal to 1."""
    rows = int(written_B.max()) + 1
    return PolicyState(
        decoder_input_BN=batch.decoder_input_BN[:, :rows],
        delays_BN=torch.ones(len(written_B), rows, dtype=torch.long),
        written_B=written_B,
        read_B=read_B,
        source_lengths_B=batch.source_lengths_B,
    )


@torch.no_grad()
def decision_at(
    policy: Policy, model: Model, batch: Batch, written_B: Tensor, read_B: Tensor
) -> Decision:
    encodings = PrefixEncodings.start(model.network, batch.source_BM, batch.source_lengths_B)
    return policy.decide(encodings.memory(read_B), state_at(batch, written_B, read_B))


@every_method
@few_examples
@given(pairs=lengths, seed=seeds)
def test_unread_source_changes_no_decision(
    name: str, pairs: list[tuple[int, int]], seed: int
) -> None:
    method, model = make(name)
    policy = method.policy(lively(model), KNOBS[name])
    batch = batch_of([(m + 1, n) for m, n in pairs], seed)
    read_B = (batch.source_lengths_B + 1) // 2
    written_B = batch.target_lengths_B - 1
    unread = torch.arange(batch.source_BM.shape[1]) >= read_B.unsqueeze(1)
    other = batch.source_BM.masked_fill(unread & batch.source_mask_BM, 11)
    changed = replace(batch, source_BM=other)
    first, second = (decision_at(policy, model, b, written_B, read_B) for b in (batch, changed))
    assert all_logits(first).equal(all_logits(second))
    assert first.value_B.equal(second.value_B)
    assert first.write_B.equal(second.write_B)


@every_method
@few_examples
@given(pairs=lengths, seed=seeds)
def test_decision_of_a_batch_is_that_of_its_sentences(
    name: str, pairs: list[tuple[int, int]], seed: int
) -> None:
    method, model = make(name)
    policy = method.policy(lively(model), KNOBS[name])
    batch = batch_of(pairs, seed)
    written_B = batch.target_lengths_B - 1
    read_B = policy.min_read(written_B, batch.source_lengths_B)
    together = decision_at(policy, model, batch, written_B, read_B)
    for row in range(len(pairs)):
        rows = slice(row, row + 1)
        alone = decision_at(policy, model, single(batch, row), written_B[rows], read_B[rows])
        logits_1V = together.logits(torch.tensor([row]))
        torch.testing.assert_close(all_logits(alone), logits_1V, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(alone.value_B, together.value_B[rows], rtol=1e-4, atol=1e-5)


@every_method
def test_delays_never_fall_and_stay_within_the_source(name: str) -> None:
    method, model = make(name)
    lively(model)
    policy = method.policy(model, KNOBS[name])
    for source in ([5, 9, 12, 7, 21, 8, EOS], [14, 20, EOS], [EOS]):
        trace = translate_source(policy, model, source, max_tokens=6)
        assert len(trace.delays) == len(trace.tokens) <= 7
        assert trace.delays == sorted(trace.delays)
        assert 1 <= trace.delays[0] <= trace.delays[-1] <= len(source)
        assert trace.tokens.index(EOS) == len(trace.tokens) - 1


@every_method
def test_exhausted_source_is_always_written(name: str) -> None:
    method, model = make(name)
    policy = method.policy(model, KNOBS[name])
    batch = random_batch([5, 7, 3], [6, 4, 5])
    decision = decision_at(policy, model, batch, batch.target_lengths_B - 1, batch.source_lengths_B)
    assert decision.write_B.all()
    assert all_logits(decision).shape == (3, VOCABULARY.target_size)


@pytest.mark.parametrize(
    "in_bf16", [partial(torch.autocast, "cpu", dtype=torch.bfloat16), bf16_products]
)
@every_method
def test_loss_in_bf16_is_close_to_that_in_full_precision(
    name: str, in_bf16: Callable[[], AbstractContextManager[object]]
) -> None:
    method, model = make(name)
    batch = random_batch([5, 7, 3], [6, 4, 5])
    exact = method.loss(model, batch, LATE, generator()).total
    with in_bf16():
        loss = method.loss(model, batch, LATE, generator()).total
    assert loss.dtype == torch.float32
    loss.backward()
    assert all(w.grad.isfinite().all() for w in model.parameters() if w.grad is not None)
    assert float(loss.detach()) == pytest.approx(float(exact.detach()), rel=0.02)
