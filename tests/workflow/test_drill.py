"""The tiny study under blows: killed jobs, failed writes, a killed Snakemake."""

from pathlib import Path

import pytest

from tests.samples.project import ROOT, contents, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def test_study_under_blows_ends_with_the_numbers_of_a_calm_one(study: Path, tmp_path: Path) -> None:
    said = run(ROOT, "simt", "drill", "--calm", str(study), "--to", str(tmp_path), "--blows", "12")
    for blow in ("SIGKILL", "SIGTERM", "write error", "Snakemake killed"):
        assert f"3 × {blow}" in said
    calm, rough = study / "results", tmp_path / "rough" / "results"
    for pattern in ("model.pt", "*.csv"):
        assert contents(rough, pattern) == contents(calm, pattern)
