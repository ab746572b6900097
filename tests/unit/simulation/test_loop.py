"""The batched READ/WRITE loop.

Shapes: B sentences, M source tokens, N target tokens, T decoder rows, V vocabulary.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any

import pytest
import torch
from torch import Tensor
from tqdm import tqdm

from simt.corpus.ids import BOS, EOS, PAD, SPECIAL_IDS, UNK
from simt.methods import METHODS, Decision, Model, Policy, PolicyState
from simt.model.network import OutputLayer
from simt.params import Knob
from simt.progress import progress_bar
from simt.settings import DecodingSettings, ModelSettings
from simt.simulation import Translation, simulate
from simt.simulation import loop as loop_module
from simt.simulation.loop import ForcedWriter, GreedyWriter
from tests.samples.reference_loop import Trace, translate_source
from tests.samples.settings import KNOBS, TINY, lively, make_method, make_model
from tests.samples.simulation import (
    DECODING,
    MAX_TOKENS,
    Forced,
    Restless,
    WithoutEarlyEos,
    Wrapped,
    is_close_call,
    is_same,
    random_sentences,
)

SOURCES = random_sentences([5, 10, 1, 7, 3, 8, 2, 10])
REFERENCES = random_sentences([6, 9, 2, 13, 3, 8, 4, 2], seed=2)
ONE_LAYER = TINY.model_copy(update={"decoder_layers": 1})
THREE_LAYERS = TINY.model_copy(update={"decoder_layers": 3})
every_method = pytest.mark.parametrize("name", METHODS)

# Method, settings that are not the defaults, knob, size.
VARIANTS: list[tuple[str, dict[str, Any], Knob, ModelSettings]] = [
    ("offline", {"encoder": "uni"}, "full", TINY),
    ("waitk", {}, 1, ONE_LAYER),
    ("waitk", {}, "full", TINY),
    ("waitk", {"target_states": "recompute"}, 2, THREE_LAYERS),
    ("multipath", {}, 9, TINY),
    ("itst", {}, 0.9, ONE_LAYER),
    ("itst", {"layers_agree_by": "mean"}, 1.5, THREE_LAYERS),
    ("itst", {}, "full", TINY),
    ("hmt", {"low": 1, "states": 1}, 0.5, TINY),
    ("hmt", {"low": -2, "states": 3}, 0.5, THREE_LAYERS),
    ("hmt", {"low": 0, "states": 6}, 0.6, ONE_LAYER),
    ("hmt", {"low": 3, "states": 2}, 0.4, TINY),
    ("sm2", {"encoder": "uni"}, 0.4, THREE_LAYERS),
    ("sm2", {"encoder": "uni", "first_read": 3}, 0.6, ONE_LAYER),
    ("sm2", {"encoder": "bi", "adapter_fraction": 0.5}, 0.7, ONE_LAYER),
    ("sm2", {"encoder": "bi", "prohibition": "both", "prohibition_at_test": True,
             "prohibition_upper": 3}, 0.5, TINY),
    ("sm2", {"encoder": "bi"}, "full", THREE_LAYERS),
]  # fmt: skip


def make(
    name: str, knob: Knob | None = None, size: ModelSettings = TINY, **changes: Any
) -> tuple[Model, Policy]:
    method = make_method(name, **changes)
    model = lively(make_model(method, size))
    with torch.no_grad():
        model.network.target_embedding_VD[EOS] *= 2  # or hardly any sentence would end by itself
    return model, method.policy(model, KNOBS[name] if knob is None else knob)


def assert_same_as_plain_loop(
    translations: Sequence[Translation], traces: Sequence[Trace], knob: Knob
) -> None:
    clear = [index for index, trace in enumerate(traces) if not is_close_call(trace, knob)]
    assert len(clear) >= len(traces) - 2
    for index in clear:
        assert is_same(translations[index], traces[index]), index


def assert_alike(first: Sequence[Translation], second: Sequence[Translation]) -> None:
    for a, b in zip(first, second, strict=True):
        assert (a.index, a.tokens, a.delays) == (b.index, b.tokens, b.delays)
        assert a.write_values == pytest.approx(b.write_values, abs=1e-4)
        assert len(a.read_values) == len(b.read_values)
        for x, y in zip(a.read_values, b.read_values, strict=True):
            assert x == y if x is None else x == pytest.approx(y, abs=1e-4)


# --- the same as one sentence after the other -------------------------------------------------


@every_method
def test_batch_is_translated_like_its_sentences(name: str) -> None:
    model, policy = make(name)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    traces = [translate_source(policy, model, source, MAX_TOKENS) for source in SOURCES]
    assert_same_as_plain_loop(translations, traces, KNOBS[name])


@pytest.mark.parametrize(("name", "changes", "knob", "size"), VARIANTS)
def test_batch_of_a_variant_is_translated_like_its_sentences(
    name: str, changes: dict[str, Any], knob: Knob, size: ModelSettings
) -> None:
    model, policy = make(name, knob, size, **changes)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    traces = [translate_source(policy, model, source, MAX_TOKENS) for source in SOURCES]
    assert_same_as_plain_loop(translations, traces, knob)


@pytest.mark.parametrize(
    ("name", "changes", "knob", "size"),
    [*VARIANTS, *((name, {}, knob, TINY) for name, knob in KNOBS.items())],
)
def test_values_are_right_whatever_is_read_and_written(
    name: str, changes: dict[str, Any], knob: Knob, size: ModelSettings
) -> None:
    model, policy = make(name, knob, size, **changes)
    restless = Restless(policy, seed=1)
    (translations,) = simulate(model.network, [restless], SOURCES, DECODING, REFERENCES)
    for source, reference, found in zip(SOURCES, REFERENCES, translations, strict=True):
        trace = translate_source(Forced(restless, reference), model, source, 99)
        assert is_same(found, trace), found.index


@every_method
def test_references_are_forced_with_the_delays_of_the_policy(name: str) -> None:
    model, policy = make(name)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING, REFERENCES)
    assert [list(each.tokens) for each in translations] == REFERENCES
    traces = [
        translate_source(Forced(policy, reference), model, source, max_tokens=99)
        for source, reference in zip(SOURCES, REFERENCES, strict=True)
    ]
    assert_same_as_plain_loop(translations, traces, KNOBS[name])


@every_method
def test_eos_can_be_forbidden_before_the_source_ends(name: str) -> None:
    model, policy = make(name)
    settings = DECODING.model_copy(update={"forbid_eos_before_source_end": True})
    (translations,) = simulate(model.network, [policy], SOURCES, settings)
    for source, translation in zip(SOURCES, translations, strict=True):
        is_cut_off = len(translation.tokens) == MAX_TOKENS + 1
        assert translation.delays[-1] == len(source) or is_cut_off
    traces = [
        translate_source(WithoutEarlyEos(policy), model, source, MAX_TOKENS) for source in SOURCES
    ]
    assert_same_as_plain_loop(translations, traces, KNOBS[name])


@pytest.mark.parametrize("name", ["waitk", "itst"])
def test_sentences_of_these_tests_end_in_every_way(name: str) -> None:
    model, policy = make(name)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    lengths = {len(translation.tokens) for translation in translations}
    assert MAX_TOKENS + 1 in lengths
    assert min(lengths) < MAX_TOKENS
    assert any(each.delays[-1] < len(SOURCES[each.index]) for each in translations)
    assert any(each.delays[-1] == len(SOURCES[each.index]) for each in translations)
    assert any(each.delays[0] < each.delays[-1] for each in translations)


# --- batches ------------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("batch_sentences", [1, 3])
def test_translation_does_not_depend_on_the_batch(name: str, batch_sentences: int) -> None:
    model, policy = make(name)
    (together,) = simulate(model.network, [policy], SOURCES, DECODING)
    (apart,) = simulate(model.network, [policy], SOURCES, DECODING, batch_sentences=batch_sentences)
    assert_alike(together, apart)


def test_translations_come_in_the_order_of_the_sentences() -> None:
    model, policy = make("sm2")
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING, batch_sentences=4)
    (reverse,) = simulate(model.network, [policy], SOURCES[::-1], DECODING, batch_sentences=4)
    assert [each.index for each in translations] == list(range(len(SOURCES)))
    assert [each.tokens for each in reverse] == [each.tokens for each in translations][::-1]


@pytest.mark.parametrize(
    ("name", "knobs"), [("sm2", ["full", 0.2, 0.5, 0.8]), ("multipath", [1, 4])]
)
def test_knobs_together_are_as_each_alone(name: str, knobs: list[Knob]) -> None:
    method = make_method(name)
    model = lively(make_model(method))
    policies = [method.policy(model, knob) for knob in knobs]
    together = simulate(model.network, policies, SOURCES, DECODING, batch_sentences=4)
    for policy, translations in zip(policies, together, strict=True):
        (alone,) = simulate(model.network, [policy], SOURCES, DECODING)
        assert_alike(translations, alone)


def test_batches_hold_no_more_numbers_than_allowed() -> None:
    lengths = torch.tensor([3, 1, 9, 2, 3])
    batches = list(loop_module._cut(lengths, 10 * lengths, batch_sentences=2, batch_numbers=100))
    assert batches == [[2], [0, 4], [3, 1]]
    batches = list(loop_module._cut(lengths, 10 * lengths, batch_sentences=9, batch_numbers=50))
    assert batches == [[2], [0], [4, 3], [1]]


@pytest.mark.parametrize(("kind", "together"), [("cpu", 1), ("meta", len(SOURCES))])
def test_batches_are_as_large_as_the_kind_of_device_allows(
    kind: str, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device without numbers stands in for a GPU."""
    model, policy = make("sm2")
    monkeypatch.setattr(loop_module, "ENCODING_NUMBERS", {"cpu": 1, "cuda": 10**9})
    model.network.to(kind)
    task = loop_module.Task(model.network, [policy], SOURCES, DECODING, references=None)
    assert {len(indices) for indices in task.batches(256)} == {together}


def test_batches_of_a_cpu_are_as_ever_since_results_depend_on_them() -> None:
    assert loop_module.ENCODING_NUMBERS["cpu"] == 2**26


def test_no_sentences_are_no_translations() -> None:
    model, policy = make("sm2")
    assert simulate(model.network, [policy, policy], [], DECODING) == [[], []]


# --- nothing is computed twice --------------------------------------------------------------------


def rows_computed(model: Model, policy: Policy) -> tuple[list[Translation], list[int]]:
    """The translations, and how many decoder rows each call computed for each sentence."""
    rows: list[int] = []
    hook = model.network.decoder_layers[0].register_forward_pre_hook(
        lambda _, inputs: rows.append(inputs[0].shape[1])
    )
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    hook.remove()
    return translations, rows


def test_frozen_rows_are_computed_once() -> None:
    _, rows = rows_computed(*make("waitk"))
    assert set(rows) == {1}


def test_rows_are_kept_while_nothing_is_read() -> None:
    _, rows = rows_computed(*make("offline"))
    assert set(rows) == {1}


def test_states_of_hmt_are_kept_once_they_know_all_they_can() -> None:
    model, policy = make("hmt", low=1, states=2)
    translations, rows = rows_computed(model, policy)
    assert max(len(each.tokens) for each in translations) > 6
    assert max(rows) == 2 * 2  # K tokens of K states, not the whole sentence


def test_progress_ends_at_its_total(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[tqdm[Any]] = []

    def noted(**options: Any) -> "tqdm[Any]":
        bars.append(progress_bar(**options))
        return bars[-1]

    monkeypatch.setattr(loop_module, "progress_bar", noted)
    model, policy = make("waitk")
    simulate(model.network, [policy, policy], SOURCES, DECODING, batch_sentences=3)
    assert [(bar.n, bar.total) for bar in bars] == [(2 * len(SOURCES), 2 * len(SOURCES))]


def test_encodings_are_shared_by_all_knobs() -> None:
    method = make_method("sm2", encoder="bi")
    model = lively(make_model(method))
    policies = [method.policy(model, knob) for knob in (0.3, 0.5, 0.7)]
    encoded: list[int] = []
    model.network.encoder_layers[0].register_forward_pre_hook(
        lambda _, inputs: encoded.append(inputs[0].shape[0] * inputs[0].shape[1])
    )
    simulate(model.network, policies, SOURCES, DECODING)
    assert sum(encoded) == sum(m * (m + 1) // 2 for m in map(len, SOURCES))


def test_prefixes_that_nobody_asks_for_are_not_encoded() -> None:
    model, policy = make("offline", encoder="bi")
    encoded: list[int] = []
    model.network.encoder_layers[0].register_forward_pre_hook(
        lambda _, inputs: encoded.append(inputs[0].shape[0] * inputs[0].shape[1])
    )
    simulate(model.network, [policy], SOURCES, DECODING)
    assert sum(encoded) == sum(map(len, SOURCES))


# --- values and time --------------------------------------------------------------------------


def test_reads_without_a_choice_have_no_value() -> None:
    model, policy = make("waitk", 2)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    for translation in translations:
        assert set(translation.read_values) == {None}
        assert len(translation.read_values) == translation.delays[-1]
    model, policy = make("sm2", 0.5, first_read=2)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    for source, translation in zip(SOURCES, translations, strict=True):
        assert translation.read_values[:2] == (None, None)[: len(source)]
        assert None not in translation.read_values[2:]


@dataclass(frozen=True, eq=False)
class Counting(Wrapped):
    """Notes how often it is asked."""

    asked: list[PolicyState] = field(default_factory=list)

    def change(self, decision: Decision, state: PolicyState) -> Decision:
        self.asked.append(state)
        return decision


@pytest.mark.parametrize("batch_sentences", [1, 3, 256])
def test_time_of_all_calls_is_shared_out_and_none_is_lost(
    batch_sentences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that goes on by a second whenever it is looked at: to decide, and to write."""
    monkeypatch.setattr(time, "perf_counter", partial(next, count(0.0)))
    model, policy = make("offline")  # reads every source to its end
    counting = Counting(policy)
    (translations,) = simulate(
        model.network, [counting], SOURCES, DECODING, batch_sentences=batch_sentences
    )
    for translation in translations:
        assert sorted(translation.elapsed_s) == list(translation.elapsed_s)
        assert len(translation.elapsed_s) == len(translation.tokens)
    batches = math.ceil(len(SOURCES) / batch_sentences)  # each is encoded in one second
    spent = sum(each.elapsed_s[-1] for each in translations)
    assert spent == pytest.approx(2 * len(counting.asked) + batches)


# --- what is written --------------------------------------------------------------------------


def state_of(
    written: Sequence[int], read: Sequence[int], source_lengths: Sequence[int]
) -> PolicyState:
    empty = torch.zeros(len(written), 1, dtype=torch.long)
    return PolicyState(
        empty, empty, torch.tensor(written), torch.tensor(read), torch.tensor(source_lengths)
    )


def preferring(*tokens: int) -> Tensor:
    """Logits of one sentence: the tokens in the order of preference, the others far behind."""
    logits_BV = torch.full((1, 8), -9.0)
    for place, token in enumerate(tokens):
        logits_BV[0, token] = -float(place)
    return logits_BV


def written(logits_BV: Tensor, state: PolicyState, forbids_early_eos: bool = False) -> int:
    settings = DecodingSettings(
        max_target_tokens=4, forbid_eos_before_source_end=forbids_early_eos, ms_per_word=400
    )
    writer = GreedyWriter(settings, SPECIAL_IDS)
    return int(writer.choose(logits_BV, torch.tensor([0]), state.written_B, state.is_complete_B))


def test_pad_and_bos_are_never_written_but_unk_is() -> None:
    assert written(preferring(PAD, BOS, UNK, 5), state_of([1], [3], [3])) == UNK


def test_eos_is_not_the_first_token() -> None:
    assert written(preferring(EOS, 5), state_of([0], [3], [3])) == 5
    assert written(preferring(EOS, 5), state_of([1], [3], [3])) == EOS


def test_eos_is_written_before_the_source_ends_unless_it_is_forbidden() -> None:
    assert written(preferring(EOS, 5), state_of([1], [2], [3])) == EOS
    assert written(preferring(EOS, 5), state_of([1], [2], [3]), forbids_early_eos=True) == 5
    assert written(preferring(EOS, 5), state_of([1], [3], [3]), forbids_early_eos=True) == EOS


def test_eos_follows_the_last_token_that_is_allowed() -> None:
    assert written(preferring(5), state_of([3], [3], [3])) == 5
    assert written(preferring(5), state_of([4], [3], [3])) == EOS
    assert written(preferring(5), state_of([4], [2], [3]), forbids_early_eos=True) == EOS


def test_choice_leaves_the_logits_as_they_were() -> None:
    logits_BV = preferring(EOS, PAD, 5)
    written(logits_BV, state_of([0], [2], [3]))
    assert logits_BV.equal(preferring(EOS, PAD, 5))


def test_reference_is_written_token_by_token() -> None:
    writer = ForcedWriter(torch.tensor([[5, 6, EOS], [7, EOS, PAD]]))
    written_B, is_complete_B = torch.tensor([2, 0]), torch.tensor([False, False])
    logits_BV = preferring(5).expand(2, 8)
    tokens_B = writer.choose(logits_BV, torch.tensor([0, 1]), written_B, is_complete_B)
    assert tokens_B.tolist() == [EOS, 7]
    assert writer.max_length == 3


@dataclass(frozen=True, eq=False)
class SmallMemory(Wrapped):
    """Like a GPU that has room for so many sentences."""

    most: int

    def change(self, decision: Decision, state: PolicyState) -> Decision:
        if len(state.read_B) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return decision


def test_batch_that_is_too_large_for_a_gpu_is_translated_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, policy = make("sm2")
    (expected,) = simulate(model.network, [policy], SOURCES, DECODING, batch_sentences=1)
    bars: list[tqdm[Any]] = []

    def kept(**options: Any) -> "tqdm[Any]":
        bars.append(progress_bar(**options))
        return bars[0]

    monkeypatch.setattr(loop_module, "progress_bar", kept)
    both = [policy, SmallMemory(policy, 3)]
    found = simulate(model.network, both, SOURCES, DECODING, batch_sentences=256)
    for some in found:
        assert [one.tokens for one in some] == [one.tokens for one in expected]
        assert [one.delays for one in some] == [one.delays for one in expected]
    assert bars[0].n == 2 * len(SOURCES)


def test_sentence_that_is_too_large_for_a_gpu_by_itself_is_an_error() -> None:
    model, policy = make("sm2")
    with pytest.raises(torch.OutOfMemoryError):
        simulate(model.network, [SmallMemory(policy, 0)], SOURCES, DECODING)


@every_method
def test_scores_are_computed_for_tokens_that_are_written_alone(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, policy = make(name)
    rows: list[int] = []
    logits = OutputLayer.logits

    def counted(self: OutputLayer, states_BD: Tensor) -> Tensor:
        rows.append(len(states_BD))
        return logits(self, states_BD)

    monkeypatch.setattr(OutputLayer, "logits", counted)
    (found,) = simulate(model.network, [policy], SOURCES, DECODING)
    assert sum(rows) == sum(len(translation.tokens) for translation in found)


def test_empty_reference_is_written_as_eos_alone() -> None:
    model, policy = make("sm2")
    ((translation,),) = simulate(model.network, [policy], [[5, 6, EOS]], DECODING, [[EOS]])
    assert translation.tokens == (EOS,)
