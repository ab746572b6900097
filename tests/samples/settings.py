"""Complete settings of every method: the defaults of params.yaml, written out."""

from typing import Any

import torch

from simt.corpus.ids import SPECIAL_IDS
from simt.methods import METHODS, Method, Model, build_model
from simt.model.network import VocabularySizes
from simt.settings import METHOD_SETTINGS, ModelSettings, Settings

LABEL_SMOOTHING = 0.1
TINY = ModelSettings(width=16, ffn=32, heads=2, encoder_layers=2, decoder_layers=2)
VOCABULARY = VocabularySizes(source_size=29, target_size=29, is_joint=True, ids=SPECIAL_IDS)

DEFAULTS: dict[str, dict[str, Any]] = {
    "offline": {"encoder": "bi"},
    "waitk": {"k": 3, "target_states": "frozen"},
    "multipath": {"sample_k_per": "batch", "target_states": "frozen"},
    "itst": {
        "latency_weight": 1.0,
        "norm_weight": 1.0,
        "latency_acts_on": "normalised",
        "norm": "frobenius",
        "pads": "masked",
        "layers_agree_by": "all",
        "mask_from_update": 4000,
        "threshold_floor": 0.5,
        "threshold_decay_updates": 100_000.0,
    },
    "hmt": {"low": 2, "states": 4, "pads": "masked", "state_weight": 1.0, "latency_weight": 1.0},
    "sm2": {
        "encoder": "bi",
        "confidence_weight": 0.1,
        "confidence_schedule": "constant",
        "annealed_start": 30.0,
        "annealed_decay_updates": 45_000.0,
        "prefix_sampling": "sentence",
        "penalty_includes_pad": False,
        "smooth_mixture": True,
        "detach_full_source": False,
        "hint": "full_source",
        "offline_loss": True,
        "prohibition": "none",
        "prohibition_lower": 1,
        "prohibition_upper": 10,
        "prohibition_normaliser": "tokens",
        "prohibition_at_test": False,
        "first_read": 1,
        "adapter_fraction": 0.0,
        "adapter_place": "ffn",
    },
}

# A value of the knob with which an untrained model both reads and writes.
KNOBS: dict[str, Any] = {
    "offline": "full",
    "waitk": 3,
    "multipath": 3,
    "itst": 0.5,
    "hmt": 0.5,
    "sm2": 0.5,
}


def default_settings(name: str, **changes: Any) -> Any:
    """The settings of a method, with some of them changed."""
    chosen: type[Settings] = METHOD_SETTINGS[name]
    return chosen(**{**DEFAULTS[name], **changes})


def make_method(name: str, label_smoothing: float = LABEL_SMOOTHING, **changes: Any) -> Method:
    return METHODS[name](default_settings(name, **changes), label_smoothing)


def make_model(
    method: Method,
    size: ModelSettings = TINY,
    vocabulary: VocabularySizes = VOCABULARY,
    dropout: float = 0.0,
    seed: int = 1,
) -> Model:
    return build_model(method, size, vocabulary, dropout, torch.Generator().manual_seed(seed))


def lively(model: Model, gain: float = 3.0) -> Model:
    """The same model with larger weights: untrained ones write the same token all the time."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and "embedding" not in name:
                weight.mul_(gain)
    return model.eval()
