"""Gradients of several processes: the sum, whatever each of them had to do."""

from itertools import product
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, multiprocessing, nn

from simt.training.gradients import GradientSum

WORLD = 3
# How many micro-batches each process has in each update; once, one has none and one has several.
PARTS = [(1, 1, 1), (1, 0, 2), (2, 1, 1)]
BUCKET_BYTES = [1, 700, 10**9]  # one weight, several, all


class Sentences(nn.Module):
    """Weights that are used twice, once, and by some inputs only."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.rare = nn.Linear(8, 8)

    def forward(self, tokens: Tensor) -> Tensor:
        states = self.embedding(tokens)
        for layer in self.layers:
            states = layer(states).relu()
        if tokens[0] % 2:
            states = states + self.rare(states)
        return (states @ self.embedding.weight.T).logsumexp(-1).sum()


def make_model() -> Sentences:
    torch.manual_seed(1)
    return Sentences().double()


def micro_batches(rank: int, update: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(100 * update + rank)
    return [torch.randint(11, (5,), generator=generator) for _ in range(PARTS[update][rank])]


def gradients(model: nn.Module) -> list[Tensor]:
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]


def train(rank: int, folder: str) -> None:
    """One process: its own micro-batches, and then everyone's sum, into a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"file://{folder}/meet", rank=rank, world_size=WORLD)
    for bucket_bytes in BUCKET_BYTES:
        model = make_model()
        gradient_sum = GradientSum(model, bucket_bytes)
        for update in range(len(PARTS)):
            model.zero_grad()
            mine = micro_batches(rank, update)
            for number, batch in enumerate(mine, 1):
                loss = model(batch)
                if number == len(mine):
                    gradient_sum.start()
                loss.backward()
            gradient_sum.finish()
            torch.save(gradients(model), Path(folder) / f"{bucket_bytes}-{rank}-{update}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_every_process_has_the_gradient_of_all_sentences(tmp_path: Path) -> None:
    multiprocessing.spawn(train, (str(tmp_path),), nprocs=WORLD)
    for update in range(len(PARTS)):
        alone = make_model()
        for rank in range(WORLD):
            for batch in micro_batches(rank, update):
                alone(batch).backward()
        for bucket_bytes, rank in product(BUCKET_BYTES, range(WORLD)):
            found = torch.load(tmp_path / f"{bucket_bytes}-{rank}-{update}.pt", weights_only=True)
            torch.testing.assert_close(found, gradients(alone), rtol=1e-12, atol=1e-12)
