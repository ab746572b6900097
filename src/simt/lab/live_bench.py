"""How fast a live session is, beside one that caches nothing and the least there is to compute.

Random weights, random words of one token each, and forced references: how much is read and written
is then known. Policies that ask the model are asked in every state, as they always are, but then
stay a few tokens behind the source, whatever they would decide with random weights.

The three take turns, sentence by sentence, so that whatever else the machine does hits all alike.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from simt.lab.decoding_bench import random_pairs, untrained_model
from simt.lab.trials import Spread
from simt.methods import Policy, PolicyState
from simt.methods.hmt import Hmt
from simt.methods.policy import Decision, ScheduledPolicy, TargetStates
from simt.model.network import Network
from simt.model.transformer import Transformer
from simt.params import Params
from simt.simulation.encodings import pad_ids
from simt.simulation.loop import ForcedWriter, Writer
from simt.simulation.stream import Event, TokenStream

WORDS = (10, 20, 30, 60)
_LAG = 3  # source tokens that are read before the first is written


@dataclass(frozen=True, eq=False)
class Paced:
    """A policy that is asked as always, but writes as soon as it is so many tokens behind."""

    policy: Policy
    lag: int = _LAG

    @property
    def target_states(self) -> TargetStates:
        return self.policy.target_states

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        return self.policy.min_read(written_B, source_lengths_B)

    def cached_prefix(self, written_B: Tensor, before_B: Tensor, read_B: Tensor) -> Tensor:
        return self.policy.cached_prefix(written_B, before_B, read_B)

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        decision = self.policy.decide(memory_BJD, state)
        is_due_B = (state.read_B >= state.written_B + self.lag) | state.is_complete_B
        return replace(decision, write_B=is_due_B)


# --- three ways to translate a sentence -----------------------------------------------------------


def live_events(
    network: Network, policy: Policy, source: Sequence[int], writer: Writer
) -> list[Event]:
    """What a session does with a source that comes token by token and ends with EOS."""
    stream = TokenStream(network, policy, writer)
    events = [event for token in source[:-1] for event in stream.push([token])]
    return [*events, *stream.finish()]


@torch.inference_mode()
def naive_events(
    network: Network, policy: Policy, source: Sequence[int], writer: Writer
) -> list[Event]:
    """The same with nothing cached: every READ and WRITE encodes and decodes all there is."""
    tokens: list[int] = []
    delays: list[int] = []
    events = [Event(None, 0, 0, None, 0.0)]  # before the first READ there is nothing to encode
    source_BM, length_B = pad_ids([source], network.ids.pad, network.output.weight_VD.device)
    while not tokens or tokens[-1] != network.ids.eos:
        started, written = time.perf_counter(), len(tokens)
        read = events[-1].read + (events[-1].token is None)
        state = PolicyState(
            decoder_input_BN=length_B.new_tensor([[network.ids.start, *tokens]]),
            delays_BN=length_B.new_tensor([[*delays, 0]]),
            written_B=torch.full_like(length_B, written),
            read_B=torch.full_like(length_B, read),
            source_lengths_B=length_B,
        )
        decision = policy.decide(network.encode(source_BM[:, :read], state.read_B), state)
        is_enough = read >= int(policy.min_read(state.written_B, length_B))
        value, token = float(decision.value_B) if is_enough else None, None
        if is_enough and bool(decision.write_B):
            alone_B = torch.zeros_like(length_B)
            logits_BV = decision.logits(alone_B)
            chosen_B = writer.choose(logits_BV, alone_B, state.written_B, state.is_complete_B)
            token = int(chosen_B)
            tokens.append(token)
            delays.append(read)
        events.append(Event(token, written, read, value, time.perf_counter() - started))
    return events


@dataclass(frozen=True)
class Work:
    """What must be computed when a policy is asked: so many rows, and scores only to write."""

    encoded: int
    decoded: int
    is_write: bool


def least_work(network: Network, policy: Policy, events: Sequence[Event]) -> list[Work]:
    """What a session cannot do without, each time that it asks the policy.

    A "uni" encoder sees each source token once, a "bi" encoder the whole prefix whenever it has
    grown. Decoder rows are computed from the first on that another source changes.
    """
    works, before = [], 0
    for event in events:
        if event.value is None:
            continue
        read, written = event.read, event.written
        is_known = network.encoder == "uni" or read == before
        numbers = (torch.tensor([number]) for number in (written, before, read))
        cached = int(policy.cached_prefix(*numbers))
        encoded = read - (before if is_known else 0)
        works.append(Work(encoded, written + 1 - cached, event.token is not None))
        before = read
    return works


@dataclass(frozen=True, eq=False)
class MatrixProducts:
    """The products with weights that the work takes, and nothing else: no session is faster.

    ``states`` are the decoder rows of a target token. Attention itself is left out: in sentences
    of a hundred tokens it is a few hundredths of all.
    """

    network: Transformer
    states: int

    @torch.inference_mode()
    def compute(self, work: Work) -> None:
        """All products of a step; the top layer needs no more of old rows than keys and values."""
        if work.encoded:
            for layer in self.network.encoder_layers:
                self._multiply(_linears(layer), work.encoded)
            self.network.project_source(self._rows(work.encoded, self.network.width))
        *below, top = self.network.decoder_layers
        rows = work.decoded * self.states
        for layer in below:
            self._multiply(_linears(layer), rows)
        first, *others = _linears(top)
        self._multiply([first], rows)
        last = self._multiply(others, self.states)
        if work.is_write:
            last = self.network.output.logits(self._rows(1, self.network.width))
        float(last[0, 0])  # waits for the device

    def _multiply(self, linears: Sequence[nn.Linear], rows: int) -> Tensor:
        for linear in linears:
            last: Tensor = linear(self._rows(rows, linear.in_features))
        return last

    def _rows(self, rows: int, width: int) -> Tensor:
        return self.network.output.weight_VD.new_empty(rows, width)


_OF_THE_SOURCE = ("key_value", "information_key")  # what ``project_source`` multiplies with


def _linears(layer: nn.Module) -> list[nn.Linear]:
    """The products of a layer for its own rows, that for keys and values first."""
    return [
        module
        for name, module in layer.named_modules()
        if isinstance(module, nn.Linear) and name.rsplit(".", 1)[-1] not in _OF_THE_SOURCE
    ]


# --- the bench ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LiveSpeed:
    """What a word costs in sentences of so many words."""

    run: str
    size: str
    words: int
    read_ms: tuple[float, float]  # of a READ: median, 95 %
    write_ms: tuple[float, float]
    word_ms: float  # all that a session does, by word
    naive_ms: float
    gain: Spread  # how many times as fast as the naive session
    bound: Spread  # the same of the bare matrix products

    def text(self) -> str:
        """A row of the table under ``LIVE_HEAD``."""
        read, write = (
            f"{middle:8.2f} {most:8.2f}" for middle, most in (self.read_ms, self.write_ms)
        )
        share = self.gain.median / self.bound.median
        return (
            f"{self.run:<14} {self.size:<6} {self.words:>5} {read} {write} {self.word_ms:8.2f} "
            f"{self.naive_ms:8.2f}   {self.gain.text(2):<20} {self.bound.text(2):<20} {share:4.0%}"
        )


LIVE_HEAD = (
    f"{'run':<14} {'size':<6} {'words':>5} {'READ':>8} {'95 %':>8} {'WRITE':>8} {'95 %':>8} "
    f"{'a word':>8} {'naive':>8}   {'times as fast':<20} {'bound':<20} reached\n"
    f"{'':<26} milliseconds: median, 95 %, all by word; ratios: median [10 %, 90 %]"
)


def bench_live(
    params: Params,
    pair: str,
    sizes: Sequence[str | None],
    names: Sequence[str],
    vocabulary: int,
    repetitions: int,
) -> Iterator[LiveSpeed]:
    """The speed of sessions of each run such as ``sm2/bi``, by size and length of the sentence."""
    for size in sizes:
        for name in names:
            method, model, knob = untrained_model(params, pair, size, name, vocabulary)
            policy = method.policy(model, knob)
            if not isinstance(policy, ScheduledPolicy):
                policy = Paced(policy)
            assert isinstance(model.network, Transformer)
            states = method.settings.states if isinstance(method, Hmt) else 1
            products = MatrixProducts(model.network, states)
            for words in WORDS:
                race = Race(model.network, policy, products, words)
                yield race.run(name, size or "", repetitions)


class Race:
    """A sentence that is translated in three ways, in turns."""

    def __init__(
        self, network: Network, policy: Policy, products: MatrixProducts, words: int
    ) -> None:
        sources, references = random_pairs(network, 1, words + 1)
        self.words = words
        self._products = products
        writer = ForcedWriter(torch.tensor(references, device=network.output.weight_VD.device))
        self._live = partial(live_events, network, policy, sources[0], writer)
        self._naive = partial(naive_events, network, policy, sources[0], writer)
        self._work = least_work(network, policy, self._live())

    def run(self, name: str, size: str, repetitions: int) -> LiveSpeed:
        """One row of the table."""
        events: list[Event] = []
        turns = []
        for _ in range(repetitions):
            live_s = _seconds(lambda: events.extend(self._live()))
            turns.append((live_s, _seconds(self._naive), _seconds(self._compute)))
        live, naive, _ = (Spread.of(column) for column in zip(*turns, strict=True))
        return LiveSpeed(
            run=name,
            size=size,
            words=self.words,
            read_ms=_milliseconds([event for event in events if event.token is None]),
            write_ms=_milliseconds([event for event in events if event.token is not None]),
            word_ms=1000 * live.median / self.words,
            naive_ms=1000 * naive.median / self.words,
            gain=Spread.of([naive_s / live_s for live_s, naive_s, _ in turns]),
            bound=Spread.of([naive_s / least_s for _, naive_s, least_s in turns]),
        )

    def _compute(self) -> None:
        for work in self._work:
            self._products.compute(work)


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _milliseconds(events: Sequence[Event]) -> tuple[float, float]:
    """What such an action costs: median and 95 %."""
    ordered = sorted(1000 * event.seconds for event in events)
    return ordered[len(ordered) // 2], ordered[int(0.95 * len(ordered))]
