"""The weights that a training starts from: those of a run, or of a folder that was exported."""

from pathlib import Path

from simt.corpus.bpe import open_vocabularies
from simt.errors import SimtError
from simt.markers import file_digest
from simt.products import MODEL_FILE
from simt.settings import RunSettings
from simt.system_folder import (
    MANIFEST_FILE,
    SUBWORD_FILE,
    Manifest,
    SystemSettings,
    checked_manifest,
    read_system,
)
from simt.training.model_file import Weights, read_exported, read_weights


def start_weights(settings: RunSettings, start: Path, corpus: Path) -> Weights:
    """The weights of a run's folder or of an exported one, which must be of these subwords."""
    if not (start / MANIFEST_FILE).exists():
        return read_weights(start / MODEL_FILE, open_vocabularies(corpus))
    manifest, system = checked_manifest(start), read_system(start)
    _check_settings(settings, start, manifest, system)
    _check_subwords(start, manifest, system, corpus)
    return read_exported(start, manifest)


def _check_settings(
    settings: RunSettings, start: Path, manifest: Manifest, system: SystemSettings
) -> None:
    """The settings of the run name these weights, and its model is as theirs."""
    if settings.start_from != manifest.start_from:
        raise SimtError(
            f"the settings of this run have start_from {settings.start_from!r}, but the weights "
            f"in {start} are {manifest.start_from!r}: give the folder that is meant, or plan again"
        )
    theirs, ours = (one.method_settings.get("encoder") for one in (system.run, settings))
    if theirs != ours:
        raise SimtError(f"{start} has a {theirs} encoder, this run a {ours} one: make them equal")
    if system.run.model != settings.model:
        raise SimtError(
            f"{start} is of size {system.run.model.as_json()}, this run of "
            f"{settings.model.as_json()}: make them equal"
        )


def _check_subwords(start: Path, manifest: Manifest, system: SystemSettings, corpus: Path) -> None:
    """Merges and pieces of the corpus are those of the folder, or ids would mean other words."""
    subwords = [name for name in manifest.files if SUBWORD_FILE.fullmatch(name)]
    others = [name for name in subwords if not (corpus / name).exists()] or [
        name for name in subwords if file_digest(corpus / name) != manifest.files[name].sha256
    ]
    if others:
        raise SimtError(
            f"{start} ({system.name}) has other subwords than the corpus of this run: "
            f"{', '.join(others)} in {corpus}. Ids would mean other pieces; train on text and "
            "with bpe settings that give the same subwords, or without start_from"
        )
