"""Settings of wait-k and multi-path wait-k."""

from math import inf
from typing import ClassVar, Literal

from simt.settings.base import Count
from simt.settings.methods.base import KnobRange, MethodSettings, Work
from simt.settings.steps import ModelSettings


class WaitkSettings(MethodSettings, method="waitk"):
    """Read k tokens, then alternate; one model per k (docs/methods.md, "wait-k")."""

    implemented_by: ClassVar[str] = "simt.methods.waitk.Waitk"
    knob_range: ClassVar[KnobRange | None] = KnobRange("k", 0, inf, True)

    k: Count
    target_states: Literal["frozen", "recompute"]

    def work(self, size: ModelSettings) -> Work:
        return Work(pair_numbers=1)  # the mask

    def policy_in_words(self) -> str:
        return "reads k tokens, then writes one and reads one in turn"


class MultipathSettings(MethodSettings, method="multipath"):
    """One wait-k model for all k (docs/methods.md, "Multi-path wait-k")."""

    implemented_by: ClassVar[str] = "simt.methods.waitk.Multipath"
    knob_range: ClassVar[KnobRange | None] = KnobRange("k", 0, inf, True)

    sample_k_per: Literal["batch", "sentence"]
    target_states: Literal["frozen", "recompute"]

    def work(self, size: ModelSettings) -> Work:
        return Work(pair_numbers=1)  # the mask

    def policy_in_words(self) -> str:
        return "reads k tokens, then writes one and reads one in turn; one model for every k"
