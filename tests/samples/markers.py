"""Markers of steps that were not really done."""

import json
from pathlib import Path
from typing import Any

from simt.atomic import write_json
from simt.settings import Settings


def mark(folder: Path, settings: Settings) -> None:
    """Say that a step is done, without vouching for any file."""
    values = json.loads(settings.as_json())
    write_json(folder / "settings.json", {"settings": values, "files": {}, "made_from": {}})


def change_settings(marker: Path, **changes: Any) -> None:
    """Let a marker say that its step was done with other settings."""
    said = json.loads(marker.read_text(encoding="utf-8"))
    said["settings"] |= changes
    marker.write_text(json.dumps(said), encoding="utf-8")
