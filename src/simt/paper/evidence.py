"""What claims are measured on: the sentences of a study's points, as statistics to draw from.

A system is named as in figures, ``sm2/bi`` or ``waitk``, and is a curve over latencies. With a knob
value behind it, ``sm2/bi@full``, it is a level: the same at every latency, as an offline system
always is. ``*`` stands for anything: ``sm2/bi-w*`` are those that the study runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from simt.errors import SimtError
from simt.instances import INSTANCES_FILE, Instance, read_groups
from simt.paper.material import system_key
from simt.paper.rows import ALL, read_json
from simt.paper.style import label_of
from simt.params import Knob, Params, Role, Study
from simt.runs import EvaluationSplit, Point, Run, study_runs
from simt.scoring.alignment import alignment_counts, read_links
from simt.scoring.confidence import SUMS_FILE, correlation_of
from simt.scoring.latency import sentence_latencies
from simt.scoring.lengths import length_groups, sentence_lengths
from simt.scoring.quality import Floats
from simt.scoring.significance import Curve, KnobStatistics, PairedReader, System

ScoreName = Literal["bleu", "al", "sa", "confidence_pearson", "confidence_spearman"]
Group = Literal["all", "long", "short"]
SPLITS: dict[ScoreName, EvaluationSplit] = {
    "bleu": "test",
    "al": "test",
    "sa": "aligned",
    "confidence_pearson": "valid",
    "confidence_spearman": "valid",
}
SCORE_LABELS: dict[ScoreName, str] = {
    "bleu": "BLEU",
    "al": "AL",
    "sa": "satisfied alignments in %",
    "confidence_pearson": "Pearson's r",
    "confidence_spearman": "Spearman's ρ",
}
_FAR = 1e6  # a level reaches from here to there

Knobs = dict[Knob | None, KnobStatistics]


class NotMeasuredError(SimtError):
    """Something that a claim needs is not there; the message says what."""


class SystemName(NamedTuple):
    """A system, and the knob value of a level."""

    key: str
    knob: Knob | None = None

    @classmethod
    def parse(cls, text: str) -> "SystemName":
        """From ``sm2/bi`` or ``sm2/bi@0.99``; offline systems are levels in any case."""
        key, _, knob = text.partition("@")
        if not knob:
            return cls(key, "full" if key.startswith("offline/") else None)
        return cls(key, "full" if knob == "full" else float(knob))

    def __str__(self) -> str:
        is_plain = self.knob is None or self.key.startswith("offline/")
        return label_of(self.key) if is_plain else f"{label_of(self.key)} at {self.knob}"


@dataclass
class Evidence:
    """Reads points when they are asked for, each once."""

    params: Params
    study_name: str
    results: Path
    _read: dict[tuple[Run, EvaluationSplit], dict[tuple[ScoreName, str], Knobs]] = field(
        default_factory=dict
    )
    _readers: dict[str, PairedReader] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        """The study whose points are read."""
        return self.params.studies[self.study_name]

    def pairs(self, role: Role) -> tuple[str, ...]:
        """The pairs that a claim is about."""
        return self.study.pairs.in_role(role)

    def names(self, pair: str, pattern: str) -> list[SystemName]:
        """The systems that a name stands for on a pair; at least one."""
        wanted = SystemName.parse(pattern)
        keys = dict.fromkeys(
            system_key(run.method, run.variant)
            for run in study_runs(self.study)
            if run.pair == pair
        )
        found = sorted(key for key in keys if fnmatchcase(key, wanted.key))
        if not found:
            raise NotMeasuredError(
                f"study {self.study_name} runs no {label_of(wanted.key)} on {pair}"
            )
        return [SystemName(key, wanted.knob) for key in found]

    def system(self, pair: str, name: SystemName, score: ScoreName, group: Group = "all") -> System:
        """Every seed of a system, sentence by sentence."""
        runs = [
            run
            for run in study_runs(self.study)
            if run.pair == pair and system_key(run.method, run.variant) == name.key
        ]
        return [
            self._curve([run for run in runs if run.seed == seed], name, score, group)
            for seed in self.study.seeds
        ]

    def _curve(self, runs: list[Run], name: SystemName, score: ScoreName, group: Group) -> Curve:
        """One seed: all knob values of its runs, or one knob value as a level."""
        split = SPLITS[score]
        knobs = [
            (knob, statistics)
            for run in runs
            for knob, statistics in self._statistics(run, split)[score, group].items()
        ]
        if name.knob is None and split != "valid":
            return [statistics for knob, statistics in knobs if knob != "full"]
        chosen = [one for knob, one in knobs if split == "valid" or knob == name.knob]
        if not chosen:
            raise NotMeasuredError(f"{name} was not decoded on {runs[0].pair}")
        return level(chosen[0])

    def _statistics(
        self, run: Run, split: EvaluationSplit
    ) -> Mapping[tuple[ScoreName, str], Knobs]:
        if (run, split) not in self._read:
            self._read[run, split] = _READERS[split](self, run)
        return self._read[run, split]

    def folder(self, run: Run, split: EvaluationSplit) -> Path:
        """Where a point of the study lies."""
        return self.results / "points" / str(Point(run, split))

    def instances(self, run: Run, split: EvaluationSplit) -> dict[Knob | None, list[Instance]]:
        """The decoded sentences of a point."""
        path = self.folder(run, split) / INSTANCES_FILE
        if not path.exists():
            raise NotMeasuredError(f"{run} was not decoded on {split}")
        return read_groups(path)

    def reader(self, pair: str) -> PairedReader:
        """The one reader of a pair: it sees to it that all translate the same sentences."""
        settings = self.params.scoring
        return self._readers.setdefault(pair, PairedReader(settings.latency, settings.bleu_text))


def level(statistics: KnobStatistics) -> Curve:
    """A curve that has the same score at every latency."""
    sentences = len(statistics.latencies)
    return [
        KnobStatistics(statistics.counts, np.full(sentences, latency), statistics.score_of)
        for latency in (-_FAR, _FAR)
    ]


# --- what each split gives ----------------------------------------------------------------------


def _of_test(evidence: Evidence, run: Run) -> dict[tuple[ScoreName, str], Knobs]:
    """BLEU and lagging of all sentences, of the long and of the short ones."""
    groups = evidence.instances(run, "test")
    unit = evidence.params.scoring.length_unit
    halves = length_groups(sentence_lengths(next(iter(groups.values())), unit))
    rows = {"long": halves.long, "short": halves.short}
    found: dict[tuple[ScoreName, str], Knobs] = {}
    for knob, instances in groups.items():
        whole = evidence.reader(run.pair).read(instances)
        for group, places in {ALL: list(range(len(instances))), **rows}.items():
            counts, latencies = whole.counts[places], whole.latencies[places]
            found.setdefault(("bleu", group), {})[knob] = KnobStatistics(counts, latencies)
            lags = np.stack([np.nan_to_num(latencies), ~np.isnan(latencies)], axis=1)
            found.setdefault(("al", group), {})[knob] = KnobStatistics(lags, latencies, ratio_of)
    return found


def _of_aligned(evidence: Evidence, run: Run) -> dict[tuple[ScoreName, str], Knobs]:
    """Satisfied alignments and lagging, with the reference forced."""
    if evidence.params.splits(run.pair).aligned is None:
        raise NotMeasuredError(f"{run.pair} has no gold alignments")
    groups = evidence.instances(run, "aligned")
    links = read_links(evidence.results / "corpora" / run.pair / "text" / "aligned.talp")
    mode = evidence.params.scoring.latency
    knobs: Knobs = {}
    for knob, instances in groups.items():
        latencies = np.array(sentence_latencies(instances, mode), np.float64)
        knobs[knob] = KnobStatistics(alignment_counts(instances, links), latencies, percentage_of)
    return {("sa", ALL): knobs}


def _of_valid(evidence: Evidence, run: Run) -> dict[tuple[ScoreName, str], Knobs]:
    """What correlations of confidence and correctness are computed from."""
    path = evidence.folder(run, "valid") / SUMS_FILE
    sums = read_json(path)
    if sums is None:
        raise NotMeasuredError(f"{run} has no confidences of every state")
    found: dict[tuple[ScoreName, str], Knobs] = {}
    names: tuple[ScoreName, ...] = ("confidence_pearson", "confidence_spearman")
    for name in names:
        rows = np.array(sums[name], np.float64)
        found[name, ALL] = {None: KnobStatistics(rows, np.zeros(len(rows)), correlation_of)}
    return found


_READERS: dict[EvaluationSplit, Callable[[Evidence, Run], dict[tuple[ScoreName, str], Knobs]]] = {
    "test": _of_test,
    "aligned": _of_aligned,
    "valid": _of_valid,
}


def ratio_of(sums: npt.NDArray[Any]) -> Floats:
    """The first column over the second, for each row; not a number where that is 0."""
    part, whole = np.atleast_2d(sums).astype(np.float64).T
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def percentage_of(sums: npt.NDArray[Any]) -> Floats:
    """The same in %."""
    return 100 * ratio_of(sums)
