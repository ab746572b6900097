"""Methods: ways to train and to decide. Each has one file and knows no other method.

A new method is a file here, an entry in ``METHODS``, and its settings in ``simt.settings``.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch

from simt.methods.hmt import Hmt
from simt.methods.itst import Itst
from simt.methods.losses import Loss
from simt.methods.offline import Offline, Unmatched, load_offline
from simt.methods.policy import Knob, Policy, State, Step
from simt.methods.sm2 import Sm2
from simt.methods.waitk import Multipath, Waitk
from simt.model.batch import Batch
from simt.model.transformer import Transformer, Vocabulary
from simt.settings import METHOD_SETTINGS, ModelSettings, RunSettings

__all__ = [
    "METHODS",
    "Knob",
    "Loss",
    "Method",
    "Policy",
    "State",
    "Step",
    "Unmatched",
    "load_offline",
    "method_of",
]


class Method(Protocol):
    """A method with its settings. ``model`` is always one that its own ``build`` made."""

    def build(
        self,
        size: ModelSettings,
        vocabulary: Vocabulary,
        dropout: float,
        generator: torch.Generator,
    ) -> Transformer:
        """A model with weights drawn from ``generator``; what must not learn is frozen."""
        ...

    def loss(self, model: Any, batch: Batch, update: int, generator: torch.Generator) -> Loss:
        """What update number ``update`` (from 1) minimises; draws come from a CPU ``generator``."""
        ...

    def validation_loss(self, model: Any, batch: Batch) -> Loss:
        """The same without anything random, comparable over the whole training."""
        ...

    def policy(self, model: Any, knob: Knob) -> Policy:
        """How the model decides at a value of its knob; ``full`` waits for the whole source."""
        ...


# Called with the method's settings (``simt.settings.METHOD_SETTINGS``) and the label smoothing.
METHODS: dict[str, Callable[[Any, float], Method]] = {
    "offline": Offline,
    "waitk": Waitk,
    "multipath": Multipath,
    "itst": Itst,
    "hmt": Hmt,
    "sm2": Sm2,
}


def method_of(settings: RunSettings) -> Method:
    """The method of a run, with its own settings."""
    own = METHOD_SETTINGS[settings.method].of(settings.method_settings)
    return METHODS[settings.method](own, settings.training.label_smoothing)
