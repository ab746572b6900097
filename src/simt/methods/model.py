"""A network with the parts that a method adds to it."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from simt.errors import SimtError
from simt.model.layers import AdapterShape, DecoderLayer
from simt.model.network import Network
from simt.settings import Encoder

NETWORK = "network."  # how the names of a network's weights begin in its model


@dataclass(frozen=True)
class NetworkNeeds:
    """What a method asks of its network."""

    encoder: Encoder
    adapter: AdapterShape | None = None
    decoder_layer: type[DecoderLayer] = DecoderLayer


class Model(nn.Module):
    """What a method trains: the network, and whatever it has learned besides.

    In files a network's weights have the names that they have in the network, so that any model
    can start from the weights of an offline one.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.register_state_dict_post_hook(_without_prefix)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_pre_hook(_with_prefix)  # type: ignore[no-untyped-call]

    def initialise(self, generator: torch.Generator) -> None:
        """Draws all weights anew."""
        self.network.initialise(generator)


def require_row_masks(network: Network, method: str) -> None:
    """Refuses a network in which all target tokens must see the same source."""
    if not network.takes_row_masks:
        raise SimtError(
            f"{method} shows each target token another part of the source, and this network "
            f"({type(network).__name__}) shows all of them the same: take SM² or an offline model"
        )


def _without_prefix(
    model: nn.Module, weights: dict[str, Tensor], prefix: str, metadata: Any
) -> None:
    for name in list(weights):
        weights[name.removeprefix(prefix + NETWORK)] = weights.pop(name)


def _with_prefix(model: Model, weights: dict[str, Tensor], prefix: str, *_: Any) -> None:
    parts = {name.split(".")[0] for name, _ in model.named_children()}
    for name in list(weights):
        if name.split(".")[0] not in parts:
            weights[prefix + NETWORK + name] = weights.pop(name)
