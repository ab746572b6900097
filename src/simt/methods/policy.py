"""What a policy knows, what it says, and the policies that only count.

Shapes: B sentences, N decoder rows, J source tokens read (longest), D width, V vocabulary.

Whoever drives a policy keeps a ``PolicyState``, reads up to ``min_read`` without asking, then asks
``decide``: sentences that WRITE get a token by ``logits``, the others read one token more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from simt.errors import SimtError
from simt.model.cache import DecoderCache
from simt.model.masks import key_mask, visible_mask
from simt.model.network import Network
from simt.params import Knob

TargetStates = Literal["frozen", "recompute"]
Schedule = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class PolicyState:
    """Sentence b has written ``written_B`` tokens and read ``read_B``, and is about to act.

    ``decoder_input_BN`` is the start and the tokens written so far, padded on the right; its row
    ``written_B`` predicts the next token. ``delays_BN[b, r]`` is how much had been read when
    token r was written; from ``written_B`` on it has no meaning. With a ``cache``, the input
    begins at the row ``cache.first_B``: those before are known.
    """

    decoder_input_BN: Tensor
    delays_BN: Tensor
    written_B: Tensor
    read_B: Tensor
    source_lengths_B: Tensor
    cache: DecoderCache | None = None

    @property
    def is_complete_B(self) -> Tensor:
        """Whether the source has been read to its end."""
        return self.read_B >= self.source_lengths_B

    @property
    def previous_delay_B(self) -> Tensor:
        """The delay of the last written token; 0 before the first."""
        last_B1 = (self.written_B - 1).clamp(min=0).unsqueeze(1)
        return self.delays_BN.gather(1, last_B1).squeeze(1) * (self.written_B > 0)

    @property
    def width(self) -> int:
        """How many rows the longest sentence has, those that are known included."""
        return self.decoder_input_BN.shape[1] if self.cache is None else self.cache.width

    @property
    def rows_BN(self) -> Tensor:
        """Which rows the input is for, (B, N) or (1, N)."""
        rows = self.decoder_input_BN.shape[1]
        if self.cache is not None:
            return self.cache.positions(rows)
        return torch.arange(rows, device=self.written_B.device).unsqueeze(0)

    def newest(self, rows_BNX: Tensor) -> Tensor:
        """The row of each sentence that predicts its next token; any number of axes behind N.

        With a cache, the model has given no other.
        """
        if self.cache is not None:
            return rows_BNX[:, 0]
        return rows_BNX[torch.arange(rows_BNX.shape[0], device=rows_BNX.device), self.written_B]


@dataclass(frozen=True, eq=False)
class Decision:
    """Whether to write the next token, the value that decided it, and the scores of that token.

    Who reads needs no scores: ``logits`` computes those of the sentences that are asked for.
    """

    logits: Callable[[Tensor], Tensor]
    write_B: Tensor
    value_B: Tensor


class Policy(Protocol):
    """Chooses READ or WRITE for a batch of sentences, each in its own state.

    ``target_states`` "frozen": a row sees what had been read when its token was written, so its
    states can be cached; "recompute": all rows see what has been read by now.
    """

    @property
    def target_states(self) -> TargetStates: ...

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        """The fewest source tokens with which the next token could be written."""
        ...

    def cached_prefix(self, written_B: Tensor, before_B: Tensor, read_B: Tensor) -> Tensor:
        """The length of the cached prefix: decoder rows, from the first on, that are as they were
        when ``before_B`` source tokens had been read.

        At most ``written_B``: the row of the next token is always computed.
        """
        ...

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        """``memory_BJD`` encodes the first ``state.read_B`` tokens, ``read_B >= min_read``."""
        ...


def newest_states(
    network: Network, memory_BJD: Tensor, state: PolicyState, target_states: TargetStates
) -> Tensor:
    """Top decoder states that predict the next tokens, (B, D)."""
    width = memory_BJD.shape[1]
    if target_states == "recompute" or state.decoder_input_BN.shape[1] == 1:  # the newest row
        mask = key_mask(state.read_B, width)
    else:
        rows_BN = state.rows_BN.expand_as(state.decoder_input_BN)
        is_written_BN = rows_BN < state.written_B.unsqueeze(1)
        delays_BN = state.delays_BN.gather(1, rows_BN)
        visible_BN = torch.where(is_written_BN, delays_BN, state.read_B.unsqueeze(1))
        mask = visible_mask(visible_BN, width)
    states_BND = network.decode(state.decoder_input_BN, memory_BJD, mask, cache=state.cache)
    return state.newest(states_BND)


class Rule(Protocol):
    """What a policy decides by, once the model was asked."""

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        """The fewest source tokens with which the next token could be written."""
        ...


class RecomputingPolicy:
    """What adaptive policies have in common: all rows see what has been read by now.

    So a READ leaves nothing of the cached prefix, unless a policy knows better.
    """

    rule: Rule
    target_states: TargetStates = "recompute"

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        return self.rule.min_read(written_B, source_lengths_B)

    def cached_prefix(self, written_B: Tensor, before_B: Tensor, read_B: Tensor) -> Tensor:
        return written_B * (before_B == read_B)


def whole_source(written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
    """The schedule of an offline system."""
    return source_lengths_B


@dataclass(frozen=True, eq=False)
class ScheduledPolicy:
    """Writes as soon as the schedule allows it; ``value_B`` is 1."""

    network: Network
    schedule: Schedule
    target_states: TargetStates

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        return self.schedule(written_B, source_lengths_B)

    def cached_prefix(self, written_B: Tensor, before_B: Tensor, read_B: Tensor) -> Tensor:
        if self.target_states == "frozen":
            return written_B
        return written_B * (before_B == read_B)

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        states_BD = newest_states(self.network, memory_BJD, state, self.target_states)
        min_B = self.min_read(state.written_B, state.source_lengths_B)
        return Decision(
            logits=lambda rows: self.network.output.logits(states_BD[rows]),
            write_B=state.read_B >= min_B,
            value_B=torch.ones_like(state.read_B, dtype=torch.float32),
        )


def numeric_knob(method: str, knob: Knob, what: str) -> float:
    """The knob as a number; ``what`` says which number the method has for a knob."""
    if isinstance(knob, str):
        raise SimtError(
            f"the knob of {method} is {what}, not {knob!r}: "
            f"correct `knobs` of {method} in params.yaml"
        )
    return knob
