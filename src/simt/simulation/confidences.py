"""Confidence in every token of a reference given every prefix of the source, and its probability.

docs/methods.md, "Confidence correlation".

Shapes: B sentences, M source tokens, N target tokens, J tokens of a prefix, R rows of states, D
width.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from simt.methods import Model
from simt.model.network import Network
from simt.progress import progress_bar
from simt.simulation.encodings import Ids, pad_ids, prefix_states

BATCH_SENTENCES = 64
LOGITS = 2**24  # that are held at a time: 64 MB


@runtime_checkable
class ConfidentModel(Protocol):
    """A model that says how much it trusts its next token."""

    network: Network

    def confidence_logits(self, states: Tensor) -> Tensor:
        """Logits of the confidence for top decoder states (…, D)."""
        ...


@dataclass(frozen=True, eq=False)
class StateConfidences:
    """Confidence in the gold token of each state, and its probability, by target and prefix."""

    index: int  # of the sentence in its split
    confidence_NM: npt.NDArray[np.float32]
    probability_NM: npt.NDArray[np.float32]


def state_confidences(
    model: Model,
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    batch_sentences: int = BATCH_SENTENCES,
    title: str = "confidences",
) -> Iterator[StateConfidences]:
    """All states (i, j) of sentences whose targets are given, the longest sentences first.

    The model must be a ``ConfidentModel``. Sources and targets end with EOS.
    """
    assert isinstance(model, ConfidentModel)
    assert not model.network.training
    assert len(sources) == len(targets)
    lengths = np.array([len(source) for source in sources], np.int64)
    order = np.argsort(-lengths, kind="stable").tolist()
    with progress_bar(desc=title, total=len(order), unit=" sentences") as bar:
        for start in range(0, len(order), batch_sentences):
            indices = order[start : start + batch_sentences]
            pairs = [(sources[index], targets[index]) for index in indices]
            yield from map(StateConfidences, indices, *_of_batch(model, pairs))
            bar.update(len(indices))


@torch.inference_mode()
def _of_batch(
    model: ConfidentModel, pairs: Sequence[tuple[Ids, Ids]]
) -> tuple[list[npt.NDArray[np.float32]], list[npt.NDArray[np.float32]]]:
    """Confidences and probabilities of each sentence."""
    pad, device = model.network.ids.pad, model.network.output.weight_VD.device
    source_BM, source_lengths_B = pad_ids([source for source, _ in pairs], pad, device)
    target_BN, target_lengths_B = pad_ids([target for _, target in pairs], pad, device)
    shape = (*target_BN.shape, source_BM.shape[1])
    both_2BNM = torch.zeros(2, *shape, device=device)
    every_B = torch.ones_like(source_lengths_B)
    for length, sentences_B, memory_BJD in prefix_states(
        model.network, source_BM, source_lengths_B, every_B
    ):
        both_2BN = _of_prefix(model, target_BN[sentences_B], memory_BJD)
        both_2BNM[:, sentences_B, :, length - 1] = both_2BN
    confidences, probabilities = (
        [
            each_NM[:rows, :columns].cpu().numpy()
            for each_NM, rows, columns in zip(
                each_BNM, target_lengths_B.tolist(), source_lengths_B.tolist(), strict=True
            )
        ]
        for each_BNM in both_2BNM
    )
    return confidences, probabilities


def _of_prefix(model: ConfidentModel, target_BN: Tensor, memory_BJD: Tensor) -> Tensor:
    """Confidences and probabilities of all target tokens given one prefix each, (2, B, N)."""
    network = model.network
    first_B1 = torch.full_like(target_BN[:, :1], network.ids.start)
    input_BN = torch.cat([first_B1, target_BN[:, :-1]], dim=1)
    states_BND = network.decode(input_BN, memory_BJD, None)
    probability = _gold_probabilities(network, states_BND.flatten(0, 1), target_BN.flatten())
    confidence_BN = model.confidence_logits(states_BND).sigmoid()
    return torch.stack([confidence_BN, probability.view_as(confidence_BN)])


def _gold_probabilities(network: Network, states_RD: Tensor, gold_R: Tensor) -> Tensor:
    """The probability of each row's gold token, (R,)."""
    rows = max(1, LOGITS // network.output.classes)
    parts = []
    for part_RD, part_R in zip(
        *(torch.split(each, rows) for each in (states_RD, gold_R)), strict=True
    ):
        log_probs_RV = network.output.logits(part_RD).float().log_softmax(1)
        parts.append(log_probs_RV.gather(1, part_R.unsqueeze(1)).squeeze(1).exp())
    return torch.cat(parts)
