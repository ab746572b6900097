"""What claims are measured on: the sentences of a study's points, as statistics to draw from.

A system is named as in figures, ``sm2/bi`` or ``waitk``, and is a curve over latencies. With a knob
value behind it, ``sm2/bi@full``, it is a level: the same at every latency, as an offline system
always is. ``*`` stands for anything: ``sm2/bi-w*`` are those that the study runs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

import numpy as np

from simt.errors import SimtError
from simt.knobs import knob_text
from simt.paper.rows import ALL, COMET_OF_THE_PAPER, chosen_comet, read_json
from simt.params import Knob, Params, Role, Study
from simt.products import SENTENCES_FILE, SUMS_FILE
from simt.runs import Point, Run, study_runs
from simt.scoring.confidence import SUMS_SCORES
from simt.scoring.sentences import SentenceStatistics, read_sentences
from simt.scoring.significance import Curve, KnobStatistics, System, curve_points
from simt.settings import EvaluationSplit
from simt.systems import label_of, system_key, training_label

ScoreName = Literal[
    "bleu", "al", "comet", "sa", "confidence_pearson", "confidence_spearman", "confidence_kendall"
]
Group = Literal["all", "long", "short"]
SPLITS: dict[ScoreName, EvaluationSplit] = {
    "bleu": "test",
    "al": "test",
    "comet": "test",
    "sa": "aligned",
    "confidence_pearson": "valid",
    "confidence_spearman": "valid",
    "confidence_kendall": "valid",
}
SCORE_LABELS: dict[ScoreName, str] = {
    "bleu": "BLEU",
    "al": "AL",
    "comet": "COMET",
    "sa": "satisfied alignments in %",
    "confidence_pearson": "Pearson's r",
    "confidence_spearman": "Spearman's ρ",
    "confidence_kendall": "Kendall's τ",
}
_FAR = 1e6  # a level reaches from here to there

Knobs = dict[Knob | None, KnobStatistics]


class NotMeasuredError(SimtError):
    """Something that a claim needs is not there; the message says what."""


class NotAtThisKnobError(NotMeasuredError):
    """A system was not decoded at the knob value of a level, but at others."""

    def __init__(self, name: "SystemName", pair: str, knobs: Iterable[Knob]) -> None:
        super().__init__(f"{name} was not decoded on {pair}")
        self.knobs = tuple(dict.fromkeys(knobs))


class SystemName(NamedTuple):
    """A system or one of its variants, the knob value of a level, and the seed if it is one."""

    key: str
    knob: Knob | None = None
    seed: int | None = None

    @classmethod
    def parse(cls, text: str) -> "SystemName":
        """From ``sm2/bi`` or ``sm2/bi@0.99``; offline systems are levels in any case."""
        key, _, knob = text.partition("@")
        if not knob:
            return cls(key, "full" if key.startswith("offline/") else None)
        return cls(key, "full" if knob == "full" else float(knob))

    def __str__(self) -> str:
        method, _, variant = self.key.partition("/")
        return (training_label(method, variant) if variant else label_of(method)) + self.where

    @property
    def where(self) -> str:
        """`` at 0.99`` behind the name of a level; offline systems are no others."""
        if self.knob is None or self.key.startswith("offline/"):
            return ""
        return f" at {knob_text(self.knob)}"


@dataclass
class Evidence:
    """Reads points when they are asked for, each once."""

    params: Params
    _files: dict[Point, SentenceStatistics] = field(default_factory=dict)
    _knobs: dict[tuple[Run, ScoreName, Group], Knobs] = field(default_factory=dict)
    _comets: dict[str, str] = field(default_factory=dict)  # by pair

    @property
    def study(self) -> Study:
        """The study whose points are read."""
        return self.params.chosen_study

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
                f"study {self.params.study} runs no {label_of(wanted.key)} on {pair}"
            )
        return [SystemName(key, wanted.knob) for key in found]

    def setting(self, pair: str, setting: str, name: SystemName) -> float:
        """What a system of one variant was trained with."""
        method, variant = name.key.split("/")
        return float(self.params.method_settings(pair, method, variant)[setting])

    def system(self, pair: str, name: SystemName, score: ScoreName, group: Group = "all") -> System:
        """Every seed of a system, sentence by sentence: those that all its runs have."""
        runs = [
            run
            for run in study_runs(self.study)
            if run.pair == pair
            and name.key in (system_key(run.method, run.variant), f"{run.method}/{run.variant}")
        ]
        shared = (set(self.study.seeds_of(run.method, run.variant)) for run in runs)
        seeds = sorted(set(self.study.seeds).intersection(*shared))
        return [
            self._curve([run for run in runs if run.seed == seed], name, score, group)
            for seed in (seeds if name.seed is None else [name.seed])
        ]

    def best_bleu(self, pair: str, name: SystemName) -> float:
        """The highest BLEU that a system has at some knob value, with some seed."""
        return max(float(curve_points(curve)[1].max()) for curve in self.system(pair, name, "bleu"))

    def _curve(self, runs: list[Run], name: SystemName, score: ScoreName, group: Group) -> Curve:
        """One seed: all knob values of its runs, or one knob value as a level."""
        split = SPLITS[score]
        knobs = [
            (run, knob, statistics)
            for run in runs
            for knob, statistics in self._statistics(run, score, group).items()
        ]
        if name.knob is None and split != "valid":
            return [statistics for _, knob, statistics in knobs if knob != "full"]
        chosen = {run: one for run, knob, one in knobs if split == "valid" or knob == name.knob}
        if not chosen:
            others = (knob for _, knob, _ in knobs if knob is not None)
            raise NotAtThisKnobError(name, runs[0].pair, others)
        if len(chosen) > 1:
            models = ", ".join(f"{run.method}/{run.variant}" for run in chosen)
            raise NotMeasuredError(f"{name} is one of several models, {models}: name one")
        return level(*chosen.values())

    def _statistics(self, run: Run, score: ScoreName, group: Group) -> Knobs:
        key = (run, score, group)
        if key not in self._knobs:
            is_confidence = SPLITS[score] == "valid"
            self._knobs[key] = (
                _of_confidence(run, score)
                if is_confidence
                else self._of_sentences(run, score, group)
            )
        return self._knobs[key]

    def _of_sentences(self, run: Run, score: ScoreName, group: Group) -> Knobs:
        statistics = self._sentences(Point(run, SPLITS[score]))
        column = self._column(run.pair, score, statistics)
        if column not in statistics.score_names():
            raise NotMeasuredError(f"{run} has no {SCORE_LABELS[score]} of its sentences")
        return statistics.knob_statistics(column, None if group == ALL else group)

    def _column(self, pair: str, score: ScoreName, statistics: SentenceStatistics) -> str:
        """Under which name the sentences of a pair have a score."""
        if score == "comet":
            return self._comet(pair)
        return {"bleu": "bleu", "al": statistics.main_latency, "sa": "sa_word"}[score]

    def _comet(self, pair: str) -> str:
        """COMET by one model for all systems of a pair: by the paper's where it was run."""
        if pair not in self._comets:
            points = (Point(run, "test") for run in study_runs(self.study) if run.pair == pair)
            scored = (one for one in points if (one.folder / SENTENCES_FILE).exists())
            names = {name for one in scored for name in self._sentences(one).score_names()}
            self._comets[pair] = chosen_comet(names) or COMET_OF_THE_PAPER
        return self._comets[pair]

    def _sentences(self, point: Point) -> SentenceStatistics:
        """The statistics of a point; all points of a pair must be of the same sentences."""
        if point not in self._files:
            if point.split == "aligned" and self.params.splits(point.run.pair).aligned is None:
                raise NotMeasuredError(f"{point.run.pair} has no gold alignments")
            path = point.folder / SENTENCES_FILE
            if not path.exists():
                raise NotMeasuredError(f"{point.run} was not scored on {point.split}")
            self._files[point] = read_sentences(path)
            self._check_same(point, self._files[point])
        return self._files[point]

    def _check_same(self, point: Point, own: SentenceStatistics) -> None:
        alike = (
            other
            for other in self._files
            if (other.run.pair, other.split) == (point.run.pair, point.split)
        )
        first = self._files[next(alike)]
        folder = point.folder
        if (own.sentences, own.references) != (first.sentences, first.references):
            raise SimtError(
                f"{folder} is of other sentences or references than the other systems, or BLEU cut "
                "them in another way: systems can be compared only on the same; decode and "
                "score it again"
            )
        if own.main_latency != first.main_latency:
            raise SimtError(
                f"{folder} has {own.main_latency} as its latency, other systems "
                f"{first.main_latency}: systems can be compared only at the same; score it again"
            )


def level(statistics: KnobStatistics) -> Curve:
    """A curve that has the same score at every latency."""
    sentences = len(statistics.latencies)
    return [
        KnobStatistics(statistics.counts, np.full(sentences, latency), statistics.score_of)
        for latency in (-_FAR, _FAR)
    ]


# --- what is read ---------------------------------------------------------------------------------


def _of_confidence(run: Run, score: ScoreName) -> Knobs:
    """What a correlation of confidence and correctness is computed from."""
    sums = read_json(Point(run, "valid").folder / SUMS_FILE)
    if sums is None or score not in sums:
        raise NotMeasuredError(f"{run} has no {SCORE_LABELS[score]} of confidence and correctness")
    rows = np.array(sums[score], np.float64)
    return {None: KnobStatistics(rows, np.zeros(len(rows)), SUMS_SCORES[score])}
