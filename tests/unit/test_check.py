"""Results are current when they were made with today's settings from current inputs."""

import json
from pathlib import Path

import pytest

from simt.check import PAPER_FILES, Status, Step, check_stage, drawing_statuses, study_steps
from simt.errors import SimtError
from simt.params import Params, load_params
from simt.plan import describe_study

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
    assert status(params, "tiny-deen/sm2/bi/seed1") == Status(
        "stale", f"revision 7 -> {params.methods['sm2'].revision}"
    )


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
    assert str(caught.value).endswith("--config study=tiny fidelity=default -- runs")


def draw(params: Params) -> None:
    folder = Path("results/paper/tiny")
    drawings = {
        folder / "figures" / f"{name}.pdf": one for name, one in params.paper.figures.items()
    }
    drawings |= {
        folder / "tables" / f"{name}.tex": one for name, one in params.paper.tables.items()
    }
    for path, drawing in drawings.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        entry = json.loads(drawing.as_json())
        caption = {"entry": entry, "fidelity": "default", "points": []}
        path.with_suffix(".json").write_text(json.dumps(caption), encoding="utf-8")
    for name in PAPER_FILES:
        (folder / name).touch()


@pytest.fixture
def finished(params: Params) -> Params:
    """The parameters of a study of which everything is done."""
    make(study_steps(params, "tiny"))
    draw(params)
    return params


def drawing_status(params: Params, kind: str, name: str) -> Status:
    statuses = drawing_statuses(params, "tiny", kind, study_steps(params, "tiny"))
    return {path.stem: status for path, status in statuses.items()}[name]


def wrong_in_paper(params: Params) -> str:
    with pytest.raises(SimtError) as caught:
        check_stage(params, "tiny", "paper")
    return str(caught.value)


def test_a_finished_study_is_current_to_its_last_drawing(finished: Params) -> None:
    assert "all " in check_stage(finished, "tiny", "paper")
    assert drawing_status(finished, "figures", "fig03-bleu-al") == Status("done")


@pytest.mark.parametrize("ending", ["pdf", "json"])
def test_paper_is_checked_for_drawings_that_are_not_there(finished: Params, ending: str) -> None:
    Path(f"results/paper/tiny/figures/fig03-bleu-al.{ending}").unlink()
    told = wrong_in_paper(finished)
    assert "\n  results/paper/tiny/figures/fig03-bleu-al.pdf: to do\n" in told
    assert told.startswith("1 of ")


def test_paper_is_checked_for_a_report_that_is_not_there(finished: Params) -> None:
    Path("results/paper/tiny/report.html").unlink()
    assert "\n  results/paper/tiny/report.html: to do\n" in wrong_in_paper(finished)


def test_a_drawing_of_a_stale_run_is_stale_and_says_which_step(finished: Params) -> None:
    edit(finished, "tiny-deen/itst/uni/seed1", "revision", 7)
    why = Status("stale", "tiny-deen/itst/uni/seed1/test scores is stale")
    assert drawing_status(finished, "figures", "fig03-bleu-al") == why
    assert drawing_status(finished, "figures", "fig08-ablations") == Status("done")  # shows no ITST


def test_a_table_that_repeats_a_stale_table_is_stale_too(finished: Params) -> None:
    edit(finished, "tiny-deen/itst/uni/seed1", "revision", 7)
    assert drawing_status(finished, "tables", "tab10-beside-paper").state == "stale"


def test_a_drawing_is_stale_after_its_entry_has_changed(finished: Params) -> None:
    path = Path("results/paper/tiny/figures/fig08-ablations.json")
    caption = json.loads(path.read_text(encoding="utf-8"))
    caption["entry"]["title"] = "Parts"
    path.write_text(json.dumps(caption), encoding="utf-8")
    why = 'entry.title "Parts" -> "What each part of SM² gives"'
    assert drawing_status(finished, "figures", "fig08-ablations") == Status("stale", why)
    assert f"\n  {path.with_suffix('.pdf')}: stale {why}\n" in wrong_in_paper(finished)


def test_a_drawing_of_another_fidelity_is_stale(finished: Params) -> None:
    path = Path("results/paper/tiny/figures/fig08-ablations.json")
    path.write_text(path.read_text().replace("default", "paper"), encoding="utf-8")
    why = 'fidelity "paper" -> "default"'
    assert drawing_status(finished, "figures", "fig08-ablations") == Status("stale", why)


def test_plan_calls_the_drawings_of_a_stale_run_stale_and_no_others(finished: Params) -> None:
    edit(finished, "tiny-deen/itst/uni/seed1", "revision", 7)
    lines = describe_study(finished, "tiny").splitlines()
    (figure,) = [line for line in lines if "fig03-bleu-al" in line]
    assert figure.split()[1] == "stale"
    assert figure.endswith(" (tiny-deen/itst/uni/seed1/test scores is stale)")
    (other,) = [line for line in lines if "fig08-ablations" in line]
    assert other.split()[1] == "done"
