"""Markers of steps that were not really done."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simt.atomic import write_json
from simt.settings import Settings


def mark(
    folder: Path,
    settings: Settings,
    files: Mapping[str, str] = {},
    made_from: Mapping[str, str] = {},
    name: str = "settings.json",
) -> None:
    """Say that a step is done; ``files`` and what they are made from are digests by name."""
    marks = {file: {"bytes": 1, "sha256": digest} for file, digest in files.items()}
    said = {"settings": settings.as_values(), "files": marks, "made_from": {**made_from}}
    write_json(folder / name, said)


def change_settings(marker: Path, **changes: Any) -> None:
    """Let a marker say that its step was done with other settings."""
    said = json.loads(marker.read_text(encoding="utf-8"))
    said["settings"] |= changes
    marker.write_text(json.dumps(said), encoding="utf-8")
