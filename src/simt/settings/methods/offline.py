"""Settings of ordinary translation."""

from typing import ClassVar

from simt.settings.base import Encoder
from simt.settings.methods.base import KnobRange, MethodSettings


class OfflineSettings(MethodSettings, method="offline"):
    """Ordinary translation of the whole source (docs/methods.md, "Offline")."""

    implemented_by: ClassVar[str] = "simt.methods.offline.Offline"
    knob_range: ClassVar[KnobRange | None] = None  # only ``full``

    encoder: Encoder
