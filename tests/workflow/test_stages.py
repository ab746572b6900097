"""dvc.yaml, the Snakefile and `simt check` speak of the same stages and sections."""

import re
from pathlib import Path

import pytest
import yaml

from simt.params import SECTIONS
from simt.params.excerpt import StudyExcerpt

ROOT = Path(__file__).parents[2]
STAGES = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]


def test_stages_are_the_targets_of_the_snakefile() -> None:
    rules = re.findall(r"^rule (\w+):$", (ROOT / "Snakefile").read_text(encoding="utf-8"), re.M)
    assert list(STAGES) == rules


@pytest.mark.parametrize("name", STAGES)
def test_stage_makes_the_folder_of_its_name_and_keeps_what_is_there(name: str) -> None:
    assert STAGES[name]["cmd"] == f"workflow/stage {name}"
    assert STAGES[name]["outs"] == [{f"results/{name}": {"persist": True}}]


def test_every_section_of_params_is_watched_by_a_stage() -> None:
    watched = {key.split(".")[0] for stage in STAGES.values() for key in stage["params"]}
    assert watched == set(SECTIONS) - {"rehearsal"}  # which no params.yaml of a study has


def test_stage_of_the_paper_watches_every_section_that_its_settings_hold() -> None:
    assert set(StudyExcerpt.model_fields) & set(SECTIONS) <= set(STAGES["paper"]["params"])
