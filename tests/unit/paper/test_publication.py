"""When the results of a study are not published; test_study.py has when they are."""

from pathlib import Path

import pytest

from simt.errors import SimtError
from simt.paper.publication import publish
from simt.params import Params


def test_folder_that_someone_else_filled_is_not_replaced(params: Params, tmp_path: Path) -> None:
    work = tmp_path / "thesis.tex"
    work.write_text("three years of work")
    with pytest.raises(SimtError, match="was not written by simt publish: give another folder"):
        publish(params, tmp_path)
    assert work.exists()


@pytest.mark.parametrize(
    ("study", "complaint"),
    [
        ("toy", "has the results of study toy, not of tiny: give another folder"),
        ("tiny", r"thesis\.tex was not written by simt publish: move it, or give another folder"),
    ],
)
def test_earlier_publication_is_not_replaced_with_work_of_others(
    params: Params, tmp_path: Path, study: str, complaint: str
) -> None:
    (tmp_path / "provenance.json").write_text(f'{{"study": "{study}"}}')
    (tmp_path / "figures").mkdir()
    work = tmp_path / "figures" / "thesis.tex"
    work.write_text("three years of work")
    with pytest.raises(SimtError, match=complaint):
        publish(params, tmp_path)
    assert work.exists()


def test_study_that_is_not_finished_is_not_published(params: Params, tmp_path: Path) -> None:
    with pytest.raises(SimtError, match=r"to do[\s\S]*snakemake .*study=tiny"):
        publish(params, tmp_path / "published")
    assert not (tmp_path / "published").exists()
