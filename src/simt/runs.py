"""Runs and points: their names, their folders, their settings, and what a study needs.

The path is the primary key: stage first, then identity from coarse to fine.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from simt.errors import SimtError
from simt.pairs import BpeSettings, FetchSettings, PrepareSettings, TextSettings, raw_files
from simt.params import Drawing, Params, Study
from simt.problems import did_you_mean, no_such
from simt.settings import (
    METHOD_SETTINGS,
    TOY_ESTIMATOR,
    BleuTokeniser,
    EvaluationSplit,
    PointSettings,
    RunSettings,
    ScoringSettings,
)
from simt.system_folder import names_folder, read_manifest

RESULTS = Path("results")
REHEARSALS = Path("rehearsals")  # a folder for each study, which has results/ of its own
MEASUREMENTS_FILE = "measurements.json"  # in that folder: what its jobs took
# Names and folders, with the wildcards of Snakemake's rules.
RUN_NAME = "{pair}/{method}/{variant}/seed{seed}"
POINT_NAME = f"{RUN_NAME}/{{split}}"
CORPUS_FOLDER = f"{RESULTS}/corpora/{{pair}}"
RUN_FOLDER = f"{RESULTS}/runs/{RUN_NAME}"
POINT_FOLDER = f"{RESULTS}/points/{POINT_NAME}"
PAPER_FOLDER = f"{RESULTS}/paper/{{study}}"
MAIN_FIGURE = "fig03-bleu-al"  # the figure that shows every system to compare

CorpusStep = Literal["fetch", "prepare", "bpe"]
Kind = Literal["figures", "tables"]
_SPLITS: dict[str, EvaluationSplit] = {split: split for split in get_args(EvaluationSplit)}
# What sacreBLEU itself chooses for a target language; 13a for all others.
_BLEU_TOKENISERS: dict[str, BleuTokeniser] = {
    **dict.fromkeys(("zh", "zho", "cmn"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
}
CORPUS_FOLDERS: dict[CorpusStep, str] = {"fetch": "raw", "prepare": "text", "bpe": "bpe"}


@dataclass(frozen=True, order=True)
class Run:
    """One training: pair × method × variant × seed."""

    pair: str
    method: str
    variant: str
    seed: int

    def __str__(self) -> str:
        return RUN_NAME.format(**vars(self))

    @property
    def folder(self) -> Path:
        """Where the run's model and record are kept."""
        return Path(RUN_FOLDER.format(**vars(self)))

    @classmethod
    def from_wildcards(cls, wildcards: Any) -> "Run":
        """The run that Snakemake's wildcards name."""
        return cls(wildcards.pair, wildcards.method, wildcards.variant, int(wildcards.seed))

    @classmethod
    def parse(cls, name: str) -> "Run":
        """The run of a name such as ``toy-deen/sm2/bi/seed1``."""
        pair, method, variant, seed = name.split("/")
        assert seed.startswith("seed"), name
        return cls(pair, method, variant, int(seed.removeprefix("seed")))


@dataclass(frozen=True, order=True)
class Point:
    """A run decoded on one split, at all its knob values in one job."""

    run: Run
    split: EvaluationSplit

    def __str__(self) -> str:
        return POINT_NAME.format(**vars(self.run), split=self.split)

    @property
    def folder(self) -> Path:
        """Where the instances and scores are kept."""
        return Path(POINT_FOLDER.format(**vars(self.run), split=self.split))

    @classmethod
    def from_wildcards(cls, wildcards: Any) -> "Point":
        """The point that Snakemake's wildcards name."""
        return cls(Run.from_wildcards(wildcards), wildcards.split)

    @classmethod
    def parse(cls, name: str) -> "Point":
        """The point of a name such as ``toy-deen/sm2/bi/seed1/test``."""
        run, split = name.rsplit("/", 1)
        return cls(Run.parse(run), _SPLITS[split])


def corpus_folder(pair: str, step: CorpusStep | None = None) -> Path:
    """Where a pair keeps its files, or a step on the way from address to ids."""
    folder = Path(CORPUS_FOLDER.format(pair=pair))
    return folder if step is None else folder / CORPUS_FOLDERS[step]


def paper_folder(study: str) -> Path:
    """Where the figures, tables and report of a study are kept."""
    return Path(PAPER_FOLDER.format(study=study))


# --- settings -------------------------------------------------------------------------------


def fetch_settings(params: Params, pair: str) -> FetchSettings:
    """What is brought from addresses, or from the user."""
    entry = params.pairs[pair]
    return FetchSettings(
        source=entry.source, target=entry.target, toy=entry.toy, downloads=entry.downloads,
        licensed=entry.licensed, local=entry.local, files=raw_files(params.splits(pair)),
    )  # fmt: skip


def prepare_settings(params: Params, pair: str) -> PrepareSettings:
    """How raw files become tokenised text."""
    entry, text = params.pairs[pair], TextSettings.of(params.text_settings(pair))
    return PrepareSettings(
        source=entry.source, target=entry.target, splits=params.splits(pair), text=text
    )


def bpe_settings(params: Params, pair: str) -> BpeSettings:
    """How text is cut into subwords."""
    return params.bpe[params.pairs[pair].bpe]


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
        training=params.training_settings(*names),
        method_settings=method.of(params.method_settings(*names)).model_dump(),
        start_from=_start_from(params, run),
    )


def named_settings(params: Params, pair: str, name: str, size: str | None) -> RunSettings:
    """The settings of a run that a person names, such as ``sm2/bi``, of another size if given."""
    if pair not in params.pairs:
        raise SimtError(f"params.yaml: {no_such('pair', pair, list(params.pairs))}")
    method, _, variant = name.partition("/")
    if method not in params.methods or variant not in params.methods[method].variants:
        known = [
            f"{one}/{each}" for one, entry in params.methods.items() for each in entry.variants
        ]
        raise SimtError(
            f"params.yaml has no run {name!r}{did_you_mean(name, known)}; "
            "give a method and a variant: offline/bi"
        )
    settings = run_settings(params, Run(pair, method, variant, seed=1))
    if size is None:
        return settings
    if size not in params.model:
        raise SimtError(f"params.yaml: {no_such('model', size, list(params.model))}")
    return settings.model_copy(update={"model": params.model[size]})


def point_settings(params: Params, point: Point) -> PointSettings:
    """The settings of a decoding."""
    knobs = params.knobs(point.run.pair, point.run.method, point.run.variant)
    return PointSettings(split=point.split, knobs=knobs, decoding=params.decoding)


def scoring_settings(params: Params, point: Point) -> ScoringSettings:
    """How a point is scored: BLEU by the target language, COMET if a drawing of any study shows it.

    A tokeniser other than 13a that params.yaml names is taken for every language.
    """
    paper = params.paper
    is_shown = any(
        drawing.shows_comet and drawing.split == point.split and _is_drawn(point.run, drawing)
        for drawing in (*paper.figures.values(), *paper.tables.values())
    )
    models = params.comet_models(point.run.pair) if is_shown else ()
    tokeniser = params.scoring.bleu_tokeniser
    if tokeniser == "13a":
        tokeniser = _BLEU_TOKENISERS.get(params.pairs[point.run.pair].target, tokeniser)
    return params.scoring.model_copy(update={"comet": models, "bleu_tokeniser": tokeniser})


def has_estimator(params: Params, pair: str) -> bool:
    """Whether a pair trains its own quality estimator."""
    return TOY_ESTIMATOR in params.comet_models(pair)


def estimator_folder(pair: str) -> Path:
    """Where the quality estimator of a pair is kept."""
    return corpus_folder(pair) / "estimator"


def _start_from(params: Params, run: Run) -> str | None:
    """What a run starts from: a method/variant, or which weights those of a folder are."""
    folder = start_folder(params, run)
    if folder is not None:
        return read_manifest(folder).start_from
    return params.methods[run.method].variants[run.variant].start_from


def start_folder(params: Params, run: Run) -> Path | None:
    """The exported folder whose weights this run starts from, if it does."""
    start = params.methods[run.method].variants[run.variant].start_from
    return Path(start) if start is not None and names_folder(start) else None


def start_run(params: Params, run: Run) -> Run | None:
    """The run whose model this one starts from, if it does."""
    start = params.methods[run.method].variants[run.variant].start_from
    if start is None or names_folder(start):
        return None
    method, variant = start.split("/")
    return Run(run.pair, method, variant, run.seed)


# --- what a study needs -----------------------------------------------------------------------


def study_runs(study: Study) -> list[Run]:
    """Every training of a study, in the order of params.yaml."""
    return [
        Run(pair, method, variant, seed)
        for pair, methods in study.runs.items()
        for method, variants in methods.items()
        for variant in variants
        for seed in study.seeds_of(method, variant)
    ]


def compared_runs(params: Params, study: Study) -> list[Run]:
    """The trainings of the systems that the paper compares with each other, on every pair."""
    return [run for run in study_runs(study) if _is_drawn(run, params.paper.figures[MAIN_FIGURE])]


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
    return variants == "all" or run.variant in variants or _is_about(run, drawing)


def _is_about(run: Run, drawing: Drawing) -> bool:
    return run.variant in drawing.about.get(run.method, ())


def study_points(params: Params, study: Study) -> list[Point]:
    """Every decoding that some figure or table of the study needs, or the policy viewer."""
    paper = params.paper
    drawings = [*paper.figures.values(), *paper.tables.values(), paper.policy_viewer]
    return sorted({point for one in drawings for point in decoded_points(params, study, one)})


def unshown_runs(params: Params, study: Study) -> list[Run]:
    """The trainings that no figure or table needs, and no other training starts from."""
    runs = study_runs(study)
    shown = {point.run for point in study_points(params, study)}
    starts = {start_run(params, run) for run in runs}
    return [run for run in runs if run not in shown and run not in starts]


def viewed_points(params: Params, study: Study) -> list[Point]:
    """The points of which the policy viewer shows every state: their models have a confidence."""
    return [
        point
        for point in decoded_points(params, study, params.paper.policy_viewer)
        if METHOD_SETTINGS[point.run.method].has_confidence
    ]


def decoded_points(params: Params, study: Study, drawing: Drawing) -> list[Point]:
    """The points of a drawing that can be decoded: not every pair has gold alignments."""
    return [
        point
        for point in drawing_points(study, drawing)
        if point.split != "aligned" or params.splits(point.run.pair).aligned is not None
    ]


def shown_points(params: Params, study: Study, drawing: Drawing) -> list[Point]:
    """The points of a drawing and of those whose numbers it repeats."""
    drawings = (drawing, *(params.paper.tables[name] for name in drawing.also))
    points = (point for one in drawings for point in decoded_points(params, study, one))
    return [
        point for point in dict.fromkeys(points) if point.run.pair in (drawing.only or study.runs)
    ]


def study_drawings(params: Params, study: Study, kind: Kind) -> dict[str, Drawing]:
    """The figures, or the tables, for which a study has something to show."""
    drawings: dict[str, Drawing] = getattr(params.paper, kind)
    return {name: one for name, one in drawings.items() if not why_left_out(params, study, one)}


def raise_if_left_out(params: Params, name: str, drawing: Drawing) -> None:
    """Refuse a figure or table for which the study has nothing to show."""
    if reason := why_left_out(params, params.chosen_study, drawing):
        raise SimtError(f"{name} is left out of study {params.study}: {reason}")


def why_left_out(params: Params, study: Study, drawing: Drawing) -> str:
    """Why a figure or table would be empty, or have nothing to compare; "" if it is drawn."""
    if points := shown_points(params, study, drawing):
        if drawing.about and not any(_is_about(point.run, drawing) for point in points):
            runs = (f"{one}/{each}" for one, listed in drawing.about.items() for each in listed)
            return f"the study has no {' or '.join(runs)} to compare"
        return _why_no_curve(params, drawing, points) or _why_no_comet(params, drawing, points)
    if drawing.only:
        return f"the study has none of the pairs {', '.join(drawing.only)}"
    pairs = study.pairs.in_role(drawing.pairs)
    if not pairs:
        besides = " besides its main ones" if drawing.pairs == "appendix" else ""
        return f"the study has no {drawing.pairs.replace('-', ' ')} pair{besides}"
    if drawing_points(study, drawing):
        return f"no gold alignments for {', '.join(pairs)}"
    return "the study has none of its runs"


def _why_no_curve(params: Params, drawing: Drawing, points: list[Point]) -> str:
    """Why a figure would have lines to compare with only; "" if it has something to compare.

    An offline system is a level beside curves, except where it is trained at several scales.
    """
    is_figure = _is_figure(params, drawing)
    if not is_figure or drawing.pairs == "scale" or any(p.run.method != "offline" for p in points):
        return ""
    others = " or ".join(method for method in drawing.runs if method != "offline")
    return f"of its runs the study has offline ones only; for a curve, add {others}"


def _why_no_comet(params: Params, drawing: Drawing, points: list[Point]) -> str:
    """Why a figure of COMET would be empty; a table has other columns, too.

    A model that is named but is not on this machine may come: the figure then says so.
    """
    pairs = list(dict.fromkeys(point.run.pair for point in points))
    is_about_comet = drawing.shows_comet and _is_figure(params, drawing)
    if not is_about_comet or any(map(params.comet_models, pairs)):
        return ""
    own = [pair for pair in pairs if params.pairs[pair].comet is not None]
    return f"no COMET model: `comet` of {', '.join(own) or 'scoring'} is empty"


def _is_figure(params: Params, drawing: Drawing) -> bool:
    return drawing in params.paper.figures.values()
