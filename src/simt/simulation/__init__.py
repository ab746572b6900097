"""The READ/WRITE loop, batched: model + policy + source -> tokens with their delays."""

from simt.simulation.confidences import ConfidentModel, StateConfidences, state_confidences
from simt.simulation.loop import simulate
from simt.simulation.translations import Translation

__all__ = [
    "ConfidentModel",
    "StateConfidences",
    "Translation",
    "simulate",
    "state_confidences",
]
