"""What a study costs: tokens, FLOPs and device hours of each training, planned and actual.

Tokens follow from the settings, FLOPs from the weights that each token meets, hours from a speed
that was measured, by ``simt bench train`` or by earlier runs. Between models a speed is carried
over in FLOPs a second, from the measurement that is most like the run; to a model of quite another
size it is not: that run has no hours. What GPUs would take is assumed from their data sheets, and
kept apart. A run's own record is never used to plan it, so that plan and outcome can be compared.

FLOPs are those of the matrix products with weights, forward and backward. Attention scores are left
out: with sentences of 30 tokens they are a hundredth of a base model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from statistics import median
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from simt.atomic import read_object
from simt.datasheets import Gpu
from simt.errors import SimtError
from simt.markers import settings_of
from simt.params import Params
from simt.products import RUN_FILE, SETTINGS_FILE, STATS_FILE
from simt.runs import (
    MEASUREMENTS_FILE,
    REHEARSALS,
    RESULTS,
    Run,
    bpe_settings,
    corpus_folder,
    run_settings,
    study_runs,
)
from simt.settings import METHOD_SETTINGS, Count, ModelSettings, RunSettings, Work

# Weights. A smaller model leaves a GPU waiting for its next kernel, far below any usual fraction.
GPU_SIZED = 10_000_000
# A speed says nothing of a model with so many times more or fewer weights in its linear maps.
MAX_STRETCH = 10


@dataclass(frozen=True)
class Cost:
    """Of one training or of several."""

    target_tokens: int
    flops: float
    device_hours: float | None  # None: nothing like it was measured


@dataclass(frozen=True)
class RunCost:
    """A training before and, if it is finished, after."""

    run: Run
    parameters: int
    planned: Cost
    actual: Cost | None
    speed: "Measurement | None"  # which the plan takes
    is_of_this_model: bool  # whether that was a model of the same size


@dataclass(frozen=True)
class StudyCost:
    """Every training of a study, and the totals."""

    study: str
    runs: tuple[RunCost, ...]
    unusable: tuple[str, ...]  # records that could not be read: a file and why, each

    @cached_property
    def planned(self) -> Cost:
        """All runs together."""
        return _total(run.planned for run in self.runs)

    @property
    def is_gpu_sized(self) -> bool:
        """Whether a GPU's peak says something about its models."""
        return any(run.parameters >= GPU_SIZED for run in self.runs)

    def hours_on(self, gpu: Gpu) -> float:
        """Of one such GPU, by its data sheet and the fraction of it that is assumed."""
        return self.planned.flops / gpu.assumed_flops_per_s / 3600

    @cached_property
    def finished(self) -> tuple[RunCost, ...]:
        """The runs that have an outcome."""
        return tuple(run for run in self.runs if run.actual is not None)

    @cached_property
    def actual(self) -> Cost | None:
        """The finished runs together; None before the first."""
        costs = [run.actual for run in self.finished if run.actual is not None]
        return _total(costs) if costs else None

    @cached_property
    def planned_of_finished(self) -> Cost | None:
        """What ``actual`` is to be compared with."""
        return _total(run.planned for run in self.finished) if self.finished else None


def _total(costs: Iterable[Cost]) -> Cost:
    parts = list(costs)
    hours = [part.device_hours for part in parts]
    return Cost(
        sum(part.target_tokens for part in parts),
        sum(part.flops for part in parts),
        None if None in hours else sum(cast(list[float], hours)),
    )


# --- weights and FLOPs ------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """What a corpus has to do with cost; ``is_joint`` if both sides have the same ids."""

    source_vocabulary: int
    target_vocabulary: int
    is_joint: bool
    source_per_target: float = 1.0  # tokens


def parameter_count(settings: RunSettings, text: Text) -> int:
    """How many weights the model of a run has."""
    size = settings.model
    embeddings = text.target_vocabulary + (0 if text.is_joint else text.source_vocabulary)
    norms = 2 * size.width * (2 * size.encoder_layers + 3 * size.decoder_layers)
    work = method_work(settings)
    source, target = _weights(size)
    return (
        embeddings * size.width + norms + source + target
        + work.source_weights + work.target_weights
    )  # fmt: skip


def flops_per_token(settings: RunSettings, text: Text) -> float:
    """Of training, for each target token.

    A weight costs a multiplication and an addition forward, and twice that backward: for the
    gradient of its input and for its own, which a frozen weight does not need.
    """
    work = method_work(settings)
    source, target = _weights(settings.model)
    output = text.target_vocabulary * settings.model.width
    of_rest = 4 if work.is_rest_frozen else 6
    per_source = of_rest * source + 6 * work.source_weights
    per_target = of_rest * (target + output) + 6 * work.target_weights
    return (
        text.source_per_target * work.source_passes * per_source + work.target_passes * per_target
    )


def method_work(settings: RunSettings) -> Work:
    """What a training step of a run does besides one pass of a plain Transformer."""
    method = METHOD_SETTINGS[settings.method].of(settings.method_settings)
    return method.work(settings.model)


def _weights(size: ModelSettings) -> tuple[int, int]:
    """The weights of a plain Transformer's linear maps, those of source and of target tokens.

    Keys and values of the attention to the source are made of source tokens.
    """
    square = size.width * (size.width + 1)
    feed_forward = 2 * size.width * size.ffn + size.ffn + size.width
    source = size.encoder_layers * (4 * square + feed_forward) + size.decoder_layers * 2 * square
    target = size.decoder_layers * (6 * square + feed_forward)
    return source, target


def pair_text(params: Params, pair: str) -> Text:
    """Sizes of a pair as its corpus has them; before it is made, as many words as merges."""
    bpe = bpe_settings(params, pair)
    path = corpus_folder(pair, "bpe") / STATS_FILE
    stats = read_object(path)
    if stats is None:
        source = bpe.target_merges if bpe.joint else bpe.source_merges
        return Text(source, bpe.target_merges, bpe.joint)
    try:
        train, vocabulary = stats["splits"]["train"], stats["vocabulary"]
        ratio = train["source"]["mean_tokens"] / train["target"]["mean_tokens"]
        return Text(int(vocabulary["source"]), int(vocabulary["target"]), bpe.joint, ratio)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise SimtError(
            f"{path} does not say what `simt bpe` writes there; delete it and its folder's "
            f"{SETTINGS_FILE}, then make the corpus again: snakemake -- corpora"
        ) from None


# --- measurements -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """How fast something like a run was trained on one device."""

    name: str
    device: str  # as a person is told
    has_gpu: bool
    settings: RunSettings
    flops_per_token: float
    tokens_per_s: float
    fill: float | None = None  # target tokens of a batch by the tokens that it may have

    @property
    def flops_per_s(self) -> float:
        return self.flops_per_token * self.tokens_per_s


class Outcome(BaseModel):
    """What cost reads of run.json."""

    device: str
    devices: Count
    training_seconds: Annotated[float, Field(ge=0)]
    target_tokens: Count
    updates: Count

    @property
    def device_seconds(self) -> float:
        """Of all devices together."""
        return self.training_seconds * self.devices


def earlier_runs(params: Params) -> list[Measurement]:
    """What the finished runs of any study below results/ have shown."""
    found = []
    for folder in _finished_folders():
        outcome, settings = _outcome(folder), _made_with(folder)
        if outcome is None or settings is None or settings.pair not in params.pairs:
            continue
        if not outcome.device_seconds:
            continue  # too short to be measured
        most = outcome.updates * settings.training.batch_tokens
        found.append(
            Measurement(
                name=folder.relative_to(RESULTS / "runs").as_posix(),
                device=outcome.device,
                has_gpu=outcome.device != "cpu",
                settings=settings,
                flops_per_token=flops_per_token(settings, pair_text(params, settings.pair)),
                tokens_per_s=outcome.target_tokens / outcome.device_seconds,
                fill=outcome.target_tokens / most,
            )
        )
    return found


def unusable_records() -> list[str]:
    """Each run.json that is not the record of a training, and what is wrong with it."""
    return [f"{folder / RUN_FILE}: {why}" for folder in _finished_folders()
            if (why := _why_unusable(folder / RUN_FILE))]  # fmt: skip


def _finished_folders() -> list[Path]:
    return [path.parent for path in sorted((RESULTS / "runs").glob(f"*/*/*/*/{RUN_FILE}"))]


def _outcome(folder: Path) -> Outcome | None:
    """The record of a finished run, if it is one."""
    try:
        return Outcome.model_validate(read_object(folder / RUN_FILE))
    except ValidationError:
        return None


def _why_unusable(path: Path) -> str | None:
    values = read_object(path)
    if values is None:
        return "is not a JSON object"
    try:
        Outcome.model_validate(values)
    except ValidationError as error:
        wrong = error.errors()
        missing = [str(one["loc"][0]) for one in wrong if one["type"] == "missing"]
        lacks = [f"lacks {', '.join(missing)}"] if missing else []
        others = (one for one in wrong if one["type"] != "missing")
        return "; ".join(lacks + [f"{one['loc'][0]} is {one['input']!r}" for one in others])
    return None


def _made_with(folder: Path) -> RunSettings | None:
    """The settings that a run was made with, if they are of our kind."""
    try:
        return RunSettings.of(settings_of(folder / SETTINGS_FILE))
    except ValidationError:  # of an older version
        return None


def bench_measurements(params: Params, path: Path) -> list[Measurement]:
    """What ``simt bench train --json`` has written."""
    try:
        reports = from_json(path.read_bytes())
        rows = [(report, row) for report in reports for row in report["rows"]]
        ours = [(report, row) for report, row in rows if "/" in row["name"]]  # and not JoeyNMT's
        found = [_bench_row(params, report, row) for report, row in ours]
    except OSError as error:
        raise SimtError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        found = []
    if not found:
        raise SimtError(
            f"{path} is not from `simt bench train` with this params.yaml; "
            f"make it anew: simt bench train --json {path}"
        )
    return found


def rehearsed_measurements(params: Params) -> list[Measurement]:
    """What the trainings of a rehearsal of the study have shown; none before there was one.

    What an older version has written is left out: the next rehearsal writes it anew.
    """
    try:
        rows = from_json((REHEARSALS / params.study / MEASUREMENTS_FILE).read_bytes())
        return [_rehearsed(params, row) for row in rows if row["rule"] == "train"]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _rehearsed(params: Params, row: dict[str, Any]) -> Measurement:
    settings = RunSettings.of(row["settings"])
    return Measurement(
        name=f"{row['name']} of the rehearsal",
        device=row["device"],
        has_gpu=row["device"] != "cpu",
        settings=settings,
        flops_per_token=flops_per_token(settings, pair_text(params, settings.pair)),
        tokens_per_s=row["tokens_per_s"],
    )


def _bench_row(params: Params, report: dict[str, Any], row: dict[str, Any]) -> Measurement:
    method, variant = row["name"].split("/")
    settings = run_settings(params, Run(report["pair"], method, variant, seed=1))
    settings = settings.model_copy(update={"model": ModelSettings.of(report["model"])})
    text = Text(report["words"], report["words"], is_joint=True)
    device = report["device"]
    return Measurement(
        name=f"{row['name']} of the bench",
        device=report["processor"] if device == "cpu" else device,
        has_gpu=device != "cpu",
        settings=settings,
        flops_per_token=flops_per_token(settings, text),
        tokens_per_s=row["tokens_per_s"]["median"],
    )


def _most_alike(
    settings: RunSettings, flops: float, measured: Sequence[Measurement]
) -> Measurement | None:
    """The measurement with the same model, method and variant as far as possible.

    Without one of the same model, that of the model nearest in size: speed depends on size most.
    None where even that is of quite another size.
    """
    near = [one for one in measured if _are_near(one.settings.model, settings.model)]

    def likeness(one: Measurement) -> tuple[bool, bool, bool, float]:
        is_same_model = one.settings.model == settings.model
        return (
            is_same_model,
            is_same_model and one.settings.method == settings.method,
            is_same_model and one.settings.variant == settings.variant,
            -abs(log(one.flops_per_token / flops)),
        )

    return max(near, key=likeness, default=None)


def _are_near(one: ModelSettings, other: ModelSettings) -> bool:
    """Whether the speed of one model says something of the other."""
    return abs(log(sum(_weights(one)) / sum(_weights(other)))) <= log(MAX_STRETCH)


# --- a study ----------------------------------------------------------------------------------


def study_cost(
    params: Params,
    measured: Sequence[Measurement] | None = None,
    has_gpu: bool | None = None,
) -> StudyCost:
    """What every training of a study costs; without ``measured``, from earlier runs.

    If it is known whether GPUs will train, their speeds count, or those of CPUs, where any are.
    """
    runs = study_runs(params.chosen_study)
    if measured is None:
        measured = earlier_runs(params)
        own = {str(run) for run in runs}
        if not any(one.name in own for one in measured):
            measured += rehearsed_measurements(params)
    if has_gpu is not None:
        measured = [one for one in measured if one.has_gpu == has_gpu] or measured
    return StudyCost(
        study=params.study,
        runs=tuple(_run_cost(params, run, measured) for run in runs),
        unusable=tuple(unusable_records()),
    )


def _run_cost(params: Params, run: Run, measured: Sequence[Measurement]) -> RunCost:
    settings, text = run_settings(params, run), pair_text(params, run.pair)
    others = [one for one in measured if one.name != str(run)]
    flops = flops_per_token(settings, text)
    fills = [one.fill for one in others if one.settings.pair == run.pair and one.fill is not None]
    tokens = round(settings.training.updates * settings.training.batch_tokens * _usual_fill(fills))
    alike = _most_alike(settings, flops, others)
    hours = None if alike is None else tokens * flops / alike.flops_per_s / 3600
    return RunCost(
        run=run,
        parameters=parameter_count(settings, text),
        planned=Cost(tokens, tokens * flops, hours),
        actual=_actual(run, settings, flops),
        speed=alike,
        is_of_this_model=alike is not None and alike.settings.model == settings.model,
    )


def _usual_fill(fills: list[float]) -> float:
    """Of batches that earlier runs of the pair had; otherwise full ones, which is the most."""
    return median(fills) if fills else 1.0


def _actual(run: Run, settings: RunSettings, flops: float) -> Cost | None:
    """What a run has cost, if it was made with these settings."""
    outcome = _outcome(run.folder)
    if outcome is None or _made_with(run.folder) != settings:
        return None
    tokens = outcome.target_tokens
    return Cost(tokens, tokens * flops, outcome.device_seconds / 3600)
