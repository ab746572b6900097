"""What became of each job of a rehearsal: done, failed or never started, and what it took."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Literal

from simt.atomic import read_object
from simt.check import Inspection
from simt.joblogs import last_lines
from simt.likeness import run_of
from simt.markers import read_marker
from simt.params import Params
from simt.products import HISTORY_FILE, MODEL_FILE, RUN_FILE, SETTINGS_FILE
from simt.resources import Resources, rule_resources
from simt.settings import RunSettings
from simt.steps import Step, Steps
from simt.timings import LOGS
from simt.usage import Usage, read_usage
from simt.workload import job_name, rule_of

State = Literal["done", "failed", "not started"]
_SHOWN_LINES = 12
_OF_EACH_PAIR = ("prepare", "bpe", "estimator")


@dataclass(frozen=True)
class Training:
    """What a training of a few updates says about the real one."""

    settings: RunSettings
    device: str
    devices: int
    parameters: int
    tokens_per_s: float  # target tokens, of one device
    gpu_memory_mb: int  # 0 on a CPU
    model_bytes: int


@dataclass(frozen=True)
class Job:
    """A job of the study, as far as it came."""

    rule: str
    name: str  # of a run, a point, a pair or a drawing
    log: Path
    state: State
    usage: Usage | None  # of its last attempt
    bytes: int  # that it left
    asked: Resources | None  # None: it runs where Snakemake does
    training: Training | None

    @property
    def full_rule(self) -> str:
        """The rule as Snakemake names it, which has one of its own for each pair of some."""
        return f"{self.rule}_{self.name}" if self.rule in _OF_EACH_PAIR else self.rule

    @property
    def memory_mb(self) -> int:
        """Main memory of all its processes, of which each device of a training has one."""
        processes = 1 if self.training is None else self.training.devices
        return 0 if self.usage is None else self.usage.peak_memory_mb * processes

    @property
    def gpu_memory_mb(self) -> int:
        """Of one GPU; a training on several knows it from its processes, which have a GPU each."""
        own = 0 if self.usage is None else self.usage.gpu_memory_mb
        return own if self.training is None else max(own, self.training.gpu_memory_mb)

    def measurement(self) -> dict[str, Any] | None:
        """What is known of a job that has come to its end."""
        if self.state != "done" or self.usage is None:
            return None
        device = "cuda" if self.usage.gpu_memory_mb else "cpu"
        values = {
            "rule": self.rule,
            "name": self.name,
            "seconds": self.usage.seconds,
            "cpu_seconds": self.usage.cpu_seconds,
            "peak_memory_mb": self.usage.peak_memory_mb,
            "gpu_memory_mb": self.gpu_memory_mb,
            "device": device if self.training is None else self.training.device,
            "bytes": self.bytes,
        }
        if self.training is not None:
            values["settings"] = self.training.settings.as_values()
            values["devices"] = self.training.devices
            values["tokens_per_s"] = self.training.tokens_per_s
        return values


@dataclass(frozen=True)
class Failure:
    """Jobs that have failed in the same way."""

    rule: str
    names: tuple[str, ...]
    message: str
    remedy: str
    log: Path
    lines: tuple[str, ...]  # the end of the log of the first


def gather(params: Params) -> list[Job]:
    """Every job of the study whose results are below the folder that one is in."""
    look = Inspection()
    return [_job(params, step, look) for step in Steps(params).all()]


def _job(params: Params, step: Step, look: Inspection) -> Job:
    rule, name, log = rule_of(step), job_name(step), log_of(step)
    state = _state(step, look)
    attempts = read_usage(log)
    return Job(
        rule=rule,
        name=step.name.split(" ")[0],
        log=log,
        state=state,
        usage=attempts[-1] if attempts else None,
        bytes=_bytes(step) if state == "done" else 0,
        asked=rule_resources(params, rule, run_of(name)),
        training=_training(step) if rule == "train" and state == "done" else None,
    )


def log_of(step: Step) -> Path:
    """Where the job of a step writes what it does."""
    return LOGS / f"{job_name(step)}.log"


def _state(step: Step, look: Inspection) -> State:
    if look.status(step).state == "done":
        return "done"
    has_all = all(look.status(read.step).state == "done" for read in step.reads)
    return "failed" if has_all else "not started"


def _bytes(step: Step) -> int:
    marker = read_marker(step.marker)
    return 0 if marker is None else sum(mark.bytes for mark in marker.files.values())


def _training(step: Step) -> Training | None:
    """Speed and size of a finished training; its weights may be gone, not what is known of them."""
    facts, marker = read_object(step.folder / RUN_FILE), read_marker(step.folder / SETTINGS_FILE)
    lines = (step.folder / HISTORY_FILE).read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if "tokens_per_s" in row]
    if facts is None or marker is None or not rows:
        return None
    warm = rows[1:] or rows  # the first update is slower, and counts only if alone
    is_on_gpu = facts["device"] != "cpu"
    return Training(
        settings=RunSettings.of(marker.settings),
        device=facts["device"],
        devices=facts["devices"],
        parameters=facts["parameters"],
        tokens_per_s=round(median(row["tokens_per_s"] for row in warm) / facts["devices"], 1),
        gpu_memory_mb=round(max(row["peak_memory_mb"] for row in rows)) if is_on_gpu else 0,
        model_bytes=marker.files[MODEL_FILE].bytes,
    )


# --- failures ---------------------------------------------------------------------------------


def failures(jobs: Iterable[Job], of_snakemake: Path) -> list[Failure]:
    """What went wrong, each cause once."""
    blocks = error_blocks(of_snakemake)
    alike: dict[tuple[str, str], list[Failure]] = {}
    for job in jobs:
        if job.state == "failed":
            failure = _failure(job, blocks)
            alike.setdefault((job.rule, failure.message.replace(job.name, "…")), []).append(failure)
    return [
        replace(found[0], names=tuple(one.names[0] for one in found)) for found in alike.values()
    ]


def _failure(job: Job, blocks: list[str]) -> Failure:
    """What the job itself said last, or what Snakemake said about it."""
    lines, _ = last_lines(job.log, _SHOWN_LINES)
    told = next((found[1] for one in blocks if str(job.log) in one
                 if (found := _MESSAGE.search(one))), "")  # fmt: skip
    messages = [_own_message(lines), " ".join(told.split()), *lines[-1:], _SILENT]
    message = next(one for one in messages if one)
    return Failure(
        rule=job.rule,
        names=(job.name,),
        message=message,
        remedy=_remedy(job, "\n".join([message, told, *lines])),
        log=job.log,
        lines=tuple(lines or told.splitlines()),
    )


def _own_message(lines: list[str]) -> str:
    """What a command of ours has told last, on one line; "" if nothing."""
    begins = [place for place, line in enumerate(lines) if line.startswith("simt: ")]
    told = lines[begins[-1] :] if begins else []
    return " ".join(line.strip() for line in told).removeprefix("simt: ")


_SILENT = "it has not begun, or ended without a word"
# Snakemake has one for jobs that it submits, and "None" for others.
_MESSAGE = re.compile(r"^    message: (?!None$)(.*?)(?=^    [a-z])", re.MULTILINE | re.DOTALL)


def error_blocks(of_snakemake: Path) -> list[str]:
    """What Snakemake's own log says of each job, or group of jobs, that has failed."""
    try:
        text = of_snakemake.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return re.split(r"^Error in (?:rule|group) ", text, flags=re.MULTILINE)[1:]


_SITE = "~/.config/simt/slurm.yaml"
# What is said, in any letters, and what to do about it; the first that fits.
_REMEDIES = (
    (
        r"no space left|disk quota|free some space|make room",
        "Free some space, or take a disk with more; the page says how much the study needs.",
    ),
    (
        r"\bout[ _]of[ _]memory\b|\boom\b|\bkilled\b",
        "On a GPU, lower micro_tokens under training in params.yaml. If main memory was short, "
        "{more_memory}.",
    ),
    (
        r"status is: 'timeout'",
        f"Ask for more time: {{rule}}: {{{{runtime: …}}}} (minutes) under resources in {_SITE}.",
    ),
    (
        r"sbatch failed|would wait for ever",
        "SLURM did not take the job: correct SIMT_ACCOUNT, SIMT_PARTITION and SIMT_GPU_PARTITION, "
        f"or what the job asks for, under resources in {_SITE}.",
    ),
)


def _remedy(job: Job, said: str) -> str:
    """What to do about it; where the message itself says that, to follow it."""
    more_memory = "run fewer jobs at a time, or take a machine with more"
    if job.asked is not None and "slurm" in said.lower():
        more_memory = f"ask for more: {job.full_rule}: {{mem_mb: …}} under resources in {_SITE}"
    for words, remedy in _REMEDIES:
        if re.search(words, said, re.IGNORECASE):
            return remedy.format(rule=job.full_rule, more_memory=more_memory)
    return "Follow the message, then start the same command again: it tries only what is not done."


def measurements(jobs: Iterable[Job]) -> list[dict[str, Any]]:
    """Of every job that is done, as ``measurements.json`` has them."""
    return [found for job in jobs if (found := job.measurement()) is not None]
