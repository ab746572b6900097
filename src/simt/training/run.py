"""A run from its settings to its folder: the model, its record, and how it was made."""

import platform
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from simt.atomic import atomic_file, clear_leftovers, write_json
from simt.corpus.bpe import open_vocabularies
from simt.corpus.ids import SIDES, SPECIAL_IDS, EncodedSplit
from simt.errors import SimtError
from simt.methods import Method, Model, build_model, load_offline, method_of
from simt.model.network import VocabularySizes
from simt.products import HISTORY_FILE, MODEL_FILE, RUN_FILE
from simt.record import FAILURE_FILE, STOP_FILE, work_folder
from simt.settings import RunSettings
from simt.signals import StopRequest
from simt.training.corpus import TrainingCorpus
from simt.training.devices import Devices
from simt.training.loop import CHECKPOINTS, SNAPSHOTS, Objective, Training, TrainingStopped
from simt.training.model_file import load_model, misfit, save_model
from simt.training.start import start_weights


def train_run(
    settings: RunSettings,
    corpus: Path,
    start: Path | None,
    to: Path,
    devices: Devices,
    checkpoint_minutes: float,
) -> None:
    """Train one run, or resume it, and write its folder.

    What can be resumed is in work/, which may go when the caller has noted that all is done.

    ``corpus`` is a bpe/ folder, ``start`` the folder of the run, or of the exported system, whose
    weights this one begins with. Raises TrainingStopped when asked to stop; the same call then
    resumes.
    """
    if settings.start_from is not None and start is None:
        raise SimtError(f"this run starts from {settings.start_from}: give its folder (--start)")
    work = work_folder(settings, to)
    if devices.is_first:
        for note in (FAILURE_FILE, STOP_FILE):
            (work / note).unlink(missing_ok=True)
        clear_leftovers(to, work, work / CHECKPOINTS, work / SNAPSHOTS)
    devices.wait_for_all()  # no process can fail before the old note is gone
    with _noted_end(work, devices):
        training = open_training(settings, corpus, start, work, devices, checkpoint_minutes)
        weights = training.run()
        training.model.load_state_dict(weights)
        validation = training.validation_losses()
        if devices.is_first:
            save_model(to / MODEL_FILE, weights, settings, open_vocabularies(corpus))
            with atomic_file(to / HISTORY_FILE, "wb") as stream:
                stream.write((work / HISTORY_FILE).read_bytes())
            write_json(to / RUN_FILE, _report(settings, training, validation))


@contextmanager
def _noted_end(work: Path, devices: Devices) -> Iterator[None]:
    """Leave a note of a stop, or of what went wrong, for whoever shows the run.

    A process that fails because another has failed leaves the other's note.
    """
    try:
        yield
    except (TrainingStopped, KeyboardInterrupt, SystemExit):
        if devices.is_first:
            with suppress(OSError), StopRequest():  # also when asked once more, as by a launcher
                (work / STOP_FILE).touch()
        raise
    except Exception as error:
        note = work / FAILURE_FILE
        with suppress(OSError):  # a full disk takes no note either
            if not note.exists():
                write_json(note, {"why": str(error) or type(error).__name__})
        raise


def open_training(
    settings: RunSettings,
    corpus: Path,
    start: Path | None,
    work: Path,
    devices: Devices,
    checkpoint_minutes: float,
) -> Training:
    """A run before its first update; ``work`` is for what it needs to resume after a stop."""
    method = method_of(settings)
    model = _build(settings, method, corpus, start)
    return Training(
        name=f"{settings.pair}/{settings.method}/{settings.variant}/seed{settings.seed}",
        settings=settings.training,
        seed=settings.seed,
        model=model,
        objective=Objective(partial(method.loss, model), partial(method.validation_loss, model)),
        corpus=_open_corpus(settings, corpus),
        devices=devices,
        work=work,
        checkpoint_minutes=checkpoint_minutes,
    )


def open_model(settings: RunSettings, corpus: Path, run: Path) -> tuple[Method, Model]:
    """The method of a finished run and its averaged model, ready to translate on a GPU if any."""
    method = method_of(settings)
    model = _build(settings, method, corpus, start=None)
    load_model(run / MODEL_FILE, model, settings, open_vocabularies(corpus))
    return method, _ready(model)


def model_with(
    weights: Mapping[str, torch.Tensor], settings: RunSettings, corpus: Path
) -> tuple[Method, Model]:
    """The method of a run and a model with these weights, ready to translate."""
    method = method_of(settings)
    model = _build(settings, method, corpus, start=None)
    if complaint := misfit(weights, model.state_dict()):
        raise SimtError(f"the weights do not fit the settings: {complaint}")
    model.load_state_dict(weights)
    return method, _ready(model)


def _ready(model: Model) -> Model:
    return model.to(Devices.connect(rank=0, world=1, local_rank=0).device).eval()


def _build(settings: RunSettings, method: Method, corpus: Path, start: Path | None) -> Model:
    source, target = open_vocabularies(corpus)
    vocabularies = VocabularySizes(len(source), len(target), source is target, SPECIAL_IDS)
    generator = torch.Generator().manual_seed(settings.seed)
    model = build_model(method, settings.model, vocabularies, settings.training.dropout, generator)
    if start is not None:
        weights = start_weights(settings, start, corpus)
        try:
            load_offline(model, weights)
        except SimtError as error:
            raise SimtError(f"{start}: {error}") from None
    return model


def _open_corpus(settings: RunSettings, corpus: Path) -> TrainingCorpus:
    train, valid = EncodedSplit.open(corpus, "train"), EncodedSplit.open(corpus, "valid")
    for vocabulary, side in zip(open_vocabularies(corpus), SIDES, strict=True):
        for split in (train, valid):
            getattr(split, side).check(vocabulary)
    return TrainingCorpus(train, valid, settings.training, settings.seed)


def _report(
    settings: RunSettings, training: Training, validation: dict[str, float]
) -> dict[str, Any]:
    """How the run was made. No host names, no paths."""
    model = training.model
    return {
        "commit": _commit(),
        "revision": settings.revision,
        "versions": {name: version(name) for name in ("simt", "torch", "numpy")},
        "python": platform.python_version(),
        "device": training.devices.device.type,
        "devices": training.devices.world,
        "precision": training.devices.precision(settings.training.precision),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "trained_parameters": sum(w.numel() for w in model.parameters() if w.requires_grad),
        "updates": training.position.update,
        "target_tokens": training.position.tokens,
        "training_seconds": round(training.position.seconds, 1),
        "resumed_after_updates": training.position.resumed_after,
        "left_out_pairs": training.corpus.left_out,
        "validation": validation,
    }


def _commit() -> str | None:
    """The commit of the code, with a mark if it was changed since; None outside of git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty"],
            cwd=Path(__file__).parent, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
