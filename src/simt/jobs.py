"""The steps of a study as their commands run them: settings read, the work done, a line to tell it.

Each writes its files inside a block that removes the marker of its folder first and writes a new
one last. What a function returns tells people what the step has given. `simt train` has a file of
its own: training/job.py.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from simt.atomic import write_json
from simt.errors import SimtError
from simt.gpus import take_devices, take_gpus, use_threads
from simt.markers import settings_made_with
from simt.outcomes import (
    confidences_written,
    corpus_encoded,
    corpus_fetched,
    corpus_prepared,
    curves_written,
    file_written,
    point_decoded,
    point_scored,
    states_written,
)
from simt.pairs import BpeSettings, FetchSettings, PrepareSettings
from simt.params import Params, StudyExcerpt
from simt.problems import no_such, parse_argument
from simt.products import (
    CURVES_FILE,
    MANIFEST_FILE,
    SCORES_FILE,
    SETTINGS_FILE,
    STATES,
    STATES_FILE,
    decoded,
    encoded,
    estimated,
    fetched,
    prepared,
    scored,
)
from simt.runs import Kind
from simt.settings import EstimatorSettings, PointSettings, ScoringSettings, SentenceChoice
from simt.steps import Steps
from simt.user_files import corpora_folder

if TYPE_CHECKING:
    from simt.params import Face

# --- corpora --------------------------------------------------------------------------------------


def fetch_corpus(settings_json: str, to: Path) -> str:
    """Download the raw files of a pair, or have the grammar write them."""
    from simt.corpus.fetch import fetch
    from simt.corpus.toy import write_toy_corpus

    settings = parse_argument(FetchSettings, settings_json)
    with fetched(settings).made_in(to, settings, {}):
        if settings.toy is not None:
            manifest = write_toy_corpus(to, settings.toy.seed, settings.toy.sizes)
        else:
            manifest = fetch(settings, to, corpora_folder())
        write_json(to / MANIFEST_FILE, manifest)
    return corpus_fetched(to)


def prepare_corpus(settings_json: str, raw: Path, to: Path, processes: int) -> str:
    """Clean and tokenise the raw files of a pair."""
    from simt.corpus.prepare import prepare

    settings = parse_argument(PrepareSettings, settings_json)
    with prepared(settings).made_in(to, settings, {"raw": raw}):
        prepare(settings, raw, to, processes)
    return corpus_prepared(to)


def encode_corpus(settings_json: str, text: Path, to: Path, processes: int) -> str:
    """Learn subwords, and write the ids of every split."""
    from simt.corpus.bpe import build_bpe

    settings = parse_argument(BpeSettings, settings_json)
    with encoded(settings, _text_settings(text)).made_in(to, settings, {"text": text}):
        build_bpe(settings, text, to, processes)
    return corpus_encoded(to)


def _text_settings(text: Path) -> PrepareSettings:
    return PrepareSettings.of(settings_made_with(text / SETTINGS_FILE))


def train_estimator(settings_json: str, corpus: Path, to: Path, threads: int) -> str:
    """Train a pair's own quality estimator."""
    from simt.scoring.estimator import make_estimator

    use_threads(threads)
    settings = parse_argument(EstimatorSettings, settings_json)
    parts = {"raw": corpus / "raw", "text": corpus / "text"}
    text = _text_settings(parts["text"])
    with estimated(text).made_in(to, settings, parts):
        loss = make_estimator(settings, text, parts["raw"], to)
    return f"loss {loss:.4f} in the last epoch"


# --- points ---------------------------------------------------------------------------------------


def decode_run(settings_json: str, run: Path, corpus: Path, to: Path, threads: int) -> str:
    """Translate a split at all knob values."""
    from simt.decoding import decode_point

    take_devices(threads)
    settings = parse_argument(PointSettings, settings_json)
    with decoded(settings.split).made_in(to, settings, _parts(run, corpus)):
        decode_point(settings, run, corpus, to)
    return point_decoded(to, len(settings.knobs))


def write_confidences(settings_json: str, run: Path, corpus: Path, to: Path, threads: int) -> str:
    """Compare the confidence of every state with whether its word is right."""
    from simt import decoding

    take_devices(threads)
    settings = parse_argument(PointSettings, settings_json)
    with decoded(settings.split).made_in(to, settings, _parts(run, corpus)):
        decoding.write_confidences(settings, run, corpus, to)
    return confidences_written(to)


def write_states(settings_json: str, run: Path, corpus: Path, to: Path, threads: int) -> str:
    """Write the confidence of every state of a few aligned sentences."""
    from simt import decoding

    take_devices(threads)
    choice = parse_argument(SentenceChoice, settings_json)
    with STATES.made_in(to, choice, _parts(run, corpus)):
        decoding.write_states(choice, run, corpus, to)
    return states_written(to / STATES_FILE)


def _parts(run: Path, corpus: Path) -> dict[str, Path]:
    """The folders that a point is made from."""
    return {"run": run, "bpe": corpus / "bpe", "text": corpus / "text"}


def score_instances(
    settings_json: str,
    split: str,
    corpus: Path,
    point: Path,
    models: Path | None,
    threads: int,
    cached_models: Path | None,
) -> str:
    """Score what was decoded; ``models`` is the folder of a pair's own estimator."""
    from simt.scoring.points import score_point

    take_gpus(1)
    settings = parse_argument(ScoringSettings, settings_json)
    parts = {"point": point, "text": corpus / "text"} | ({"estimator": models} if models else {})
    with scored(split).made_in(point, settings, parts):
        score_point(settings, split, corpus, point, cached_models, threads)
    return point_scored(point / SCORES_FILE)


# --- paper ----------------------------------------------------------------------------------------


def _study(settings_json: str) -> Params:
    """The parameters that a step of the paper is told; params.yaml may have changed since."""
    return parse_argument(StudyExcerpt, settings_json).params()


def draw_one(settings_json: str, name: str, to: Path, with_paper: bool, face: "Face") -> str:
    """Draw one figure or table of the paper."""
    from simt.paper import FIGURES, TABLES, data_of, draw_figure, draw_table

    if name not in (*FIGURES, *TABLES):
        raise SimtError(no_such("figure or table", name, (*FIGURES, *TABLES)))
    params = _study(settings_json)
    if name not in (*params.paper.figures, *params.paper.tables):
        raise SimtError(f"--settings has no entry for {name} under paper")
    kind: Kind = "figures" if name in FIGURES else "tables"
    with Steps(params).drawing(kind, name).made_in(to):
        data = data_of(name, params, with_paper)
        is_figure = kind == "figures"
        first, *_ = draw_figure(name, data, to, face) if is_figure else draw_table(name, data, to)
    return str(first)


def write_curves(settings_json: str, to: Path) -> str:
    """Write quality against latency as numbers."""
    from simt.paper import curves

    params = _study(settings_json)
    with Steps(params).curves().made_in(to):
        curves.write_curves(params, to)
    return curves_written(to / CURVES_FILE)


def write_claims(settings_json: str, to: Path) -> str:
    """Write which claims of the paper hold."""
    from simt.paper.claims import judge_claims
    from simt.paper.claims_report import headline, write_claims

    params = _study(settings_json)
    with Steps(params).claims().made_in(to):
        report = judge_claims(params)
        write_claims(report, to)
    return headline(report)


def write_page(settings_json: str, to: Path) -> str:
    """Write the page of a study."""
    from simt.paper.report import write_report

    params = _study(settings_json)
    with Steps(params).report(to.name).made_in(to.parent):
        write_report(params, to)
    return file_written(to)
