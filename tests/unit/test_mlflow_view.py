"""The saved views of a study; that MLflow takes them is a test of the workflow."""

import json
from typing import Any

from simt.mlflow_view import view_addresses, view_tags

PREFIX = "mlflow.sharedViewState."


def states(*pairs: str) -> dict[str, tuple[str, Any]]:
    """Title and state of each view."""
    found = {}
    for key, value in view_tags("a title", pairs, created_ms=7).items():
        view = json.loads(value)
        found[key.removeprefix(PREFIX)] = view["name"], json.loads(view["state"])
    return found


def test_study_with_one_pair_has_one_view() -> None:
    ((title, state),) = states("toy-deen").values()
    assert title == "a title"
    assert state["searchFilter"] == 'tags.view = "main"'


def test_each_pair_of_a_study_has_a_view_and_an_address() -> None:
    found = states("wmt15-deen", "wmt16-enro")
    assert [title for title, _ in found.values()] == ["a title, wmt15-deen", "a title, wmt16-enro"]
    assert 'tags.pair = "wmt16-enro"' in found["wmt16-enro"][1]["searchFilter"]
    addresses = view_addresses("http://here:5000/", "3", ["wmt15-deen", "wmt16-enro"])
    for name, address in zip(found, addresses, strict=True):
        assert address.startswith("http://here:5000/#/experiments/3/runs?")
        assert address.endswith(f"viewStateShareKey={name}")


def test_every_chart_is_in_a_section() -> None:
    ((_, state),) = states("toy-deen").values()
    sections = {section["uuid"] for section in state["compareRunSections"]}
    assert {chart["metricSectionId"] for chart in state["compareRunCharts"]} <= sections
