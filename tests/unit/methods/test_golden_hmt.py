"""HMT against numbers of its official code (tests/golden/README.md).

Shapes: B sentences, N target tokens, K states, S = N·K states, M source tokens, V vocabulary.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simt.corpus.ids import SPECIAL_IDS
from simt.methods import Decision, PolicyState
from simt.methods.hmt import (
    HmtModel,
    MarkovChain,
    SelectionRule,
    expected_lags,
    sentence_log_likelihoods,
    state_mask,
    state_reads,
)
from simt.methods.losses import Smoothing, token_log_probs
from simt.model.batch import Batch
from simt.model.layers import CrossAttention, SelfAttention
from simt.model.masks import length_mask, visible_mask
from simt.model.network import OutputLayer, VocabularySizes
from simt.model.transformer import Transformer
from simt.settings import ModelSettings
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

MODEL = "hmt_tiny_model"


def settings_of(case: dict[str, Any], **changes: Any) -> Any:
    return default_settings("hmt", low=case["L"], states=case["K"], **changes)


def criterion_batch(case: dict[str, Any]) -> Batch:
    lengths = torch.tensor(case["src_lengths"])
    source = torch.zeros(len(lengths), case["S"], dtype=torch.long)
    return Batch(
        source,
        lengths,
        torch.tensor(case["target"]),
        torch.tensor(case["target_lengths"]),
        SPECIAL_IDS,
    )


def make_chain(case: dict[str, Any], selection_logits: Tensor) -> MarkovChain:
    skip, select = selection_logits.log_softmax(3).unbind(3)
    forced = torch.cat([select[..., :-1], torch.zeros_like(select[..., -1:])], dim=2)
    return MarkovChain.from_selection(forced, skip, torch.tensor(case["t"]))


@pytest.mark.parametrize("case", golden_cases("hmt_criterion"), ids=by_tag)
def test_state_reads_equal_the_official_ones(case: dict[str, Any]) -> None:
    lengths = torch.tensor(case["src_lengths"])
    reads = state_reads(case["N"], lengths, settings_of(case))
    assert reads.tolist() == case["t"]


@pytest.mark.parametrize("case", golden_cases("hmt_criterion"), ids=by_tag)
def test_chain_allows_the_official_moves(case: dict[str, Any]) -> None:
    chain = make_chain(case, tensor(case["selection_logits"]))
    assert chain.transitions_BNKK.isfinite().int().tolist() == case["allowed"]


@pytest.mark.parametrize("case", golden_cases("hmt_criterion"), ids=by_tag)
def test_hmt_losses_and_gradients_equal_the_official_ones(case: dict[str, Any]) -> None:
    method: Any = make_method("hmt", case["eps"], low=case["L"], states=case["K"])
    emission_logits = tensor(case["emission_logits"]).requires_grad_()
    selection_logits = tensor(case["selection_logits"]).requires_grad_()
    batch = criterion_batch(case)
    gold = batch.gold_T.repeat_interleave(case["K"])
    gold_log_probs, summed = token_log_probs(
        batch.tokens_of(emission_logits).flatten(0, 1), OutputLayer(torch.eye(case["V"])), gold
    )
    emissions = method.spread(gold_log_probs.view(-1, case["K"]), batch)
    losses = Smoothing.over_all(case["eps"], case["V"]).loss(gold_log_probs, summed)
    chain = make_chain(case, selection_logits)
    loss = method.combine(batch, chain, emissions, losses, torch.tensor(case["t"]))
    loss.total.backward()
    expected = case["official"]
    assert_close(loss.parts["hidden"], expected["hmm_loss"])
    assert_close(loss.parts["state"], expected["state_loss"])
    assert_close(loss.parts["latency"], expected["latency_loss"])
    assert_close(loss.total, expected["loss"])
    assert_close(emission_logits.grad, expected["grad_emission_logits"])
    assert_close(selection_logits.grad, expected["grad_selection_logits"])


@pytest.mark.parametrize("case", golden_cases("hmt_criterion"), ids=by_tag)
def test_chain_has_the_official_forward_probabilities(case: dict[str, Any]) -> None:
    chain = make_chain(case, tensor(case["selection_logits"]))
    alpha, pi = chain.forward_log_probs(tensor(case["log_e"]))
    batch = criterion_batch(case)
    real = batch.target_mask_BN
    expected = case["official"]
    assert_close(alpha[real], tensor(expected["log_alpha"])[real])
    assert_close(pi.exp()[real], tensor(expected["pi"])[real])
    likelihoods = sentence_log_likelihoods(alpha, batch.target_lengths_B)
    assert_close(likelihoods, expected["forward_loglik_per_sentence"])
    reads = torch.tensor(case["t"])
    lags = expected_lags(pi, reads, batch.source_lengths_B, real, case["L"])
    assert_close(lags, expected["latency_per_sentence"])


@pytest.mark.parametrize("case", golden_cases("hmt_masks"))
def test_state_masks_equal_the_official_ones(case: dict[str, Any]) -> None:
    visible = torch.tensor(case["self_attn_visible"])
    limits = torch.full((visible.shape[0],), case["M"])
    reads = state_reads(case["N"], limits, settings_of(case))
    assert reads[0].tolist() == case["t"]
    cross = visible_mask(reads.flatten(1), case["M"])[:, 0]
    own = state_mask(reads.flatten(1))[:, 0]
    if case["src_lengths"] is not None:
        cross = cross & length_mask(torch.tensor(case["src_lengths"]), case["M"]).unsqueeze(1)
    if case["target_in_lengths"] is not None:
        real = length_mask(torch.tensor(case["target_in_lengths"]) * case["K"], visible.shape[2])
        own = own & real.unsqueeze(1)
    assert own.int().tolist() == case["self_attn_visible"]
    assert cross.int().tolist() == case["cross_attn_visible"]


def load_attention(case: dict[str, Any], kind: str, name: str, attention: nn.Module) -> None:
    layer = nn.Module()
    setattr(layer, name, attention)
    model = nn.Module()
    model.decoder_layers = nn.ModuleList([layer])
    official = "self_attn" if kind == "self_attn" else "encoder_attn"
    params = {f"decoder.layers.0.{official}.{k}": v for k, v in case[f"{kind}_params"].items()}
    load_weights(model, params)


@pytest.mark.parametrize("case", golden_cases("hmt_modules"))
def test_attention_over_states_equals_the_official_one(case: dict[str, Any]) -> None:
    reads = torch.tensor(case["t_padded_width"]).expand(case["B"], -1, -1).flatten(1)
    x, memory = tensor(case["x_TBC"]).transpose(0, 1), tensor(case["enc_TBC"]).transpose(0, 1)
    own = SelfAttention(case["d"], case["heads"])
    load_attention(case, "self_attn", "self_attention", own)
    out = own(x.contiguous(), state_mask(reads), False)
    assert_close(out.transpose(0, 1), case["self_attn_out_TBC"])
    cross = CrossAttention(case["d"], case["heads"])
    load_attention(case, "cross_attn", "cross_attention", cross)
    real = length_mask(torch.tensor(case["src_lengths"]), case["S"])[:, None, None, :]
    out = cross(x.contiguous(), memory, visible_mask(reads, case["S"]) & real)
    assert_close(out.transpose(0, 1), case["cross_attn_out_TBC"])


@pytest.mark.parametrize("case", golden_cases("hmt_modules"))
def test_selection_logits_equal_the_official_ones(case: dict[str, Any]) -> None:
    size = ModelSettings(
        width=case["d"], ffn=8, heads=case["heads"], encoder_layers=1, decoder_layers=1
    )
    model = HmtModel(Transformer(size, VocabularySizes(9, 9, True, SPECIAL_IDS), 0.0, "uni"))
    with torch.no_grad():
        model.selection.weight.copy_(tensor(case["selection_weight"]))
    reads = torch.tensor(case["t_padded_width"]).expand(case["B"], -1, -1)
    memory = tensor(case["enc_TBC"]).transpose(0, 1)
    logits = model.selection_logits(tensor(case["top_states_BNKC"]), memory, reads)
    assert_close(logits[:, :, :-1], tensor(case["selection_logits"])[:, :, :-1])


@pytest.mark.parametrize("case", golden_cases(MODEL), ids=by_tag)
def test_hmt_model_has_the_official_losses_and_gradients(case: dict[str, Any]) -> None:
    method: Any = make_method("hmt", low=case["L"], states=case["K"], pads="official")
    model = golden_model(method, MODEL)
    loss = method.loss(model, golden_batch(case), 1, torch.Generator())
    loss.total.backward()
    assert loss.tokens == case["ntokens"]
    assert_close(loss.parts["hidden"], case["hmm_loss"])
    assert_close(loss.parts["state"], case["state_loss"])
    assert_close(loss.parts["latency"], case["latency_loss"])
    assert_close(loss.total, case["loss"])
    assert_official_gradients(model, MODEL, case["grad_norm_by_param"], case["grad_embedding"])


@pytest.mark.parametrize("case", golden_cases(MODEL), ids=by_tag)
def test_hmt_model_computes_the_official_logits(case: dict[str, Any]) -> None:
    method: Any = make_method("hmt", low=case["L"], states=case["K"], pads="official")
    model = golden_model(method, MODEL)
    batch = golden_batch(case)
    states_BNKD, select_BNK, _, _ = method.run(model, batch)
    real = batch.target_mask_BN
    assert_close(model.network.output.logits(states_BNKD)[real], tensor(case["logits_BNKV"])[real])
    official = tensor(case["selection_logits_BNK2"]).softmax(3)[..., 1]
    assert_close(select_BNK.exp()[real], official[real])


class TablePolicy:
    """Takes logits and selection probabilities from tables instead of a network."""

    target_states = "recompute"

    def __init__(self, case: dict[str, Any], rule: SelectionRule) -> None:
        self.logits_NMV = tensor(case["logits_NMV"])
        self.beta_NM = tensor(case["beta_NM"])
        self.rule = rule
        self.min_read = rule.min_read
        self.selected: list[int] = []

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        row = int(state.written_B)
        reads_K = state_reads(row + 1, state.read_B, self.rule.settings)[0, row]
        select_BK = self.beta_NM[row, reads_K - 1].unsqueeze(0)
        select_BK[:, -1] = 1
        write_B, chosen_B = self.rule.choose_state(select_BK, state)
        if bool(write_B):
            self.selected.append(int(chosen_B) + 1)
        logits_BV = self.logits_NMV[row, reads_K[chosen_B] - 1]
        return Decision(lambda rows: logits_BV[rows], write_B, select_BK[:, 0])


@pytest.mark.parametrize("case", golden_cases("hmt_decision_trace"), ids=by_tag)
def test_selection_rule_takes_the_official_decisions(case: dict[str, Any]) -> None:
    for run in case["runs"]:
        policy: Any = TablePolicy(case, SelectionRule(0.5, settings_of(run)))
        trace = translate(policy, lambda read_B: read_B, case["M"], case["max_len"], True)
        expected = run["official"]
        assert_official_trace(trace, expected)
        assert policy.selected == expected["selected_k"]


@pytest.mark.parametrize("case", golden(MODEL)["decoding"])
def test_hmt_policy_decodes_like_the_official_model(case: dict[str, Any]) -> None:
    method: Any = make_method("hmt", low=case["L"], states=case["K"])
    model = golden_model(method, MODEL)
    trace = translate_source(method.policy(model, 0.5), model, case["src"], case["max_len"], True)
    assert trace.tokens == case["tokens"]
    assert trace.delays == case["g"]
    assert trace.states == [(i, j) for i, j, _ in case["states_i_j_b"]]
    newest = [
        select[min(max(j - case["L"] - (i - 1), 0), case["K"] - 1)]
        for i, j, select in case["states_i_j_b"]
    ]
    assert_close(trace.values, newest)
