"""Results are current when they were made with today's settings from current inputs."""

import json
from pathlib import Path

import pytest

from simt.check import PAPER_FILES, Status, Step, check_stage, study_steps
from simt.errors import SimtError
from simt.params import Params, load_params

FILE = Path(__file__).parents[2] / "params.yaml"


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def make(steps: list[Step]) -> None:
    for step in steps:
        step.folder.mkdir(parents=True, exist_ok=True)
        (step.folder / step.marker).write_text(step.settings.as_json(), encoding="utf-8")


def status(params: Params, name: str) -> Status:
    (step,) = [step for step in study_steps(params, "tiny") if step.name == name]
    return step.status


def edit(params: Params, name: str, key: str, value: object) -> None:
    (step,) = [step for step in study_steps(params, "tiny") if step.name == name]
    path = step.folder / "settings.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}), encoding="utf-8")


def test_nothing_is_done_in_an_empty_folder(params: Params) -> None:
    assert {step.status.state for step in study_steps(params, "tiny")} == {"to do"}


def test_everything_is_done_after_every_step_has_run(params: Params) -> None:
    make(study_steps(params, "tiny"))
    assert {step.status.state for step in study_steps(params, "tiny")} == {"done"}


def test_changed_setting_is_stale_and_says_which(params: Params) -> None:
    make(study_steps(params, "tiny"))
    edit(params, "tiny-deen/sm2/bi/seed1", "revision", 7)
    assert status(params, "tiny-deen/sm2/bi/seed1") == Status("stale", "revision 7 -> 1")


def test_result_of_a_stale_step_is_stale_too(params: Params) -> None:
    make(study_steps(params, "tiny"))
    edit(params, "tiny-deen/offline/bi/seed1", "revision", 7)
    assert status(params, "tiny-deen/sm2/bi-ft/seed1/test").state == "stale"
    assert status(params, "tiny-deen/sm2/bi/seed1/test").state == "done"


def test_half_written_settings_do_not_count(params: Params) -> None:
    make(study_steps(params, "tiny"))
    Path("results/runs/tiny-deen/itst/uni/seed1/settings.json").write_text('{"pair": "ti')
    assert status(params, "tiny-deen/itst/uni/seed1") == Status("to do")


def test_check_names_each_folder_and_the_remedy(params: Params) -> None:
    make([step for step in study_steps(params, "tiny") if step.stage == "corpora"])
    assert "all 4 folders" in check_stage(params, "tiny", "corpora")
    with pytest.raises(SimtError) as caught:
        check_stage(params, "tiny", "runs")
    assert "  results/runs/tiny-deen/itst/uni/seed1: to do\n" in str(caught.value)
    assert str(caught.value).endswith("snakemake --config study=tiny -- runs")


def test_paper_is_checked_for_drawings_that_are_not_there(params: Params) -> None:
    make(study_steps(params, "tiny"))
    drawn = [Path(f"results/paper/tiny/figures/{name}.pdf") for name in params.paper.figures]
    drawn += [Path(f"results/paper/tiny/tables/{name}.tex") for name in params.paper.tables]
    drawn += [Path(f"results/paper/tiny/{name}") for name in PAPER_FILES]
    for path in drawn:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert "all " in check_stage(params, "tiny", "paper")
    Path("results/paper/tiny/figures/fig03-bleu-al.pdf").unlink()
    with pytest.raises(SimtError, match=r"Of the paper there is no:\n  .*fig03-bleu-al\.pdf\n"):
        check_stage(params, "tiny", "paper")


def test_paper_is_checked_for_a_report_that_is_not_there(params: Params) -> None:
    make(study_steps(params, "tiny"))
    with pytest.raises(SimtError, match=r"\n  results/paper/tiny/report\.html\n"):
        check_stage(params, "tiny", "paper")
