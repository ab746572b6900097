"""HMT beyond its golden numbers.

Shapes: B sentences, N target tokens, K states, M source tokens.
"""

from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor

from simt.corpus.ids import EOS
from simt.errors import SimtError
from simt.methods.hmt import MarkovChain, sentence_log_likelihoods, state_reads
from tests.samples.batches import random_batch, single
from tests.samples.reference_loop import translate_source
from tests.samples.settings import default_settings, make_method, make_model
from tests.samples.shapes import few_examples, lengths, seeds

N, K, M, LOW = 4, 3, 6, 2


def draw_chain(seed: int = 1) -> tuple[MarkovChain, Tensor, Tensor, Tensor]:
    """A chain, its probabilities to select, its emissions and what its states read."""
    generator = torch.Generator().manual_seed(seed)
    select = torch.rand(1, N, K, generator=generator, dtype=torch.float64) * 0.8 + 0.1
    select[..., -1] = 1
    emissions = torch.rand(1, N, K, generator=generator, dtype=torch.float64)
    settings = default_settings("hmt", low=LOW, states=K)
    reads = state_reads(N, torch.tensor([M]), settings)
    skip = (1 - select).clamp(min=1e-300).log()
    return MarkovChain.from_selection(select.log(), skip, reads), select[0], emissions[0], reads[0]


def prior(path: tuple[int, ...], select: Tensor, reads: Tensor) -> float:
    """Probability of some states in a row: each is the first to select of those allowed."""
    probability, known = 1.0, 0
    for i, k in enumerate(path):
        allowed = [state for state in range(K) if reads[i, state] >= known]
        if k not in allowed:
            return 0.0
        for state in allowed[: allowed.index(k)]:
            probability *= 1 - float(select[i, state])
        probability *= float(select[i, k])
        known = int(reads[i, k])
    return probability


def test_selection_probabilities_of_a_token_sum_to_one() -> None:
    chain, *_ = draw_chain()
    assert float(chain.initial_BK.exp().sum()) == pytest.approx(1)
    torch.testing.assert_close(
        chain.transitions_BNKK.exp().sum(3), torch.ones(1, N - 1, K).double()
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_all_paths_together_have_probability_one(seed: int) -> None:
    _, select, _, reads = draw_chain(seed)
    total = sum(prior(path, select, reads) for path in product(range(K), repeat=N))
    assert total == pytest.approx(1)


@pytest.mark.parametrize("seed", [1, 2])
def test_likelihood_is_the_sum_over_all_paths(seed: int) -> None:
    chain, select, emissions, reads = draw_chain(seed)
    total = 0.0
    for path in product(range(K), repeat=N):
        emitted = torch.stack([emissions[i, k] for i, k in enumerate(path)]).prod()
        total += prior(path, select, reads) * float(emitted)
    alpha, _ = chain.forward_log_probs(emissions.log().unsqueeze(0))
    likelihood = sentence_log_likelihoods(alpha, torch.tensor([N])).exp()
    assert float(likelihood) == pytest.approx(total)


@pytest.mark.parametrize("seed", [1, 2])
def test_state_marginals_are_sums_over_paths(seed: int) -> None:
    chain, select, emissions, reads = draw_chain(seed)
    _, pi = chain.forward_log_probs(emissions.log().unsqueeze(0))
    expected = torch.zeros(N, K, dtype=torch.float64)
    for path in product(range(K), repeat=N):
        for i, k in enumerate(path):
            expected[i, k] += prior(path, select, reads)
    torch.testing.assert_close(pi[0].exp(), expected)


def test_padded_targets_leave_gradients_finite() -> None:
    method: Any = make_method("hmt")
    model = make_model(method)
    loss = method.loss(model, random_batch([9, 2, 1], [7, 1, 3]), 1, torch.Generator())
    loss.total.backward()
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


@few_examples
@given(lengths, seeds)
def test_one_state_a_token_is_waitk(pairs: list[tuple[int, int]], seed: int) -> None:
    batch = random_batch([m for m, _ in pairs], [n for _, n in pairs], seed)
    method = make_method("hmt", 0.0, low=LOW, states=1, latency_weight=0.0)
    waitk = make_method("waitk", 0.0, k=LOW)
    model, same = make_model(method), make_model(waitk)
    same.load_state_dict(model.state_dict(), strict=False)
    loss = method.validation_loss(model, batch)
    expected = waitk.validation_loss(same, batch).total
    torch.testing.assert_close(loss.parts["hidden"], expected.detach())
    torch.testing.assert_close(loss.parts["state"], expected.detach())
    assert float(loss.parts["latency"]) == 0


def test_one_state_a_token_decodes_like_waitk() -> None:
    method = make_method("hmt", low=LOW, states=1)
    model = make_model(method)
    trace = translate_source(method.policy(model, 0.5), model, [5, 6, 7, 8, EOS], max_tokens=7)
    assert trace.delays == [min(LOW + i, 5) for i in range(len(trace.delays))]


def test_states_of_a_short_source_do_not_depend_on_batch_mates() -> None:
    method = make_method("hmt", low=1, states=4)
    model = make_model(method)
    together = random_batch([9, 3], [5, 4])
    alone = single(together, 1)
    method_any: Any = method
    reads = [method_any.run(model, batch)[3] for batch in (together, alone)]
    assert reads[0][1, :4].equal(reads[1][0])


def test_hmt_refuses_the_whole_source() -> None:
    method = make_method("hmt")
    with pytest.raises(SimtError, match="hmt"):
        method.policy(make_model(method), "full")
