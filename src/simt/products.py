"""What each step leaves in its folder, and which files of earlier steps it reads.

The one list of these names: rules declare them, markers vouch for them, `simt check` looks at them.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from simt.markers import Source, vouching
from simt.pairs import BpeSettings, FetchSettings, PrepareSettings, raw_files
from simt.settings import RunSettings, Settings
from simt.system_folder import starts_from_folder

SETTINGS_FILE = "settings.json"  # the marker of a folder (see markers.py)
SCORING_FILE = "scoring.json"  # the same for the scores beside the instances of a point
VIEWER_FILE = "policy_viewer.json"  # and for the states that the report's policy viewer shows

MANIFEST_FILE = "manifest.json"  # of what was fetched
STATS_FILE = "stats.json"  # of text, and of ids
MODEL_FILE = "model.pt"
HISTORY_FILE = "history.jsonl"
WORK_FOLDER = "work"  # of a training: what it can resume from, and its lock
RUN_FILE = "run.json"
INSTANCES_FILE = "instances.jsonl"
SCORES_FILE = "scores.json"
SENTENCES_FILE = "sentences.json"  # what every sentence gives to each score
CONFIDENCE_FILE = "confidence.json"
SUMS_FILE = "sums.json"  # of each sentence, beside the correlations themselves
GRID_FILE = "grid.json"  # all states of one sentence, beside the correlations of a split
STATES_FILE = "states.jsonl"
LINKS_FILE = "aligned.talp"
ORACLE_FILE = "oracle.json"
CURVES_FILE = "curves.csv"
BLEU_FILE = "bleu.json"
CLAIMS_FILE = "claims.json"

Patterns = tuple[str, ...]


@dataclass(frozen=True)
class Product:
    """The files of a step, and by the part that a folder plays, what it reads there.

    ``kept`` are files that Snakemake is not told of: it would delete them before each new try.
    ``temporary`` are those that it deletes when all steps that read them are done.
    """

    files: tuple[str, ...]
    reads: Mapping[str, Patterns] = field(default_factory=dict)
    marker: str = SETTINGS_FILE
    kept: tuple[str, ...] = ()
    temporary: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        """What a rule declares; the marker comes last."""
        return (*self.files, self.marker)

    @property
    def vouched(self) -> tuple[str, ...]:
        """What the marker vouches for."""
        return (*self.files, *self.kept)

    def made_in(
        self, folder: Path, settings: Settings, parts: Mapping[str, Path]
    ) -> AbstractContextManager[dict[str, str]]:
        """The step itself as a block, which reads the folders ``parts``."""
        sources = [
            Source(part, parts[part] / SETTINGS_FILE, patterns)
            for part, patterns in self.reads.items()
            if part in parts
        ]
        return vouching(folder, self.marker, settings, self.vouched, sources)


# --- corpora ------------------------------------------------------------------------------------


FETCHED_OUTPUTS = (MANIFEST_FILE, SETTINGS_FILE)  # what Snakemake is told of


def fetched(settings: FetchSettings) -> Product:
    """Raw files are kept: a fetch that failed resumes with what it has."""
    return Product((MANIFEST_FILE,), kept=settings.files)


def prepared(settings: PrepareSettings) -> Product:
    """Text, a sentence a line."""
    sides = [f"{split}.{side}" for split in _splits(settings) for side in ("source", "target")]
    files = [*sides, "valid.raw.jsonl", "test.raw.jsonl"]
    if settings.splits.aligned is not None:
        files += [LINKS_FILE, ORACLE_FILE]
    return Product((*files, STATS_FILE), {"raw": raw_files(settings.splits)})


def encoded(settings: BpeSettings, text: PrepareSettings) -> Product:
    """Merges, vocabularies, and the ids of every split of the text."""
    endings = ("",) if settings.joint else (".source", ".target")
    files = [f"{name}{ending}" for name in ("codes", "vocabulary") for ending in endings]
    for split in _splits(text):
        files.append(f"{split}.json")
        for side in ("source", "target"):
            files += [f"{split}.{side}.ids.npy", f"{split}.{side}.offsets.npy"]
    return Product((*files, STATS_FILE), {"text": ("*.source", "*.target")})


def _splits(settings: PrepareSettings) -> tuple[str, ...]:
    plain = ("train", "valid", "test")
    return plain if settings.splits.aligned is None else (*plain, "aligned")


def estimated(text: PrepareSettings) -> Product:
    """A quality estimator, from the first part of the training text as people write it."""
    part = text.splits.train[0]
    files = (
        "encoder/config.json",
        "encoder/sentencepiece.bpe.model",
        "encoder/special_tokens_map.json",
        "encoder/tokenizer.json",
        "encoder/tokenizer_config.json",
        "hparams.yaml",
        "simt.json",
        "checkpoints/model.ckpt",
    )
    reads: dict[str, Patterns] = {"raw": (part.source, *part.targets), "text": ()}
    return Product(tuple(f"toy-estimator/{name}" for name in files), reads)


# --- runs and points ------------------------------------------------------------------------------

TRAINED = Product(
    (MODEL_FILE, HISTORY_FILE, RUN_FILE),
    {"bpe": ("train.*", "valid.*", "vocabulary*"), "start": (MODEL_FILE,)},
)
_STARTED_FROM_FOLDER = replace(TRAINED, reads={"bpe": (*TRAINED.reads["bpe"], "codes*")})


def trained(settings: RunSettings) -> Product:
    """A model; one that starts from an exported folder also compares the subwords with those."""
    return _STARTED_FROM_FOLDER if starts_from_folder(settings) else TRAINED


def decoded(split: str) -> Product:
    """What a run writes on a split; on valid, what its confidence is worth in every state."""
    if split == "valid":
        return Product((CONFIDENCE_FILE, SUMS_FILE, GRID_FILE), _run_and_split("valid"))
    return Product((INSTANCES_FILE,), _run_and_split(split))


def _run_and_split(split: str) -> dict[str, Patterns]:
    """A model, and the sentences that it is given, as ids and as text."""
    return {
        "run": (MODEL_FILE, SETTINGS_FILE),
        "bpe": (f"{split}.*", "codes*", "vocabulary*"),
        "text": (f"{split}.*", SETTINGS_FILE),
    }


STATES = Product((STATES_FILE,), _run_and_split("aligned"), VIEWER_FILE)


def scored(split: str) -> Product:
    """The scores of the instances beside them, and what each sentence gives to them."""
    links: dict[str, Patterns] = {"text": (LINKS_FILE,)} if split == "aligned" else {}
    reads = {"point": (INSTANCES_FILE,), **links, "estimator": ("*",)}
    return Product((SCORES_FILE, SENTENCES_FILE), reads, SCORING_FILE)


# --- paper --------------------------------------------------------------------------------------

FIGURE_FORMATS = ("pdf", "svg", "png")
TABLE_FORMATS = ("tex", "md", "csv")
CAPTION_FORMAT = "json"  # beside each figure and table: its points and their signatures


def drawn(name: str, formats: tuple[str, ...]) -> Product:
    """A figure or table in all formats, and its caption."""
    files = tuple(f"{name}.{ending}" for ending in (*formats, CAPTION_FORMAT))
    return Product(files, marker=_marker(name))


def written(*files: str) -> Product:
    """Files of a study that stand beside its figures and tables, named after the first."""
    return Product(files, marker=_marker(Path(files[0]).stem))


def _marker(name: str) -> str:
    return f"markers/{name}.json"


CURVES = written(CURVES_FILE, BLEU_FILE)
CLAIMS = written(CLAIMS_FILE, "claims.md")
