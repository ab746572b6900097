"""The training loop: updates in order, whatever is trained and on however many devices.

All randomness of an update is drawn from (seed, update, micro-batch), and the micro-batches of
an update are the same on every machine. So there is no generator whose state could be lost: a
training that resumes after a kill, or on other devices, draws what it would have drawn.
"""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from simt.errors import SimtError
from simt.methods.losses import Loss
from simt.model.batch import Batch
from simt.products import HISTORY_FILE
from simt.progress import progress_bar
from simt.settings import TrainingSettings
from simt.signals import StopRequest
from simt.training.checkpoint import Checkpoints, Snapshots
from simt.training.corpus import TrainingCorpus
from simt.training.devices import Devices
from simt.training.gradients import GradientSum
from simt.training.history import History, LogInterval
from simt.training.schedule import learning_rate

CHECKPOINTS, SNAPSHOTS = "checkpoints", "snapshots"  # folders of what a training needs to resume
HISTORY_ROWS = 500  # at most about so many a training


@dataclass(frozen=True)
class Objective:
    """What is minimised: the sum of a loss over a batch, in training and in validation."""

    training_loss: Callable[[Batch, int, torch.Generator], Loss]  # batch, update, generator
    validation_loss: Callable[[Batch], Loss]


@dataclass
class Position:
    """How far a training has come: all that a checkpoint holds besides tensors."""

    update: int = 0
    epoch: int = 0
    index: int = 0  # of the next batch in the epoch
    tokens: int = 0
    seconds: float = 0.0
    best_validation: float = math.inf
    validations_since_best: int = 0
    is_final: bool = False
    resumed_after: list[int] = field(default_factory=list)  # updates, one for each stop


class TrainingStopped(Exception):  # noqa: N818 - it is not an error
    """Someone asked to stop; the state is saved, and the same command resumes from it."""


class Training:
    """One training from its first update, or its newest checkpoint, to its averaged model."""

    def __init__(  # noqa: PLR0913 - the parts of a training, each by its name
        self,
        name: str,
        settings: TrainingSettings,
        seed: int,
        model: nn.Module,
        objective: Objective,
        corpus: TrainingCorpus,
        devices: Devices,
        work: Path,
        checkpoint_minutes: float,
    ) -> None:
        self.name = name
        self.settings = settings
        self.seed = seed
        self.model = model.to(devices.device)
        if settings.compile:
            compile_layers(self.model)
        self.objective = objective
        self.corpus = corpus
        self.devices = devices
        self.checkpoint_seconds = checkpoint_minutes * 60
        self.checkpoints = Checkpoints(work / CHECKPOINTS, _say)
        self.snapshots = Snapshots(work / SNAPSHOTS, settings.average_snapshots)
        self.history = History(work / HISTORY_FILE)
        self.gradient_sum = GradientSum(self.model) if devices.world > 1 else None
        self.optimiser = _adam(self.model, settings)
        self.generator = torch.Generator()
        self.position = Position()
        self.saved_at = time.perf_counter()

    def run(self) -> dict[str, Tensor]:
        """The averaged weights; raises TrainingStopped when asked to stop before the end."""
        self._resume()
        bar = progress_bar(
            total=self.settings.updates, initial=self.position.update, desc=self.name,
            unit="update", disable=not self.devices.is_first,
        )  # fmt: skip
        interval = LogInterval()
        with bar, StopRequest() as request:
            while not self.position.is_final:
                must_stop = self.update(interval, request)
                if self._is_due(math.ceil(self.settings.updates / HISTORY_ROWS)):
                    bar.set_postfix_str(self._record(interval), refresh=False)
                    interval = LogInterval()
                if self._is_due(self.settings.validate_every_updates):
                    self._validate()
                if self.position.is_final and interval.tokens:  # stopped early, between two rows
                    self._record(interval)
                bar.update()
                self._save_if_due(must_stop)
        self.devices.wait_for_all()  # the first process has then written the last snapshot
        every = self.settings.snapshot_every_updates
        return self.snapshots.mean(taken=math.ceil(self.position.update / every))

    # --- an update ------------------------------------------------------------------------------

    def update(self, interval: LogInterval, request: StopRequest) -> bool:
        """Change the weights once; says whether any process was asked to stop."""
        started = time.perf_counter()
        position, update = self.position, self.position.update + 1
        micro_batches = self.corpus.micro_batches(position.epoch, position.index)
        tokens = self.corpus.target_tokens(position.epoch, position.index)
        self.optimiser.zero_grad()
        self.model.train()
        total = torch.zeros((), device=self.devices.device)
        mine = range(self.devices.rank, len(micro_batches), self.devices.world)
        for number in mine:
            loss = self._micro_loss(micro_batches[number](), update, number)
            if self.gradient_sum and number == mine[-1]:
                self.gradient_sum.start()
            (loss.total / tokens).backward()  # type: ignore[no-untyped-call]
            total += loss.total.detach()
            interval.add_parts(loss.parts)
        if self.gradient_sum:
            self.gradient_sum.finish()
        loss_sum, stops = self.devices.sum_values([float(total), float(request.is_made)])
        norm = self._optimise(update, loss_sum / tokens)
        seconds = time.perf_counter() - started
        self._advance(tokens, seconds)
        interval.add_update(loss_sum, tokens, norm, seconds)
        return stops > 0

    def _micro_loss(self, batch: Batch, update: int, number: int) -> Loss:
        seed = _seed(self.seed, update, number)
        torch.manual_seed(seed)  # for dropout, on every device
        self.generator.manual_seed(seed)
        with self.devices.autocast(self.settings.precision):
            on_device = batch.to(self.devices.device)
            return self.objective.training_loss(on_device, update, self.generator)

    def _optimise(self, update: int, loss: float) -> float:
        """One step of Adam, unless a number is not finite; gives the norm of the gradient."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        rate = learning_rate(self.settings, update)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self._stop_for_numbers(update, rate, loss, float(norm))
        if self.settings.clip_norm:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.settings.clip_norm, norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        return float(norm)

    def _stop_for_numbers(self, update: int, rate: float, loss: float, norm: float) -> None:
        """Keep the last good state, and say where it went wrong."""
        self._save()
        self.devices.wait_for_all()  # whoever ends first has the others ended
        position = self.position
        raise SimtError(
            f"{self.name}: loss {loss} and gradient norm {norm} at update {update}, learning rate "
            f"{rate:.3g}, epoch {position.epoch}, batch {position.index} (training sentences "
            f"{self.corpus.sentences(position.epoch, position.index)}). The state after update "
            f"{position.update} is kept. Lower training.peak_lr, or set training.clip_norm to 1.0."
        )

    def _advance(self, tokens: int, seconds: float) -> None:
        position = self.position
        position.update += 1
        position.tokens += tokens
        position.seconds += seconds
        position.index += 1
        if position.index == self.corpus.batches_in(position.epoch):
            position.epoch, position.index = position.epoch + 1, 0
        position.is_final = position.update >= self.settings.updates

    def _is_due(self, every: int) -> bool:
        return self.position.is_final or self.position.update % every == 0

    # --- record and validation ------------------------------------------------------------------

    def _record(self, interval: LogInterval) -> str:
        """Add a row to the history; gives what a person wants to see of it."""
        interval.parts = self.devices.sum_by_name(interval.parts)
        row = interval.row() | {
            "lr": learning_rate(self.settings, self.position.update),
            "epoch": self.position.epoch,
            "seconds": round(self.position.seconds, 3),
            "peak_memory_mb": self.devices.peak_memory_mb(),
        }
        if self.devices.is_first:
            self.history.add(self.position.update, row)
        return f"loss {row['loss']:.3f}, {row['tokens_per_s']:.0f} tokens/s"

    def _validate(self) -> None:
        """Record the loss on the validation set, and stop early when it no longer falls."""
        values = self.validation_losses()
        if self.devices.is_first:
            row = {f"valid_{name}": value for name, value in values.items()}
            self.history.add(self.position.update, row)
        position = self.position
        if values["loss"] < position.best_validation:
            position.best_validation, position.validations_since_best = values["loss"], 0
        else:
            position.validations_since_best += 1
        patience = self.settings.early_stop_validations
        if patience and position.validations_since_best >= patience:
            position.is_final = True

    @torch.no_grad()
    def validation_losses(self) -> dict[str, float]:
        """The mean of each part of the loss a token of the validation set."""
        self.model.eval()
        sums: dict[str, Tensor] = {}
        batches = self.corpus.validation_batches
        for number in range(self.devices.rank, len(batches), self.devices.world):
            with self.devices.autocast(self.settings.precision):
                loss = self.objective.validation_loss(batches[number].to(self.devices.device))
            counted = {"loss": loss.total, **loss.parts, "tokens": torch.tensor(loss.tokens)}
            sums = {name: sums.get(name, 0) + value for name, value in counted.items()}
        totals = self.devices.sum_by_name(sums)
        tokens = totals.pop("tokens")
        return {name: value / tokens for name, value in totals.items()}

    # --- saving and going on --------------------------------------------------------------------

    def _save_if_due(self, must_stop: bool) -> None:
        """Keep a snapshot for the average and a checkpoint to resume from, each in its time."""
        is_snapshot = self._is_due(self.settings.snapshot_every_updates)
        if is_snapshot and self.devices.is_first:
            self.snapshots.save(self.position.update, _weights(self.model))
        is_time = time.perf_counter() - self.saved_at > self.checkpoint_seconds
        if is_snapshot or is_time or must_stop:
            self._save()
        if must_stop and not self.position.is_final:
            self.devices.wait_for_all()  # whoever ends first has the others ended
            raise TrainingStopped(f"{self.name}: saved after update {self.position.update}")

    def _save(self) -> None:
        self.saved_at = time.perf_counter()
        if self.devices.is_first:
            state = {
                "position": asdict(self.position),
                "model": self.model.state_dict(),
                "optimiser": self.optimiser.state_dict(),
            }
            self.checkpoints.save(self.position.update, state)

    def _resume(self) -> None:
        """Take up the newest checkpoint that is whole; without one, start from the beginning."""
        if not self.devices.is_first:
            self.devices.wait_for_all()  # the first process clears away what is damaged
        state = self.checkpoints.newest()
        if self.devices.is_first:
            self.devices.wait_for_all()
        if state is not None:
            self.position = Position(**state["position"])
            self.model.load_state_dict(state["model"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.position.resumed_after.append(self.position.update)
        if self.devices.is_first:
            if state is not None:
                _say(f"{self.name}: going on after update {self.position.update}")
            self.history.go_back_to(self.position.update)
            self.snapshots.go_back_to(self.position.update)


def _adam(model: nn.Module, settings: TrainingSettings) -> torch.optim.AdamW:
    """Adam with decoupled weight decay, over what is trainable."""
    return torch.optim.AdamW(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=settings.peak_lr, betas=settings.adam_betas, eps=settings.adam_epsilon,
        weight_decay=settings.weight_decay, fused=True,
    )  # fmt: skip


def _weights(model: nn.Module) -> dict[str, Any]:
    return {name: value.detach().cpu() for name, value in model.state_dict().items()}


def compile_layers(model: nn.Module) -> None:
    """Compile layer by layer: one graph serves all layers of a kind, and any shape."""
    for name, module in model.named_modules():
        if name.endswith("_layers") and isinstance(module, nn.ModuleList):
            for layer in module:
                layer.compile(dynamic=True)


def _seed(*numbers: int) -> int:
    """A seed of 63 bits from several numbers, the same on every machine."""
    digest = blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
