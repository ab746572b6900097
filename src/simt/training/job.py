"""A training as its command runs it: one process at a time a run, and one for each device."""

import json
import os
import shutil
import sys
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from simt.atomic import read_object, write_json
from simt.gpus import take_gpus, use_threads
from simt.markers import settings_of
from simt.outcomes import training_done
from simt.problems import parse_argument
from simt.products import HISTORY_FILE, RUN_FILE, SETTINGS_FILE, WORK_FOLDER, trained
from simt.record import work_folder
from simt.settings import RunSettings
from simt.signals import ASKS_FOR_RETRY, ignore_stops
from simt.training.devices import Devices
from simt.training.history import History
from simt.training.lock import only_one
from simt.training.loop import TrainingStopped
from simt.training.run import train_run
from simt.usage import LAUNCHER, note_gpu_memory

_PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK")  # variables that the launcher sets, as torchrun does
_MADE_FROM_FILE = "made_from.json"  # in a work folder: digests of what the training reads


@dataclass(frozen=True)
class Job:
    """What a training is given; ``settings`` are JSON, and ``threads`` are for all devices."""

    settings: str
    corpus: Path
    start: Path | None
    to: Path
    threads: int
    devices: int
    checkpoint_minutes: float

    @property
    def work(self) -> Path:
        """Where it keeps what it can resume from, and its lock."""
        return self.to / WORK_FOLDER


def train_job(job: Job) -> str | None:
    """Train a run, unless another process has; says what came of it."""
    if LAUNCHER in os.environ:  # this is one of several processes
        from simt.training.launch import die_with  # here: torch's launcher takes long to import

        die_with(int(os.environ[LAUNCHER]))
        _train_here(job)
        return None
    with only_one(job.work / "lock") as has_waited:
        if has_waited and _is_done(job):
            print("simt: the other process has trained this run", file=sys.stderr)
            _forget_work(job)
            return training_done(job.to)
        take_gpus(job.devices)  # not before: who waits for the lock needs none
        if job.devices > 1:
            _train_on_devices(job)
        else:
            _train_here(job)
    return training_done(job.to)


def _train_here(job: Job) -> None:
    """Train in this process, which may be one of several."""
    use_threads(max(1, job.threads // job.devices))
    settings = parse_argument(RunSettings, job.settings)
    devices = _connect()
    parts = {"bpe": job.corpus} | ({"start": job.start} if job.start else {})
    product = trained(settings)
    step = product.made_in(job.to, settings, parts) if devices.is_first else nullcontext({})
    try:
        with step as made_from:
            if devices.is_first:
                _forget_other_text(work_folder(settings, job.to), made_from)
            train_run(settings, job.corpus, job.start, job.to, devices, job.checkpoint_minutes)
            ignore_stops()  # what is left takes a moment; stopped half-way it would cost the whole
    except TrainingStopped as stopped:
        if devices.is_first:
            print(f"simt: {stopped}; the same command resumes from there", file=sys.stderr)
        devices.disconnect()
        sys.exit(ASKS_FOR_RETRY)
    if devices.is_first:
        _forget_work(job)  # not before: until then a kill must lose nothing
    devices.disconnect()


def _marked_at(job: Job) -> int | None:
    """When the marker of a finished training was written."""
    with suppress(OSError):
        return (job.to / SETTINGS_FILE).stat().st_mtime_ns
    return None


def _is_done(job: Job) -> bool:
    return settings_of(job.to / SETTINGS_FILE) == dict(json.loads(job.settings))


def _forget_work(job: Job) -> None:
    """Remove what nobody resumes from any more.

    NFS gives an open file that is removed, as the lock is, another name until it is closed. So the
    folder is not empty, and may stay.
    """
    shutil.rmtree(job.work, ignore_errors=True)


def _connect() -> Devices:
    """The place of this process among those of our launcher; alone if that has not started it.

    Others set the same variables, such as the notebook or batch job that this command is typed in.
    """
    if LAUNCHER not in os.environ:
        return Devices.connect(rank=0, world=1, local_rank=0)
    return Devices.connect(*(int(os.environ[name]) for name in _PLACE))


def _forget_other_text(work: Path, made_from: dict[str, str]) -> None:
    """Drop what a stopped training has left if the files that it had read are others now.

    Its settings need not tell: the same ones cut another text into other subwords.
    """
    note = work / _MADE_FROM_FILE
    earlier = read_object(note)
    if earlier is not None and earlier != made_from:
        print(
            "simt: the text, or the model to start from, has changed since this training was "
            "stopped: it begins anew",
            file=sys.stderr,
        )
        shutil.rmtree(work)
    write_json(note, made_from)


def _train_on_devices(job: Job) -> None:
    """Start this same command once for each device of this machine."""
    from simt.training.launch import run_on_devices

    os.environ[LAUNCHER] = str(os.getpid())
    earlier = _marked_at(job)
    code = run_on_devices(job.devices, sys.argv)
    # A request to stop may come after the last update; but an earlier training's marker is no end.
    if code and (not _is_done(job) or _marked_at(job) == earlier):
        sys.exit(code)
    note_gpu_memory(_gpu_memory_mb(job.to))


def _gpu_memory_mb(folder: Path) -> int:
    """What the first process of a finished training took of its GPU; 0 without one."""
    if (read_object(folder / RUN_FILE) or {}).get("device") != "cuda":
        return 0
    rows = History(folder / HISTORY_FILE).rows()
    return max((row.get("peak_memory_mb", 0) for row in rows), default=0)
