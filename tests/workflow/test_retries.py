"""How often Snakemake tries a job that fails, by the profile of SLURM."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from simt.rehearsal import ONCE
from tests.samples.project import BIN, ROOT

pytestmark = pytest.mark.slow

PROFILE = ROOT / "workflow/profiles/slurm/config.yaml"
FAILING = """
rule all:
    input: "train.made", "decode.made"

rule train:
    output: "train.made"
    shell: "echo tried >> train.tries; exit 75"

rule decode:
    output: "decode.made"
    shell: "echo tried >> decode.tries; exit 1"
"""


def tries(folder: Path, options: Sequence[str]) -> dict[str, int]:
    """How often each rule was tried on this machine, with the retries of the profile."""
    settings = yaml.safe_load(PROFILE.read_text(encoding="utf-8"))
    kept = {key: settings[key] for key in settings if "retries" in key or "preemptible" in key}
    (folder / "config.yaml").write_text(yaml.safe_dump(kept | {"cores": 2, "keep-going": True}))
    (folder / "Snakefile").write_text(FAILING)
    done = subprocess.run(
        [BIN / "snakemake", "--profile", ".", *options], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    return {path.stem: len(path.read_text().split()) for path in folder.glob("*.tries")}


@pytest.mark.parametrize(
    ("options", "expected"), [((), {"train": 7, "decode": 4}), (ONCE, {"train": 1, "decode": 1})]
)
def test_training_is_tried_more_often_than_other_jobs_and_in_a_rehearsal_each_once(
    options: Sequence[str], expected: dict[str, int], tmp_path: Path
) -> None:
    assert tries(tmp_path, options) == expected
