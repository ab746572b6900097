"""Settings of HMT."""

from typing import ClassVar, Literal

from simt.settings.base import Count, NonNegative
from simt.settings.methods.base import KnobRange, MethodSettings, Work
from simt.settings.steps import ModelSettings


class HmtSettings(MethodSettings, method="hmt"):
    """Hidden Markov Transformer (docs/methods.md, "HMT"): ``low`` is L, ``states`` is K."""

    implemented_by: ClassVar[str] = "simt.methods.hmt.Hmt"
    knob_range: ClassVar[KnobRange | None] = KnobRange("threshold", 0, 1, False)
    takes_full: ClassVar[bool] = False  # a token has K states, none of which waits for the end

    low: int
    states: Count
    pads: Literal["masked", "official"]
    state_weight: NonNegative
    latency_weight: NonNegative

    def work(self, size: ModelSettings) -> Work:
        """K states for each token; the masks of a state are over states and over the source."""
        selection = 2 * size.width
        return Work(
            target_passes=self.states,
            source_weights=selection,
            target_weights=selection,
            pair_numbers=self.states + 1,
        )

    def policy_in_words(self) -> str:
        last = self.low + self.states - 1
        return (
            f"L = {self.low}, K = {self.states}: each token has at most {self.states} states to "
            f"be written in, the first token after {self.low} to {last} source tokens, each later "
            "one after one more; takes the first that it selects"
        )
