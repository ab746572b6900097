"""The sentences of a training, update by update."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import torch

from simt.corpus.batches import BatchPlan, Indices, NumpyBatch
from simt.corpus.ids import SPECIAL_IDS, EncodedSplit
from simt.model.batch import Batch
from simt.settings import TrainingSettings


class TrainingCorpus:
    """Training batches cut into micro-batches, and the validation set."""

    def __init__(
        self, train: EncodedSplit, valid: EncodedSplit, settings: TrainingSettings, seed: int
    ) -> None:
        self._micro_tokens = settings.micro_tokens
        self._plan = BatchPlan(train, settings.batch_tokens, settings.max_tokens, seed)
        self._valid = BatchPlan(valid, settings.micro_tokens, settings.max_tokens, seed=0)
        self.left_out = self._plan.left_out

    def batches_in(self, epoch: int) -> int:
        """How many updates an epoch has."""
        return len(self._plan.epoch(epoch))

    def sentences(self, epoch: int, index: int) -> list[int]:
        """The numbers of the sentences of an update, from 0."""
        return [int(number) for number in self._plan.epoch(epoch)[index]]

    def target_tokens(self, epoch: int, index: int) -> int:
        """Target tokens of an update, EOS included and padding not."""
        return self._plan.target_tokens(epoch, index)

    def micro_batches(self, epoch: int, index: int) -> Sequence[Callable[[], Batch]]:
        """The parts of an update, each made when it is called for."""
        parts = self._plan.micro_batches(epoch, index, self._micro_tokens)
        return [partial(self._batch, self._plan, part) for part in parts]

    @cached_property
    def validation_batches(self) -> list[Batch]:
        """The validation set, always in the same batches."""
        return [self._batch(self._valid, indices) for indices in self._valid.epoch(0)]

    @staticmethod
    def _batch(plan: BatchPlan, indices: Indices) -> Batch:
        return as_tensors(plan.gather(indices))


def as_tensors(batch: NumpyBatch) -> Batch:
    """The same batch for the model."""
    return Batch(
        torch.from_numpy(batch.source_BM),
        torch.from_numpy(batch.source_lengths_B),
        torch.from_numpy(batch.target_BN),
        torch.from_numpy(batch.target_lengths_B),
        SPECIAL_IDS,
    )
