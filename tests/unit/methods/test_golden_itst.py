"""ITST against numbers of its official code (tests/golden/README.md).

Shapes: B sentences, L layers, N target tokens, M source tokens, V vocabulary, H heads.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simt.corpus.ids import PAD
from simt.methods import Decision, PolicyState
from simt.methods.itst import (
    TransportAttention,
    TransportRule,
    diagonal_cost,
    transport_losses,
    visible_counts,
)
from simt.methods.losses import Smoothing, smoothed_cross_entropy
from simt.model.masks import key_mask, length_mask, visible_mask
from simt.model.network import OutputLayer
from tests.samples.golden import (
    assert_close,
    assert_official_gradients,
    assert_official_trace,
    by_tag,
    golden,
    golden_batch,
    golden_cases,
    golden_model,
    load_weights,
    tensor,
)
from tests.samples.reference_loop import translate, translate_source
from tests.samples.settings import default_settings, make_method

MODEL = "itst_tiny_model"


def make_attention(case: dict[str, Any]) -> TransportAttention:
    attention = TransportAttention(case["d"], case["heads"])
    layer = nn.Module()
    layer.cross_attention = attention
    model = nn.Module()
    model.decoder_layers = nn.ModuleList([layer])
    prefix = "decoder.layers.0.encoder_attn."
    load_weights(model, {prefix + name: value for name, value in case["params"].items()})
    return attention


@pytest.mark.parametrize("case", golden_cases("itst_attention"), ids=by_tag)
def test_transport_equals_the_official_one(case: dict[str, Any]) -> None:
    attention = make_attention(case)
    query, key = tensor(case["query_TBC"]).transpose(0, 1), tensor(case["key_TBC"]).transpose(0, 1)
    assert_close(attention.transport(query, key), case["T_BNM"])


@pytest.mark.parametrize("case", golden_cases("itst_attention"), ids=by_tag)
def test_transport_attention_reweights_like_the_official_one(case: dict[str, Any]) -> None:
    attention = make_attention(case)
    query, key = tensor(case["query_TBC"]).transpose(0, 1), tensor(case["key_TBC"]).transpose(0, 1)
    pads = length_mask(torch.tensor(case["src_lengths"]), case["M"])[:, None, None, :]
    for run in case["runs"]:
        mask = pads
        if run["delta"] is not None:
            counts = visible_counts(tensor(case["T_BNM"]), run["delta"])
            capped = counts.clamp(max=case["M"])
            assert capped.tolist() == run["visible_count_BN"]
            mask = pads & visible_mask(counts, case["M"])
        weights, _ = attention.attention(query, key, mask, tensor(case["T_BNM"]))
        assert_close(weights, run["reweighted_BHNM"])
        plain, _ = attention.attention(query, key, mask, torch.ones_like(tensor(case["T_BNM"])))
        assert_close(plain, run["softmax_BHNM"])


@pytest.mark.parametrize("case", golden_cases("itst_attention"), ids=by_tag)
def test_transport_attention_has_the_official_output_and_gradients(case: dict[str, Any]) -> None:
    attention = make_attention(case)
    mask = key_mask(torch.tensor(case["src_lengths"]), case["M"])
    for run in case["runs"]:
        query, key = (tensor(case[name]).requires_grad_() for name in ("query_TBC", "key_TBC"))
        out, _ = attention.with_transport(
            query.transpose(0, 1), key.transpose(0, 1), mask, run["delta"]
        )
        assert_close(out.transpose(0, 1), run["out_TBC"])
        (out.transpose(0, 1) * tensor(run["cotangent_TBC"])).sum().backward()
        assert_close(query.grad, run["grad_query_TBC"])
        assert_close(key.grad, run["grad_key_TBC"])


def criterion_losses(case: dict[str, Any], transport: Tensor, **settings: Any) -> Any:
    return transport_losses(
        transport,
        torch.tensor(case["src_lengths"]),
        torch.tensor(case["target_lengths"]),
        default_settings("itst", **settings),
    )


@pytest.mark.parametrize("case", golden_cases("itst_criterion"), ids=by_tag)
def test_transport_losses_with_official_pads_equal_the_official_ones(case: dict[str, Any]) -> None:
    transport = tensor(case["T_BLNM"]).requires_grad_()
    losses = criterion_losses(case, transport, pads="official")
    (losses.latency + losses.norm).backward()
    assert_close(losses.latency, case["official"]["latency_loss"])
    assert_close(losses.norm, case["official"]["norm_loss"])
    assert_close(transport.grad, case["official"]["grad_T"])


@pytest.mark.parametrize("case", golden_cases("itst_criterion"), ids=by_tag)
def test_transport_losses_leave_out_pads_by_default(case: dict[str, Any]) -> None:
    transport = tensor(case["T_BLNM"]).requires_grad_()
    losses = criterion_losses(case, transport)
    (losses.latency + losses.norm).backward()
    expected = case["true_lengths_pads_masked"]
    assert_close(losses.latency, expected["latency_loss"])
    assert_close(losses.norm, expected["norm_loss"])
    assert_close(transport.grad, expected["grad_T_of_latency_plus_norm"])


@pytest.mark.parametrize("case", golden_cases("itst_criterion"), ids=by_tag)
def test_itst_cross_entropy_is_smoothed_like_the_official_one(case: dict[str, Any]) -> None:
    target = torch.tensor(case["target"]).flatten()
    loss = smoothed_cross_entropy(
        tensor(case["logits"]).flatten(0, 1)[target != PAD],
        OutputLayer(torch.eye(case["V"])),
        target[target != PAD],
        Smoothing.over_all(case["eps"], case["V"]),
    )
    assert_close(loss, case["official"]["ce_loss"])


def test_diagonal_cost_equals_the_official_matrices() -> None:
    for case in golden_cases("itst_criterion", "cost_matrices"):
        rows, columns = case["tgt_width"], case["src_width"]
        cost = diagonal_cost(torch.tensor([rows]), torch.tensor([columns]), rows, columns)
        assert_close(cost[0], case["cost_NM"])


def test_threshold_follows_the_official_curriculum() -> None:
    method: Any = make_method("itst")
    for case in golden_cases("itst_criterion", "curriculum"):
        if case["update"] is not None:
            threshold = method.curriculum_threshold(case["update"])
            assert threshold == pytest.approx(case["delta_train"], rel=1e-12)


@pytest.mark.parametrize("case", golden_cases(MODEL), ids=by_tag)
def test_itst_model_has_the_official_losses_and_gradients(case: dict[str, Any]) -> None:
    method: Any = make_method("itst", pads="official")
    model: Any = golden_model(method, MODEL)
    batch = golden_batch(case)
    loss = method.loss(model, batch, case["update"], torch.Generator())
    loss.total.backward()
    assert loss.tokens == case["ntokens"]
    assert_close(loss.parts["translation"], case["ce_loss"])
    assert_close(loss.parts["latency"], case["latency_loss"])
    assert_close(loss.parts["norm"], case["norm_loss"])
    assert_close(loss.total, case["loss"])
    assert_official_gradients(model, MODEL, case["grad_norm_by_param"], case["grad_embedding"])


@pytest.mark.parametrize("case", golden_cases(MODEL), ids=by_tag)
def test_itst_model_computes_the_official_logits_and_transport(case: dict[str, Any]) -> None:
    method: Any = make_method("itst", pads="official")
    model: Any = golden_model(method, MODEL)
    batch = golden_batch(case)
    threshold = method.curriculum_threshold(case["update"])
    states_BND, transport_BLNM = method.run(model, batch, threshold)
    assert_close(model.network.output.logits(states_BND), case["logits_BNV"])
    assert_close(transport_BLNM, case["T_BLNM"])


class TablePolicy:
    """Takes logits and transport from tables instead of a network."""

    target_states = "recompute"

    def __init__(self, case: dict[str, Any], rule: TransportRule) -> None:
        self.logits_NMV = tensor(case["logits_NMV"])
        self.transport_LNM = tensor(case["T_LNM"])
        self.rule = rule
        self.min_read = rule.min_read

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        row, read = int(state.written_B), int(state.read_B)
        arrived_BL = self.rule.arrived(self.transport_LNM[:, row, :read].unsqueeze(0), state.read_B)
        agreed_B = self.rule.agreed(arrived_BL)
        logits_BV = self.logits_NMV[row, read - 1].unsqueeze(0)
        return Decision(
            lambda rows: logits_BV[rows], self.rule.should_write(agreed_B, state), agreed_B
        )


@pytest.mark.parametrize("case", golden_cases("itst_decision_trace"), ids=by_tag)
def test_transport_rule_takes_the_official_decisions(case: dict[str, Any]) -> None:
    for run in case["runs"]:
        rule = TransportRule(run["delta"], default_settings("itst"))
        policy: Any = TablePolicy(case, rule)
        trace = translate(policy, lambda read_B: read_B, case["M"], case["max_len"], True)
        assert_official_trace(trace, run["official"])


@pytest.mark.parametrize("case", golden(MODEL)["decoding"])
def test_itst_policy_decodes_like_the_official_model(case: dict[str, Any]) -> None:
    method: Any = make_method("itst")
    model = golden_model(method, MODEL)
    policy = method.policy(model, case["delta"])
    trace = translate_source(policy, model, case["src"], case["max_len"], True)
    assert trace.tokens == case["tokens"]
    assert trace.delays == case["g"]
    assert trace.states == [(i, j) for i, j, _ in case["states_i_j_A"]]
    assert_close(trace.values, [min(layers) for _, _, layers in case["states_i_j_A"]])
