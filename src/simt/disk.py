"""How much disk a study takes, by stage: what is there already, or follows from its settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simt.cost import StudyCost
from simt.params import Params
from simt.runs import corpus_folder, fetch_settings, paper_folder, run_settings, study_points
from simt.schedule import Schedule
from simt.settings import RunSettings

WEIGHT = 4  # bytes of a number in a file
# Two checkpoints and one that is being written, each with the weights and both moments of Adam
# (simt.training.checkpoint, which imports torch).
CHECKPOINT_NUMBERS = 3 * 3
# Unpacked, a text is three times its archive, which often has other languages, too; it is there
# again as words, and as ids.
TEXT_PER_DOWNLOAD = 4


@dataclass(frozen=True)
class Disk:
    """Of one stage."""

    stage: str
    size: int | None  # bytes; None: nothing tells
    basis: str  # where the number comes from


def disk_by_stage(params: Params, cost: StudyCost, schedule: Schedule) -> list[Disk]:
    """In the order in which it fills."""
    study = params.chosen_study
    resumable = {}
    for run in cost.runs:
        weights = WEIGHT * run.parameters
        settings = run_settings(params, run.run)
        resumable[f"train/{run.run}"] = resumable_bytes(settings, weights)
    models = WEIGHT * sum(run.parameters for run in cost.runs)
    points = [point.folder for point in study_points(params, study)]
    return [
        _corpora(params, list(study.runs)),
        Disk("checkpoints", most_at_once(schedule, resumable), "at most, while trainings run"),
        Disk("models", models, "by their weights"),
        _by_those_there("points", points),
        _by_those_there("paper", [paper_folder(params.study)]),
    ]


def resumable_bytes(settings: RunSettings, weights: int) -> int:
    """What a training with so many bytes of weights keeps to resume from, at most."""
    return weights * (CHECKPOINT_NUMBERS + settings.training.average_snapshots + 1)


def text_bytes(params: Params, pair: str) -> int | None:
    """What the corpus of a pair will take, by its downloads; None where none says its size."""
    settings = fetch_settings(params, pair)
    known = sum(download.bytes or 0 for download in settings.downloads.values())
    return TEXT_PER_DOWNLOAD * known or None


def most_at_once(schedule: Schedule, sizes: Mapping[str, int]) -> int:
    """The largest sum of the sizes of jobs that run at the same time."""
    jobs = [one for one in schedule.placed if one.job.name in sizes]
    sums = (
        sum(sizes[each.job.name] for each in jobs if each.start <= one.start < each.end)
        for one in jobs
    )
    return max(sums, default=0)


def _corpora(params: Params, pairs: Sequence[str]) -> Disk:
    """Those that are there; of others, what their downloads come to, as far as sizes are known."""
    there = sum(_size(corpus_folder(pair)) for pair in pairs)
    missing = [pair for pair in pairs if not corpus_folder(pair, "bpe").is_dir()]
    if not missing:
        return Disk("corpora", there, "as they are")
    to_come = sum(text_bytes(params, pair) or 0 for pair in missing)
    if not there + to_come:
        return Disk("corpora", None, "not made yet")
    return Disk("corpora", there + to_come, "about, by downloads of known size")


def _by_those_there(stage: str, folders: Sequence[Path]) -> Disk:
    """As many times the mean of those that are there."""
    there = [_size(folder) for folder in folders if folder.is_dir()]
    if not there:
        return Disk(stage, None, "none is there yet")
    basis = "as they are" if len(there) == len(folders) else f"by {len(there)} that are there"
    return Disk(stage, round(sum(there) / len(there) * len(folders)), basis)


def _size(folder: Path) -> int:
    """Of all files below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
