"""Methods: ways to train and to decide. Each has one file and knows no other method.

A new method is a file here and one of the same name in ``simt/settings/methods``, which names its
class.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import torch

from simt.methods.losses import Loss
from simt.methods.model import Model, NetworkNeeds
from simt.methods.offline import load_offline
from simt.methods.policy import Decision, Policy, PolicyState
from simt.model.batch import Batch
from simt.model.network import Network, VocabularySizes
from simt.model.transformer import Transformer
from simt.params import Knob
from simt.settings import METHOD_SETTINGS, MethodSettings, ModelSettings, RunSettings

__all__ = [
    "METHODS",
    "Decision",
    "Loss",
    "Method",
    "Model",
    "Policy",
    "PolicyState",
    "build_model",
    "load_offline",
    "method_of",
]


class Method(Protocol):
    """A method with its settings. A ``model`` that it is given is always one of its own."""

    def needs(self, size: ModelSettings) -> NetworkNeeds:
        """What its network must have."""
        ...

    def model(self, network: Network) -> Model:
        """The network with the method's own parts; what must not learn is frozen."""
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


Implementation = Callable[[Any, float], Method]  # takes the method's settings, label smoothing


def _implementation(settings: type[MethodSettings]) -> Implementation:
    file, _, name = settings.implemented_by.rpartition(".")
    found: Implementation = getattr(import_module(file), name)
    return found


METHODS = {name: _implementation(settings) for name, settings in METHOD_SETTINGS.items()}


def method_of(settings: RunSettings) -> Method:
    """The method of a run, with its own settings."""
    own = METHOD_SETTINGS[settings.method].of(settings.method_settings)
    return METHODS[settings.method](own, settings.training.label_smoothing)


def build_model(
    method: Method,
    size: ModelSettings,
    vocabularies: VocabularySizes,
    dropout: float,
    generator: torch.Generator,
) -> Model:
    """A model for a method, on a network of ours, with weights drawn from ``generator``."""
    needs = method.needs(size)
    network = Transformer(
        size, vocabularies, dropout, needs.encoder, needs.adapter, needs.decoder_layer
    )
    model = method.model(network)
    model.initialise(generator)
    return model
