"""One READ/WRITE loop for all policies (docs/methods.md, "Batched decoding").

Shapes: S sentences of a batch, B of them that act now, V target vocabulary, N target tokens.

Sentences of similar length make a batch. Each encoding is made once and serves all policies. In a
step, every sentence takes one action: first those whose decoder rows are all cached but the newest,
then those that must compute more. The size of a batch changes the last bits of a value only; a
decision that depends on these bits may differ.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from simt.corpus.ids import SpecialIds
from simt.methods import Decision, Policy, PolicyState
from simt.model.network import Network
from simt.progress import progress_bar
from simt.settings import DecodingSettings
from simt.simulation.decoding_state import DecodingState
from simt.simulation.encodings import Ids, SourceEncodings, count_states, pad_ids
from simt.simulation.translations import Translation

BATCH_SENTENCES = 256
# Numbers that the encodings of a batch may hold: 256 MB and 4 GB in single precision. A "bi"
# encoder has encodings of every prefix, and few sentences at a time would leave a GPU idle.
ENCODING_NUMBERS = {"cpu": 2**26, "cuda": 2**30}


class Writer(Protocol):
    """Chooses what is written; EOS ends a sentence."""

    @property
    def max_length(self) -> int:
        """How many tokens it writes at most, EOS included."""
        ...

    def choose(
        self, logits_BV: Tensor, sentences_B: Tensor, written_B: Tensor, is_complete_B: Tensor
    ) -> Tensor:
        """The token that each sentence writes now, (B,); some sources have been read to the end."""
        ...


class GreedyWriter:
    """The best token of those that may be written; no EOS first, EOS behind the last one."""

    def __init__(self, settings: DecodingSettings, ids: SpecialIds) -> None:
        self._settings = settings
        self._ids = ids
        self.max_length = settings.max_target_tokens + 1

    def choose(
        self, logits_BV: Tensor, sentences_B: Tensor, written_B: Tensor, is_complete_B: Tensor
    ) -> Tensor:
        never = torch.tensor(self._ids.never_written, device=logits_BV.device)
        logits_BV = logits_BV.index_fill(1, never, -torch.inf)
        must_continue_B = written_B == 0
        if self._settings.forbid_eos_before_source_end:
            must_continue_B |= ~is_complete_B
        logits_BV[:, self._ids.eos].masked_fill_(must_continue_B, -torch.inf)
        is_full_B = written_B >= self._settings.max_target_tokens
        return logits_BV.argmax(1).masked_fill(is_full_B, self._ids.eos)


class ForcedWriter:
    """The tokens of the references, whatever the model would write."""

    def __init__(self, references_SN: Tensor) -> None:
        self._references_SN = references_SN
        self.max_length = references_SN.shape[1]

    def choose(
        self, logits_BV: Tensor, sentences_B: Tensor, written_B: Tensor, is_complete_B: Tensor
    ) -> Tensor:
        return self._references_SN[sentences_B, written_B]


def simulate(
    network: Network,
    policies: Sequence[Policy],
    sources: Sequence[Ids],
    decoding: DecodingSettings,
    references: Sequence[Ids] | None = None,
    batch_sentences: int = BATCH_SENTENCES,
    title: str = "decode",
) -> list[list[Translation]]:
    """The translations of all sources by each policy, in the order of both.

    Sources, and references if there are any, end with EOS. References are written whatever the
    model would write, and whatever ``decoding`` says: only READ or WRITE is the policy's choice.
    """
    assert not network.training
    # A "bi" encoder changes what a frozen row has seen.
    assert network.encoder == "uni" or all(each.target_states == "recompute" for each in policies)
    assert references is None or len(references) == len(sources)
    task = Task(network, policies, sources, decoding, references)
    translations: list[list[Translation]] = [[] for _ in policies]
    bar = progress_bar(desc=title, total=len(sources) * len(policies), unit=" sentences")
    with torch.inference_mode(), bar:
        for indices in task.batches(batch_sentences):
            for found, some in zip(translations, task.translate(indices, bar), strict=True):
                found += some
    for found in translations:
        found.sort(key=lambda translation: translation.index)
    return translations


@dataclass(frozen=True, eq=False)
class Task:
    """Sentences to translate by several policies, whose encodings they share."""

    network: Network
    policies: Sequence[Policy]
    sources: Sequence[Ids]
    decoding: DecodingSettings
    references: Sequence[Ids] | None

    def batches(self, batch_sentences: int) -> Iterator[list[int]]:
        """Sentences of similar length, of which all encodings fit into the memory."""
        lengths_B = self._lengths(range(len(self.sources)))
        states_B = count_states(self.network.encoder, lengths_B, self._shortest(lengths_B))
        numbers_B = states_B * _numbers_per_state(self.network)
        device = self.network.output.weight_VD.device
        allowed = ENCODING_NUMBERS.get(device.type, ENCODING_NUMBERS["cuda"])
        return _cut(lengths_B, numbers_B, batch_sentences, allowed)

    def translate(self, indices: list[int], bar: "tqdm[Any]") -> list[list[Translation]]:
        """A batch by each policy; one that is too large for the memory of a GPU in two halves."""
        before = bar.n
        try:
            return list(self._translations(indices, bar))
        except torch.OutOfMemoryError:
            if len(indices) == 1:
                raise
        bar.update(before - bar.n)
        torch.cuda.empty_cache()
        half = len(indices) // 2
        parts = [self.translate(some, bar) for some in (indices[:half], indices[half:])]
        return [first + second for first, second in zip(*parts, strict=True)]

    def _translations(self, indices: list[int], bar: "tqdm[Any]") -> Iterator[list[Translation]]:
        encodings = self._encode(indices)
        writer = _writer(self.network, self.decoding, self.references, indices)
        for policy in self.policies:
            state = _start_state(encodings, writer, self.network.ids)
            Loop(policy, encodings, writer, state).run()
            yield state.translations(indices)
            bar.update(len(indices))

    def _encode(self, indices: list[int]) -> SourceEncodings:
        """All encodings that the policies can ask for."""
        device = self.network.output.weight_VD.device
        chosen = [self.sources[index] for index in indices]
        source_BM, lengths_B = pad_ids(chosen, self.network.ids.pad, device)
        first_B = self._shortest(self._lengths(indices)).to(device)
        return SourceEncodings.encode(self.network, source_BM, lengths_B, first_B)

    def _lengths(self, indices: Iterable[int]) -> Tensor:
        lengths = [len(self.sources[index]) for index in indices]
        return torch.tensor(lengths, dtype=torch.long, device="cpu")

    def _shortest(self, lengths_B: Tensor) -> Tensor:
        """How much is read in any case before anything is written, (B,)."""
        nothing_B = torch.zeros_like(lengths_B)
        min_reads = [policy.min_read(nothing_B, lengths_B) for policy in self.policies]
        return torch.stack([lengths_B, *min_reads]).amin(0)


@dataclass(frozen=True, eq=False)
class Loop:
    """A policy on its way through a batch of sentences."""

    policy: Policy
    encodings: SourceEncodings
    writer: Writer
    state: DecodingState

    def run(self) -> None:
        """All sentences to their ends."""
        lengths_S = self.encodings.lengths_B
        active_B = torch.arange(len(lengths_S), device=lengths_S.device)
        while len(active_B):
            self.step(active_B)
            active_B = active_B[~self.state.is_done_S[active_B]]
            self.state.forget_all_but(active_B)

    def step(self, active_B: Tensor) -> None:
        """One action of each of the sentences."""
        state = self.state
        written_B, decoded_B = state.written_S[active_B], state.decoded_S[active_B]
        min_B = self.policy.min_read(written_B, state.lengths_S[active_B])
        read_B = torch.maximum(state.read_S[active_B], min_B)
        state.read_S[active_B] = read_B
        first_B = self.policy.cached_prefix(written_B, decoded_B, read_B)
        is_cached_B = first_B == written_B
        for group_B in (is_cached_B, ~is_cached_B):
            if group_B.any():
                self.act(active_B[group_B], first_B[group_B])

    def act(self, sentences_B: Tensor, first_B: Tensor) -> None:
        """One action of sentences whose decoder rows before ``first_B`` are cached."""
        started = time.perf_counter()
        state = self.state
        memory_BJD, sources = self.encodings.prefixes(sentences_B, state.read_S[sentences_B])
        current = state.for_policy(sentences_B, first_B, sources)
        decision = self.policy.decide(memory_BJD, current)
        assert not (current.is_complete_B & ~decision.write_B).any()
        writes, reads = (
            each.nonzero().squeeze(1) for each in (decision.write_B, ~decision.write_B)
        )
        state.decoded_S[sentences_B] = current.read_B
        decided = time.perf_counter()  # nonzero waited for the device
        state.add_time(sentences_B, decided - started)
        state.read(sentences_B[reads], decision.value_B[reads])
        if len(writes):
            tokens_B = self.choose(decision, current, sentences_B, writes)
            state.add_time(sentences_B[writes], time.perf_counter() - decided)
            state.write(sentences_B[writes], tokens_B, decision.value_B[writes])

    def choose(
        self, decision: Decision, current: PolicyState, sentences_B: Tensor, writes: Tensor
    ) -> Tensor:
        """The tokens of those who write. Who reads does not pay for scores of the vocabulary."""
        tokens_B = self.writer.choose(
            decision.logits(writes),
            sentences_B[writes],
            current.written_B[writes],
            current.is_complete_B[writes],
        )
        if tokens_B.is_cuda:
            torch.cuda.synchronize(tokens_B.device)  # they are taken with the clock
        return tokens_B


def _start_state(encodings: SourceEncodings, writer: Writer, ids: SpecialIds) -> DecodingState:
    layers = len(encodings.projections)
    return DecodingState(
        encodings.lengths_B, writer.max_length, layers, encodings.seconds_per_token, ids
    )


def _writer(
    network: Network,
    decoding: DecodingSettings,
    references: Sequence[Ids] | None,
    indices: Sequence[int],
) -> Writer:
    if references is None:
        return GreedyWriter(decoding, network.ids)
    device = network.output.weight_VD.device
    chosen = [references[index] for index in indices]
    return ForcedWriter(pad_ids(chosen, network.ids.pad, device)[0])


def _numbers_per_state(network: Network) -> int:
    state_1D = network.output.weight_VD.new_zeros(1, network.width)
    projections = network.project_source(state_1D)
    return network.width + sum(each.numel() for projection in projections for each in projection)


def _cut(
    lengths_B: Tensor, numbers_B: Tensor, batch_sentences: int, batch_numbers: int
) -> Iterator[list[int]]:
    """Batches, longest sentences first: what is too large for the memory fails at once."""
    batch: list[int] = []
    size = 0
    for index in np.argsort(-lengths_B.numpy(), kind="stable").tolist():
        numbers = int(numbers_B[index])
        if batch and (len(batch) == batch_sentences or size + numbers > batch_numbers):
            yield batch
            batch, size = [], 0
        batch.append(index)
        size += numbers
    if batch:
        yield batch
