"""A trained system as a folder of its own: all that translating needs, and nothing that can run."""

import shutil
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import save

from simt.atomic import atomic_file, write_json
from simt.corpus.bpe import open_vocabularies
from simt.decoding import prepared_with, settings_of_run
from simt.errors import SimtError
from simt.markers import FileMark
from simt.methods import METHODS, Method, Model
from simt.model_card import write_card
from simt.params import Knob, Params
from simt.products import MODEL_FILE
from simt.runs import Run, corpus_folder
from simt.session import Translator
from simt.system_folder import (
    MANIFEST_FILE,
    SUBWORD_FILE,
    SYSTEM_FILE,
    WEIGHTS_FILE,
    Manifest,
    SystemSettings,
    checked_manifest,
    read_system,
)
from simt.training.model_file import read_exported, read_weights
from simt.training.run import model_with
from simt.translators import Chosen, System, choose, chosen_at, make_translator, study_systems

_EMBEDDING = "target_embedding_VD"


# --- writing --------------------------------------------------------------------------------------


def export_named(params: Params, name: str, to: Path) -> Run:
    """Write the finished run that a person names as a folder; ``name@0.5`` gives it a knob."""
    chosen = choose(name, None, study_systems(params), params)
    run = Run.parse(chosen.system.name)
    settings = _system_settings(params, run, chosen.knob if "@" in name else None)
    _export_run(params, run, settings, chosen.knob, to)
    return run


def _export_run(params: Params, run: Run, settings: SystemSettings, knob: Knob, to: Path) -> None:
    """Write a finished run as a folder; the manifest is its last file."""
    if to.exists() and any(to.iterdir()):
        raise SimtError(f"{to} is not empty: give a new folder, or delete this one first")
    to.mkdir(parents=True, exist_ok=True)
    bpe = corpus_folder(run.pair, "bpe")
    weights = read_weights(run.folder / MODEL_FILE, open_vocabularies(bpe))
    with atomic_file(to / WEIGHTS_FILE, "wb") as stream:
        stream.write(save({name: weight.contiguous() for name, weight in weights.items()}))
    for path in sorted(bpe.iterdir()):
        if SUBWORD_FILE.fullmatch(path.name):
            shutil.copyfile(path, to / path.name)
    write_json(to / SYSTEM_FILE, settings.as_values())
    files = sorted(to.iterdir())
    write_card(params, run, knob, to)
    manifest = Manifest(
        format="simt-system",
        version=1,
        files={path.name: FileMark.of_file(path) for path in files},
        shapes={name: tuple(weight.shape) for name, weight in weights.items()},
    )
    write_json(to / MANIFEST_FILE, manifest.model_dump(mode="json"))


def _system_settings(params: Params, run: Run, knob: Knob | None) -> SystemSettings:
    entry = params.pairs[run.pair]
    return SystemSettings(
        name=str(run),
        source=entry.source,
        target=entry.target,
        run=settings_of_run(run.folder),
        text=prepared_with(corpus_folder(run.pair)).text,
        decoding=params.decoding,
        knobs=params.knobs(run.pair, run.method, run.variant),
        knob=knob,
    )


# --- reading --------------------------------------------------------------------------------------


def choose_system(text: str, knob: str | None, read_params: Callable[[], Params]) -> Chosen:
    """The system of an exported folder or of a run; without a study, folders can be chosen."""
    if chosen := choose_folder(text, knob):
        return chosen
    try:
        params = read_params()
        systems = study_systems(params)
    except SimtError as error:
        name = text.partition("@")[0]
        raise SimtError(
            f"no exported folder {name!r}, and no study with a run of that name: {error}"
        ) from None
    return choose(text, knob, systems, params)


def choose_folder(text: str, knob: str | None) -> Chosen | None:
    """The system of an exported folder, as ``folder`` or ``folder@0.5``; None if there is none."""
    for name, own_knob in ((text, ""), text.rpartition("@")[::2]):
        if name and Path(name).is_dir():
            return chosen_at(name, open_folder(Path(name)), own_knob or knob)
    return None


def open_folder(folder: Path) -> System:
    """The system of a folder all of whose files are what the manifest says."""
    manifest = checked_manifest(folder)
    settings = read_system(folder)
    if settings.run.method not in METHODS:
        raise SimtError(
            f"{folder / SYSTEM_FILE}: this simt has no method {settings.run.method!r}; "
            "take the version that exported it"
        )
    languages = (settings.source, settings.target)

    def opened() -> Translator:
        parts = _model(folder, manifest, settings)
        return make_translator(parts, languages, settings.text, folder, settings.decoding)

    variant = Run.parse(settings.name).variant
    return System(
        str(folder), settings.run.method, variant, languages, settings.knobs, opened,
        own_knob=settings.knob,
    )  # fmt: skip


def _model(folder: Path, manifest: Manifest, settings: SystemSettings) -> tuple[Method, Model]:
    path, weights = folder / WEIGHTS_FILE, read_exported(folder, manifest)
    if _EMBEDDING not in weights:
        raise SimtError(f"{path} has no weights {_EMBEDDING}")
    rows = len(open_vocabularies(folder)[1])
    expected = (rows, settings.run.model.width)
    if tuple(weights[_EMBEDDING].shape) != expected:
        raise SimtError(
            f"{path}: {_EMBEDDING} is {tuple(weights[_EMBEDDING].shape)}, but vocabulary and "
            f"settings ask for {expected}"
        )
    return model_with(weights, settings.run, folder)
