"""The learning rate follows docs/methods.md, "Training"."""

import pytest
import torch
from transformers import get_linear_schedule_with_warmup

from simt.settings import TrainingSettings
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


def test_linear_schedule_is_that_of_transformers() -> None:
    settings = PAPER.model_copy(
        update={"updates": 50, "warmup_updates": 8, "warmup_initial_lr": 0, "lr_schedule": "linear"}
    )
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=settings.peak_lr)
    theirs = get_linear_schedule_with_warmup(optimiser, 8, settings.updates + 1)
    for update in range(settings.updates + 1):
        assert learning_rate(settings, update) == pytest.approx(theirs.get_last_lr()[0])
        optimiser.step()
        theirs.step()
    assert learning_rate(settings, settings.updates) > 0


def test_schedule_of_old_is_not_in_the_record_so_that_older_results_stay_valid() -> None:
    assert "lr_schedule" not in TRAINING.as_json()
    linear = TRAINING.model_copy(update={"lr_schedule": "linear"})
    assert TrainingSettings.model_validate_json(linear.as_json()) == linear
