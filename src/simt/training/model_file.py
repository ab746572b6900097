"""A finished model as a file: its weights, and what they are the weights of.

Two methods can have weights of the same names and shapes, and so can two vocabularies. The file
therefore says which run it is of and how its pieces were numbered; files from before that do not.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from simt.corpus.ids import Vocabulary
from simt.errors import SimtError, short
from simt.settings import RunSettings
from simt.system_folder import MANIFEST_FILE, WEIGHTS_FILE, Manifest
from simt.training.checkpoint import load_tensors, save_tensors

_ORIGIN = "made_from"  # beside the names of weights

Weights = dict[str, Tensor]
VocabularyPair = tuple[Vocabulary, Vocabulary]


def save_model(
    path: Path, weights: Weights, settings: RunSettings, vocabularies: VocabularyPair
) -> None:
    """Write the weights of a run, with its settings and what its vocabularies are."""
    origin = {"settings": settings.as_values(), "vocabulary": _digest(vocabularies)}
    save_tensors(path, {**weights, _ORIGIN: origin})


def read_weights(path: Path, vocabularies: VocabularyPair) -> Weights:
    """The weights of any run, which must be finite and of this vocabulary."""
    return _read(path, vocabularies)[0]


def read_exported(folder: Path, manifest: Manifest) -> Weights:
    """The weights of an exported folder, which must be finite and of the shapes it promises."""
    path = folder / WEIGHTS_FILE
    try:
        weights = load_file(path)
    except SafetensorError as error:
        raise SimtError(f"{path} has no weights: {error}") from None
    shapes = {name: tuple(weight.shape) for name, weight in weights.items()}
    for name in dict.fromkeys((*manifest.shapes, *shapes)):
        if shapes.get(name) != manifest.shapes.get(name):
            raise SimtError(
                f"{path}: {name} is {shapes.get(name, 'missing')}, but {MANIFEST_FILE} says "
                f"{manifest.shapes.get(name, 'nothing of it')}"
            )
    _check_finite(path, weights, "Export it again.")
    return weights


def load_model(
    path: Path, model: torch.nn.Module, settings: RunSettings, vocabularies: VocabularyPair
) -> None:
    """Give a model its weights, which must be those of this very run."""
    weights, of_run = _read(path, vocabularies)
    if of_run is not None and of_run != settings.as_values():
        raise SimtError(
            f"{path} is of {_name(of_run)}, not of {_name(settings.as_values())}, "
            "whose settings are beside it: put the right model there, or train it again"
        )
    if complaint := misfit(weights, model.state_dict()):
        raise SimtError(f"{path} does not fit the settings beside it: {complaint}. Train it again.")
    model.load_state_dict(weights)


def _read(path: Path, vocabularies: VocabularyPair) -> tuple[Weights, Any]:
    """The weights, and the settings of their run where the file says so."""
    values = load_tensors(path)
    origin = values.pop(_ORIGIN, None)
    odd = [name for name, value in values.items() if not _is_plain(value)]
    if odd or not isinstance(origin, dict | None):
        raise SimtError(f"{path} is not a model: {_some(odd or [_ORIGIN])}. Train it again.")
    _check_finite(path, values, "Train it again.")
    if origin and origin.get("vocabulary") != _digest(vocabularies):
        raise SimtError(
            f"{path} was trained with another vocabulary than that of the corpus: train it again, "
            "or give the corpus that it was trained on"
        )
    return values, origin and origin.get("settings")


def _check_finite(path: Path, weights: Weights, remedy: str) -> None:
    if broken := [name for name, value in weights.items() if not bool(value.isfinite().all())]:
        raise SimtError(f"{path} has weights that are NaN or infinite: {_some(broken)}. {remedy}")


def _is_plain(value: Any) -> bool:
    """Whether this is a matrix of numbers in memory, as ``save_model`` writes them."""
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.layout is torch.strided
        and value.device.type == "cpu"
        and value.numel() * value.element_size() <= value.untyped_storage().nbytes()
    )


def misfit(weights: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> str:
    """What is missing, unknown or of another shape; nothing if all fits."""
    missing = [name for name in own if name not in weights]
    unknown = [name for name in weights if name not in own]
    shapes = [
        f"{name} is {tuple(weights[name].shape)} instead of {tuple(own[name].shape)}"
        for name in own
        if name in weights and weights[name].shape != own[name].shape
    ]
    found = (("missing: ", missing), ("unknown: ", unknown), ("", shapes))
    return "; ".join(f"{title}{_some(names)}" for title, names in found if names)


def _some(names: Sequence[str]) -> str:
    """The first few, and how many there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(short(str(name)) for name in names[:3]) + more


def _name(settings: Any) -> str:
    if not isinstance(settings, dict):
        return "no run that we know"
    parts = [str(settings.get(key)) for key in ("pair", "method", "variant")]
    return short(f"{'/'.join(parts)}/seed{settings.get('seed')}")


def _digest(vocabularies: VocabularyPair) -> str:
    """Of the pieces of both sides in the order of their ids."""
    sides = "\n\n".join("\n".join(vocabulary.pieces) for vocabulary in vocabularies)
    return hashlib.sha256(sides.encode()).hexdigest()
