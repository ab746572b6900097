"""Settings: the resolved values that one step gets as its argument.

Nothing here imports torch or a method's code: Snakemake reads it at every parse.
"""

from simt.settings.base import (
    BelowOne,
    Count,
    CountOrZero,
    Encoder,
    Fraction,
    FractionOrZero,
    NonNegative,
    Positive,
    Settings,
)
from simt.settings.methods import METHOD_SETTINGS, KnobRange, MethodSettings, Work
from simt.settings.run import RunSettings
from simt.settings.steps import (
    TOY_ESTIMATOR,
    BleuText,
    BleuTokeniser,
    DecodingSettings,
    EstimatorSettings,
    EvaluationSplit,
    LatencyMode,
    LengthUnit,
    ModelSettings,
    PointSettings,
    Precision,
    ScoringSettings,
    SentenceChoice,
    TrainingSettings,
)

__all__ = [
    "METHOD_SETTINGS",
    "TOY_ESTIMATOR",
    "BelowOne",
    "BleuText",
    "BleuTokeniser",
    "Count",
    "CountOrZero",
    "DecodingSettings",
    "Encoder",
    "EstimatorSettings",
    "EvaluationSplit",
    "Fraction",
    "FractionOrZero",
    "KnobRange",
    "LatencyMode",
    "LengthUnit",
    "MethodSettings",
    "ModelSettings",
    "NonNegative",
    "PointSettings",
    "Positive",
    "Precision",
    "RunSettings",
    "ScoringSettings",
    "SentenceChoice",
    "Settings",
    "TrainingSettings",
    "Work",
]
