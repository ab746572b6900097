"""How many weights the models have (docs/methods.md, "Model sizes")."""

from typing import Any

import pytest
import torch

from simt.corpus.ids import SPECIAL_IDS
from simt.methods.hmt import HmtModel
from simt.methods.itst import TransportLayer
from simt.methods.sm2 import Sm2Model
from simt.model.layers import AdapterShape
from simt.model.network import VocabularySizes
from simt.model.transformer import Transformer
from simt.settings import ModelSettings
from tests.samples.golden import golden_cases

VOCABULARY = VocabularySizes(31970, 31970, is_joint=True, ids=SPECIAL_IDS)
SIZES = pytest.mark.parametrize(
    "case", golden_cases("param_counts", "sizes"), ids=lambda case: case["name"]
)


def size_of(case: dict[str, Any]) -> ModelSettings:
    return ModelSettings(
        width=case["d"],
        ffn=case["ffn"],
        heads=case["heads"],
        encoder_layers=case["layers_each"],
        decoder_layers=case["layers_each"],
    )


def count(model: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())


@SIZES
def test_offline_model_has_the_official_number_of_weights(case: dict[str, Any]) -> None:
    with torch.device("meta"):
        model = Transformer(size_of(case), VOCABULARY, 0.1, "bi")
    assert count(model) == case["total_omt_shared_V31970"]


@SIZES
def test_sm2_model_has_the_official_number_of_weights(case: dict[str, Any]) -> None:
    with torch.device("meta"):
        network = Transformer(size_of(case), VOCABULARY, 0.1, "bi")
        model = Sm2Model(network, learns_adapters_only=False)
    assert count(model) == case["total_sm2_shared_V31970"]


@SIZES
def test_adapters_have_two_linear_maps_a_layer(case: dict[str, Any]) -> None:
    with torch.device("meta"):
        adapter = AdapterShape(case["adapter_bottleneck"], "ffn")
        model = Transformer(size_of(case), VOCABULARY, 0.1, "bi", adapter)
    extra = count(model) - case["total_omt_shared_V31970"]
    assert extra == case["adapter_total_all_layers"]


@SIZES
def test_itst_model_has_the_official_number_of_extra_weights(case: dict[str, Any]) -> None:
    with torch.device("meta"):
        model = Transformer(size_of(case), VOCABULARY, 0.1, "uni", decoder_layer=TransportLayer)
    assert count(model) - case["total_omt_shared_V31970"] == case["itst_extra_total"]


@SIZES
def test_hmt_model_has_the_official_number_of_extra_weights(case: dict[str, Any]) -> None:
    with torch.device("meta"):
        model = HmtModel(Transformer(size_of(case), VOCABULARY, 0.1, "uni"))
    assert count(model) - case["total_omt_shared_V31970"] == case["hmt_selection_extra"]
