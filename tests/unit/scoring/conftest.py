"""Instances and a quality estimator that tests of scoring are made from."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simt.instances import EOS_TOKEN, Instance
from tests.samples.instances import instance_from

Make = Callable[..., Instance]


@pytest.fixture(scope="session")
def make_tokens() -> Make:
    """Instances whose tokens are words: ``source`` and ``target`` without EOS."""

    def make(
        source: Sequence[str] | str,
        target: Sequence[str] | str,
        delays: Sequence[int],
        /,
        **options: Any,
    ) -> Instance:
        source, target = (
            side.split() if isinstance(side, str) else list(side) for side in (source, target)
        )
        given: dict[str, Any] = {
            "index": 0,
            "knob": None,
            "source": " ".join(source),
            "references": [" ".join(target)],
            "prediction": " ".join(target),
        }
        return instance_from(
            source_tokens=[*source, EOS_TOKEN],
            tokens=[*target, EOS_TOKEN],
            token_delays=delays,
            **given | options,
        )

    return make


@pytest.fixture(scope="session")
def make_words() -> Make:
    """Instances as another system writes them: SimulEval's fields only."""

    def make(
        delays: Sequence[float], source_length: float, reference_length: int, **options: Any
    ) -> Instance:
        given: dict[str, Any] = {
            "index": 0,
            "prediction": " ".join(["y"] * len(delays)),
            "delays": tuple(delays),
            "elapsed": (0,) * len(delays),
            "prediction_length": len(delays),
            "reference": " ".join(["r"] * reference_length),
            "source": "",
            "source_length": source_length,
        }
        return Instance(**given | options)

    return make


@pytest.fixture(scope="session")
def toy_pairs() -> list[tuple[str, str]]:
    """Sentences of the toy grammar and their translations."""
    from toy_grammar import generate_pairs

    return [
        (" ".join(pair.source_words), " ".join(pair.target_words))
        for pair in generate_pairs(seed=1, split="train", count=2000)
    ]


@pytest.fixture(scope="session")
def toy_estimator(
    toy_pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of an estimator trained on all but the last 200 pairs: about 20 seconds."""
    from simt.scoring.estimator import train_estimator

    folder = tmp_path_factory.mktemp("estimator")
    train_estimator(toy_pairs[:-200], seed=1, folder=folder)
    return folder
