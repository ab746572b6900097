"""Results are done when made with today's settings, from current inputs, and whole."""

import contextlib
import json
import os
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from simt.check import (
    Inspection,
    Status,
    check_stage,
    mismatch_warning,
    raise_if_damaged,
    redo_stage,
    reset_future_mtimes,
    unseen_changes,
)
from simt.cli import main
from simt.cli.stale import warn_of_other_models, warn_of_other_scores, warn_of_other_settings
from simt.errors import SimtError
from simt.params import Params, load_params
from simt.plan import describe_study
from simt.runs import Run
from simt.steps import Step, Steps

FILE = Path(__file__).parents[2] / "params.yaml"
RUN = "tiny-deen/sm2/bi/seed1"
REDO = "simt check paper --redo --study tiny --fidelity default"
MODEL = Path(f"results/runs/{RUN}/model.pt")


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    return load_params(FILE, "tiny")


def make(steps: list[Step], says: str = "") -> None:
    """Do some steps; every file says which it is."""
    for step in steps:
        with step.made_in(step.folder):
            for name in step.product.vouched:
                path = step.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{path}{says}", encoding="utf-8")


def find(params: Params, name: str) -> Step:
    (step,) = [step for step in Steps(params).all() if step.name == name]
    return step


def status(params: Params, name: str) -> Status:
    return Inspection().status(find(params, name))


def states(params: Params) -> set[str]:
    look = Inspection()
    return {look.status(step).state for step in Steps(params).all()}


def edit(params: Params, name: str, key: str, value: object) -> None:
    """Change one of the settings that a step says it was made with."""
    path = find(params, name).marker
    marker = json.loads(path.read_text(encoding="utf-8"))
    marker["settings"][key] = value
    path.write_text(json.dumps(marker), encoding="utf-8")


def set_time(path: Path, after_marker: float) -> None:
    """Pretend that a file was written so many seconds after the marker beside it."""
    time = path.with_name("settings.json").stat().st_mtime + after_marker
    os.utime(path, (time, time))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study of which everything is done."""
    folder = tmp_path_factory.mktemp("done")
    with contextlib.chdir(folder):
        make(Steps(load_params(FILE, "tiny")).all())
    return folder


@pytest.fixture
def finished(params: Params, done: Path) -> Params:
    """The parameters of that study, and a copy of it to harm."""
    shutil.copytree(done / "results", "results")
    return params


def complaint(params: Params, stage: str = "paper", is_deep: bool = False) -> str:
    with pytest.raises(SimtError) as caught:
        check_stage(params, stage, is_deep)
    return str(caught.value)


def test_nothing_is_done_in_an_empty_folder(params: Params) -> None:
    assert states(params) == {"to do"}


def test_everything_is_done_after_every_step_has_run(finished: Params) -> None:
    assert states(finished) == {"done"}
    steps = Steps(finished).all()
    said = check_stage(finished, "paper", is_deep=True)
    assert said.startswith(f"study tiny: all {len(steps)} steps up to paper are those of params.y")
    files = [path for step in steps for path in step.folder.rglob("*") if path.is_file()]
    vouched = {step.folder / name for step in steps for name in step.product.vouched}
    assert vouched <= set(files)
    assert said.endswith(f"{len(vouched)} files have the size and content they were written with")


# --- settings -----------------------------------------------------------------------------------


def test_changed_setting_is_stale_and_says_which(finished: Params) -> None:
    edit(finished, RUN, "revision", 7)
    wanted = finished.methods["sm2"].revision
    assert status(finished, RUN) == Status("stale", f"revision 7 -> {wanted}", is_seen=False)


def test_changed_setting_is_seen_by_snakemake_where_it_has_a_record(finished: Params) -> None:
    edit(finished, RUN, "revision", 7)
    steps = Steps(finished).all()
    (step,) = (one for one in steps if one.name == RUN)
    said = unseen_changes(finished, steps)
    assert said.startswith("1 step was made with other settings")
    assert said.endswith(f"To make them again: {REDO}")
    record(step)
    assert status(finished, RUN).is_seen
    assert not unseen_changes(finished, steps)


def record(step: Step) -> None:
    """Snakemake's note of how it made a step."""
    note = Path(".snakemake/metadata", urlsafe_b64encode(str(step.marker).encode()).decode())
    note.parent.mkdir(parents=True)
    note.touch()


def test_of_a_long_list_what_is_new_and_what_is_gone_is_told(finished: Params) -> None:
    now = list(finished.knobs("tiny-deen", "sm2", "bi"))
    others = [0.111, 0.222, 0.333, 0.444]
    edit(finished, f"{RUN}/test", "knobs", [*now, *others])
    assert status(finished, f"{RUN}/test").why == "knobs now without 0.111, 0.222, 0.333, 0.444"
    edit(finished, f"{RUN}/test", "knobs", [*others, *now[:-1]])
    told = f"knobs now with {now[-1]} and without 0.111, 0.222, 0.333, 0.444"
    assert status(finished, f"{RUN}/test").why == told


def test_short_lists_are_told_in_full(finished: Params) -> None:
    training = find(finished, RUN).settings.as_values()["training"]
    edit(finished, RUN, "training", training | {"adam_betas": [0.9, 0.999]})
    assert status(finished, RUN).why == "training.adam_betas [0.9, 0.999] -> [0.8, 0.9]"


def test_who_reads_results_of_other_settings_is_told(finished: Params) -> None:
    runs = Steps(finished).runs()
    assert mismatch_warning(runs) == ""
    edit(finished, RUN, "seed", 7)
    assert mismatch_warning(runs) == (
        f"1 of {len(runs)} results used here does not match params.yaml, such as {RUN} "
        "(seed 7 -> 1); `simt plan` lists them"
    )


def test_only_the_runs_that_are_used_are_told_of(
    finished: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(finished, RUN, "seed", 7)
    for warn in (warn_of_other_models, warn_of_other_scores):
        warn(finished, [Run.parse("tiny-deen/sm2/uni/seed1")])
        assert capsys.readouterr() == ("", "")
    warn_of_other_models(finished, [Run.parse(RUN)])
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("simt: 1 of 1 result used here does not match params.yaml")
    warn_of_other_settings(finished)
    assert f"such as {RUN} " in capsys.readouterr().err


@pytest.mark.parametrize("name", [f"{RUN}/test", f"{RUN}/test scores"])
def test_who_reads_scores_is_told_of_those_of_other_settings(
    name: str, finished: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(finished, name, "revision", 7)
    warn_of_other_models(finished, [Run.parse(RUN)])
    assert capsys.readouterr() == ("", "")
    warn_of_other_scores(finished, [Run.parse(RUN)])
    assert "of 3 results used here do" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("other", "is_told"), [("sm2/bi", True), ("sm2/uni", False), ("SM²-Bi", True)]
)
def test_compare_warns_of_the_two_systems_only(
    other: str, is_told: bool, finished: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(finished, f"{RUN}/test", "knobs", [0.123])
    assert main(["compare", "waitk", other, "--study", "tiny", "--params", str(FILE)]) == 1
    assert (f"such as {RUN}/test (" in capsys.readouterr().err) is is_told


def test_what_is_not_there_yet_is_no_result_of_other_settings(params: Params) -> None:
    assert mismatch_warning(Steps(params).all()) == ""


def test_result_of_a_stale_step_is_stale_too(finished: Params) -> None:
    edit(finished, "tiny-deen/offline/bi/seed1", "revision", 7)
    assert status(finished, "tiny-deen/sm2/bi-ft/seed1/test").state == "stale"
    assert status(finished, "tiny-deen/sm2/bi/seed1/test").state == "done"


def test_check_names_each_folder_and_the_remedy(params: Params) -> None:
    make(Steps(params).corpora())
    assert "all 4 steps" in check_stage(params, "corpora")
    told = complaint(params, "runs")
    assert "  results/runs/tiny-deen/itst/uni/seed1: to do\n" in told
    assert told.endswith("--config study=tiny fidelity=default -- runs")
    assert "--redo" not in told


def test_a_drawing_of_a_stale_run_is_stale_and_says_which_step(finished: Params) -> None:
    edit(finished, "tiny-deen/itst/uni/seed1", "revision", 7)
    why = "tiny-deen/itst/uni/seed1 is stale"
    assert status(finished, "fig03-bleu-al") == Status("stale", why)
    assert status(finished, "fig08-ablations") == Status("done")  # shows no ITST


def test_a_drawing_is_stale_after_its_entry_has_changed(finished: Params) -> None:
    drawing = Steps(finished).drawing("figures", "fig08-ablations")
    paper = drawing.settings.as_values()["paper"]
    paper["figures"]["fig08-ablations"]["title"] = "Parts"
    edit(finished, "fig08-ablations", "paper", paper)
    why = 'paper.figures.fig08-ablations.title "Parts" -> "What each part of SM² gives"'
    assert status(finished, "fig08-ablations") == Status("stale", why, is_seen=False)
    assert f"fig08-ablations.json: stale {why}\n" in complaint(finished)


def test_a_drawing_of_another_fidelity_is_stale(finished: Params) -> None:
    edit(finished, "fig08-ablations", "fidelity", "paper")
    found = status(finished, "fig08-ablations")
    assert (found.state, found.why) == ("stale", 'fidelity "paper" -> "default"')


def test_plan_calls_the_drawings_of_a_stale_run_stale_and_no_others(finished: Params) -> None:
    edit(finished, "tiny-deen/itst/uni/seed1", "revision", 7)
    lines = describe_study(finished).splitlines()
    (figure,) = [line for line in lines if "fig03-bleu-al" in line]
    assert figure.split()[1] == "stale"
    assert figure.endswith(" (tiny-deen/itst/uni/seed1 is stale)")
    (other,) = [line for line in lines if "fig08-ablations" in line]
    assert other.split()[1] == "done"


# --- files --------------------------------------------------------------------------------------


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (Path.unlink, "is missing"),
    (cut, " bytes instead of "),
    (empty, "has 0 bytes instead of "),
]


@pytest.mark.parametrize(("hurt", "told"), DAMAGES)
@pytest.mark.parametrize(
    "file",
    [
        "corpora/tiny-deen/raw/train.de",
        "corpora/tiny-deen/text/test.source",
        "corpora/tiny-deen/bpe/vocabulary",
        "corpora/tiny-deen/estimator/toy-estimator/checkpoints/model.ckpt",
        f"runs/{RUN}/model.pt",
        f"points/{RUN}/test/instances.jsonl",
        f"points/{RUN}/test/scores.json",
        f"points/{RUN}/valid/sums.json",
        "points/tiny-deen/sm2/bi/seed1/aligned/states.jsonl",
        "paper/tiny/figures/fig03-bleu-al.svg",
        "paper/tiny/tables/tab02-sizes.csv",
        "paper/tiny/curves.csv",
        "paper/tiny/claims.md",
        "paper/tiny/report.html",
    ],
)
def test_damaged_file_is_named_with_what_is_wrong_and_the_remedy(
    file: str, hurt: Callable[[Path], None], told: str, finished: Params
) -> None:
    path = Path("results") / file
    (step,) = [
        step
        for step in Steps(finished).all()
        if path in [step.folder / name for name in step.product.vouched]
    ]
    hurt(path)
    said = complaint(finished)
    name = path.relative_to(step.folder)
    (line,) = [line for line in said.splitlines() if f" damaged {name} " in line]
    assert told in line
    assert f"{REDO}\n" in said
    assert f"{step.name}: {name} " in describe_study(finished)


def test_a_paper_stage_is_not_needed_for_points_to_be_checked(finished: Params) -> None:
    shutil.rmtree("results/paper")
    before = [step for step in Steps(finished).all() if step.stage != "paper"]
    said = check_stage(finished, "points")
    assert f"all {len(before)} steps up to points are those of params.yaml" in said


def test_swapped_models_of_one_size_are_seen_by_their_content(finished: Params) -> None:
    other = Path("results/runs/tiny-deen/sm2/bi-p/seed1/model.pt")
    other.write_bytes(MODEL.read_bytes()[::-1])
    make([find(finished, "tiny-deen/sm2/bi-p/seed1")])
    pad = max(len(path.read_bytes()) for path in (MODEL, other))
    for path in (MODEL, other):
        path.write_bytes(path.read_bytes().ljust(pad))
    for name in (RUN, "tiny-deen/sm2/bi-p/seed1"):
        step = find(finished, name)
        with step.made_in(step.folder):
            pass
    held = MODEL.read_bytes()
    MODEL.write_bytes(other.read_bytes())
    other.write_bytes(held)
    for path in (MODEL, other):
        set_time(path, after_marker=0)
    assert status(finished, RUN).state == "done"
    said = complaint(finished, "runs", is_deep=True)
    assert f"{MODEL.parent}: damaged model.pt no longer has the content that was written\n" in said
    assert f"{other.parent}: damaged model.pt no longer has the content that was written\n" in said


def times_say_nothing(params: Params) -> None:
    """Give all markers one time, as after a pull from a store."""
    for step in Steps(params).all():
        os.utime(step.marker, (1e9, 1e9))


def test_report_whose_figure_was_made_again_later_is_left_to_snakemake(finished: Params) -> None:
    make([find(finished, "fig03-bleu-al")], says="drawn again")
    told = status(finished, "report")
    assert (told.state, told.is_seen) == ("stale", True)
    assert told.why.startswith("was made from an earlier paper/tiny/figures/fig03-bleu-al.")
    said = complaint(finished)
    assert "Bring them up to date with" in said
    assert "--redo" not in said


def test_points_know_the_model_that_they_came_from(finished: Params) -> None:
    make([find(finished, RUN)], says="trained again")
    times_say_nothing(finished)
    again = Status(
        "stale", f"was made from an earlier run/model.pt: {RUN} was redone since", is_seen=False
    )
    assert status(finished, f"{RUN}/test") == again
    assert status(finished, f"{RUN}/aligned states") == again
    redo_stage(finished, "paper")
    assert not Path(f"results/points/{RUN}/aligned/settings.json").exists()


def test_fine_tuned_run_knows_the_model_that_it_started_from(finished: Params) -> None:
    make([find(finished, "tiny-deen/offline/bi/seed1")], says="trained again")
    times_say_nothing(finished)
    told = status(finished, "tiny-deen/sm2/bi-ft/seed1")
    assert (told.state, told.is_seen) == ("stale", False)
    assert "earlier start/model.pt" in told.why


def test_step_that_gave_the_same_again_leaves_all_others_done(finished: Params) -> None:
    make([find(finished, RUN)])
    assert states(finished) == {"done"}


# --- markers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "state", "why"),
    [
        (b'{"pair": "ti', "damaged", "settings.json is not JSON"),
        (b"\xff\xfe{}", "damaged", "settings.json is not UTF-8"),
        (b"{}", "damaged", "settings.json does not say what it vouches for"),
        (b"[1, 2]", "damaged", "settings.json does not say what it vouches for"),
        (b'{"settings": 3, "files": [], "made_from": {}}', "damaged",
         "settings.json does not say what it vouches for"),
        (b'{"settings": {}, "files": {"model.pt": 4}, "made_from": {}}', "damaged",
         "settings.json does not say what it vouches for"),
        (b'{"pair": "tiny-deen", "method": "sm2"}', "stale", "was made by an earlier version"),
    ],
)  # fmt: skip
def test_marker_that_says_nothing_counts_for_nothing_and_says_why(
    content: bytes, state: str, why: str, finished: Params
) -> None:
    path = MODEL.with_name("settings.json")
    path.write_bytes(content)
    told = status(finished, RUN)
    assert (told.state, told.why) == (state, why)
    assert f"{path.parent}: {state} {why}\n" in complaint(finished)
    assert f"{RUN}: {why}" in describe_study(finished)
    with pytest.raises(SimtError, match=why):
        raise_if_damaged(finished, Steps(finished).all())


# --- to make it again -----------------------------------------------------------------------------


def test_the_remedy_for_many_stale_steps_can_be_copied(finished: Params) -> None:
    for step in Steps(finished).runs():
        edit(finished, step.name, "revision", 7)
    *_, redo, _ = complaint(finished).splitlines()
    assert redo == f"Snakemake cannot see all of this. Let it see, with: {REDO}"
    said = redo_stage(finished, "paper")
    assert said.startswith(f"{len(Steps(finished).runs())} steps of study tiny to be made")
    assert "--redo" not in complaint(finished)
    assert {status(finished, step.name).state for step in Steps(finished).runs()} == {"to do"}


def test_to_redo_takes_away_one_marker_and_nothing_else(finished: Params) -> None:
    cut(MODEL)
    before = {path for path in Path("results").rglob("*") if path.is_file()}
    assert redo_stage(finished, "paper").startswith("1 step of study tiny to be made again")
    after = {path for path in Path("results").rglob("*") if path.is_file()}
    assert before - after == {MODEL.with_name("settings.json")}


def test_to_redo_by_content_needs_to_look_at_it(finished: Params) -> None:
    MODEL.write_bytes(MODEL.read_bytes()[::-1])
    set_time(MODEL, after_marker=0)
    assert "simt check runs --deep --redo --study tiny" in complaint(finished, "runs", True)
    assert redo_stage(finished, "runs").startswith("0 steps")
    assert redo_stage(finished, "runs", is_deep=True).startswith("1 step of")


def test_damage_that_stops_snakemake_can_be_redone_after_a_setting_has_changed(
    finished: Params,
) -> None:
    edit(finished, RUN, "revision", 7)
    cut(MODEL)
    record(find(finished, RUN))
    assert status(finished, RUN).is_seen
    with pytest.raises(SimtError, match=r"1 step with damaged results"):
        raise_if_damaged(finished, Steps(finished).all())
    redo_stage(finished, "paper")
    raise_if_damaged(finished, Steps(finished).all())


def test_folder_in_the_place_of_a_marker_is_told_and_left(finished: Params) -> None:
    path = MODEL.with_name("settings.json")
    path.unlink()
    path.mkdir()
    with pytest.raises(SimtError, match=rf"{path} is a folder but must be a file"):
        redo_stage(finished, "paper")
    assert "settings.json cannot be read: Is a directory" in complaint(finished)
    assert "settings.json cannot be read: Is a directory" in describe_study(finished)


def test_step_that_was_killed_leaves_no_marker_of_other_settings(finished: Params) -> None:
    step = find(finished, RUN)

    def train_and_stop() -> None:
        with step.made_in(step.folder):
            MODEL.write_text("half of another model")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_and_stop()
    assert status(finished, RUN) == Status("to do")


# --- before Snakemake plans -----------------------------------------------------------------------


def test_whole_results_are_not_refused(finished: Params) -> None:
    raise_if_damaged(finished, Steps(finished).all())


def test_missing_file_is_left_to_snakemake_if_it_knows_of_it(finished: Params) -> None:
    MODEL.unlink()
    raise_if_damaged(finished, Steps(finished).all())


def test_missing_raw_file_is_refused_since_snakemake_does_not_know_it(finished: Params) -> None:
    Path("results/corpora/tiny-deen/raw/train.de").unlink()
    with pytest.raises(SimtError, match=r"train\.de is missing") as caught:
        raise_if_damaged(finished, Steps(finished).all())
    assert str(caught.value).endswith(f"To make this again: {REDO}")


def test_emptied_vocabulary_is_refused_with_the_remedy(finished: Params) -> None:
    empty(Path("results/corpora/tiny-deen/bpe/vocabulary"))
    with pytest.raises(SimtError, match="vocabulary has 0 bytes") as caught:
        raise_if_damaged(finished, Steps(finished).all())
    assert str(caught.value).endswith(f"To make this again: {REDO}")


def test_file_that_was_changed_at_its_size_is_refused(finished: Params) -> None:
    MODEL.write_bytes(MODEL.read_bytes()[::-1])
    set_time(MODEL, after_marker=3600)
    with pytest.raises(SimtError, match=r"model\.pt no longer has the content") as caught:
        raise_if_damaged(finished, Steps(finished).all())
    assert str(caught.value).endswith(f"To make this again: {REDO}")
    assert status(finished, RUN).state == "damaged"


def test_file_that_is_only_newer_is_good(finished: Params) -> None:
    set_time(MODEL, after_marker=3600)
    raise_if_damaged(finished, Steps(finished).all())
    assert status(finished, RUN).state == "done"


def test_rule_asks_for_what_is_lost_of_the_files_that_it_reads(finished: Params) -> None:
    history = MODEL.with_name("history.jsonl")
    MODEL.unlink()
    history.unlink()
    decoding = find(finished, f"{RUN}/test").inputs
    assert str(MODEL) in decoding
    assert str(history) not in decoding  # a training is not done again for what nobody wants
    assert str(history) in find(finished, "report").inputs
    assert {str(MODEL), str(history)} <= set(find(finished, RUN).asked_for)


def test_results_of_a_time_to_come_are_of_now(finished: Params) -> None:
    steps = Steps(finished).runs()
    model, other = (steps[place].folder / "model.pt" for place in (0, 1))
    now = other.stat().st_mtime + 10
    os.utime(model, (now + 7200, now + 7200))
    assert reset_future_mtimes(steps, now) == 1
    assert model.stat().st_mtime == pytest.approx(now)
    assert other.stat().st_mtime == pytest.approx(now - 10)


def test_weights_may_be_gone_in_a_rehearsal_and_nothing_else(params: Params) -> None:
    rehearsal = replace(params, is_rehearsal=True)
    steps = Steps(rehearsal)
    make(steps.all())
    MODEL.unlink()
    assert states(params) == {"done", "damaged", "stale"}
    assert states(rehearsal) == {"done"}
    raise_if_damaged(rehearsal, steps.all())
    assert str(MODEL) not in [path for step in steps.all() for path in step.outputs]
    assert str(MODEL) in [path for step in steps.all() for path in step.inputs]
    (MODEL.parent / "history.jsonl").unlink()
    assert status(rehearsal, RUN).state == "damaged"
