"""A method whose numbers change must be trained again: its revision says so."""

import json

import pytest

from tests.contract.record_first_losses import (
    RECORD,
    TOLERANCE,
    cases,
    first_losses,
    updated,
)

RECORDED: dict[str, list[float]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}


@pytest.mark.parametrize("case", cases())
def test_first_losses_are_those_on_record(case: str) -> None:
    name, changes = cases()[case]
    losses = first_losses(name, changes)
    assert losses == pytest.approx(RECORDED.get(case, []), rel=TOLERANCE), (
        f"The first losses of {case} have changed, so its trained models are out of date: "
        f"bump `methods.{name}.revision` in params.yaml and record again with "
        "`python -m tests.contract.record_first_losses`."
    )


def test_record_has_no_case_too_many() -> None:
    assert set(RECORDED) == set(cases())


def test_record_of_another_machine_changes_only_what_is_new() -> None:
    recorded = {"waitk": [3.791594, 2.912957], "itst": [3.953879, 2.911186]}
    measured = {
        "waitk": [3.791595, 2.912956],  # other last digits
        "catchup": [3.5, 2.5],
        "itst": [3.953879, 2.95],  # its loss was changed
    }
    now = updated(recorded, measured)
    assert now == {"catchup": [3.5, 2.5], "itst": [3.953879, 2.95], "waitk": recorded["waitk"]}
    assert list(now) == ["catchup", "itst", "waitk"]


def test_record_is_in_the_order_in_which_it_is_written() -> None:
    assert list(RECORDED) == sorted(RECORDED)
