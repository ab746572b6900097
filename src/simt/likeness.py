"""How long a job will be, by the record of the jobs that are most like it.

A time is carried over in proportion to the work, where that is known of both and not too different.
What a CPU took says nothing of a GPU, and the other way round. What nothing tells is unknown, not
zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from statistics import median

from simt.atomic import read_object
from simt.cost import MAX_STRETCH, flops_per_token, pair_text
from simt.params import Params
from simt.products import STATS_FILE
from simt.resources import rule_resources
from simt.runs import Point, Run, corpus_folder, point_settings, run_settings, study_points
from simt.timings import Timing

_ON_GPU = ("train", "decode", "confidences", "states")  # scoring may do without
_OF_POINTS = (*_ON_GPU[1:], "score")
_OF_STUDY = ("curves", "claims", "report")


def run_of(name: str) -> Run | None:
    """The run that a job is about, if it is about one: ``decode/toy-deen/sm2/bi/seed1/test``."""
    rule, _, subject = name.partition("/")
    if rule == "train":
        return Run.parse(subject)
    return Point.parse(subject).run if rule in _OF_POINTS else None


@dataclass(frozen=True)
class Traits:
    """What the time of a job hangs on."""

    alike: tuple[object, ...]  # the most important first
    text: tuple[str, str] | None = None  # the pair and split whose sentences are gone through
    work: float = 1.0  # for each of them, or in all


class Likeness:
    """Finds the records that are most like a job."""

    def __init__(self, params: Params, timings: Mapping[str, Timing], has_gpus: bool) -> None:
        self._params = params
        self._has_gpus = has_gpus
        self._records: dict[str, list[tuple[str, Traits, Timing]]] = {}
        for name, timing in timings.items():
            try:
                traits = self._traits(name)
            except (KeyError, ValueError):  # params.yaml no longer has it
                continue
            self._records.setdefault(_rule(name), []).append((name, traits, timing))

    def seconds(self, name: str, without_own: bool) -> float | None:
        """On one GPU, or without any: the median of the records most like a job."""
        traits = self._traits(name)
        found: list[tuple[tuple[bool, ...], float]] = []
        for other, its, timing in self._records.get(_rule(name), []):
            if (without_own and other == name) or not self._is_of_this_device(name, timing):
                continue
            ratio = self._ratio(traits, its)
            if ratio is not None:
                same = (one == two for one, two in zip(traits.alike, its.alike, strict=True))
                found.append(((other == name, *same), ratio * self._device_seconds(other, timing)))
        most = max((same for same, _ in found), default=())
        return median(seconds for same, seconds in found if same == most) if found else None

    def _is_of_this_device(self, name: str, timing: Timing) -> bool:
        return _rule(name) not in _ON_GPU or timing.has_gpu == self._has_gpus

    def _device_seconds(self, name: str, timing: Timing) -> float:
        """Of all GPUs together: a training has had as many as its rule asks for."""
        if _rule(name) != "train" or not timing.has_gpu:
            return timing.seconds
        needs = rule_resources(self._params, "train", run_of(name))
        return timing.seconds * (needs.gpu if needs else 1)

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

    def _traits(self, name: str) -> Traits:
        rule, _, subject = name.partition("/")
        if rule in ("train", *_OF_POINTS):
            return self._traits_of_run(rule, subject)
        if rule in _OF_STUDY:
            study = self._params.studies[subject]
            return Traits((subject,), work=len(study_points(self._params, study)))
        if rule in ("figure", "table"):
            study_name, drawing = subject.split("/")
            return Traits((drawing, study_name))
        if rule == "estimator":  # of so many sentences, whatever the pair
            return Traits((subject,))
        is_download = rule == "fetch" and self._params.pairs[subject].toy is None
        return Traits((subject,), text=(subject, "download" if is_download else "train"))

    def _traits_of_run(self, rule: str, subject: str) -> Traits:
        run = run_of(f"{rule}/{subject}")
        assert run is not None, subject
        settings = run_settings(self._params, run)
        alike = (settings.model, run.method, run.pair, run.variant)
        flops = flops_per_token(settings, pair_text(self._params, run.pair))
        if rule == "train":
            training = settings.training
            return Traits(alike, work=flops * training.updates * training.batch_tokens)
        point = Point.parse(subject)
        knobs = len(point_settings(self._params, point).knobs)
        work = knobs if rule == "score" else knobs * flops
        return Traits((*alike, point.split), (run.pair, point.split), work)


def _rule(name: str) -> str:
    return name.split("/")[0]
