"""The loop: what it minimises, when it stops, and what it leaves behind."""

import json
import math
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from simt.corpus.ids import EncodedSplit
from simt.errors import SimtError
from simt.methods.losses import Loss
from simt.model.batch import Batch
from simt.settings import TrainingSettings
from simt.training.checkpoint import load_tensors
from simt.training.corpus import TrainingCorpus
from simt.training.devices import Devices
from simt.training.loop import Objective, Training, TrainingStopped
from tests.samples.training import TRAINING

ALONE = Devices(rank=0, world=1, device=torch.device("cpu"))


class Counter(torch.nn.Module):
    """Predicts each target token by itself: small, and yet it learns."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = torch.nn.Parameter(torch.zeros(2000))
        self.noise = torch.nn.Dropout(0.2)

    def loss(self, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        jitter = torch.rand((), generator=generator)
        log_probs = torch.log_softmax(self.noise(self.scores + 0.01 * jitter), dim=0)
        total = -log_probs[batch.gold_T].sum()
        return Loss(total, batch.target_tokens, {"translation": total.detach()})

    def validation_loss(self, batch: Batch) -> Loss:
        return self.loss(batch, 0, torch.Generator().manual_seed(0))


def training(encoded: Path, work: Path, model: Counter | None = None, **changes: Any) -> Training:
    torch.manual_seed(0)
    model = model or Counter()
    settings = TrainingSettings.of(TRAINING.model_dump() | changes)
    splits = [EncodedSplit.open(encoded, split) for split in ("train", "valid")]
    return Training(
        name="test", settings=settings, seed=1, model=model,
        objective=Objective(model.loss, model.validation_loss),
        corpus=TrainingCorpus(*splits, settings, seed=1),
        devices=ALONE, work=work, checkpoint_minutes=10,
    )  # fmt: skip


def rows(work: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (work / "history.jsonl").read_text().splitlines()]


def test_loss_falls(encoded: Path, tmp_path: Path) -> None:
    training(encoded, tmp_path, updates=40, peak_lr=0.1).run()
    losses = [row["loss"] for row in rows(tmp_path) if "loss" in row]
    assert losses[0] == pytest.approx(math.log(2000), abs=0.05)
    assert losses[-1] < losses[0] - 1


def test_micro_batches_add_up_to_the_same_gradient(encoded: Path, tmp_path: Path) -> None:
    class Plain(Counter):
        def loss(self, batch: Batch, update: int, generator: torch.Generator) -> Loss:
            total = -torch.log_softmax(self.scores, dim=0)[batch.gold_T].sum()
            return Loss(total, batch.target_tokens, {})

    one = training(encoded, tmp_path / "one", Plain(), micro_tokens=400).run()
    many = training(encoded, tmp_path / "many", Plain(), micro_tokens=60).run()
    torch.testing.assert_close(one["scores"], many["scores"], rtol=0, atol=1e-6)


def test_model_is_the_mean_of_the_last_snapshots(encoded: Path, tmp_path: Path) -> None:
    mean = training(encoded, tmp_path).run()
    kept = [load_tensors(tmp_path / "snapshots" / f"update-{update}.pt") for update in (9, 12)]
    torch.testing.assert_close(mean["scores"], (kept[0]["scores"] + kept[1]["scores"]) / 2)


def test_history_has_a_row_an_update_and_one_a_validation(encoded: Path, tmp_path: Path) -> None:
    training(encoded, tmp_path).run()
    history = rows(tmp_path)
    assert [row["update"] for row in history if "loss" in row] == list(range(1, 13))
    assert [row["update"] for row in history if "valid_loss" in row] == [4, 8, 12]
    assert {"translation", "lr", "gradient_norm", "tokens_per_s", "peak_memory_mb"} <= history[
        0
    ].keys()


def test_speed_is_that_of_updates_without_validation(
    encoded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that only losses move: a second each in training, an hour each in validation."""
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    class Timed(Counter):
        def loss(self, batch: Batch, update: int, generator: torch.Generator) -> Loss:
            clock[0] += 1 if update else 3600
            return super().loss(batch, update, generator)

    made = training(encoded, tmp_path, Timed(), updates=5)
    made.run()
    after_validation = next(row for row in rows(tmp_path) if row["update"] == 5 and "loss" in row)
    seconds = len(made.corpus.micro_batches(0, 4))
    expected = made.corpus.target_tokens(0, 4) / seconds
    assert after_validation["tokens_per_s"] == pytest.approx(expected, rel=1e-3)


class Killed(BaseException):
    """Stands for SIGKILL: nothing of ours catches it."""


class DiesAt(Counter):
    """Ends the process, as it were, in the middle of an update."""

    def __init__(self, update: int) -> None:
        super().__init__()
        self.last = update

    def loss(self, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        if update == self.last:
            raise Killed
        return super().loss(batch, update, generator)


@pytest.mark.parametrize("update", [1, 2, 4, 7, 12])
def test_training_that_died_goes_on_to_the_same_weights(
    update: int, encoded: Path, tmp_path: Path
) -> None:
    undisturbed = training(encoded, tmp_path / "whole").run()
    with pytest.raises(Killed):
        training(encoded, tmp_path / "died", DiesAt(update)).run()
    resumed = training(encoded, tmp_path / "died").run()
    assert torch.equal(resumed["scores"], undisturbed["scores"])
    numbers = [[r["update"] for r in rows(tmp_path / name)] for name in ("whole", "died")]
    assert numbers[0] == numbers[1]


def test_finished_training_does_not_train_again(encoded: Path, tmp_path: Path) -> None:
    first = training(encoded, tmp_path).run()
    again = training(encoded, tmp_path, DiesAt(13)).run()
    assert torch.equal(first["scores"], again["scores"])


class IsAskedToStop(Counter):
    """Gets a signal during update 5."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def loss(self, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        if update == 5:
            os.kill(os.getpid(), self.number)
        return super().loss(batch, update, generator)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_request_to_stop_saves_after_the_update_and_goes_on_from_there(
    number: int, encoded: Path, tmp_path: Path
) -> None:
    with pytest.raises(TrainingStopped, match="saved after update 5"):
        training(encoded, tmp_path / "stopped", IsAskedToStop(number)).run()
    resumed = training(encoded, tmp_path / "stopped", DiesAt(5))
    undisturbed = training(encoded, tmp_path / "whole")
    assert torch.equal(resumed.run()["scores"], undisturbed.run()["scores"])
    assert (resumed.position.resumed_after, undisturbed.position.resumed_after) == ([5], [])


class Diverges(Counter):
    """Its loss is no number at update 7."""

    def __init__(self, bad: float) -> None:
        super().__init__()
        self.bad = bad

    def loss(self, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        loss = super().loss(batch, update, generator)
        return replace(loss, total=loss.total * self.bad) if update == 7 else loss


@pytest.mark.parametrize(
    ("model", "saved"), [(IsAskedToStop(signal.SIGTERM), 5), (Diverges(math.nan), 6)]
)
def test_processes_wait_until_the_last_state_is_saved(
    model: Counter, saved: int, encoded: Path, tmp_path: Path
) -> None:
    there: list[bool] = []

    class Watched(Devices):
        def wait_for_all(self) -> None:
            there.append((tmp_path / "checkpoints" / f"update-{saved}.pt").exists())

    stopped = training(encoded, tmp_path, model)
    stopped.devices = Watched(rank=0, world=1, device=torch.device("cpu"))
    with pytest.raises((TrainingStopped, SimtError)):
        stopped.run()
    assert there[-1]


def test_handlers_of_signals_are_put_back(encoded: Path, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    training(encoded, tmp_path).run()
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_loss_that_is_no_number_stops_and_keeps_the_last_good_state(
    bad: float, encoded: Path, tmp_path: Path
) -> None:
    with pytest.raises(SimtError, match=r"at update 7, learning rate .*, epoch 0, batch 6 \(train"):
        training(encoded, tmp_path, Diverges(bad)).run()
    kept = load_tensors(tmp_path / "checkpoints" / "update-6.pt")
    assert kept["model"]["scores"].isfinite().all()


class NeverBetter(DiesAt):
    """Its first validation is its best."""

    def validation_loss(self, batch: Batch) -> Loss:
        return replace(super().validation_loss(batch), total=torch.tensor(5.0))


def test_early_stop_ends_when_validation_no_longer_falls(encoded: Path, tmp_path: Path) -> None:
    stopped = training(encoded, tmp_path, NeverBetter(9), early_stop_validations=1)
    stopped.run()
    assert stopped.position.update == 8  # the second validation is no better than the first


def losses(work: Path) -> list[tuple[int, float]]:
    return [(row["update"], row["loss"]) for row in rows(work) if "loss" in row]


def test_history_of_a_training_that_stops_early_has_its_last_updates(
    encoded: Path, tmp_path: Path
) -> None:
    settings = {"updates": 1500, "early_stop_validations": 1}  # a row for every third update
    training(encoded, tmp_path / "whole", NeverBetter(9), **settings).run()
    with pytest.raises(Killed):
        training(encoded, tmp_path / "died", NeverBetter(8), **settings).run()
    training(encoded, tmp_path / "died", NeverBetter(9), **settings).run()
    assert [update for update, _ in losses(tmp_path / "whole")] == [3, 6, 8]
    assert losses(tmp_path / "died") == losses(tmp_path / "whole")


def test_clipping_bounds_the_step(encoded: Path, tmp_path: Path) -> None:
    seen: list[Tensor] = []

    class Watched(Training):
        def _optimise(self, update: int, loss: float) -> float:
            norm = super()._optimise(update, loss)
            scores = next(self.model.parameters())
            assert scores.grad is not None
            seen.append(scores.grad.norm())
            return norm

    plain = training(encoded, tmp_path, clip_norm=0.01)
    Watched.run(_as(Watched, plain))
    assert max(float(norm) for norm in seen) <= 0.0101


def _as(kind: type[Training], made: Training) -> Training:
    made.__class__ = kind
    return made


def test_training_corpus_gives_every_update_all_its_sentences(encoded: Path) -> None:
    train = EncodedSplit.open(encoded, "train")
    corpus = TrainingCorpus(train, EncodedSplit.open(encoded, "valid"), TRAINING, seed=1)
    for index in range(corpus.batches_in(0)):
        tokens = sum(make().target_tokens for make in corpus.micro_batches(0, index))
        assert tokens == corpus.target_tokens(0, index)
