"""Sentences to translate, and policies that the plain loop needs to follow a batched one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from simt.corpus.ids import EOS
from simt.methods import Decision, Policy, PolicyState
from simt.params import Knob
from simt.settings import DecodingSettings
from simt.simulation import Translation
from tests.samples.reference_loop import Trace, all_logits

MAX_TOKENS = 10
DECODING = DecodingSettings(
    max_target_tokens=MAX_TOKENS, forbid_eos_before_source_end=False, ms_per_word=400
)
CLOSE_CALL = 1e-4  # a decision by less may fall either way: sums are added up in another order


def random_sentences(
    lengths: Sequence[int], seed: int = 1, vocabulary_size: int = 29
) -> list[list[int]]:
    """Random ids, each with its final EOS, which the lengths count."""
    generator = torch.Generator().manual_seed(seed)
    return [
        [*torch.randint(4, vocabulary_size, (length - 1,), generator=generator).tolist(), EOS]
        for length in lengths
    ]


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A policy whose decisions are changed: a stand-in for options of the batched loop."""

    policy: Policy

    @property
    def target_states(self) -> str:
        return self.policy.target_states

    def min_read(self, written_B: Tensor, source_lengths_B: Tensor) -> Tensor:
        return self.policy.min_read(written_B, source_lengths_B)

    def cached_prefix(self, written_B: Tensor, before_B: Tensor, read_B: Tensor) -> Tensor:
        return self.policy.cached_prefix(written_B, before_B, read_B)

    def decide(self, memory_BJD: Tensor, state: PolicyState) -> Decision:
        return self.change(self.policy.decide(memory_BJD, state), state)

    def change(self, decision: Decision, state: PolicyState) -> Decision:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Forced(Wrapped):
    """Always prefers the next token of a reference (one sentence)."""

    reference: Sequence[int]

    def change(self, decision: Decision, state: PolicyState) -> Decision:
        preferred_B1 = torch.tensor([[self.reference[int(state.written_B)]]])
        logits_BV = torch.zeros_like(all_logits(decision)).scatter(1, preferred_B1, 1.0)
        return replace(decision, logits=lambda rows: logits_BV[rows])


@dataclass(frozen=True, eq=False)
class WithoutEarlyEos(Wrapped):
    """Does not like EOS before the source is complete."""

    def change(self, decision: Decision, state: PolicyState) -> Decision:
        logits_BV = all_logits(decision)
        is_eos_V = torch.arange(logits_BV.shape[1]) == EOS
        is_forbidden_BV = is_eos_V & ~state.is_complete_B.unsqueeze(1)
        logits_BV = logits_BV.masked_fill(is_forbidden_BV, -torch.inf)
        return replace(decision, logits=lambda rows: logits_BV[rows])


@dataclass(frozen=True, eq=False)
class Restless(Wrapped):
    """Reads and writes as it likes, in long and in short runs, but always the same in a state.

    Its value is a sum of what the policy computed: it shows whether that was right.
    """

    seed: int

    def change(self, decision: Decision, state: PolicyState) -> Decision:
        mixed_B = (state.written_B // 2 * 7919 + state.read_B * 104_729 + self.seed * 31) % 97
        write_B = (mixed_B < 50) | state.is_complete_B
        logits_BV = all_logits(decision)
        value_B = decision.value_B + logits_BV[:, 5] - logits_BV[:, 6] / 3
        return replace(decision, write_B=write_B, value_B=value_B)


def is_close_call(trace: Trace, knob: Knob) -> bool:
    """Whether anything was decided by next to nothing."""
    gaps = [float(top[0] - top[1]) for top in (logits.topk(2).values for logits in trace.logits)]
    if set(trace.values) != {1.0}:  # the policy asked the model
        assert not isinstance(knob, str)
        gaps += [abs(value - knob) for value in trace.values]
    return min(gaps) < CLOSE_CALL


class Action(NamedTuple):
    """What was done after ``written`` target tokens and ``read`` source tokens, and its value."""

    is_write: bool
    written: int
    read: int
    value: float | None


def actions(translation: Translation) -> Iterator[Action]:
    """All actions in their order."""
    for written, (before, delay) in enumerate(pairwise((0, *translation.delays))):
        for read in range(before, delay):
            yield Action(False, written, read, translation.read_values[read])
        yield Action(True, written, delay, translation.write_values[written])


def is_same(translation: Translation, trace: Trace) -> bool:
    """Whether both did the same in the same states."""
    asked = [action for action in actions(translation) if action.value is not None]
    return (
        list(translation.tokens) == trace.tokens
        and list(translation.delays) == trace.delays
        and "".join("W" if action.is_write else "R" for action in actions(translation))
        == trace.actions
        and [(action.written + 1, action.read) for action in asked] == trace.states
        and torch.allclose(
            torch.tensor([action.value for action in asked]), torch.tensor(trace.values), atol=1e-4
        )
    )
