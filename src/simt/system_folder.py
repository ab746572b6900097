"""A trained system as a folder of its own: what is in it, and whether all of that is whole.

===================== ==============================================================================
manifest.json         size and SHA-256 of each file that is not for people; shapes of the weights
system.json           settings of the run, languages, tokenisers, decoding, knob values
model.safetensors     the weights, which are numbers only
codes…, vocabulary…   subword-nmt's merges and the pieces, of both sides or of each
README.md, curve.svg  the model card, for people
===================== ==============================================================================
"""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from simt.errors import SimtError
from simt.markers import FileMark
from simt.pairs import TextSettings
from simt.problems import Problems, read_file
from simt.settings import CountOrZero, DecodingSettings, RunSettings, Settings

MANIFEST_FILE = "manifest.json"
SYSTEM_FILE = "system.json"
WEIGHTS_FILE = "model.safetensors"
CARD_FILE = "README.md"
CURVE_FILE = "curve.svg"
SUBWORD_FILE = re.compile(r"(codes|vocabulary)(\.source|\.target)?")
_DIGEST = "sha256:"
_REMEDY = "export the system again"


class Manifest(Settings):
    """What a folder must hold."""

    format: Literal["simt-system"]
    version: Literal[1]
    files: dict[str, FileMark]
    shapes: dict[str, tuple[CountOrZero, ...]]

    @property
    def start_from(self) -> str:
        """How the settings of a run that starts from these weights name them."""
        return f"{_DIGEST}{self.files[WEIGHTS_FILE].sha256}"


class SystemSettings(Settings):
    """What a folder says about its system."""

    name: Annotated[str, Field(pattern=r"^[^/]+/[^/]+/[^/]+/seed[0-9]+$")]
    source: str
    target: str
    run: RunSettings
    text: TextSettings
    decoding: DecodingSettings
    knobs: tuple[float | Literal["full"], ...]
    # Where it was exported with one: what it translates at if nobody says otherwise.
    knob: float | Literal["full"] | None = Field(default=None, exclude_if=lambda knob: knob is None)


def names_folder(start_from: str) -> bool:
    """Whether this is a path, which begins with a dot or a slash, and not a method/variant."""
    return start_from.startswith((".", "/"))


def starts_from_folder(settings: RunSettings) -> bool:
    """Whether a run starts from the weights of an exported folder, not from those of a run."""
    return (settings.start_from or "").startswith(_DIGEST)


def read_system(folder: Path) -> SystemSettings:
    """What a folder says about its system; ``checked_manifest`` says whether that can be true."""
    return read_file(SystemSettings, folder / SYSTEM_FILE, _REMEDY)


def read_manifest(folder: Path) -> Manifest:
    """What a folder should hold, by its own account; nothing is compared."""
    path = folder / MANIFEST_FILE
    if not path.exists():
        raise SimtError(f"{folder} is not a folder that `simt export` wrote: no {MANIFEST_FILE}")
    manifest = read_file(Manifest, path, _REMEDY)
    problems = Problems()
    for name in (SYSTEM_FILE, WEIGHTS_FILE):
        if name not in manifest.files:
            problems.add(name, "is not in the manifest")
    problems.raise_if_any(f"{path} lacks files ({_REMEDY}): it")
    return manifest


def folder_files(folder: Path) -> tuple[str, ...]:
    """The files of a folder that a training reads."""
    return tuple(f"{folder}/{name}" for name in (MANIFEST_FILE, *read_manifest(folder).files))


def checked_manifest(folder: Path) -> Manifest:
    """What a folder holds, all of whose files are as they were exported."""
    manifest = read_manifest(folder)
    problems = Problems()
    for name, mark in manifest.files.items():
        if complaint := _complaint(folder, name, mark):
            problems.add(name, complaint)
    problems.raise_if_any(f"{folder} is not as it was exported (copy or export it again): it")
    return manifest


def _complaint(folder: Path, name: str, mark: FileMark) -> str | None:
    """What is wrong with a file, or None."""
    if name not in (SYSTEM_FILE, WEIGHTS_FILE) and not SUBWORD_FILE.fullmatch(name):
        return "does not belong to an exported system"
    path = folder / name
    if not path.is_file():
        return "is missing"
    if (size := path.stat().st_size) != mark.bytes:
        return f"has {size:,} bytes, not {mark.bytes:,}"
    if FileMark.of_file(path) != mark:
        return "does not match its SHA-256"
    return None
