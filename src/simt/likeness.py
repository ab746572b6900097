"""How long a job will be, by the record of the jobs that are most like it.

A time is carried over in proportion to the work, where that is known of both and not too different;
what any job of a rule takes before its work, such as imports, stays as it is. The work of a record
is that of the settings that it was made with: params.yaml may have changed since.
What a CPU took says nothing of a GPU, and the other way round. What nothing tells is unknown, not
zero.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import median
from typing import Any

from simt.atomic import read_object
from simt.cost import MAX_STRETCH, flops_per_token, pair_text
from simt.markers import settings_of
from simt.params import Params
from simt.products import RUN_FILE, SETTINGS_FILE, STATS_FILE
from simt.runs import Point, Run, corpus_folder, point_settings, run_settings, study_points
from simt.settings import RunSettings
from simt.timings import Timing

# The rules whose jobs run a model, on a GPU where there is one; scoring may do without.
OF_MODELS = ("train", "decode", "confidences", "states")
_OF_POINTS = (*OF_MODELS[1:], "score")
_OF_STUDY = ("curves", "claims", "report")


def run_of(name: str) -> Run | None:
    """The run that a job is about, if it is about one: ``decode/toy-deen/sm2/bi/seed1/test``."""
    rule, _, subject = name.partition("/")
    if rule == "train":
        return Run.parse(subject)
    return Point.parse(subject).run if rule in _OF_POINTS else None


@dataclass(frozen=True)
class Traits:
    """What the time of a job depends on."""

    alike: tuple[object, ...]  # the most important first
    text: tuple[str, str] | None = None  # the pair and split whose sentences are gone through
    work: float = 1.0  # for each of them, or in all


@dataclass(frozen=True)
class Usable:
    """A record that tells something of a job."""

    likeness: tuple[bool, ...]
    seconds: float
    ratio: float  # of the job's work to its own


def fixed_seconds(records: Sequence[Usable]) -> float:
    """What a job takes whatever its work, as imports do: from the line through least and most work.

    Not below zero, and not above any record.
    """
    if not records:
        return 0.0
    least, most = (choose(records, key=lambda one: 1 / one.ratio) for choose in (min, max))
    shortest = min(one.seconds for one in records)
    if least.ratio == most.ratio:
        return 0.0
    slope = (most.seconds - least.seconds) / (1 / most.ratio - 1 / least.ratio)
    return min(shortest, max(0.0, least.seconds - slope / least.ratio))


class Likeness:
    """Finds the records that are most like a job."""

    def __init__(self, params: Params, timings: Mapping[str, Timing], has_gpus: bool) -> None:
        self._params = params
        self._has_gpus = has_gpus
        self._records: dict[str, list[tuple[str, Traits, Timing]]] = {}
        for name, timing in timings.items():
            try:
                traits = self._traits(name, is_record=True)
            except (KeyError, ValueError):  # neither params.yaml nor results/ has it any more
                continue
            self._records.setdefault(_rule(name), []).append((name, traits, timing))

    def seconds(self, name: str, without_own: bool) -> float | None:
        """On one GPU, or without any: the median of the records most like a job."""
        found = self._usable(name, without_own)
        most = max((one.likeness for one in found), default=())
        fixed = fixed_seconds(found)
        alike = [one for one in found if one.likeness == most]
        return median(fixed + (one.seconds - fixed) * one.ratio for one in alike) if alike else None

    def _usable(self, name: str, without_own: bool) -> list["Usable"]:
        traits, found = self._traits(name, is_record=False), []
        for other, its, timing in self._records.get(_rule(name), []):
            if (without_own and other == name) or not self._is_of_this_device(name, timing):
                continue
            if (ratio := self._ratio(traits, its)) is not None:
                same = (one == two for one, two in zip(traits.alike, its.alike, strict=True))
                seconds = self._device_seconds(other, timing)
                found.append(Usable((other == name, *same), seconds, ratio))
        return found

    def _is_of_this_device(self, name: str, timing: Timing) -> bool:
        return _rule(name) not in OF_MODELS or timing.has_gpu == self._has_gpus

    def _device_seconds(self, name: str, timing: Timing) -> float:
        """Of all GPUs together: a training says how many it had."""
        run = run_of(name)
        if _rule(name) != "train" or not timing.has_gpu or run is None:
            return timing.seconds
        devices: int = (read_object(run.folder / RUN_FILE) or {}).get("devices", 1)
        return timing.seconds * devices

    def _ratio(self, mine: Traits, its: Traits) -> float | None:
        """How much more work a job is than another; None if nobody knows, or far more or less."""
        ratio = mine.work / its.work
        if mine.text != its.text:
            sentences = [text and self._sentences(*text) for text in (mine.text, its.text)]
            if not sentences[0] or not sentences[1]:
                return None
            ratio *= sentences[0] / sentences[1]
        return ratio if abs(log(ratio)) <= log(MAX_STRETCH) else None

    def _sentences(self, pair: str, split: str) -> int | None:
        """As the settings of a toy pair or the statistics of a corpus have it."""
        toy = self._params.pairs[pair].toy
        if toy is not None:
            return toy.sizes.get(split)
        stats = read_object(corpus_folder(pair, "bpe") / STATS_FILE) or {}
        try:
            return int(stats["splits"][split]["source"]["sentences"])
        except (KeyError, TypeError, ValueError):
            return None

    def _traits(self, name: str, is_record: bool) -> Traits:
        """Of a job as params.yaml has it, or as it was when it was recorded."""
        rule, _, subject = name.partition("/")
        if rule in ("train", *_OF_POINTS):
            return self._traits_of_run(rule, subject, is_record)
        if rule in _OF_STUDY:
            study = self._params.studies[subject]
            return Traits((subject,), work=max(1, len(study_points(self._params, study))))
        if rule in ("figure", "table"):
            study_name, drawing = subject.split("/")
            return Traits((drawing, study_name))
        if rule == "estimator":  # of so many sentences, whatever the pair
            return Traits((subject,))
        is_download = self._params.pairs[subject].toy is None and rule == "fetch"
        return Traits((subject,), text=(subject, "download" if is_download else "train"))

    def _traits_of_run(self, rule: str, subject: str, is_record: bool) -> Traits:
        run = run_of(f"{rule}/{subject}")
        assert run is not None, subject
        settings = RunSettings.of(_made_with(run)) if is_record else run_settings(self._params, run)
        alike = (settings.model, run.method, run.pair, run.variant)
        flops = flops_per_token(settings, pair_text(self._params, run.pair))
        if rule == "train":
            training = settings.training
            return Traits(alike, work=flops * training.updates * training.batch_tokens)
        point = Point.parse(subject)
        wanted = point_settings(self._params, point).knobs
        knobs = len(_made_with(point)["knobs"] if is_record else wanted)
        work = knobs if rule == "score" else knobs * flops
        return Traits((*alike, point.split), (run.pair, point.split), work)


def _made_with(place: Run | Point) -> dict[str, Any]:
    """The settings of what is there; a KeyError where it is not finished."""
    settings = settings_of(place.folder / SETTINGS_FILE)
    if settings is None:
        raise KeyError(str(place))
    return settings


def _rule(name: str) -> str:
    return name.split("/")[0]
