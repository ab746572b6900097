"""Every prefix of some sentences, encoded once for all policies.

Shapes: B sentences, M source tokens, J longest prefix asked for, D width, X any width, F states of
all prefixes one behind the other.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from simt.model.cache import Projection
from simt.model.network import Network

Ids = Sequence[int] | npt.NDArray[np.integer[Any]]


def pad_ids(sentences: Sequence[Ids], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The sentences as rows of one matrix (B, M), and their lengths."""
    rows = [torch.as_tensor(one, dtype=torch.long, device="cpu") for one in sentences]
    lengths_B = torch.tensor([len(row) for row in rows], device=device)
    padded_BM = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)
    return padded_BM.to(device), lengths_B


def prefix_states(
    network: Network, source_BM: Tensor, lengths_B: Tensor, shortest_B: Tensor
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """For each j, the sentences that have a prefix of j tokens, and its states, (B, j, D).

    Prefixes of one length need neither pads nor masks. ``shortest_B`` says where they begin. A
    "bi" encoder must see each prefix anew, a "uni" encoder sees each sentence once.
    """
    memory_BMD = network.encode(source_BM, lengths_B) if network.encoder == "uni" else None
    for length in range(int(shortest_B.min()), source_BM.shape[1] + 1):
        sentences_B = ((lengths_B >= length) & (shortest_B <= length)).nonzero().squeeze(1)
        if not len(sentences_B):
            continue
        if memory_BMD is not None:
            yield length, sentences_B, memory_BMD[sentences_B, :length]
        else:
            prefix_BJ = source_BM[sentences_B, :length]
            lengths = torch.full_like(sentences_B, length)
            yield length, sentences_B, network.encode(prefix_BJ, lengths)


@dataclass(frozen=True, eq=False)
class SourceEncodings:
    """States of all prefixes, and what each decoder layer makes of them.

    Prefix j of sentence b begins at ``starts_BM[b, j - 1]`` of the flat tensors.
    """

    lengths_B: Tensor
    starts_BM: Tensor
    states_FD: Tensor
    projections: Sequence[Projection]  # by layer, (F, X) each
    seconds_per_token: float  # that all this took, by source token

    @classmethod
    def encode(
        cls, network: Network, source_BM: Tensor, lengths_B: Tensor, shortest_B: Tensor
    ) -> "SourceEncodings":
        """Encodings of all prefixes with at least ``shortest_B`` tokens."""
        started = time.perf_counter()
        flatten = _flat_sentences if network.encoder == "uni" else _flat_prefixes
        states_FD, starts_BM = flatten(network, source_BM, lengths_B, shortest_B)
        projections = network.project_source(states_FD)
        source_tokens = int(lengths_B.sum())  # waits for the device
        seconds = time.perf_counter() - started
        return cls(lengths_B, starts_BM, states_FD, projections, seconds / source_tokens)

    def prefixes(self, sentences_B: Tensor, read_B: Tensor) -> tuple[Tensor, list[Projection]]:
        """States of the first ``read_B`` tokens of some sentences, (B, J, D), garbage beyond.

        And what each layer makes of them, (B, J, X) each.
        """
        columns_J = torch.arange(int(read_B.max()), device=read_B.device)
        places_BJ = self.starts_BM[sentences_B, read_B - 1].unsqueeze(1) + columns_J
        places_BJ = places_BJ.clamp(max=len(self.states_FD) - 1)
        return _look_up(self.states_FD, places_BJ), [
            tuple(_look_up(each_FX, places_BJ) for each_FX in projection)
            for projection in self.projections
        ]


def _look_up(rows_FX: Tensor, places_BJ: Tensor) -> Tensor:
    return rows_FX.index_select(0, places_BJ.flatten()).view(*places_BJ.shape, -1)


def _flat_sentences(
    network: Network, source_BM: Tensor, lengths_B: Tensor, shortest_B: Tensor
) -> tuple[Tensor, Tensor]:
    """For a "uni" encoder: all prefixes of a sentence begin where the sentence does."""
    states_BMD = network.encode(source_BM, lengths_B)
    starts_B = torch.arange(len(lengths_B), device=source_BM.device) * source_BM.shape[1]
    return states_BMD.flatten(0, 1), starts_B.unsqueeze(1).expand_as(source_BM)


def _flat_prefixes(
    network: Network, source_BM: Tensor, lengths_B: Tensor, shortest_B: Tensor
) -> tuple[Tensor, Tensor]:
    """For a "bi" encoder: each prefix has states of its own, the shortest prefixes first."""
    starts_BM = torch.zeros_like(source_BM)
    flat, end = [], 0
    for length, sentences_B, states_BJD in prefix_states(network, source_BM, lengths_B, shortest_B):
        order_B = torch.arange(len(sentences_B), device=source_BM.device)
        starts_BM[sentences_B, length - 1] = end + order_B * length
        flat.append(states_BJD.flatten(0, 1))
        end += len(flat[-1])
    return torch.cat(flat), starts_BM


def count_states(encoder: str, lengths_B: Tensor, shortest_B: Tensor) -> Tensor:
    """How many source states each sentence takes, (B,)."""
    if encoder == "uni":
        return lengths_B
    return (lengths_B * (lengths_B + 1) - shortest_B * (shortest_B - 1)) // 2
