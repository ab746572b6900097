"""The memory that a training needs at most, counted from what is kept at the worst moment.

That is the start of the backward pass of a micro-batch that is not the first of its update:
weights, their gradients so far and both moments of Adam are there, and all that the layers keep
for the backward pass. A micro-batch is taken to be full on both sides, with sentences as long as
any: what attention keeps grows with their length.

Checked on CPUs, against torch's list of saved tensors and the peak of a process (docs/cluster.md).
For GPUs the same tensors are counted in the types that autocast gives them; that is not measured.
"""

from dataclasses import dataclass

from simt.cost import Text, method_work, parameter_count
from simt.settings import ModelSettings, RunSettings, Work

FP32 = 4  # bytes
CHUNK_ROWS = 64  # as in simt.methods.losses
CHUNK_NUMBERS = 5  # for each score at the most, which SM² has: two distributions and their mixture
# What a GPU's driver and libraries take before the first tensor, and what its allocator cannot use.
# An assumption.
GPU_OVERHEAD = 1_000_000_000


@dataclass(frozen=True)
class Storage:
    """Bytes of a number, by what it is; how many scores over the vocabulary are made at once."""

    product: int  # the result of a matrix product
    cast: int  # the copy of a number that goes into one; 0: it goes in as it is
    kept: int  # whether dropout has kept a number
    chunk_scores: int  # CHUNK_SCORES of simt.methods.losses, which imports torch


CPU = Storage(product=FP32, cast=0, kept=FP32, chunk_scores=1 << 18)
GPU_FP32 = Storage(product=FP32, cast=0, kept=1, chunk_scores=1 << 26)
GPU_BF16 = Storage(product=2, cast=2, kept=1, chunk_scores=1 << 26)


@dataclass(frozen=True)
class Memory:
    """Bytes of one device in a training, by what they hold."""

    weights: int
    gradients: int
    moments: int
    activations: int
    vocabulary: int  # a chunk of scores, and gradients of the output matrix

    @property
    def total(self) -> int:
        return sum(vars(self).values())


def gpu_memory(settings: RunSettings, text: Text, gpus: int) -> Memory:
    """Of each GPU that takes part in a training; several also hold gradients on their way."""
    training = settings.training
    storage = GPU_FP32 if training.precision == "fp32" else GPU_BF16
    return training_memory(settings, text, storage, training.max_tokens, gpus > 1)


def training_memory(
    settings: RunSettings, text: Text, storage: Storage, length: int, has_others: bool = False
) -> Memory:
    """With sentences of ``length`` tokens; ``has_others`` if gradients are exchanged."""
    work, parameters = method_work(settings), parameter_count(settings, text)
    added = work.source_weights + work.target_weights
    learned = added if work.is_rest_frozen else parameters
    return Memory(
        weights=parameters * (FP32 + storage.cast),
        gradients=learned * FP32 * (2 if has_others else 1),
        moments=2 * learned * FP32,
        activations=_activations(settings, work, storage, length),
        vocabulary=_vocabulary(settings, text, work, storage),
    )


def _activations(settings: RunSettings, work: Work, storage: Storage, length: int) -> int:
    """What all layers keep of a micro-batch."""
    size, tokens = settings.model, settings.training.micro_tokens
    source, target = tokens * work.source_passes, tokens * work.target_passes
    sublayer = _sublayer(size, storage, work.is_rest_frozen)
    attention = size.width * (4 * storage.product + storage.cast) + sublayer
    feed_forward = size.ffn * storage.product + size.width * storage.cast + sublayer
    to_source = size.width * (2 * storage.product + storage.cast) + sublayer
    keys_values = size.width * (2 * storage.product + storage.cast)
    embedded = size.width * (FP32 + storage.kept)
    of_source = size.encoder_layers * (attention + feed_forward) + embedded
    of_target = size.decoder_layers * (attention + to_source + feed_forward) + embedded
    added_source, added_target = (
        weights // (size.width + 1) * storage.product  # a row of them for each number they give
        for weights in (work.source_weights, work.target_weights)
    )
    pairs = size.decoder_layers * length * work.pair_numbers * FP32
    return (
        source * (of_source + size.decoder_layers * keys_values + added_source)
        + target * (of_target + added_target + pairs)
    )  # fmt: skip


def _sublayer(size: ModelSettings, storage: Storage, is_frozen: bool) -> int:
    """What each sublayer keeps for each token: dropout's mask, and what the norm gets and gives.

    What it gives goes into products with weights, which keep it only to learn.
    """
    return size.width * (storage.kept + FP32 + (0 if is_frozen else FP32))


def _vocabulary(settings: RunSettings, text: Text, work: Work, storage: Storage) -> int:
    """The output matrix's gradient, then a chunk of scores or a copy of it; and the states."""
    words, width = text.target_vocabulary, settings.model.width
    rows = settings.training.micro_tokens * work.target_passes
    chunk_rows = min(rows, max(CHUNK_ROWS, storage.chunk_scores // words))
    chunk = chunk_rows * words * FP32 * CHUNK_NUMBERS
    matrix = 0 if work.is_rest_frozen else words * width * FP32
    states = rows * width * FP32 * 2  # those of real tokens, and their gradient
    return matrix + max(matrix, chunk) + states + words * width * storage.cast
