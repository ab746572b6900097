"""The tiny study under faults of every kind that this machine allows."""

from pathlib import Path

import pytest

from simt.lab.faults import possible_faults
from tests.samples.project import ROOT, contents, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def test_study_under_faults_ends_with_the_numbers_of_an_undisturbed_one(
    study: Path, tmp_path: Path
) -> None:
    kinds = possible_faults("workflow/profiles/local")
    said = run(
        ROOT, "simt", "faults", "--baseline", str(study), "--to", str(tmp_path),
        "--number", str(len(kinds)),
    )  # fmt: skip
    for kind in kinds:
        assert f"1 × {kind}" in said
    baseline, disturbed = study / "results", tmp_path / "disturbed" / "results"
    for pattern in ("model.pt", "*.csv"):
        assert contents(disturbed, pattern) == contents(baseline, pattern)
