"""A sentence that comes in token by token is translated as the batched loop translates it."""

from typing import Any

import pytest
import torch

from simt.methods import Model, Policy
from simt.settings import DecodingSettings
from simt.simulation import simulate
from simt.simulation.loop import GreedyWriter
from simt.simulation.stream import Event, TokenStream
from tests.samples.settings import KNOBS, lively, make_method, make_model
from tests.unit.simulation.test_loop import SOURCES

DECODING = DecodingSettings(
    max_target_tokens=14, forbid_eos_before_source_end=False, ms_per_word=400
)
CASES = [
    ("offline", {"encoder": "bi"}, "full"),
    ("offline", {"encoder": "uni"}, "full"),
    ("waitk", {"target_states": "frozen"}, 3),
    ("waitk", {"target_states": "recompute"}, 2),
    ("multipath", {}, 5),
    ("itst", {}, 0.5),
    ("itst", {}, "full"),
    ("hmt", {"low": 2, "states": 4}, 0.5),
    ("hmt", {"low": 1, "states": 2}, 0.5),
    ("sm2", {"encoder": "uni"}, 0.5),
    ("sm2", {"encoder": "bi"}, 0.5),
    ("sm2", {"encoder": "bi", "prohibition": "both", "prohibition_at_test": True}, 0.6),
]
every_case = pytest.mark.parametrize(("name", "changes", "knob"), CASES)


def make(name: str, changes: dict[str, Any], knob: Any) -> tuple[Model, Policy]:
    method = make_method(name, **changes)
    model = lively(make_model(method))
    with torch.no_grad():
        eos = model.network.ids.eos
        model.network.target_embedding_VD[eos] *= 2  # or hardly any sentence would end by itself
    return model, method.policy(model, knob)


def streamed(model: Model, policy: Policy, source: list[int], at_once: int) -> list[Event]:
    """All events of a source that comes in pieces of ``at_once`` tokens."""
    stream = TokenStream(model.network, policy, GreedyWriter(DECODING, model.network.ids))
    events = []
    for start in range(0, len(source) - 1, at_once):
        events += stream.push(source[start : min(start + at_once, len(source) - 1)])
    return [*events, *stream.finish()]


@every_case
@pytest.mark.parametrize("at_once", [1, 3])
def test_stream_writes_what_the_batched_loop_writes_with_the_same_delays(
    name: str, changes: dict[str, Any], knob: Any, at_once: int
) -> None:
    model, policy = make(name, changes, knob)
    (translations,) = simulate(model.network, [policy], SOURCES, DECODING)
    for source, expected in zip(SOURCES, translations, strict=True):
        events = streamed(model, policy, list(source), at_once)
        written = [event for event in events if event.token is not None]
        assert tuple(event.token for event in written) == expected.tokens
        assert tuple(event.read for event in written) == expected.delays
        values = [event.value for event in written]
        assert values == pytest.approx(expected.write_values, abs=1e-5)


@every_case
def test_stream_reads_and_writes_along_one_path(
    name: str, changes: dict[str, Any], knob: Any
) -> None:
    model, policy = make(name, changes, knob)
    source = list(SOURCES[0])
    written = read = 0
    for event in streamed(model, policy, source, 1):
        assert (event.written, event.read) == (written, read)
        written += event.token is not None
        read += event.token is None
    assert read <= len(source)


def test_tokens_are_written_before_the_rest_of_the_source_is_known() -> None:
    model, policy = make("waitk", {}, KNOBS["waitk"])
    stream = TokenStream(model.network, policy, GreedyWriter(DECODING, model.network.ids))
    assert [event.token is None for event in stream.push([5, 6])] == [True, True]
    assert [event.token is None for event in stream.push([7])] == [True, False]


def test_read_is_told_with_its_cost_when_its_token_has_come() -> None:
    model, policy = make("sm2", {"encoder": "uni"}, 1.1)  # no confidence is enough
    stream = TokenStream(model.network, policy, GreedyWriter(DECODING, model.network.ids))
    (first,) = stream.push([5])  # the policy is asked behind it, and wants more
    assert (first.read, first.value) == (0, None)
    (second,) = stream.push([6])
    assert (second.token, second.read) == (None, 1)
    assert second.value is not None
    assert second.seconds > 0
