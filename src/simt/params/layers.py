"""How the sections of params.yaml are laid over each other to give the settings of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from simt.pairs import BpeSettings, Splits, toy_splits
from simt.params.schema import Knob, Method, Pair, Paper, Raw, Study
from simt.settings import DecodingSettings, ModelSettings, ScoringSettings, TrainingSettings


@dataclass(frozen=True)
class Layers:
    """What the settings of a run are merged from."""

    pairs: Mapping[str, Pair]
    text: Raw
    training: Raw
    methods: Mapping[str, Method]

    def text_settings(self, pair: str) -> Raw:
        """The text settings of a pair, merged."""
        return self.text | self.pairs[pair].text

    def pair_training(self, pair: str) -> Raw:
        """The training settings of a pair, whatever the method."""
        return self.training | self.pairs[pair].training

    def common_training(self, pair: str, method: str) -> Raw:
        """The training settings that the variants of a method take fractions of."""
        return self.pair_training(pair) | self.methods[method].training

    def training_settings(self, pair: str, method: str, variant: str) -> TrainingSettings:
        """The training settings of a run, merged."""
        merged = self.common_training(pair, method)
        recipe = self.methods[method].variants[variant]
        scaled = {
            "updates": max(1, round(merged["updates"] * recipe.updates_fraction)),
            "peak_lr": merged["peak_lr"] * recipe.peak_lr_fraction,
        }
        return TrainingSettings.of(merged | scaled | recipe.training)

    def method_settings(self, pair: str, method: str, variant: str) -> Raw:
        """The method's own settings of a run, merged."""
        entry = self.methods[method]
        of_pair = self.pairs[pair].methods.get(method, {})
        return entry.settings | of_pair | entry.variants[variant].settings

    def model_preset(self, pair: str, method: str, variant: str) -> str:
        """The name of the model size that a run gets."""
        return self.pairs[pair].sizes[self.methods[method].variants[variant].size]

    def knobs(self, pair: str, method: str, variant: str) -> tuple[Knob, ...]:
        """The knob values that a run is decoded at: the variant's, the pair's or the method's."""
        of_variant = self.methods[method].variants[variant].knobs
        if of_variant is not None:
            return of_variant
        return self.pairs[pair].knobs.get(method, self.methods[method].knobs)


@dataclass(frozen=True)
class Params(Layers):
    """The whole of params.yaml with the fidelity preset laid over it."""

    study: str
    fidelity: str
    studies: Mapping[str, Study]
    bpe: Mapping[str, BpeSettings]
    model: Mapping[str, ModelSettings]
    decoding: DecodingSettings
    scoring: ScoringSettings
    paper: Paper
    is_rehearsal: bool = False  # nobody wants its numbers: weights go when they are not needed
    presets: Mapping[str, "Params"] = field(default_factory=dict)  # the same under each fidelity

    @property
    def chosen_study(self) -> Study:
        """The study that ``study`` names."""
        return self.studies[self.study]

    def comet_models(self, pair: str) -> tuple[str, ...]:
        """The COMET models of a pair."""
        of_pair = self.pairs[pair].comet
        return self.scoring.comet if of_pair is None else of_pair

    def splits(self, pair: str) -> Splits:
        """Which raw files make the splits of a pair."""
        entry = self.pairs[pair]
        return entry.splits or toy_splits(entry.source, entry.target)
