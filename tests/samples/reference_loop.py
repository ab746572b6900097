"""The READ/WRITE loop for one sentence, as plain as it can be: what a batched one must agree with.

Shapes: B = 1, N decoder rows, J source tokens read.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from simt.corpus.ids import BOS, EOS, PAD
from simt.methods import Decision, Model, Policy, PolicyState
from tests.samples.prefixes import PrefixEncodings


@dataclass
class Trace:
    """What was written, with which delays, and which states were looked at on the way."""

    tokens: list[int] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)
    actions: str = ""
    states: list[tuple[int, int]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    logits: list[Tensor] = field(default_factory=list)  # of what was written, (V,) each


def translate(
    policy: Policy,
    memory: Callable[[Tensor], Tensor],
    source_length: int,
    max_tokens: int,
    allows_bos: bool = False,
) -> Trace:
    """``memory`` encodes prefixes. The official decoders allow BOS as an output, ours do not."""
    trace = Trace()
    read = 0
    while EOS not in trace.tokens:
        written_B, length_B = torch.tensor([len(trace.tokens)]), torch.tensor([source_length])
        least = int(policy.min_read(written_B, length_B))
        assert 1 <= least <= source_length
        trace.actions += "R" * (least - read)
        read = max(read, least)
        state = PolicyState(
            decoder_input_BN=torch.tensor([[EOS, *trace.tokens]]),
            delays_BN=torch.tensor([[*trace.delays, 0]]),
            written_B=written_B,
            read_B=torch.tensor([read]),
            source_lengths_B=length_B,
        )
        with torch.no_grad():
            decision = policy.decide(memory(state.read_B), state)
        trace.states.append((len(trace.tokens) + 1, read))
        trace.values.append(float(decision.value_B))
        if bool(decision.write_B):
            (logits_V,) = all_logits(decision)
            trace.tokens.append(_choose(logits_V, len(trace.tokens), max_tokens, allows_bos))
            trace.logits.append(logits_V)
            trace.delays.append(read)
            trace.actions += "W"
        else:
            assert read < source_length
            read += 1
            trace.actions += "R"
    return trace


def all_logits(decision: Decision) -> Tensor:
    """Scores of the next token of every sentence, also of those that read, (B, V)."""
    return decision.logits(torch.arange(len(decision.write_B)))


def _choose(logits_V: Tensor, written: int, max_tokens: int, allows_bos: bool) -> int:
    """The best token; no PAD, no EOS as the first token, EOS behind the last one."""
    if written == max_tokens:
        return EOS
    logits_V = logits_V.clone()
    logits_V[PAD] = -torch.inf
    if not allows_bos:
        logits_V[BOS] = -torch.inf
    if written == 0:
        logits_V[EOS] = -torch.inf
    return int(logits_V.argmax())


def translate_source(
    policy: Policy, model: Model, source: list[int], max_tokens: int, allows_bos: bool = False
) -> Trace:
    """The same for a sentence of ids."""
    source_BM, lengths_B = torch.tensor([source]), torch.tensor([len(source)])
    with torch.no_grad():
        encodings = PrefixEncodings.start(model.network, source_BM, lengths_B)
        return translate(policy, encodings.memory, len(source), max_tokens, allows_bos)
