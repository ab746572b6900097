"""Numbers of the methods' official code (tests/golden/README.md) and how its weights are named."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from simt.corpus.ids import SPECIAL_IDS
from simt.methods import Model, build_model
from simt.methods.model import NETWORK
from simt.model.batch import Batch
from simt.model.network import VocabularySizes
from simt.settings import ModelSettings
from tests.samples.reference_loop import Trace

GRADIENT_TOLERANCE = 2e-5  # a norm collects the rounding of all it is made from
FOLDER = Path(__file__).parents[1] / "golden"

# Official module -> ours, and which of the matrices stacked in ours it is.
MODULES: dict[str, tuple[str, int | None]] = {
    "self_attn.q_proj": ("self_attention.query_key_value", 0),
    "self_attn.k_proj": ("self_attention.query_key_value", 1),
    "self_attn.v_proj": ("self_attention.query_key_value", 2),
    "self_attn.out_proj": ("self_attention.output", None),
    "self_attn_layer_norm": ("self_norm", None),
    "encoder_attn.q_proj": ("cross_attention.query", None),
    "encoder_attn.k_proj": ("cross_attention.key_value", 0),
    "encoder_attn.v_proj": ("cross_attention.key_value", 1),
    "encoder_attn.out_proj": ("cross_attention.output", None),
    "encoder_attn.q_info_proj": ("cross_attention.information_query", None),
    "encoder_attn.k_info_proj": ("cross_attention.information_key", None),
    "encoder_attn_layer_norm": ("cross_norm", None),
    "fc1": ("feed_forward.inner", None),
    "fc2": ("feed_forward.outer", None),
    "final_layer_norm": ("final_norm", None),
}
WHOLE = {
    "embedding": "target_embedding_VD",
    "decoder.confidence_layer.weight": "confidence.weight",
    "decoder.confidence_layer.bias": "confidence.bias",
    "decoder.transition_proj.weight": "selection.weight",
}


@cache
def golden(name: str) -> dict[str, Any]:
    contents: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return contents


def golden_cases(name: str, key: str = "cases") -> list[Any]:
    cases: list[Any] = golden(name)[key]
    return cases


def tensor(values: Any) -> Tensor:
    """Floats, of which some may be spelled "-inf"."""
    return torch.tensor(_numbers(values), dtype=torch.float32)


def _numbers(values: Any) -> Any:
    return [_numbers(value) for value in values] if isinstance(values, list) else float(values)


def our_name(official: str) -> tuple[str, int | None]:
    """Our weight, and which of the parts stacked in it has the official name."""
    if official in WHOLE:
        return WHOLE[official], None
    side, layer, module, kind = re.fullmatch(
        r"(encoder|decoder)\.layers\.(\d+)\.(.+)\.(weight|bias)", official
    ).groups()  # type: ignore[union-attr]
    ours, part = MODULES[module]
    return f"{side}_layers.{layer}.{ours}.{kind}", part


def part_of(weight: Tensor, part: int | None, like: Tensor) -> Tensor:
    return weight if part is None else weight.split(like.shape[0])[part]


def load_weights(model: torch.nn.Module, params: dict[str, Any]) -> None:
    """Puts official weights into our model; every weight must get its value."""
    weights = _by_name_in_files(model)
    untouched = set(weights)
    for official, values in params.items():
        name, part = our_name(official)
        value = tensor(values)
        with torch.no_grad():
            part_of(weights[name], part, value).copy_(value)
        untouched.discard(name)
    assert not untouched


def _by_name_in_files(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    return {name.removeprefix(NETWORK): weight for name, weight in model.named_parameters()}


def gradients(model: torch.nn.Module, params: dict[str, Any]) -> dict[str, Tensor]:
    """Our gradients under their official names."""
    weights = _by_name_in_files(model)
    found = {}
    for official, values in params.items():
        name, part = our_name(official)
        gradient = weights[name].grad
        assert gradient is not None, name
        found[official] = part_of(gradient, part, tensor(values))
    return found


def golden_size(name: str) -> ModelSettings:
    config = golden(name)["config"]
    return ModelSettings(
        width=config["d"],
        ffn=config["ffn"],
        heads=config["heads"],
        encoder_layers=config["enc_layers"],
        decoder_layers=config["dec_layers"],
    )


def golden_vocabulary(name: str) -> VocabularySizes:
    size = golden(name)["config"]["V"]
    return VocabularySizes(size, size, is_joint=True, ids=SPECIAL_IDS)


def golden_batch(case: dict[str, Any]) -> Batch:
    batch = Batch(
        torch.tensor(case["src_tokens"]),
        torch.tensor(case["src_lengths"]),
        torch.tensor(case["target"]),
        torch.tensor(case["target_lengths"]),
        SPECIAL_IDS,
    )
    assert batch.decoder_input_BN.tolist() == case["prev_output_tokens"]
    return batch


def golden_model(method: Any, name: str) -> Model:
    """Our model with the weights of an official tiny model."""
    model = build_model(method, golden_size(name), golden_vocabulary(name), 0.0, torch.Generator())
    load_weights(model, golden(name)["params"])
    return model


def assert_close(ours: Any, official: Any, tolerance: float = 1e-5) -> None:
    """Equal within 1e-5 of the largest number of the tensor, or of 1 if that is more."""
    ours = ours if isinstance(ours, Tensor) else torch.tensor(ours)
    theirs = official if isinstance(official, Tensor) else tensor(official)
    finite = theirs[theirs.isfinite()]
    scale = max(1.0, float(finite.abs().max())) if finite.numel() else 1.0
    torch.testing.assert_close(ours.detach().float(), theirs, rtol=0, atol=tolerance * scale)


def by_tag(case: dict[str, Any]) -> str:
    """What a golden case is called."""
    return str(case["tag"])


def assert_official_gradients(
    model: nn.Module, name: str, norms: dict[str, float], embedding: Any
) -> dict[str, Tensor]:
    """All gradients by their official names, once their norms and that of the embedding agree."""
    ours = gradients(model, golden(name)["params"])
    for weight, norm in norms.items():
        assert_close(ours[weight].norm(), norm, GRADIENT_TOLERANCE)
    assert_close(ours["embedding"], embedding)
    return ours


def assert_official_trace(trace: Trace, expected: dict[str, Any]) -> None:
    """Tokens, delays, actions and, where they were recorded, the states that were asked."""
    assert trace.tokens == expected["tokens"]
    assert trace.delays == expected["g"]
    assert trace.actions == expected["actions"]
    if "evaluated_states" in expected:
        assert trace.states == [tuple(state) for state in expected["evaluated_states"]]
