"""wait-k and multi-path.

Shapes: B sentences, M source tokens, N target tokens.
"""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from simt.corpus.ids import EOS
from simt.errors import SimtError
from simt.methods.waitk import staircase, waitk_loss
from simt.model.masks import visible_mask
from tests.samples.batches import random_batch
from tests.samples.golden import golden_cases
from tests.samples.reference_loop import translate_source
from tests.samples.settings import lively, make_method, make_model
from tests.samples.shapes import few_examples, lengths, seeds

SOURCE = [5, 6, 7, 8, 9, 10, EOS]


def visible_from(k: int, rows: int, width: int) -> torch.Tensor:
    batch = random_batch([width], [rows])
    return visible_mask(staircase(batch, k), width)[0, 0]


@pytest.mark.parametrize("case", [case for case in golden_cases("waitk_masks") if case["k"] >= 1])
def test_staircase_shows_what_the_official_mask_shows(case: dict[str, Any]) -> None:
    visible = visible_from(case["k"], case["N"], case["M"])
    if case["mask_is_none"]:
        assert visible.all()
    else:
        assert visible.int().tolist() == case["visible"]
        assert visible.sum(1).tolist() == case["visible_count"]


@few_examples
@given(lengths, st.integers(1, 8))
def test_row_i_sees_k_plus_i_minus_one_tokens_of_its_own_source(
    pairs: list[tuple[int, int]], k: int
) -> None:
    batch = random_batch([m for m, _ in pairs], [n for _, n in pairs])
    counts = staircase(batch, k)
    for row, (m, _) in enumerate(pairs):
        for i in range(1, counts.shape[1] + 1):
            assert counts[row, i - 1] == min(k + i - 1, m)


@few_examples
@given(lengths, seeds)
def test_waiting_for_the_whole_source_is_offline_translation(
    pairs: list[tuple[int, int]], seed: int
) -> None:
    batch = random_batch([m for m, _ in pairs], [n for _, n in pairs], seed)
    offline = make_method("offline", encoder="uni")
    model: Any = make_model(offline)
    waiting = waitk_loss(model, batch, int(batch.source_lengths_B.max()), 0.1).total
    torch.testing.assert_close(waiting, offline.validation_loss(model, batch).total)


@pytest.mark.parametrize("case", golden_cases("waitk_masks", "multipath"))
def test_multipath_draws_every_k_up_to_the_longest_source(case: dict[str, Any]) -> None:
    method: Any = make_method("multipath")
    generator = torch.Generator().manual_seed(1)
    batch = random_batch([case["S"], 1], [2, 2])
    drawn = torch.cat([method.sample_k(batch, generator) for _ in range(4000)]).flatten()
    counts = drawn.bincount(minlength=case["S"] + 1)
    assert counts[0] == 0
    expected = 4000 / case["S"]
    assert ((counts[1:] - expected).abs() < 5 * expected**0.5).all()


def test_multipath_may_draw_a_k_for_each_sentence() -> None:
    method: Any = make_method("multipath", sample_k_per="sentence")
    generator = torch.Generator().manual_seed(1)
    batch = random_batch([9, 1, 3], [2, 2, 2])
    drawn = torch.cat([method.sample_k(batch, generator) for _ in range(200)], dim=1)
    assert drawn.amax(1).tolist() == [9, 1, 3]
    assert drawn.amin(1).tolist() == [1, 1, 1]


def test_multipath_is_validated_at_the_k_of_the_paper() -> None:
    method = make_method("multipath")
    model: Any = make_model(method)
    batch = random_batch([9, 12], [7, 5])
    losses = [waitk_loss(model, batch, k, 0.1).total for k in (1, 3, 5, 7, 9)]
    torch.testing.assert_close(method.validation_loss(model, batch).total, sum(losses) / 5)


@pytest.mark.parametrize("k", [1, 3, 20])
def test_waitk_reads_k_tokens_and_then_alternates(k: int) -> None:
    method = make_method("waitk", k=k)
    model = make_model(method)
    source = [5, 6, 7, 8, 9, EOS]
    trace = translate_source(method.policy(model, k), model, source, max_tokens=9)
    assert trace.delays == [min(k + i, 6) for i in range(len(trace.delays))]


def forced(model: Any, source: list[int], tokens: list[int], visible: list[int]) -> torch.Tensor:
    """Logits of all rows at once, each row with its own view of the source."""
    memory = model.network.encode(torch.tensor([source]), torch.tensor([len(source)]))
    mask = visible_mask(torch.tensor([visible]), len(source))
    decoder_input = torch.tensor([[EOS, *tokens[:-1]]])
    states = model.network.decode(decoder_input, memory, mask)
    return model.network.output.logits(states)[0]


def test_frozen_rows_are_those_of_training() -> None:
    method = make_method("waitk", k=2, target_states="frozen")
    model = lively(make_model(method))
    trace = translate_source(method.policy(model, 2), model, SOURCE, max_tokens=6)
    assert len(set(trace.tokens)) > 2
    expected = forced(model, SOURCE, trace.tokens, trace.delays)
    torch.testing.assert_close(torch.stack(trace.logits), expected, rtol=0, atol=1e-4)


def test_recomputed_rows_see_all_that_has_been_read() -> None:
    method = make_method("waitk", k=2, target_states="recompute")
    model = lively(make_model(method))
    trace = translate_source(method.policy(model, 2), model, SOURCE, max_tokens=6)
    for row, read in enumerate(trace.delays):
        expected = forced(model, SOURCE, trace.tokens[: row + 1], [read] * (row + 1))
        torch.testing.assert_close(trace.logits[row], expected[row], rtol=0, atol=1e-4)


def test_waitk_at_full_reads_everything_first() -> None:
    method = make_method("multipath")
    model = make_model(method)
    trace = translate_source(method.policy(model, "full"), model, [5, 6, 7, EOS], max_tokens=4)
    assert set(trace.delays) == {4}


def test_offline_refuses_a_knob() -> None:
    method = make_method("offline")
    with pytest.raises(SimtError, match=r"knobs: \[full\]"):
        method.policy(make_model(method), 0.5)
