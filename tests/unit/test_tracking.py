"""The mirror in MLflow's database holds what the record does, however often it is made."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from simt.cli import main
from simt.params import Params, load_params
from simt.products import HISTORY_FILE
from simt.record import STOP_FILE, work_folder
from simt.runs import Run, run_settings
from simt.systems import training_label
from simt.training.devices import Devices
from simt.training.history import History
from simt.training.run import train_run
from tests.samples.markers import change_settings
from tests.samples.records import (
    begin_run,
    fail_run,
    finish_run,
    score_run,
    stop_run,
    write_rows,
)

pytestmark = pytest.mark.xdist_group("mlflow-store")  # they share a set-up

FILE = Path(__file__).parents[2] / "params.yaml"
SM2 = Run("tiny-deen", "sm2", "bi", 1)
WAITK = Run("tiny-deen", "waitk", "k3", 1)
OFFLINE = Run("tiny-deen", "offline", "bi", 1)
REVISION = load_params(FILE).methods["sm2"].revision
HOURS = 3600
# AL and BLEU at γ = full, 0.3, 0.5, 0.7, 0.99: nothing at an AL of 2 or of 7
LINE = ((16.0, 30.0), (2.5, 10.0), (3.5, 20.0), (5.5, 23.333333333333332), (6.5, 24.0))


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with MLflow's tables, made once: that takes seconds."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def params(tmp_path: Path, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    Path("params.yaml").write_bytes(FILE.read_bytes())
    Path("mlflow.db").write_bytes(empty_store.read_bytes())
    return load_params(Path("params.yaml"), "tiny")


def track() -> None:
    assert main(["track", "--study", "tiny"]) == 0


def rows(query: str, *values: object, store: str = "mlflow.db") -> list[tuple[Any, ...]]:
    """What the database holds, asked without MLflow."""
    with closing(sqlite3.connect(store)) as database:
        return database.execute(query, values).fetchall()


def history(name: str, key: str) -> list[tuple[int, float]]:
    """Steps and values of a metric of the run that is shown as ``name``."""
    return rows(
        "select step, value from metrics join runs using (run_uuid)"
        " where name = ? and key = ? and lifecycle_stage = 'active' order by step",
        name, key,
    )  # fmt: skip


def statuses() -> dict[str, str]:
    return dict(rows("select name, status from runs where lifecycle_stage = 'active'"))


def tags(name: str) -> dict[str, str]:
    return dict(rows("select key, value from tags join runs using (run_uuid) where name = ?", name))


def everything() -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that a mirror writes."""
    tables = (
        "experiments",
        "experiment_tags",
        "runs",
        "metrics",
        "latest_metrics",
        "params",
        "tags",
    )
    return {name: sorted(rows(f"select * from {name}"), key=repr) for name in tables}


# --- what is there ----------------------------------------------------------------------------


def test_losses_are_histories(params: Params) -> None:
    finish_run(params, SM2, updates=3)
    track()
    assert history("SM²-Bi", "train/loss") == [(1, 10.0), (2, 5.0), (3, 10 / 3)]
    assert history("SM²-Bi", "valid/loss") == [(3, 5 / 3)]


def test_settings_are_params(params: Params) -> None:
    finish_run(params, SM2)
    track()
    found = dict(rows("select key, value from params"))
    assert found["sm2.confidence_weight"] == "0.1"
    assert (found["training.updates"], found["model.width"]) == ("8", "16")
    assert (found["pair"], found["variant"], found["seed"]) == ("tiny-deen", "bi", "1")


def test_points_are_metrics_by_latency_with_their_knob(params: Params) -> None:
    finish_run(params, SM2)
    score_run(params, SM2)
    track()
    scores = json.loads(Path(f"results/points/{SM2}/test/scores.json").read_text())["points"]
    expected = sorted(
        (round(100 * point["scores"]["al_token"]["value"]), point["knob"])
        for point in scores
        if point["knob"] != "full"
    )
    assert history("SM²-Bi", "test/knob") == expected
    assert [step for step, _ in history("SM²-Bi", "test/bleu")] == [s for s, _ in expected]
    (full,) = [point for point in scores if point["knob"] == "full"]
    assert history("SM²-Bi", "bleu_full_source") == [(0, full["scores"]["bleu"]["value"])]


def test_bleu_at_a_latency_is_read_off_the_curve(params: Params) -> None:
    finish_run(params, SM2)
    score_run(params, SM2)
    path = Path(f"results/points/{SM2}/test/scores.json")
    scores = json.loads(path.read_text())
    for point, (lag, bleu) in zip(scores["points"], LINE, strict=True):
        point["scores"]["al_token"]["value"], point["scores"]["bleu"]["value"] = lag, bleu
    path.write_text(json.dumps(scores))
    track()
    found = {at: history("SM²-Bi", f"bleu_at_al_{at}") for at in (2, 3, 5, 7)}
    assert found == {2: [], 3: [(0, 15.0)], 5: [(0, 22.5)], 7: []}


def test_runs_are_named_as_in_the_figures_in_the_experiment_of_the_study(params: Params) -> None:
    for run in (SM2, WAITK, OFFLINE, Run("tiny-deen", "sm2", "bi-w1.0", 1)):
        finish_run(params, run)
    track()
    assert rows("select name from experiments where experiment_id > 0") == [("tiny",)]
    assert statuses().keys() == {"SM²-Bi", "wait-k 3", "OMT-Bi", "SM²-Bi with λ = 1.0"}


def test_names_tell_seeds_apart_where_a_study_has_several(params: Params) -> None:
    text = Path("params.yaml").read_text(encoding="utf-8")
    place = text.index("  tiny: ")
    text = text[:place] + text[place:].replace("seeds: [1]", "seeds: [1, 2]", 1)
    Path("params.yaml").write_text(text, encoding="utf-8")
    for seed in (1, 2):
        finish_run(params, Run("tiny-deen", "sm2", "bi", seed))
    track()
    assert statuses().keys() == {"SM²-Bi, seed 1", "SM²-Bi, seed 2"}


def test_models_of_wait_k_make_up_a_curve_of_its_own(params: Params) -> None:
    lags = []
    for variant in ("k1", "k3"):
        run = Run("tiny-deen", "waitk", variant, 1)
        finish_run(params, run)
        score_run(params, run)
        (point,) = json.loads(Path(f"results/points/{run}/test/scores.json").read_text())["points"]
        lags.append(point["scores"]["al_token"]["value"])
    track()
    assert statuses().keys() == {"wait-k", "wait-k 1", "wait-k 3"}
    assert [value for _, value in history("wait-k", "test/AL")] == lags
    assert tags("wait-k")["trainings"] == "wait-k 1, wait-k 3"
    assert not history("wait-k 3", "bleu_at_al_2")


def test_curve_of_several_models_is_made_anew_when_another_is_scored(params: Params) -> None:
    for variant in ("k1", "k3"):
        run = Run("tiny-deen", "waitk", variant, 1)
        finish_run(params, run)
        score_run(params, run)
        track()
        assert len(history("wait-k", "test/bleu")) == (1 if variant == "k1" else 2)


def test_first_view_has_the_systems_of_figure_3(params: Params) -> None:
    for run in (SM2, WAITK, OFFLINE, Run("tiny-deen", "sm2", "bi-p", 1)):
        finish_run(params, run)
        score_run(params, run)
    track()
    shown = rows("select name from runs join tags t using (run_uuid) where t.key = 'view'"
                 " and t.value = 'main'")  # fmt: skip
    assert {name for (name,) in shown} == {"SM²-Bi", "wait-k", "OMT-Bi"}


def test_experiment_links_to_the_report(params: Params) -> None:
    Path("results/paper/tiny").mkdir(parents=True)
    Path("results/paper/tiny/report.html").write_text("a report")
    track()
    ((run,),) = rows("select run_uuid from runs where name = 'report'")
    ((note,),) = rows("select value from experiment_tags where key = 'mlflow.note.content'")
    assert f"runs/{run}/artifacts/report.html" in note


def test_commit_and_revision_are_tags(params: Params) -> None:
    finish_run(params, SM2)
    track()
    found = tags("SM²-Bi")
    assert (found["commit"], found["revision"]) == ("0123456789abcdef", str(REVISION))


@pytest.mark.parametrize(
    ("preset", "run", "tag"),
    # Neither the paper's words nor the code's slips touch how an offline model is trained, but
    # its code has another Adam.
    [("official", SM2, "official"), ("default", OFFLINE, "default, paper")],
)
def test_fidelity_is_every_preset_under_which_a_run_is_the_same(
    preset: str, run: Run, tag: str, params: Params
) -> None:
    finish_run(params.presets[preset], run)
    track()
    assert tags(training_label(run.method, run.variant))["fidelity"] == tag


def test_instances_report_and_figures_are_artifacts(params: Params) -> None:
    finish_run(params, SM2)
    score_run(params, SM2)
    figure = Path("results/paper/tiny/figures/fig03-bleu-al.png")
    figure.parent.mkdir(parents=True)
    figure.write_bytes(b"a figure")
    Path("results/paper/tiny/report.html").write_bytes(b"a report")
    track()
    sent = {path.name: path for path in Path("mlruns").rglob("*.*")}
    assert sent["instances.jsonl"].parent.name == "test"
    assert sent["fig03-bleu-al.png"].read_bytes() == b"a figure"
    assert sent["report.html"].read_bytes() == b"a report"


# --- how a run ended --------------------------------------------------------------------------


def test_run_is_running_while_its_record_grows_and_killed_when_it_is_silent(
    params: Params,
) -> None:
    work = begin_run(params, SM2, updates=2)
    track()
    assert statuses() == {"SM²-Bi": "RUNNING"}
    record = work / HISTORY_FILE
    long_ago = record.stat().st_mtime - HOURS
    os.utime(record, (long_ago, long_ago))
    track()
    assert statuses() == {"SM²-Bi": "KILLED"}


def test_run_that_was_asked_to_stop_is_not_running_until_it_resumes(params: Params) -> None:
    stop_run(params, SM2, updates=2)
    track()
    assert statuses() == {"SM²-Bi": "KILLED"}
    (work_folder(run_settings(params, SM2), SM2.folder) / STOP_FILE).unlink()
    track()
    assert statuses() == {"SM²-Bi": "RUNNING"}


def test_failed_run_says_why(params: Params) -> None:
    fail_run(params, SM2, 2, "loss nan at update 3")
    track()
    assert statuses()["SM²-Bi"] == "FAILED"
    assert tags("SM²-Bi")["failure"] == "loss nan at update 3"


def test_training_that_breaks_leaves_a_note_and_is_failed(params: Params) -> None:
    settings = run_settings(params, SM2)
    devices = Devices(rank=0, world=1, device=torch.device("cpu"))
    with pytest.raises(Exception, match="no-such-corpus"):
        train_run(settings, Path("no-such-corpus"), None, SM2.folder, devices, 10)
    track()
    assert statuses()["SM²-Bi"] == "FAILED"
    assert "no-such-corpus" in tags("SM²-Bi")["failure"]


def test_run_that_goes_on_after_a_failure_is_the_same_run(params: Params) -> None:
    fail_run(params, SM2, 2, "the disk is full")
    track()
    finish_run(params, SM2, updates=4)
    track()
    assert statuses() == {"SM²-Bi": "FINISHED"}
    assert [step for step, _ in history("SM²-Bi", "train/loss")] == [1, 2, 3, 4]


def test_run_whose_folder_is_gone_does_not_stay_running(params: Params) -> None:
    work = begin_run(params, SM2, updates=2)
    track()
    (work / HISTORY_FILE).unlink()
    track()
    assert statuses()["SM²-Bi"] == "KILLED"


# --- again ------------------------------------------------------------------------------------


def test_second_time_changes_nothing(params: Params) -> None:
    for run in (SM2, WAITK):
        finish_run(params, run)
        score_run(params, run)
    fail_run(params, Run("tiny-deen", "itst", "uni", 1), 2, "no luck")
    track()
    before = everything()
    track()
    assert everything() == before


def test_new_rows_come_behind_the_old_ones(params: Params) -> None:
    work = begin_run(params, SM2, updates=2)
    track()
    write_rows(work / HISTORY_FILE, 3, 5)
    track()
    assert [step for step, _ in history("SM²-Bi", "train/loss")] == [1, 2, 3, 4, 5]


def test_half_a_line_is_left_for_the_next_time(params: Params) -> None:
    work = begin_run(params, SM2, updates=2)
    with (work / HISTORY_FILE).open("a") as stream:
        stream.write('{"update": 3, "lo')
    track()
    assert [step for step, _ in history("SM²-Bi", "train/loss")] == [1, 2]


def test_updates_that_are_done_again_after_a_kill_are_not_doubled(params: Params) -> None:
    work = begin_run(params, SM2, updates=5)
    track()
    History(work / HISTORY_FILE).go_back_to(3)
    write_rows(work / HISTORY_FILE, 4, 6, tokens_per_s=7.0)
    track()
    for key in ("train/loss", "speed/tokens_per_s"):
        assert [step for step, _ in history("SM²-Bi", key)] == [1, 2, 3, 4, 5, 6]


def test_new_scores_replace_the_old_ones(params: Params) -> None:
    finish_run(params, WAITK)
    score_run(params, WAITK)
    track()
    ((_, before),) = history("wait-k 3", "test/bleu")
    score_run(params, WAITK, shift=1.0)
    track()
    ((_, after),) = history("wait-k 3", "test/bleu")
    expected = json.loads(Path(f"results/points/{WAITK}/test/scores.json").read_text())
    assert after == expected["points"][0]["scores"]["bleu"]["value"] != before


@pytest.mark.parametrize("step", ["trained", "decoded"])
def test_scores_of_what_was_made_again_since_are_not_mirrored(params: Params, step: str) -> None:
    finish_run(params, WAITK)
    score_run(params, WAITK)
    track()
    assert history("wait-k 3", "test/bleu")
    finish_run(params, WAITK, updates=4)
    if step == "decoded":
        scored = Path(f"results/points/{WAITK}/test/scoring.json").read_bytes()
        score_run(params, WAITK, updates=4)
        Path(f"results/points/{WAITK}/test/scoring.json").write_bytes(scored)
    track()
    assert [update for update, _ in history("wait-k 3", "train/loss")] == [1, 2, 3, 4]
    assert not history("wait-k 3", "test/bleu")
    assert not history("wait-k", "test/bleu")  # the curve


@pytest.mark.parametrize("damage", ["history is missing", "scores are cut"])
def test_run_that_cannot_be_read_is_left_out_and_named(
    params: Params, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in (SM2, WAITK):
        finish_run(params, run)
        score_run(params, run)
    track()
    before = tags("SM²-Bi")
    capsys.readouterr()
    if damage == "history is missing":
        path = SM2.folder / HISTORY_FILE
        path.unlink()
    else:
        path = Path(f"results/points/{SM2}/test/scores.json")
        path.write_bytes(path.read_bytes()[:100])
    score_run(params, WAITK, shift=1.0)
    ((_, bleu),) = history("wait-k 3", "test/bleu")
    track()
    assert f"{SM2} is left out: {path} cannot be read, it is " in capsys.readouterr().out
    assert tags("SM²-Bi") == before
    ((_, now),) = history("wait-k 3", "test/bleu")
    assert now != bleu


def test_results_with_other_settings_are_warned_of(
    params: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    finish_run(params, SM2)
    change_settings(SM2.folder / "settings.json", revision=REVISION + 1)
    track()
    warning = "simt: 1 of 1 result used here does not match params.yaml, such as tiny-deen/sm2/bi"
    assert capsys.readouterr().err.startswith(warning)


def test_run_with_other_settings_is_another_one_and_the_old_one_says_so(params: Params) -> None:
    finish_run(params, SM2)
    track()
    change_settings(SM2.folder / "settings.json", revision=REVISION + 1)
    track()
    found = rows(
        "select p.value, t.value from params p join tags t using (run_uuid)"
        " where p.key = 'revision' and t.key = 'is_current' order by 1"
    )
    assert found == [(str(REVISION), "no"), (str(REVISION + 1), "yes")]


def test_mirror_that_dies_between_any_two_calls_is_completed_by_the_next(
    params: Params, empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    finish_run(params, SM2)
    score_run(params, SM2)
    calls, deaths = 0, 0

    def dying(real: Callable[..., Any], last_call: int) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > last_call:
                raise SystemExit
            return real(*arguments, **named)

        return call

    for last_call in range(20):
        with monkeypatch.context() as patch:
            calls = 0
            for name in ("create_experiment", "create_run", "log_batch", "log_artifact"):
                patch.setattr(MlflowClient, name, dying(getattr(MlflowClient, name), last_call))
            try:
                track()
                break
            except SystemExit:
                deaths += 1
    assert deaths > 3
    Path("calm.db").write_bytes(empty_store.read_bytes())
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{Path('calm.db').absolute()}")
    track()
    for query in (
        "select key, step, value from metrics order by 1, 2",
        "select key, value from params order by 1",
        "select name, status from runs order by 1",
    ):
        assert rows(query) == rows(query, store="calm.db")
