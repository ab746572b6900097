"""The bench of live sessions: all three ways do the same work, and no more than they say."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from simt.lab.decoding_bench import random_pairs
from simt.lab.live_bench import (
    LIVE_HEAD,
    MatrixProducts,
    Paced,
    Race,
    Work,
    bench_live,
    least_work,
    live_events,
    naive_events,
)
from simt.methods import Model, Policy
from simt.methods.policy import ScheduledPolicy
from simt.model.network import OutputLayer
from simt.model.transformer import Transformer
from simt.params import load_params
from simt.simulation.loop import ForcedWriter
from simt.simulation.stream import Event
from tests.samples.settings import lively, make_method, make_model

PARAMS = Path(__file__).parents[3] / "params.yaml"
WORDS = 6
EVERY_METHOD = pytest.mark.parametrize(
    ("name", "changes", "knob", "states"),
    [
        ("offline", {"encoder": "bi"}, "full", 1),
        ("waitk", {}, 3, 1),
        ("itst", {}, 0.5, 1),
        ("hmt", {"low": 2, "states": 4}, 0.5, 4),
        ("sm2", {"encoder": "uni"}, 0.5, 1),
        ("sm2", {"encoder": "bi"}, 0.5, 1),
    ],
)


def paced(name: str, changes: dict[str, Any], knob: Any) -> tuple[Model, Policy]:
    method = make_method(name, **changes)
    model = lively(make_model(method))
    policy = method.policy(model, knob)
    return model, policy if isinstance(policy, ScheduledPolicy) else Paced(policy)


def translated(way: Any, model: Model, policy: Policy) -> list[Event]:
    (source,), references = random_pairs(model.network, 1, WORDS + 1)
    events: list[Event] = way(model.network, policy, source, ForcedWriter(torch.tensor(references)))
    return events


@EVERY_METHOD
def test_session_that_caches_nothing_does_the_same(
    name: str, changes: dict[str, Any], knob: Any, states: int
) -> None:
    model, policy = paced(name, changes, knob)
    live, naive = (translated(way, model, policy) for way in (live_events, naive_events))
    places = [(event.token, event.written, event.read) for event in live]
    assert places == [(event.token, event.written, event.read) for event in naive]
    values = [event.value for event in live if event.value is not None]
    expected = [event.value for event in naive if event.value is not None]
    assert values == pytest.approx(expected, abs=1e-5)
    assert all(event.seconds > 0 for event in live if event.token is not None)


def test_adaptive_policy_is_asked_in_every_state() -> None:
    model, policy = paced("sm2", {"encoder": "bi"}, 0.5)
    events = translated(live_events, model, policy)
    # The first token is read without a question; two READs, then WRITE and READ in turns.
    assert "".join("R" if event.token is None else "W" for event in events) == (
        "RRR" + "WR" * (WORDS - 2) + "WWW"
    )
    assert [event.value is None for event in events] == [True] + [False] * (2 * WORDS + 1)


def multiplied(network: nn.Module, run: Callable[[], object]) -> Counter[str]:
    """How many rows each matrix of the network was multiplied with, all in all."""
    rows: Counter[str] = Counter()

    def count(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: tuple[torch.Tensor, ...], output: Any) -> None:
            if inputs[0].numel():
                rows[name] += inputs[0].shape[:-1].numel()

        return hook

    handles = [
        module.register_forward_hook(count(name))
        for name, module in network.named_modules()
        if isinstance(module, nn.Linear)
    ]
    run()
    for handle in handles:
        handle.remove()
    return rows


@EVERY_METHOD
def test_session_multiplies_what_must_be_multiplied_and_no_more(
    name: str, changes: dict[str, Any], knob: Any, states: int
) -> None:
    model, policy = paced(name, changes, knob)
    network = model.network
    assert isinstance(network, Transformer)
    products = MatrixProducts(network, states)
    events = translated(live_events, model, policy)
    work = least_work(network, policy, events)
    assert multiplied(network, lambda: translated(live_events, model, policy)) == multiplied(
        network, lambda: [products.compute(one) for one in work]
    )


def test_frozen_rows_are_computed_once() -> None:
    model, policy = paced("waitk", {}, 3)
    work = least_work(model.network, policy, translated(live_events, model, policy))
    # Three tokens are read one by one, but the policy is asked behind the third.
    others = [Work(1, 1, True)] * (WORDS - 2) + [Work(0, 1, True)] * 2
    assert work == [Work(3, 1, True), *others]


def test_recomputed_rows_are_computed_whenever_something_was_read() -> None:
    model, policy = paced("sm2", {"encoder": "bi"}, 0.5)
    work = least_work(model.network, policy, translated(live_events, model, policy))
    states = [Work(1, 1, False), Work(2, 1, False), Work(3, 1, True)]
    for written in range(1, WORDS - 1):
        states += [Work(0, 1, False), Work(3 + written, written + 1, True)]
    assert work == [*states, Work(0, 1, True), Work(0, 1, True)]


@EVERY_METHOD
def test_scores_of_the_vocabulary_are_computed_to_write_only(
    name: str, changes: dict[str, Any], knob: Any, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, policy = paced(name, changes, knob)
    computed: list[int] = []
    real = OutputLayer.logits

    def counted(layer: OutputLayer, states: torch.Tensor) -> torch.Tensor:
        computed.append(states.shape[0])
        return real(layer, states)

    monkeypatch.setattr(OutputLayer, "logits", counted)
    events = translated(live_events, model, policy)
    assert len(computed) == sum(event.token is not None for event in events)


def test_bench_compares_a_session_with_one_that_caches_nothing() -> None:
    model, policy = paced("sm2", {"encoder": "uni"}, 0.5)
    assert isinstance(model.network, Transformer)
    products = MatrixProducts(model.network, 1)
    speed = Race(model.network, policy, products, 3).run("sm2/uni", "tiny", 2)
    assert 0 < speed.read_ms[0] <= speed.read_ms[1]
    assert 0 < speed.write_ms[0] <= speed.write_ms[1]
    assert speed.word_ms > 0
    assert 0 < speed.gain.low <= speed.gain.median <= speed.gain.high
    assert len(speed.text().split("[")[0]) < len(LIVE_HEAD.splitlines()[0])


def test_bench_has_a_row_for_each_size_run_and_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simt.lab.live_bench.WORDS", (2, 3))
    runs = ["hmt/l2-k4", "multipath/uni"]
    speeds = list(bench_live(load_params(PARAMS), "toy-deen", ["tiny", None], runs, 50, 1))
    assert [(speed.size, speed.run, speed.words) for speed in speeds] == [
        (size, run, words) for size in ("tiny", "") for run in runs for words in (2, 3)
    ]
