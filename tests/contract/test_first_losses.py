"""A method whose numbers change must be trained again: its revision says so."""

import json

import pytest

from tests.contract.record_first_losses import RECORD, cases, first_losses

RECORDED: dict[str, list[float]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}


@pytest.mark.parametrize("case", cases())
def test_first_losses_are_those_on_record(case: str) -> None:
    name, changes = cases()[case]
    losses = first_losses(name, changes)
    assert losses == pytest.approx(RECORDED.get(case, []), rel=1e-4), (
        f"The first losses of {case} have changed, so its trained models are out of date: "
        f"bump `methods.{name}.revision` in params.yaml and record again with "
        "`python -m tests.contract.record_first_losses`."
    )


def test_record_has_no_case_too_many() -> None:
    assert set(RECORDED) == set(cases())
