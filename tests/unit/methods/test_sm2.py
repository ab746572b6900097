"""SM² beyond its golden numbers.

Shapes: B sentences, M source tokens, N target tokens.
"""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus.ids import EOS
from simt.errors import SimtError
from simt.methods import PolicyState, load_offline
from simt.methods.sm2 import ConfidenceRule, Sm2Model, allowed_states
from tests.samples.batches import random_batch, single, with_more_pads
from tests.samples.reference_loop import translate_source
from tests.samples.settings import default_settings, lively, make_method, make_model
from tests.samples.shapes import few_examples, lengths, seeds

SOURCES = [[5, 9, 12, 7, EOS], [14, 20, EOS], [EOS]]


def sm2(**changes: Any) -> tuple[Any, Any]:
    method = make_method("sm2", **changes)
    return method, make_model(method).eval()


@few_examples
@given(lengths, seeds)
def test_prefix_pass_of_a_bi_encoder_does_not_know_the_rest(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    _, model = sm2(encoder="bi")
    batch = random_batch([m + 1 for m, _ in pairs], [n for _, n in pairs], seed)
    prefix_B = (batch.source_lengths_B + 1) // 2
    unread = torch.arange(batch.source_BM.shape[1]) >= prefix_B.unsqueeze(1)
    changed = replace(batch, source_BM=batch.source_BM.masked_fill(unread, 11))
    (_, first), (_, second) = (model.both_passes(each, prefix_B) for each in (batch, changed))
    real = batch.target_mask_BN
    assert model.network.output.logits(first)[real].equal(model.network.output.logits(second)[real])
    assert model.confidence_logits(first)[real].equal(model.confidence_logits(second)[real])


@pytest.mark.parametrize("encoder", ["uni", "bi"])
@few_examples
@given(lengths, seeds)
def test_both_passes_agree_when_the_prefix_is_the_source(
    encoder: str, pairs: list[tuple[int, int]], seed: int
) -> None:
    _, model = sm2(encoder=encoder)
    batch = random_batch([m for m, _ in pairs], [n for _, n in pairs], seed)
    full, prefix = model.both_passes(batch, batch.source_lengths_B)
    torch.testing.assert_close(full, prefix, rtol=0, atol=2e-6)


@pytest.mark.parametrize("encoder", ["uni", "bi"])
def test_mixture_does_not_depend_on_confidence_when_the_prefix_is_the_source(encoder: str) -> None:
    method, model = sm2(encoder=encoder)
    batch = random_batch([5, 3], [4, 6])
    first = method.loss_at(model, batch, batch.source_lengths_B, 0.1)
    torch.nn.init.constant_(model.confidence.bias, 3.0)
    second = method.loss_at(model, batch, batch.source_lengths_B, 0.1)
    torch.testing.assert_close(first.parts["mixture"], second.parts["mixture"])
    assert not torch.isclose(first.parts["penalty"], second.parts["penalty"])


@pytest.mark.parametrize("encoder", ["uni", "bi"])
@few_examples
@given(lengths, seeds)
def test_loss_of_a_batch_is_the_sum_over_its_sentences(
    encoder: str, pairs: list[tuple[int, int]], seed: int
) -> None:
    method, model = sm2(encoder=encoder)
    batch = random_batch([m for m, _ in pairs], [n for _, n in pairs], seed)
    prefix_B = (batch.source_lengths_B + 1) // 2
    together = method.loss_at(model, batch, prefix_B, 0.1).total
    apart = [
        method.loss_at(model, single(batch, row), prefix_B[row : row + 1], 0.1).total
        for row in range(len(pairs))
    ]
    torch.testing.assert_close(together, sum(apart))


@few_examples
@given(lengths, seeds)
def test_pads_leave_the_loss_with_given_prefixes_unchanged(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    method, model = sm2()
    batch = random_batch([m for m, _ in pairs], [n for _, n in pairs], seed)
    prefix_B = (batch.source_lengths_B + 1) // 2
    wider = with_more_pads(batch, 3, 2)
    first, second = (method.loss_at(model, each, prefix_B, 0.1) for each in (batch, wider))
    for name, part in first.parts.items():
        torch.testing.assert_close(part, second.parts[name])


def test_sampled_prefixes_cover_each_source_evenly() -> None:
    method, _ = sm2()
    lengths_B = torch.tensor([1, 4, 7])
    generator = torch.Generator().manual_seed(1)
    drawn = torch.stack([method.sample_prefixes(lengths_B, generator) for _ in range(7000)])
    assert drawn.amin(0).tolist() == [1, 1, 1]
    assert drawn.amax(0).tolist() == [1, 4, 7]
    counts = drawn[:, 2].bincount()[1:]
    assert ((counts - 1000).abs() < 150).all()


def test_batch_min_draws_one_prefix_that_the_shortest_source_has() -> None:
    method, _ = sm2(prefix_sampling="batch_min")
    generator = torch.Generator().manual_seed(1)
    drawn = torch.stack(
        [method.sample_prefixes(torch.tensor([9, 3, 5]), generator) for _ in range(200)]
    )
    assert (drawn == drawn[:, :1]).all()
    assert sorted(set(drawn[:, 0].tolist())) == [1, 2, 3]


def test_ways_to_sample_agree_when_all_prefixes_are_equal() -> None:
    batch = random_batch([1, 1], [4, 4])
    generator = torch.Generator().manual_seed(1)
    losses = []
    for sampling in ("sentence", "batch_min"):
        method, model = sm2(prefix_sampling=sampling)
        losses.append(method.loss(model, batch, 1, generator).total)
        singles = [method.loss(model, single(batch, row), 1, generator).total for row in (0, 1)]
        losses.append(sum(singles))
    for loss in losses[1:]:
        torch.testing.assert_close(loss, losses[0])


def test_penalty_weight_is_constant_or_annealed() -> None:
    constant, _ = sm2(confidence_weight=0.3)
    annealed, _ = sm2(confidence_schedule="annealed")
    assert constant.penalty_weight(1000) == 0.3
    assert annealed.penalty_weight(45_000) == pytest.approx(30 / math.e)


def test_validation_takes_a_quarter_a_half_three_quarters_and_all_of_the_source() -> None:
    method, model = sm2()
    batch = random_batch([5, 1], [4, 3])
    grid = [[2, 1], [3, 1], [4, 1], [5, 1]]
    losses = [method.loss_at(model, batch, torch.tensor(js), 0.1).total for js in grid]
    torch.testing.assert_close(method.validation_loss(model, batch).total, sum(losses) / 4)


def test_loss_without_offline_part_is_the_rest_of_it() -> None:
    method, model = sm2()
    without, _ = sm2(offline_loss=False)
    batch = random_batch([5, 3], [4, 6])
    prefix_B = torch.tensor([2, 3])
    loss = method.loss_at(model, batch, prefix_B, 0.1)
    rest = without.loss_at(model, batch, prefix_B, 0.1).total
    torch.testing.assert_close(loss.total - loss.parts["translation"], rest)


def brute_force_allowed(i: int, j: int, length: int, lower: int, upper: int) -> bool:
    return min(lower + i - 1, length) <= j <= min(upper + i - 1, length)


@few_examples
@given(st.integers(1, 9), st.integers(0, 4), st.integers(0, 6))
def test_allowed_states_lie_between_two_waitk_paths(length: int, lower: int, more: int) -> None:
    upper = max(1, lower + more)
    settings = default_settings(
        "sm2", prohibition="both", prohibition_lower=lower, prohibition_upper=upper
    )
    for j in range(1, length + 1):
        allowed = allowed_states(torch.tensor([j]), torch.tensor([length]), 12, settings)
        expected = [brute_force_allowed(i, j, length, lower, upper) for i in range(1, 13)]
        assert allowed[0].tolist() == expected


def test_one_sided_prohibition_keeps_the_first_rows() -> None:
    settings = default_settings("sm2", prohibition="one_sided")
    allowed = allowed_states(torch.tensor([3, 5]), torch.tensor([5, 5]), 6, settings)
    assert allowed.sum(1).tolist() == [3, 5]
    assert allowed[0].tolist() == [True, True, True, False, False, False]


def test_wide_prohibition_changes_nothing_when_all_states_are_allowed() -> None:
    method, model = sm2()
    wide, _ = sm2(prohibition="both", prohibition_lower=0, prohibition_upper=1000)
    batch = random_batch([8, 9], [3, 4])
    prefix_B = torch.tensor([5, 4])
    expected = method.loss_at(model, batch, prefix_B, 0.1).total
    torch.testing.assert_close(wide.loss_at(model, batch, prefix_B, 0.1).total, expected)


def test_prohibited_rows_keep_the_offline_loss_only() -> None:
    method, model = sm2(prohibition="both", prohibition_lower=1, prohibition_upper=1)
    batch = random_batch([8], [2])
    loss = method.loss_at(model, batch, torch.tensor([7]), 0.1)
    assert float(loss.parts["mixture"]) == float(loss.parts["penalty"]) == 0
    torch.testing.assert_close(loss.total, loss.parts["translation"])


def test_normalising_by_allowed_rows_makes_up_for_prohibited_ones() -> None:
    changes = {"prohibition": "both", "prohibition_lower": 1, "prohibition_upper": 2}
    by_tokens, model = sm2(**changes)
    by_allowed, _ = sm2(**changes, prohibition_normaliser="allowed")
    batch = random_batch([8], [6])
    losses = [
        method.loss_at(model, batch, torch.tensor([3]), 0.1).parts
        for method in (by_tokens, by_allowed)
    ]
    # rows 2 and 3 of 6 are allowed: min(1 + i - 1, 8) <= 3 <= min(2 + i - 1, 8)
    torch.testing.assert_close(losses[1]["mixture"], losses[0]["mixture"] * 6 / 2)
    torch.testing.assert_close(losses[1]["penalty"], losses[0]["penalty"] * 6 / 2)


def test_normalising_survives_a_batch_without_allowed_rows() -> None:
    method, model = sm2(prohibition="both", prohibition_upper=1, prohibition_normaliser="allowed")
    loss = method.loss_at(model, random_batch([8], [2]), torch.tensor([7]), 0.1)
    assert loss.total.isfinite()


@pytest.mark.parametrize("encoder", ["uni", "bi"])
@pytest.mark.parametrize("source", SOURCES)
def test_unreachable_threshold_is_offline_translation(encoder: str, source: list[int]) -> None:
    method, model = sm2(encoder=encoder)
    lively(model)
    offline = make_method("offline", encoder=encoder)
    same = make_model(offline)
    same.load_state_dict(model.state_dict(), strict=False)
    trace = translate_source(method.policy(model, 1.1), model, source, max_tokens=8)
    expected = translate_source(offline.policy(same, "full"), same, source, max_tokens=8)
    assert trace.tokens == expected.tokens
    assert trace.delays == expected.delays == [len(source)] * len(trace.tokens)
    full = translate_source(method.policy(model, "full"), model, source, max_tokens=8)
    assert full.tokens == expected.tokens


@pytest.mark.parametrize("encoder", ["uni", "bi"])
def test_threshold_of_zero_writes_from_the_first_token(encoder: str) -> None:
    method, model = sm2(encoder=encoder)
    trace = translate_source(method.policy(model, 0.0), model, SOURCES[0], max_tokens=8)
    assert set(trace.delays) == {1}


def make_state(written: int, read: int, length: int) -> PolicyState:
    return PolicyState(
        decoder_input_BN=torch.full((1, written + 1), EOS),
        delays_BN=torch.ones(1, written + 1, dtype=torch.long),
        written_B=torch.tensor([written]),
        read_B=torch.tensor([read]),
        source_lengths_B=torch.tensor([length]),
    )


def test_restricted_rule_stays_between_two_waitk_paths() -> None:
    settings = default_settings(
        "sm2",
        prohibition="both",
        prohibition_lower=2,
        prohibition_upper=4,
        prohibition_at_test=True,
    )
    rule = ConfidenceRule(0.5, settings)
    assert int(rule.min_read(torch.tensor([3]), torch.tensor([9]))) == 5
    assert int(rule.min_read(torch.tensor([3]), torch.tensor([4]))) == 4
    low, high = torch.tensor([0.1]), torch.tensor([0.9])
    assert not rule.should_write(low, make_state(3, 6, 9))
    assert rule.should_write(low, make_state(3, 7, 9))
    assert rule.should_write(high, make_state(3, 5, 9))


@pytest.mark.parametrize("place", ["ffn", "layer"])
def test_new_adapters_reproduce_the_offline_model(place: str) -> None:
    offline = make_method("offline")
    trained = make_model(offline, seed=5).eval()
    _, model = sm2(adapter_fraction=0.5, adapter_place=place)
    load_offline(model, trained.state_dict())
    batch = random_batch([5, 3], [4, 6])
    full, _ = model.both_passes(batch, batch.source_lengths_B)
    memory = trained.network.encode(batch.source_BM, batch.source_lengths_B)
    mask = batch.source_mask_BM[:, None, None, :]
    expected = trained.network.decode(batch.decoder_input_BN, memory, mask)
    torch.testing.assert_close(full[batch.target_mask_BN], expected[batch.target_mask_BN])


@pytest.mark.parametrize("place", ["ffn", "layer"])
def test_adapters_and_confidence_alone_are_trained(place: str) -> None:
    method, model = sm2(adapter_fraction=0.5, adapter_place=place)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained == {name for name, _ in model.named_parameters() if "adapter" in name} | {
        "confidence.weight",
        "confidence.bias",
    }
    optimiser = torch.optim.Adam([w for w in model.parameters() if w.requires_grad], lr=0.01)
    batch = random_batch([5, 3], [4, 6])
    for update in (1, 2):
        optimiser.zero_grad()
        method.loss(model, batch, update, torch.Generator().manual_seed(1)).total.backward()
        optimiser.step()
    for name, weight in model.named_parameters():
        assert (weight.grad is not None and bool(weight.grad.any())) == (name in trained), name


def test_fine_tuning_starts_from_all_offline_weights() -> None:
    trained = make_model(make_method("offline"), seed=5)
    _, model = sm2()
    confidence = model.confidence.weight.clone()
    load_offline(model, trained.state_dict())
    for name, weight in trained.named_parameters():
        assert model.get_parameter(name).equal(weight)
    assert model.confidence.weight.equal(confidence)


def test_weights_that_are_no_use_are_refused() -> None:
    _, model = sm2()
    weights = {**model.state_dict(), "reader.weight": torch.zeros(1)}
    with pytest.raises(SimtError, match=r"no use here: reader.weight \(1 in all\)"):
        load_offline(model, weights)


def test_weights_of_another_size_are_refused() -> None:
    _, model = sm2()
    weights = dict(model.state_dict())
    weights["confidence.weight"] = torch.zeros(1, 99)
    with pytest.raises(SimtError, match=r"confidence.weight is \(1, 99\) instead of \(1, 16\)"):
        load_offline(model, weights)


def test_confidence_is_computed_in_fp32_under_autocast() -> None:
    _, model = sm2()
    assert isinstance(model, Sm2Model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model.confidence_logits(torch.randn(2, 16).bfloat16())
    assert logits.dtype == torch.float32
