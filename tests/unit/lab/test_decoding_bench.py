"""The bench of decoding."""

from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.lab.decoding_bench import HEAD, bench_decoding, measure_speed
from simt.params import load_params
from tests.samples.settings import lively, make_method, make_model

PARAMS = Path(__file__).parents[3] / "params.yaml"


def test_bench_compares_a_batch_with_its_sentences_one_by_one() -> None:
    method = make_method("sm2")
    model = lively(make_model(method))
    policy = method.policy(model, 0.5)
    network = model.network
    speed = measure_speed("sm2/bi", 0.5, policy, network, 3, repetitions=2, sentences=4, alone=2)
    middle, low, high = speed.gain
    assert 0 < low <= middle <= high
    assert speed.one_by_one > 0
    assert len(speed.text().split("[")[0].rstrip()) <= len(HEAD.splitlines()[0])


@pytest.mark.parametrize(
    ("pair", "size", "run", "said"),
    [
        ("nope", None, "sm2/bi", "no pair 'nope'"),
        ("toy-deen", "nope", "sm2/bi", "no model 'nope'"),
        ("toy-deen", None, "sm2", "no run 'sm2' .*; give a method and a variant"),
    ],
)
def test_bench_of_something_unknown_is_a_message(
    pair: str, size: str | None, run: str, said: str
) -> None:
    with pytest.raises(SimtError, match=said):
        next(bench_decoding(load_params(PARAMS), pair, size, [run], words=10, repetitions=1))
