"""Which decoder rows a policy lets the loop keep."""

from typing import Any

import pytest
import torch

from tests.samples.settings import KNOBS, make_method, make_model


def cached(name: str, written: int, before: int, read: int, **changes: Any) -> int:
    method = make_method(name, **changes)
    policy = method.policy(make_model(method), KNOBS[name])
    return int(
        policy.cached_prefix(torch.tensor([written]), torch.tensor([before]), torch.tensor([read]))
    )


@pytest.mark.parametrize("name", ["itst", "sm2", "hmt", "offline"])
def test_all_rows_are_kept_while_nothing_is_read(name: str) -> None:
    assert cached(name, written=4, before=6, read=6) == 4


def test_frozen_rows_are_kept_when_more_is_read() -> None:
    assert cached("waitk", written=4, before=6, read=8) == 4


@pytest.mark.parametrize("name", ["itst", "sm2"])
def test_recomputed_rows_are_not_kept_when_more_is_read(name: str) -> None:
    assert cached(name, written=4, before=6, read=7) == 0
    assert cached("waitk", written=4, before=6, read=7, target_states="recompute") == 0


@pytest.mark.parametrize(
    ("low", "before", "settled"),
    [
        # With K = 3, token r (from 0) has states that know L + r, L + r + 1 and L + r + 2 tokens.
        # After 6 tokens, all that can be known is known for r = 0 … 4 - L.
        (2, 6, 3),
        (1, 6, 4),
        (3, 4, 0),
        (0, 2, 1),
        (0, 3, 2),
        (-2, 1, 2),  # of r = 0, all states know 1 token: there is no less
    ],
)
def test_states_of_hmt_are_kept_if_the_last_one_knew_all_it_can(
    low: int, before: int, settled: int
) -> None:
    assert cached("hmt", written=9, before=before, read=before + 1, low=low, states=3) == settled
