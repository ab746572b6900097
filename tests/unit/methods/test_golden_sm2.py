"""SM² against numbers of its official code (tests/golden/README.md).

Shapes: B sentences, N target tokens, M source tokens, V vocabulary, T target tokens without pads.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simt.corpus.ids import PAD
from simt.methods import Decision, PolicyState
from simt.methods.losses import Smoothing
from simt.methods.mixture import MixtureChoices, MixtureLosses, mixture_losses
from simt.methods.sm2 import ConfidenceRule
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
    tensor,
)
from tests.samples.reference_loop import translate, translate_source
from tests.samples.settings import default_settings, make_method

MODELS = [
    (name, case)
    for name in ("sm2_tiny_model_bi", "sm2_tiny_model_uni")
    for case in golden_cases(name)
]
MODEL_NAMES = [f"{name}: {case['tag']}" for name, case in MODELS]


def criterion(case: dict[str, Any], inputs: dict[str, Tensor]) -> tuple[MixtureLosses, Tensor]:
    """Our losses of given logits: states that are logits, and an identity for the embedding."""
    target = torch.tensor(case["target"]).flatten()
    real = target != PAD
    smoothing = Smoothing.over_others(case["eps"], case["V"])
    choices = MixtureChoices(smoothing, smoothing, True, False, "full_source")
    logit_T = inputs["conf_logit"].flatten()[real]
    losses = mixture_losses(
        inputs["full_logits"].flatten(0, 1)[real],
        inputs["prefix_logits"].flatten(0, 1)[real],
        logit_T,
        OutputLayer(torch.eye(case["V"])),
        target[real],
        torch.ones(len(logit_T)),
        choices,
    )
    return losses, -nn.functional.logsigmoid(logit_T).sum()


@pytest.mark.parametrize("case", golden_cases("sm2_criterion"), ids=by_tag)
def test_mixture_losses_and_gradients_equal_the_official_ones(case: dict[str, Any]) -> None:
    names = ("full_logits", "prefix_logits", "conf_logit")
    inputs = {name: tensor(case[name]).requires_grad_() for name in names}
    losses, penalty = criterion(case, inputs)
    (losses.total + case["lambda"] * penalty).backward()
    expected = case["pads_masked"]
    assert_close(losses.full, expected["l_omt"])
    assert_close(losses.mixture, expected["l_s"])
    assert_close(penalty, expected["l_c"])
    for name, value in inputs.items():
        assert_close(value.grad, expected[f"grad_{name}"])


@pytest.mark.parametrize(("name", "case"), MODELS, ids=MODEL_NAMES)
def test_sm2_model_computes_the_official_logits(name: str, case: dict[str, Any]) -> None:
    method = make_method("sm2", encoder=golden(name)["config"]["encoder"])
    model: Any = golden_model(method, name)
    batch = golden_batch(case)
    prefix_B = torch.full_like(batch.source_lengths_B, case["prefix_len"])
    full_BND, prefix_BND = model.both_passes(batch, prefix_B)
    real = batch.target_mask_BN
    assert_close(model.network.output.logits(full_BND)[real], tensor(case["full_logits"])[real])
    assert_close(model.network.output.logits(prefix_BND)[real], tensor(case["prefix_logits"])[real])
    confidence = model.confidence_logits(prefix_BND).sigmoid()
    assert_close(confidence[real], tensor(case["confidence"])[real])


@pytest.mark.parametrize(("name", "case"), MODELS, ids=MODEL_NAMES)
def test_sm2_model_has_the_official_losses_and_gradients(name: str, case: dict[str, Any]) -> None:
    encoder = golden(name)["config"]["encoder"]
    method: Any = make_method("sm2", encoder=encoder, penalty_includes_pad=True)
    model: Any = golden_model(method, name)
    batch = golden_batch(case)
    prefix_B = torch.full_like(batch.source_lengths_B, case["prefix_len"])
    loss = method.loss_at(model, batch, prefix_B, golden(name)["config"]["lambda"])
    loss.total.backward()
    assert loss.tokens == case["ntokens"]
    assert_close(loss.parts["translation"], case["l_omt"])
    assert_close(loss.parts["mixture"], case["l_s"])
    assert_close(loss.parts["penalty"], case["l_c_official_with_pads"])
    assert_close(loss.total, case["loss_official"])
    ours = assert_official_gradients(
        model, name, case["grad_norm_official_by_param"], case["grad_embedding"]
    )
    assert_close(ours["decoder.confidence_layer.weight"], case["grad_confidence_weight"])
    assert_close(ours["decoder.confidence_layer.bias"], case["grad_confidence_bias"])


@pytest.mark.parametrize(("name", "case"), MODELS, ids=MODEL_NAMES)
def test_sm2_penalty_leaves_out_pads_by_default(name: str, case: dict[str, Any]) -> None:
    method: Any = make_method("sm2", encoder=golden(name)["config"]["encoder"])
    batch = golden_batch(case)
    prefix_B = torch.full_like(batch.source_lengths_B, case["prefix_len"])
    loss = method.loss_at(golden_model(method, name), batch, prefix_B, 0.1)
    assert_close(loss.parts["penalty"], case["l_c_pads_masked"])


class TablePolicy:
    """Takes logits and confidences from tables instead of a network."""

    target_states = "recompute"

    def __init__(self, case: dict[str, Any], rule: ConfidenceRule) -> None:
        self.logits_NMV = tensor(case["logits_NMV"])
        self.confidence_NM = tensor(case["confidence_NM"])
        self.rule = rule
        self.min_read = rule.min_read

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        row, read = int(state.written_B), int(state.read_B)
        confidence_B = self.confidence_NM[row, read - 1].unsqueeze(0)
        logits_BV = self.logits_NMV[row, read - 1].unsqueeze(0)
        return Decision(
            lambda rows: logits_BV[rows], self.rule.should_write(confidence_B, state), confidence_B
        )


@pytest.mark.parametrize(("start", "first_read"), [("official_start2", 2), ("ours_start1", 1)])
@pytest.mark.parametrize("case", golden_cases("sm2_decision_trace"), ids=by_tag)
def test_confidence_rule_takes_the_official_decisions(
    case: dict[str, Any], start: str, first_read: int
) -> None:
    for run in case["runs"]:
        rule = ConfidenceRule(run["gamma"], default_settings("sm2", first_read=first_read))
        policy: Any = TablePolicy(case, rule)
        trace = translate(policy, lambda read_B: read_B, case["M"], case["max_len"], True)
        assert_official_trace(trace, run[start])


@pytest.mark.parametrize(("start", "first_read"), [("official_start2", 2), ("ours_start1", 1)])
@pytest.mark.parametrize("name", ["sm2_tiny_model_bi", "sm2_tiny_model_uni"])
def test_sm2_policy_decodes_like_the_official_model(name: str, start: str, first_read: int) -> None:
    encoder = golden(name)["config"]["encoder"]
    method: Any = make_method("sm2", encoder=encoder, first_read=first_read)
    model = golden_model(method, name)
    for case in golden(name)["decoding"]:
        for run in case["runs"]:
            policy = method.policy(model, run["gamma"])
            trace = translate_source(policy, model, case["src"], case["max_len"], True)
            expected = run[start]
            assert trace.tokens == expected["tokens"]
            assert trace.delays == expected["g"]
            states = [(i, j) for i, j, _ in expected["states_i_j_c"]]
            assert trace.states == states
            assert_close(trace.values, [c for _, _, c in expected["states_i_j_c"]])
