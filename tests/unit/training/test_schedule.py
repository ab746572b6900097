"""The learning rate follows docs/methods.md, "Training"."""

import pytest

from simt.training.schedule import learning_rate
from tests.samples.training import TRAINING

PAPER = TRAINING.model_copy(
    update={"peak_lr": 5e-4, "warmup_updates": 4000, "warmup_initial_lr": 1e-7}
)


@pytest.mark.parametrize(
    ("update", "expected"),
    [(0, 1e-7), (2000, (1e-7 + 5e-4) / 2), (4000, 5e-4), (16000, 2.5e-4), (36000, 5e-4 / 3)],
)
def test_learning_rate_rises_and_falls_as_in_the_paper(update: int, expected: float) -> None:
    assert learning_rate(PAPER, update) == pytest.approx(expected)
