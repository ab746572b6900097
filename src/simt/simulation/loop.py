"""One READ/WRITE loop for all policies (methods.md §0.4-§0.6).

Shapes: S sentences of a batch, B of them that act now, V target vocabulary, N target tokens.

Sentences of similar length make a batch. Each encoding is made once and serves all policies. In a
tick, every sentence takes one action: first those whose decoder rows are all kept but the newest,
then those that must compute more. That a batch is a batch can be seen in the last bits of a value
only; where a decision hangs on these, so does the output.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from simt.corpus.ids import BOS, EOS, PAD
from simt.methods import Policy, State
from simt.model.transformer import Transformer
from simt.progress import progress_bar
from simt.settings import DecodingSettings
from simt.simulation.board import Board
from simt.simulation.encodings import Ids, SourceEncodings, count_states, pad_ids
from simt.simulation.translations import Translation

BATCH_SENTENCES = 256
# Numbers that the encodings of a batch may hold: 256 MB in single precision.
ENCODING_NUMBERS = 2**26


class Writer(Protocol):
    """Chooses what is written; EOS ends a sentence."""

    @property
    def room(self) -> int:
        """How many tokens it writes at most, EOS included."""
        ...

    def choose(self, logits_BV: Tensor, state: State, sentences_B: Tensor) -> Tensor:
        """The token that each sentence would write now, (B,)."""
        ...


class GreedyWriter:
    """The best token; no PAD, no BOS, no EOS as the first token, EOS behind the last one."""

    def __init__(self, settings: DecodingSettings) -> None:
        self._settings = settings
        self.room = settings.max_target_tokens + 1

    def choose(self, logits_BV: Tensor, state: State, sentences_B: Tensor) -> Tensor:
        never = torch.tensor([BOS, PAD], device=logits_BV.device)
        logits_BV = logits_BV.index_fill(1, never, -torch.inf)
        must_go_on_B = state.written_B == 0
        if self._settings.forbid_eos_before_source_end:
            must_go_on_B |= ~state.is_complete_B
        logits_BV[:, EOS].masked_fill_(must_go_on_B, -torch.inf)
        is_full_B = state.written_B >= self._settings.max_target_tokens
        return logits_BV.argmax(1).masked_fill(is_full_B, EOS)


class ForcedWriter:
    """The tokens of the references, whatever the model would write."""

    def __init__(self, references_SN: Tensor) -> None:
        self._references_SN = references_SN
        self.room = references_SN.shape[1]

    def choose(self, logits_BV: Tensor, state: State, sentences_B: Tensor) -> Tensor:
        return self._references_SN[sentences_B, state.written_B]


def simulate(
    model: Transformer,
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
    assert not model.training
    # A "bi" encoder changes what a frozen row has seen.
    assert model.encoder == "uni" or all(each.target_states == "recompute" for each in policies)
    assert references is None or len(references) == len(sources)
    translations: list[list[Translation]] = [[] for _ in policies]
    bar = progress_bar(desc=title, total=len(sources) * len(policies), unit=" sentences")
    with torch.inference_mode(), bar:
        for indices, encodings in _encoded_batches(model, policies, sources, batch_sentences):
            writer = _writer(decoding, references, indices, encodings.lengths_B.device)
            for found, policy in zip(translations, policies, strict=True):
                board = _board(encodings, writer)
                Loop(policy, encodings, writer, board).run()
                found += board.translations(indices)
                bar.update(len(indices))
    for found in translations:
        found.sort(key=lambda translation: translation.index)
    return translations


@dataclass(frozen=True, eq=False)
class Loop:
    """A policy on its way through a batch of sentences."""

    policy: Policy
    encodings: SourceEncodings
    writer: Writer
    board: Board

    def run(self) -> None:
        """All sentences to their ends."""
        lengths_S = self.encodings.lengths_B
        active_B = torch.arange(len(lengths_S), device=lengths_S.device)
        while len(active_B):
            self.tick(active_B)
            active_B = active_B[~self.board.is_done_S[active_B]]
            self.board.forget_all_but(active_B)

    def tick(self, active_B: Tensor) -> None:
        """One action of each of the sentences."""
        board = self.board
        written_B, decoded_B = board.written_S[active_B], board.decoded_S[active_B]
        least_B = self.policy.least_read(written_B, board.lengths_S[active_B])
        read_B = torch.maximum(board.read_S[active_B], least_B)
        board.read_S[active_B] = read_B
        first_B = self.policy.kept_rows(written_B, decoded_B, read_B)
        goes_on_B = first_B == written_B
        for group_B in (goes_on_B, ~goes_on_B):
            if group_B.any():
                self.act(active_B[group_B], first_B[group_B])

    def act(self, sentences_B: Tensor, first_B: Tensor) -> None:
        """One action of sentences whose decoder rows before ``first_B`` are kept."""
        started = time.perf_counter()
        board = self.board
        memory_BJD, sources = self.encodings.prefixes(sentences_B, board.read_S[sentences_B])
        state = board.state(sentences_B, first_B, sources)
        step = self.policy.step(memory_BJD, state)
        assert not (state.is_complete_B & ~step.write_B).any()
        tokens_B = self.writer.choose(step.logits_BV, state, sentences_B)
        writes, reads = (each.nonzero().squeeze(1) for each in (step.write_B, ~step.write_B))
        board.decoded_S[sentences_B] = state.read_B
        board.charge(sentences_B, time.perf_counter() - started)  # nonzero waited for the device
        board.write(sentences_B[writes], tokens_B[writes], step.value_B[writes])
        board.read(sentences_B[reads], step.value_B[reads])


def _board(encodings: SourceEncodings, writer: Writer) -> Board:
    layers = len(encodings.projections)
    return Board(encodings.lengths_B, writer.room, layers, encodings.seconds_per_token)


def _writer(
    decoding: DecodingSettings,
    references: Sequence[Ids] | None,
    indices: Sequence[int],
    device: torch.device,
) -> Writer:
    if references is None:
        return GreedyWriter(decoding)
    return ForcedWriter(pad_ids([references[index] for index in indices], device)[0])


def _encoded_batches(
    model: Transformer, policies: Sequence[Policy], sources: Sequence[Ids], batch_sentences: int
) -> Iterator[tuple[list[int], SourceEncodings]]:
    """Sentences of similar length with all encodings that the policies can ask for."""
    device = model.target_embedding_VD.device
    lengths_B = torch.tensor([len(source) for source in sources], dtype=torch.long, device="cpu")
    shortest_B = _shortest_prefixes(policies, lengths_B)
    numbers_B = count_states(model.encoder, lengths_B, shortest_B) * _numbers_per_state(model)
    for indices in _cut(lengths_B, numbers_B, batch_sentences):
        source_BM, source_lengths_B = pad_ids([sources[index] for index in indices], device)
        first_B = shortest_B[indices].to(device)
        yield indices, SourceEncodings.encode(model, source_BM, source_lengths_B, first_B)


def _shortest_prefixes(policies: Sequence[Policy], lengths_B: Tensor) -> Tensor:
    """How much is read in any case before anything is written, (B,)."""
    nothing_B = torch.zeros_like(lengths_B)
    least = [policy.least_read(nothing_B, lengths_B) for policy in policies]
    return torch.stack([lengths_B, *least]).amin(0)


def _numbers_per_state(model: Transformer) -> int:
    state_1D = model.target_embedding_VD.new_zeros(1, model.width)
    projections = model.project_source(state_1D)
    return model.width + sum(each.numel() for projection in projections for each in projection)


def _cut(lengths_B: Tensor, numbers_B: Tensor, batch_sentences: int) -> Iterator[list[int]]:
    """Batches, longest sentences first: what is too large for the memory fails at once."""
    batch: list[int] = []
    size = 0
    for index in np.argsort(-lengths_B.numpy(), kind="stable").tolist():
        numbers = int(numbers_B[index])
        if batch and (len(batch) == batch_sentences or size + numbers > ENCODING_NUMBERS):
            yield batch
            batch, size = [], 0
        batch.append(index)
        size += numbers
    if batch:
        yield batch
