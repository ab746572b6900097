"""Every step of a study: its folder, its settings, the files it writes and those it reads.

Rules, `simt plan` and `simt check` all ask here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Literal, NamedTuple

from simt.markers import Source, chosen, vouching
from simt.params import Drawing, Params, StudyExcerpt, excerpt
from simt.products import (
    CAPTION_FORMAT,
    CLAIMS,
    CLAIMS_FILE,
    CONFIDENCE_FILE,
    CURVES,
    CURVES_FILE,
    FIGURE_FORMATS,
    GRID_FILE,
    HISTORY_FILE,
    INSTANCES_FILE,
    MODEL_FILE,
    ORACLE_FILE,
    RUN_FILE,
    SCORES_FILE,
    SENTENCES_FILE,
    SETTINGS_FILE,
    STATES,
    STATES_FILE,
    STATS_FILE,
    SUMS_FILE,
    TABLE_FORMATS,
    Patterns,
    Product,
    decoded,
    drawn,
    encoded,
    estimated,
    fetched,
    prepared,
    scored,
    trained,
    written,
)
from simt.runs import (
    CORPUS_FOLDERS,
    MAIN_FIGURE,
    RESULTS,
    CorpusStep,
    Kind,
    Point,
    Run,
    bpe_settings,
    corpus_folder,
    decoded_points,
    drawing_points,
    estimator_folder,
    fetch_settings,
    has_estimator,
    paper_folder,
    point_settings,
    prepare_settings,
    raise_if_left_out,
    run_settings,
    scoring_settings,
    shown_points,
    start_folder,
    start_run,
    study_drawings,
    study_points,
    study_runs,
    viewed_points,
)
from simt.settings import Settings
from simt.system_folder import folder_files

Stage = Literal["corpora", "runs", "points", "paper"]
STAGES: tuple[Stage, ...] = ("corpora", "runs", "points", "paper")
OF_SENTENCES = ("fig06-prohibition", "alg01-decision-rule")  # they show how one was decoded
OF_SIZES = ("tab04-settings",)  # it shows every size of model that the study trains
FORMATS: dict[Kind, tuple[str, ...]] = {"figures": FIGURE_FORMATS, "tables": TABLE_FORMATS}


class Read(NamedTuple):
    """The files that a step reads of another, which is a ``part`` of it."""

    part: str
    step: "Step"
    patterns: Patterns


@dataclass(frozen=True)
class Step:
    """One command: what it writes into a folder, with which settings, and from what."""

    stage: Stage
    name: str
    folder: Path
    settings: Settings
    product: Product
    reads: tuple[Read, ...] = ()
    given: tuple[str, ...] = ()  # what it reads that no step has made

    @cached_property
    def part(self) -> str:
        """The part that it is of figures, tables and the report, which read of many."""
        return str(self.folder.relative_to(RESULTS))

    @cached_property
    def marker(self) -> Path:
        """The file that is there only when all others are."""
        return self.folder / self.product.marker

    @property
    def outputs(self) -> list[str]:
        """What it leaves for good; as text, since there are thousands, and Snakemake wants that."""
        kept = (name for name in self.product.outputs if name not in self.product.temporary)
        return [f"{self.folder}/{name}" for name in kept]

    @cached_property
    def lost(self) -> frozenset[str]:
        """What is gone of a finished one."""
        if not self.marker.exists():
            return frozenset()
        return frozenset(path for path in self.outputs if not Path(path).exists())

    @property
    def asked_for(self) -> list[str]:
        """What a target needs of it to be there: its marker, and what is lost of a finished one."""
        return [str(self.marker), *sorted(self.lost)]

    @property
    def inputs(self) -> list[str]:
        """What its rule declares to read: markers, and what is lost of the files that it reads.

        One file for many, since a plan of thousands of jobs takes as long as they have inputs. The
        marker is the last to be written, and what it vouches for is looked at before every plan.
        Temporary files are declared, too, which stay until nobody reads them.
        """
        markers = dict.fromkeys(str(read.step.marker) for read in self.reads)
        lost = dict.fromkeys(path for read in self.reads if read.step.lost for path in _lost(read))
        temporary = (path for read in self.reads for path in _temporary(read))
        return [*temporary, *markers, *lost, *self.given]

    def made_in(self, folder: Path) -> AbstractContextManager[dict[str, str]]:
        """The step itself as a block, which writes into a folder."""
        sources = [Source(read.part, read.step.marker, read.patterns) for read in self.reads]
        return vouching(folder, self.product.marker, self.settings, self.product.vouched, sources)


def _lost(read: Read) -> list[str]:
    names = chosen(read.step.product.outputs, read.patterns)
    return [path for name in names if (path := f"{read.step.folder}/{name}") in read.step.lost]


def _temporary(read: Read) -> list[str]:
    names = chosen(read.step.product.temporary, read.patterns)
    return [f"{read.step.folder}/{name}" for name in names]


def asked_for(steps: Iterable[Step]) -> list[str]:
    """What a target asks for so that some steps are done, and whole."""
    return [path for step in steps for path in step.asked_for]


def of_wildcards(pattern: str) -> str:
    """A pattern of paths as the text of a rule's command has it."""
    return pattern.replace("{", "{wildcards.")


def of_params(pattern: str) -> str:
    """The same for a rule without wildcards, whose names are among its params."""
    return pattern.replace("{", "{params.")


class Steps:
    """The steps of the chosen study, each made once: many lean on the same corpus."""

    def __init__(self, params: Params) -> None:
        self._params = params
        self._study = params.chosen_study
        self._paper = paper_folder(params.study)
        self._made: dict[Path, Step] = {}
        self._drawings: dict[Kind, list[Step]] = {}

    def all(self) -> list[Step]:
        """Every step, each after those that it reads from."""
        return [*self.corpora(), *self.runs(), *self.points(), *self.paper()]

    def corpora(self) -> list[Step]:
        """From address to ids, and the estimators."""
        pairs = list(self._study.runs)
        of_pairs = [self.corpus(pair, step) for pair in pairs for step in CORPUS_FOLDERS]
        return of_pairs + [self.estimator(one) for one in pairs if has_estimator(self._params, one)]

    def runs(self) -> list[Step]:
        """All trainings, those that start from another one last."""
        runs = study_runs(self._study)
        return [
            self.run(run)
            for run in sorted(runs, key=lambda run: start_run(self._params, run) is not None)
        ]

    def points(self) -> list[Step]:
        """Decodings, each with its scores; then the states of the policy viewer."""
        steps = []
        for point in self._points:
            steps.append(self.decoding(point))
            if point.split != "valid":  # where there is nothing to score
                steps.append(self.scoring(point))
        return steps + [self.states(one) for one in viewed_points(self._params, self._study)]

    @cached_property
    def _points(self) -> list[Point]:
        """Every decoding of the study."""
        return study_points(self._params, self._study)

    def paper(self) -> list[Step]:
        """Figures, tables, and what else is read by people."""
        return [*self.drawings("figures"), *self.drawings("tables"),
                self.curves(), self.claims(), self.report()]  # fmt: skip

    # --- corpora --------------------------------------------------------------------------------

    def corpus(self, pair: str, step: CorpusStep) -> Step:
        """A step on the way from address to ids."""
        return self._once(corpus_folder(pair, step), lambda: self._corpus(pair, step))

    def _corpus(self, pair: str, step: CorpusStep) -> Step:
        name, folder = f"{pair} {step}", corpus_folder(pair, step)
        if step == "fetch":
            fetch = fetch_settings(self._params, pair)
            return Step("corpora", name, folder, fetch, fetched(fetch))
        text = prepare_settings(self._params, pair)
        if step == "prepare":
            return _step("corpora", name, folder, text, prepared(text),
                         {"raw": self.corpus(pair, "fetch")})  # fmt: skip
        bpe = bpe_settings(self._params, pair)
        return _step("corpora", name, folder, bpe, encoded(bpe, text), {"text": self._text(pair)})

    def _text(self, pair: str) -> Step:
        return self.corpus(pair, "prepare")

    def estimator(self, pair: str) -> Step:
        """A pair's own quality estimator."""
        folder = estimator_folder(pair)
        return self._once(
            folder,
            lambda: _step(
                "corpora", f"{pair} estimator", folder, self._params.scoring.estimator,
                estimated(prepare_settings(self._params, pair)),
                {"raw": self.corpus(pair, "fetch"), "text": self._text(pair)},
            ),
        )  # fmt: skip

    # --- runs and points ------------------------------------------------------------------------

    def run(self, run: Run) -> Step:
        """A training."""
        return self._once(run.folder, lambda: self._run(run))

    def _run(self, run: Run) -> Step:
        start = start_run(self._params, run)
        parts = {"bpe": self.corpus(run.pair, "bpe")}
        if start is not None:
            parts["start"] = self.run(start)
        settings, folder = run_settings(self._params, run), start_folder(self._params, run)
        product = trained(settings)
        if self._params.is_rehearsal:
            product = replace(product, temporary=(MODEL_FILE,))
        step = _step("runs", str(run), run.folder, settings, product, parts)
        return step if folder is None else replace(step, given=folder_files(folder))

    def start_option(self, run: Run) -> str:
        """How the command of a training names what it starts from, if it does."""
        start = start_run(self._params, run)
        folder = start_folder(self._params, run) if start is None else start.folder
        return "" if folder is None else f"--start {quote(str(folder))}"

    def decoding(self, point: Point) -> Step:
        """A run decoded on a split; on valid, the confidences of every state."""
        return self._once(
            point.folder,
            lambda: _step(
                "points", str(point), point.folder, point_settings(self._params, point),
                decoded(point.split), self._parts(point),
            ),
        )  # fmt: skip

    def states(self, point: Point) -> Step:
        """The confidence of every state of the policy viewer's sentences."""
        choice = self._params.paper.policy_viewer.choice
        return self._once(
            point.folder / STATES.marker,
            lambda: _step(
                "points", f"{point} states", point.folder, choice, STATES, self._parts(point)
            ),
        )

    def _parts(self, point: Point) -> dict[str, Step]:
        pair = point.run.pair
        return {
            "run": self.run(point.run), "bpe": self.corpus(pair, "bpe"), "text": self._text(pair)
        }  # fmt: skip

    def scoring(self, point: Point) -> Step:
        """The scores of what was decoded."""
        product = scored(point.split)
        return self._once(point.folder / product.marker, lambda: self._scoring(point, product))

    def _scoring(self, point: Point, product: Product) -> Step:
        settings, pair = scoring_settings(self._params, point), point.run.pair
        parts = {"point": self.decoding(point), "text": self._text(pair)}
        if settings.comet and has_estimator(self._params, pair):
            parts["estimator"] = self.estimator(pair)
        return _step("points", f"{point} scores", point.folder, settings, product, parts)

    # --- paper ----------------------------------------------------------------------------------

    def models_option(self, point: Point) -> str:
        """How the command of scoring names the pair's own estimator, where it is needed."""
        is_needed = any(read.part == "estimator" for read in self.scoring(point).reads)
        return f"--models {estimator_folder(point.run.pair)}" if is_needed else ""

    def drawings(self, kind: Kind) -> list[Step]:
        """The figures, or the tables, for which the study has something to show."""
        if kind not in self._drawings:
            shown = study_drawings(self._params, self._study, kind)
            self._drawings[kind] = [self.drawing(kind, one) for one in shown]
        return self._drawings[kind]

    def raise_if_left_out(self, asked: Collection[str]) -> None:
        """Refuse what the study leaves out; ``asked`` may name anything else, too."""
        paper = self._params.paper
        for name, drawing in {**paper.figures, **paper.tables}.items():
            if name in asked:
                raise_if_left_out(self._params, name, drawing)

    def drawing(self, kind: Kind, name: str) -> Step:
        """A figure or table: the numbers of its points, and of their runs.

        One that the study leaves out is refused.
        """
        product, folder = drawn(name, FORMATS[kind]), self._paper / kind
        return self._once(folder / product.marker, lambda: self._drawing(kind, name, product))

    def _drawing(self, kind: Kind, name: str, product: Product) -> Step:
        drawing: Drawing = getattr(self._params.paper, kind)[name]
        raise_if_left_out(self._params, name, drawing)
        settings = self._excerpt_of(kind, name, drawing)
        points = shown_points(self._params, self._study, drawing)
        reads = [read for point in points for read in self._numbers(point)]
        if name in OF_SENTENCES:
            reads += [(self.decoding(point), (INSTANCES_FILE,)) for point in points]
        if drawing.pairs == "scale":
            reads += [(self._text(point.run.pair), (STATS_FILE,)) for point in points]
        return _of_paper(name, self._paper / kind, settings, product, reads)

    def _excerpt_of(self, kind: Kind, name: str, drawing: Drawing) -> StudyExcerpt:
        """What a figure or table is made with: the variants that it shows, and its own entry."""
        points = [
            *drawing_points(self._study, drawing),
            *shown_points(self._params, self._study, drawing),
        ]
        variants: dict[str, set[str]] = {}
        for point in points:
            variants.setdefault(point.run.method, set()).add(point.run.variant)
        tables = {table: self._params.paper.tables[table] for table in drawing.also}
        entries: dict[str, dict[str, Drawing]] = {"figures": {}, "tables": tables}
        entries[kind][name] = drawing
        paper = self._params.paper.model_copy(update=entries)
        listed = self._variants() if name in OF_SIZES else None
        return excerpt(self._params, variants, paper, listed)

    def _excerpt(self) -> StudyExcerpt:
        """What all else of the paper is made with: the whole study."""
        return excerpt(self._params, self._variants(), self._params.paper)

    def _variants(self) -> dict[str, set[str]]:
        """All that the study trains."""
        variants: dict[str, set[str]] = {}
        for run in study_runs(self._study):
            variants.setdefault(run.method, set()).add(run.variant)
        return variants

    def _numbers(self, point: Point) -> Iterator[tuple[Step, Patterns]]:
        """The files with the numbers of a point."""
        yield self.run(point.run), (RUN_FILE,)
        if point.split == "valid":
            yield self.decoding(point), (CONFIDENCE_FILE, GRID_FILE)
            return
        yield self.scoring(point), (SCORES_FILE,)
        if point.split == "aligned":
            yield self._text(point.run.pair), (ORACLE_FILE,)

    def curves(self) -> Step:
        """Quality against latency on the test sets."""
        return self._once(self._paper / CURVES.marker, self._curves)

    def _curves(self) -> Step:
        points = [one for one in self._points if one.split == "test"]
        reads = [read for point in points for read in self._numbers(point)]
        return _of_paper("curves", self._paper, self._excerpt(), CURVES, reads)

    def claims(self) -> Step:
        """What the sentences of all points say about each claim."""
        return self._once(
            self._paper / CLAIMS.marker,
            lambda: _of_paper("claims", self._paper, self._excerpt(), CLAIMS, self._sentences()),
        )

    def _sentences(self) -> list[tuple[Step, Patterns]]:
        """What claims are measured on: the statistics of sentences, and how much was trained on."""
        texts: list[tuple[Step, Patterns]] = [
            (self._text(pair), (STATS_FILE,)) for pair in self._study.pairs.scale
        ]
        return texts + [
            (self.decoding(point), (SUMS_FILE,))
            if point.split == "valid"
            else (self.scoring(point), (SENTENCES_FILE,))
            for point in self._points
        ]

    def report(self, file: str = "report.html") -> Step:
        """The page of the study."""
        product = written(file)
        return self._once(self._paper / product.marker, lambda: self._report(product))

    def _report(self, product: Product) -> Step:
        viewer = self._params.paper.policy_viewer
        shown = (f"*.{CAPTION_FORMAT}", "*.svg")
        reads: list[tuple[Step, Patterns]] = [
            *((run, (RUN_FILE, HISTORY_FILE, SETTINGS_FILE)) for run in self.runs()),
            *((step, shown) for kind in FORMATS for step in self.drawings(kind)),
            (self.claims(), (CLAIMS_FILE,)),
            (self.curves(), (CURVES_FILE,)),
            *((self.corpus(pair, "bpe"), (STATS_FILE,)) for pair in self._study.runs),
        ]
        main_figure = self._params.paper.figures[MAIN_FIGURE]  # the first thing that the page says
        for point in decoded_points(self._params, self._study, main_figure):
            reads += self._numbers(point)
        for point in decoded_points(self._params, self._study, viewer):
            reads += [(self._text(point.run.pair), ("aligned.*",)), *self._numbers(point)]
            reads.append((self.decoding(point), (INSTANCES_FILE,)))
        for point in viewed_points(self._params, self._study):
            reads.append((self.states(point), (STATES_FILE,)))
        return _of_paper("report", self._paper, self._excerpt(), product, reads)

    def _once(self, key: Path, make: Callable[[], Step]) -> Step:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def _step(
    stage: Stage,
    name: str,
    folder: Path,
    settings: Settings,
    product: Product,
    parts: Mapping[str, Step],
) -> Step:
    """A step that reads of each part what its product says."""
    reads = tuple(
        Read(part, parts[part], patterns)
        for part, patterns in product.reads.items()
        if part in parts
    )
    return Step(stage, name, folder, settings, product, reads)


def _of_paper(
    name: str,
    folder: Path,
    settings: Settings,
    product: Product,
    reads: list[tuple[Step, Patterns]],
) -> Step:
    """A step that reads of many others; each goes by its folder, and is named once."""
    named = {(step.name, patterns): (step, patterns) for step, patterns in reads}
    parts = tuple(Read(step.part, step, patterns) for step, patterns in named.values())
    return Step("paper", name, folder, settings, product, parts)
