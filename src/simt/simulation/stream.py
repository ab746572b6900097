"""One sentence whose source comes in token by token, with the same policy as the batched loop.

Shapes: B = 1, T new source tokens, J source tokens read, X any width.

What can be cached is cached: a "uni" encoder sees each token once, and decoder rows stay as long
as the policy says so. A "bi" encoder must see the whole prefix again whenever it has grown.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from simt.methods import Policy, PolicyState
from simt.model.cache import DecoderCache, KeyValueCache, Projection
from simt.model.network import Network
from simt.simulation.loop import Writer

UNKNOWN = 1 << 40  # the length of a source that has not ended


@dataclass(frozen=True)
class Event:
    """A READ or WRITE after ``written`` target and ``read`` source tokens.

    ``value`` is what decided it, None where the policy was not asked; ``seconds`` what it cost: a
    READ the decision to read and the encoding, a WRITE the decision to write.
    """

    token: int | None  # that was written; None is a READ
    written: int
    read: int
    value: float | None
    seconds: float


class GrowingSource:
    """The source tokens that have come in, and the states of what has been read of them."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._device = network.output.weight_VD.device
        self._cache = network.new_source_cache()
        self._memory: Tensor | None = None
        self._projections: list[Projection] = []
        self._encoded = 0
        self.tokens: list[int] = []

    @property
    def is_encoded_once(self) -> bool:
        """Whether the states of a token stay as they are when more tokens follow."""
        return self._cache is not None

    def prefix(self, read: int) -> tuple[Tensor, list[Projection]]:
        """States of the first ``read`` tokens, (1, J, D), and what decoder layers make of them.

        ``read`` never goes back.
        """
        if read > self._encoded:
            first = self._encoded if self._cache else 0
            new_BT = torch.tensor([self.tokens[first:read]], device=self._device)
            self._add(self._encode(new_BT))
            self._encoded = read
        assert self._memory is not None
        return self._memory, self._projections

    def _encode(self, new_BT: Tensor) -> Tensor:
        if self._cache:
            return self._network.encode_next(new_BT, self._cache)
        return self._network.encode(new_BT, torch.tensor([new_BT.shape[1]], device=self._device))

    def _add(self, states_BTD: Tensor) -> None:
        projections = self._network.project_source(states_BTD)
        if self._cache is None or self._memory is None:
            self._memory, self._projections = states_BTD, projections
            return
        self._memory = torch.cat([self._memory, states_BTD], dim=1)
        self._projections = [
            tuple(torch.cat(both, dim=1) for both in zip(old, new, strict=True))
            for old, new in zip(self._projections, projections, strict=True)
        ]


class TokenStream:
    """A translation that grows with its source; what it has written never changes."""

    def __init__(self, network: Network, policy: Policy, writer: Writer) -> None:
        assert not network.training
        # A "bi" encoder changes what a frozen row has seen.
        assert network.encoder == "uni" or policy.target_states == "recompute"
        self._policy = policy
        self._ids = network.ids
        self._device = network.output.weight_VD.device
        self._alone_B = self._one(0)
        self._writer = writer
        self._caches = [KeyValueCache(1) for _ in network.project_source(_no_states(network))]
        self._source = GrowingSource(network)
        self._length = UNKNOWN
        self._decoded = 0  # how much had been read in the last step
        self._asked_to_read: Event | None = None  # a token that may not have come
        self.read = 0
        self.tokens: list[int] = []
        self.delays: list[int] = []

    @property
    def is_done(self) -> bool:
        """Whether the translation has ended."""
        return bool(self.tokens) and self.tokens[-1] == self._ids.eos

    def push(self, ids: Sequence[int]) -> Iterator[Event]:
        """What is done with some more source tokens, until more are needed."""
        assert self._length == UNKNOWN
        self._source.tokens += ids
        return self._run()

    def finish(self) -> Iterator[Event]:
        """What is done when the source has ended."""
        self._source.tokens.append(self._ids.eos)
        self._length = len(self._source.tokens)
        return self._run()

    @torch.inference_mode()
    def _run(self) -> Iterator[Event]:
        while not self.is_done:
            least = int(self._policy.min_read(self._one(len(self.tokens)), self._one(self._length)))
            wanted = max(least, self.read + (self._asked_to_read is not None))
            available = min(wanted, len(self._source.tokens))
            yield from self._read_up_to(available, waits=available < wanted)
            if available < wanted:
                return
            event = self._step()
            if event.token is None:
                self._asked_to_read = event
            else:
                yield event

    def _read_up_to(self, read: int, waits: bool) -> Iterator[Event]:
        """Reads what the policy has asked for, then what it would ask for in any case.

        All of it is encoded at once, at the cost of the first READ. Where the stream ``waits`` for
        more then, a "bi" encoder would have to see it all again, and is not asked.
        """
        if read == self.read:
            return
        started = time.perf_counter()
        if not waits or self._source.is_encoded_once:
            self._source.prefix(read)
        seconds, value = time.perf_counter() - started, None
        if self._asked_to_read is not None:
            seconds, value = seconds + self._asked_to_read.seconds, self._asked_to_read.value
            self._asked_to_read = None
        while self.read < read:
            self.read += 1
            yield Event(None, len(self.tokens), self.read - 1, value, seconds)
            seconds, value = 0.0, None

    def _step(self) -> Event:
        """Asks the policy, and writes if it says so."""
        started = time.perf_counter()
        memory_BJD, sources = self._source.prefix(self.read)
        state = self._state(sources)
        decision = self._policy.decide(memory_BJD, state)
        self._decoded = self.read
        value, written, token = float(decision.value_B), len(self.tokens), None
        if bool(decision.write_B):
            token = int(
                self._writer.choose(
                    decision.logits(self._alone_B),
                    self._alone_B,
                    state.written_B,
                    state.is_complete_B,
                )
            )
            self.tokens.append(token)
            self.delays.append(self.read)
        return Event(token, written, self.read, value, time.perf_counter() - started)

    def _state(self, sources: Sequence[Projection]) -> PolicyState:
        written = len(self.tokens)
        written_B, read_B = self._one(written), self._one(self.read)
        first_B = self._policy.cached_prefix(written_B, self._one(self._decoded), read_B)
        first = int(first_B)
        rows = [self._ids.start, *self.tokens][first:]
        asked_BQ = self._one(written - first).unsqueeze(1)
        return PolicyState(
            decoder_input_BN=torch.tensor([rows], device=self._device),
            delays_BN=torch.tensor([[*self.delays, 0]], device=self._device),
            written_B=written_B,
            read_B=read_B,
            source_lengths_B=self._one(self._length),
            cache=DecoderCache(
                first_B, asked_BQ, written + 1, self._alone_B, sources, self._caches
            ),
        )

    def _one(self, number: int) -> Tensor:
        return torch.tensor([number], device=self._device)


def _no_states(network: Network) -> Tensor:
    return network.output.weight_VD.new_zeros(1, 0, network.width)
