"""The memory of a training, beside what torch keeps."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from simt.corpus.ids import SPECIAL_IDS
from simt.cost import Text
from simt.memory import CHUNK_ROWS, CPU, GPU_BF16, GPU_FP32, gpu_memory, training_memory
from simt.methods import METHODS, build_model, losses
from simt.model.network import VocabularySizes
from simt.params import load_params
from simt.runs import named_settings
from simt.settings import METHOD_SETTINGS, RunSettings
from tests.samples.batches import random_batch

PARAMS = load_params(Path(__file__).parents[2] / "params.yaml", "paper")
WORDS = 100


def some_run(name: str, size: str, micro_tokens: int) -> RunSettings:
    settings = named_settings(PARAMS, "wmt15-deen", name, size)
    training = settings.training.model_copy(update={"micro_tokens": micro_tokens})
    return settings.model_copy(update={"training": training})


def saved_bytes(settings: RunSettings, sentences: int, length: int) -> int:
    """What torch keeps for the backward pass, besides weights."""
    own = METHOD_SETTINGS[settings.method].of(settings.method_settings)
    method = METHODS[settings.method](own, 0.1)
    vocabulary = VocabularySizes(WORDS, WORDS, is_joint=True, ids=SPECIAL_IDS)
    model = build_model(method, settings.model, vocabulary, 0.1, torch.Generator().manual_seed(1))
    model.train()
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, Any] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage  # held, so that its address is not used again
        return tensor

    # One sentence is shorter, so that there is something to mask.
    lengths = [length] * (sentences - 1) + [length - 1]
    batch = random_batch(lengths, lengths, vocabulary_size=WORDS)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        method.loss(model, batch, 50_000, torch.Generator().manual_seed(1))
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize(
    ("name", "sentences", "length"),
    [
        ("offline/bi", 16, 16),
        ("waitk/k3", 4, 64),
        ("multipath/uni", 4, 64),
        ("itst/uni", 16, 16),
        ("itst/uni", 4, 64),
        ("hmt/l3-k6", 8, 16),
        ("hmt/l3-k6", 2, 64),
        ("sm2/uni", 4, 64),
        ("sm2/bi", 16, 16),
    ],
)
@pytest.mark.parametrize("size", ["toy", "cpu-big"])
def test_activations_are_about_those_that_torch_keeps(
    name: str, size: str, sentences: int, length: int
) -> None:
    settings = some_run(name, size, sentences * length)
    ours = training_memory(settings, Text(WORDS, WORDS, is_joint=True), CPU, length).activations
    assert ours == pytest.approx(saved_bytes(settings, sentences, length), rel=0.08)


def test_only_what_learns_has_gradients_and_moments() -> None:
    text = Text(WORDS, WORDS, is_joint=True)
    whole, adapters = (
        training_memory(some_run(name, "base", 4096), text, CPU, length=32)
        for name in ("sm2/bi", "sm2/bi-adapter")
    )
    assert whole.gradients == whole.weights
    assert whole.moments == 2 * whole.weights
    assert adapters.weights > whole.weights
    assert adapters.gradients < whole.gradients / 10


def test_several_gpus_also_hold_gradients_on_their_way() -> None:
    settings, text = some_run("offline/bi", "base", 8192), Text(32000, 32000, is_joint=True)
    alone, beside = gpu_memory(settings, text, gpus=1), gpu_memory(settings, text, gpus=4)
    assert beside.gradients == 2 * alone.gradients
    assert beside.total - alone.total == alone.gradients


def test_gpu_keeps_less_of_a_batch_than_a_cpu() -> None:
    settings, text = some_run("offline/bi", "base", 8192), Text(32000, 32000, is_joint=True)
    on_cpu = training_memory(settings, text, CPU, settings.training.max_tokens)
    assert on_cpu.activations / 2 < gpu_memory(settings, text, 1).activations < on_cpu.activations


def test_chunks_of_the_vocabulary_are_those_of_the_losses() -> None:
    assert CHUNK_ROWS == losses.CHUNK_ROWS
    assert losses.CHUNK_SCORES["cpu"] == CPU.chunk_scores
    assert losses.CHUNK_SCORES["cuda"] == GPU_BF16.chunk_scores == GPU_FP32.chunk_scores
