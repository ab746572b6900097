"""Runs and points: their names, their folders, their settings, and what a study needs.

The path is the primary key: stage first, then identity from coarse to fine.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from simt.errors import SimtError
from simt.pairs import FetchSettings, PrepareSettings, TextSettings
from simt.params import Drawing, Params, Study, raw_files
from simt.settings import (
    METHOD_SETTINGS,
    TOY_ESTIMATOR,
    PointSettings,
    RunSettings,
    ScoringSettings,
    Settings,
    TrainingSettings,
)

RESULTS = Path("results")
SETTINGS_FILE = "settings.json"  # written last in each folder: it is there only when all is
SCORING_FILE = "scoring.json"  # the same for the scores beside the instances of a point
THEATRE_FILE = "theatre.json"  # and for the states that the report's theatre shows, which are in
STATES_FILE = "states.jsonl"
GRID_FILE = "grid.json"  # all states of one sentence, beside the correlations of a split

CorpusStep = Literal["fetch", "prepare", "bpe"]
CORPUS_FOLDERS: dict[CorpusStep, str] = {"fetch": "raw", "prepare": "text", "bpe": "bpe"}


@dataclass(frozen=True, order=True)
class Run:
    """One training: pair × method × variant × seed."""

    pair: str
    method: str
    variant: str
    seed: int

    def __str__(self) -> str:
        return f"{self.pair}/{self.method}/{self.variant}/seed{self.seed}"

    @property
    def folder(self) -> Path:
        """Where the run's model and record are kept."""
        return RESULTS / "runs" / str(self)

    @classmethod
    def of(cls, wildcards: Any) -> "Run":
        """The run that Snakemake's wildcards name."""
        return cls(wildcards.pair, wildcards.method, wildcards.variant, int(wildcards.seed))

    @classmethod
    def parse(cls, name: str) -> "Run":
        """The run of a name such as ``toy-deen/sm2/bi/seed1``."""
        pair, method, variant, seed = name.split("/")
        assert seed.startswith("seed"), name
        return cls(pair, method, variant, int(seed.removeprefix("seed")))


EvaluationSplit = Literal["valid", "test", "aligned"]
_SPLITS: dict[str, EvaluationSplit] = {"valid": "valid", "test": "test", "aligned": "aligned"}


@dataclass(frozen=True, order=True)
class Point:
    """A run decoded on one split, at all its knob values in one job."""

    run: Run
    split: EvaluationSplit

    def __str__(self) -> str:
        return f"{self.run}/{self.split}"

    @property
    def folder(self) -> Path:
        """Where the instances and scores are kept."""
        return RESULTS / "points" / str(self)

    @property
    def marker(self) -> Path:
        """The file that is there when the point is complete; on valid nothing is scored."""
        return self.folder / (SETTINGS_FILE if self.split == "valid" else SCORING_FILE)

    @classmethod
    def of(cls, wildcards: Any) -> "Point":
        """The point that Snakemake's wildcards name."""
        return cls(Run.of(wildcards), wildcards.split)

    @classmethod
    def parse(cls, name: str) -> "Point":
        """The point of a name such as ``toy-deen/sm2/bi/seed1/test``."""
        run, split = name.rsplit("/", 1)
        return cls(Run.parse(run), _SPLITS[split])


def corpus_folder(pair: str, step: CorpusStep) -> Path:
    """Where a step on the way from address to ids keeps its files."""
    return RESULTS / "corpora" / pair / CORPUS_FOLDERS[step]


# --- settings -------------------------------------------------------------------------------


def corpus_settings(params: Params, pair: str, step: CorpusStep) -> Settings:
    """The settings of a step on the way from address to ids."""
    entry, splits = params.pairs[pair], params.splits(pair)
    languages = {"source": entry.source, "target": entry.target}
    if step == "fetch":
        return FetchSettings(
            **languages, toy=entry.toy, downloads=entry.downloads, licensed=entry.licensed,
            files=raw_files(splits),
        )  # fmt: skip
    if step == "prepare":
        text = TextSettings.of(params.text_settings(pair))
        return PrepareSettings(**languages, splits=splits, text=text)
    return params.bpe[entry.bpe]


def run_settings(params: Params, run: Run) -> RunSettings:
    """The settings of a run, merged from all their layers."""
    names = (run.pair, run.method, run.variant)
    method = METHOD_SETTINGS[run.method]
    return RunSettings(
        pair=run.pair,
        method=run.method,
        variant=run.variant,
        seed=run.seed,
        revision=params.methods[run.method].revision,
        model=params.model[params.model_preset(*names)],
        training=TrainingSettings.of(params.training_settings(*names)),
        method_settings=method.of(params.method_settings(*names)).model_dump(),
        start_from=params.methods[run.method].variants[run.variant].start_from,
    )


def named_settings(params: Params, pair: str, name: str, size: str | None) -> RunSettings:
    """The settings of a run that a person names, such as ``sm2/bi``, of another size if given."""
    if pair not in params.pairs:
        raise SimtError(f"params.yaml has no pair {pair!r}")
    method, _, variant = name.partition("/")
    if method not in params.methods or variant not in params.methods[method].variants:
        raise SimtError(f"params.yaml has no run {name!r}; give a method and a variant: offline/bi")
    settings = run_settings(params, Run(pair, method, variant, seed=1))
    if size is None:
        return settings
    if size not in params.model:
        raise SimtError(f"params.yaml has no model {size!r}; it has {', '.join(params.model)}")
    return settings.model_copy(update={"model": params.model[size]})


def point_settings(params: Params, point: Point) -> PointSettings:
    """The settings of a decoding."""
    knobs = params.knobs(point.run.pair, point.run.method, point.run.variant)
    return PointSettings(split=point.split, knobs=knobs, decoding=params.decoding)


def scoring_settings(params: Params, point: Point) -> ScoringSettings:
    """How a point is scored: by COMET if a figure or table of any study shows that."""
    paper = params.paper
    is_shown = any(
        drawing.shows_comet and drawing.split == point.split and _is_drawn(point.run, drawing)
        for drawing in (*paper.figures.values(), *paper.tables.values())
    )
    models = params.comet_models(point.run.pair) if is_shown else ()
    return params.scoring.model_copy(update={"comet": models})


def has_estimator(params: Params, pair: str) -> bool:
    """Whether a pair trains its own quality estimator."""
    return TOY_ESTIMATOR in params.comet_models(pair)


def estimator_folder(pair: str) -> Path:
    """Where the quality estimator of a pair is kept."""
    return RESULTS / "corpora" / pair / "estimator"


def estimator_files(params: Params, pair: str) -> list[Path]:
    """A pair's own estimator: one file or none."""
    return [estimator_folder(pair) / SETTINGS_FILE] if has_estimator(params, pair) else []


def judge_files(params: Params, point: Point) -> list[Path]:
    """What scoring a point needs besides its instances: the pair's own estimator or nothing."""
    return estimator_files(params, point.run.pair) if scoring_settings(params, point).comet else []


def start_run(params: Params, run: Run) -> Run | None:
    """The run whose model this one starts from, if it does."""
    start = params.methods[run.method].variants[run.variant].start_from
    if start is None:
        return None
    method, variant = start.split("/")
    return Run(run.pair, method, variant, run.seed)


def start_files(params: Params, run: Run) -> list[Path]:
    """What a training needs of the run that it starts from: one file or none."""
    start = start_run(params, run)
    return [] if start is None else [start.folder / SETTINGS_FILE]


# --- what a study needs -----------------------------------------------------------------------


def study_runs(study: Study) -> list[Run]:
    """Every training of a study, in the order of params.yaml."""
    return [
        Run(pair, method, variant, seed)
        for pair, methods in study.runs.items()
        for method, variants in methods.items()
        for variant in variants
        for seed in study.seeds
    ]


def drawing_points(study: Study, drawing: Drawing) -> list[Point]:
    """The points that a figure or table shows, of those that the study runs."""
    shown = study.pairs.in_role(drawing.pairs)
    return [
        Point(run, drawing.split)
        for run in study_runs(study)
        if run.pair in shown and _is_drawn(run, drawing)
    ]


def _is_drawn(run: Run, drawing: Drawing) -> bool:
    variants = drawing.runs.get(run.method, ())
    return variants == "all" or run.variant in variants


def study_points(params: Params, study: Study) -> list[Point]:
    """Every decoding that some figure or table of the study needs, or the theatre."""
    paper = params.paper
    drawings = [*paper.figures.values(), *paper.tables.values(), paper.theatre]
    return sorted({point for one in drawings for point in decoded_points(params, study, one)})


def staged_points(params: Params, study: Study) -> list[Point]:
    """The points of which the theatre shows every state: their models have a confidence."""
    return [
        point
        for point in decoded_points(params, study, params.paper.theatre)
        if METHOD_SETTINGS[point.run.method].has_confidence
    ]


def decoded_points(params: Params, study: Study, drawing: Drawing) -> list[Point]:
    """The points of a drawing that can be decoded: not every pair has gold alignments."""
    return [
        point
        for point in drawing_points(study, drawing)
        if point.split != "aligned" or params.splits(point.run.pair).aligned is not None
    ]


def shown_files(params: Params, study: Study, drawing: Drawing) -> list[Path]:
    """What must be there before a figure or table is drawn."""
    drawings = (drawing, *(params.paper.tables[name] for name in drawing.also))
    points = (point for one in drawings for point in decoded_points(params, study, one))
    return [point.marker for point in dict.fromkeys(points)]


def read_settings(path: Path) -> dict[str, Any] | None:
    """The settings that a step was done with, or None where it is not finished."""
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return settings if isinstance(settings, dict) else None
