"""MLflow as people use it: a server that comes and goes, a live mirror, pages in a browser."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver import Chrome

from simt.params import Params, load_params
from simt.runs import Run
from tests.samples.browser import wait_for_text
from tests.samples.mlflow_server import MlflowServer
from tests.samples.records import begin_run, finish_run, score_run, write_rows

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SM2 = Run("tiny-deen", "sm2", "bi", 1)
WAITK = Run("tiny-deen", "waitk", "k3", 1)
WAIT1 = Run("tiny-deen", "waitk", "k1", 1)
ABLATION = Run("tiny-deen", "sm2", "bi-no-omt", 1)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("mlflow")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MlflowServer]:
    """Not started yet."""
    one = MlflowServer(tmp_path_factory.mktemp("server"))
    yield one
    one.stop()


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    return load_params(Path("params.yaml"), "tiny")


def track(server: MlflowServer, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [BIN / "simt", "track", "--study", "tiny", *options],
        env=os.environ | {"MLFLOW_TRACKING_URI": server.address},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def rows(server: MlflowServer, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(server.folder / "mlflow.db")) as database:
        return database.execute(query).fetchall()


def said(process: "subprocess.Popen[str]", text: str) -> None:
    """Read what a process says until it says ``text``."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    pytest.fail(f"it ended without saying {text!r}")


def test_server_that_is_away_is_told_with_the_remedy(params: Params, server: MlflowServer) -> None:
    finish_run(params, SM2)
    process = track(server)
    output, _ = process.communicate()
    assert process.returncode == 1
    assert f"the MLflow store {server.address} does not take the record" in output
    assert "Nothing is lost" in output
    assert "Traceback" not in output


def test_live_mirror_waits_for_a_server_and_loses_nothing_when_it_goes_away(
    params: Params, server: MlflowServer
) -> None:
    work = begin_run(params, SM2, updates=3)
    process = track(server, "--follow")
    said(process, "does not take the record")
    server.start()
    said(process, "1 running")
    server.stop()
    write_rows(work / "history.jsonl", 4, 6)
    said(process, "does not take the record")
    finish_run(params, SM2, updates=6)
    server.start()
    said(process, "1 finished")
    process.communicate(input="")
    assert process.returncode == 0
    losses = "select step from metrics where key = 'train/loss' order by step"
    assert rows(server, losses) == [(step,) for step in range(1, 7)]
    assert rows(server, "select distinct status from runs") == [("FINISHED",)]


def test_mirror_that_is_killed_in_the_middle_is_completed_without_doubling(params: Params) -> None:
    finish_run(params, SM2, updates=6000)
    steps = "select step from metrics where key = 'train/loss' order by step"
    command = [BIN / "simt", "track", "--study", "tiny"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while not (sent := stored(steps)):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert len(sent) < 6000
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
    assert stored(steps) == [(step,) for step in range(1, 6001)]


def stored(query: str) -> list[tuple[Any, ...]]:
    """Rows of the database in this folder; none before it has its tables."""
    with closing(sqlite3.connect("mlflow.db")) as database:
        try:
            return database.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []


def test_run_that_is_still_open_when_all_is_over_is_closed(
    params: Params, server: MlflowServer
) -> None:
    server.start()
    begin_run(params, WAITK, updates=3)
    process = track(server, "--follow")
    said(process, "1 running")
    process.communicate(input="")
    query = "select status from runs where name = 'wait-k 3'"
    assert rows(server, query) == [("KILLED",)]


def test_address_that_is_told_opens_the_comparison(
    params: Params, server: MlflowServer, browser: Chrome
) -> None:
    server.start()
    for run in (SM2, WAITK, WAIT1, ABLATION):
        finish_run(params, run)
        score_run(params, run)
    output = track(server).communicate()[0]
    assert "4 finished" in output
    (address,) = re.findall(r"http://\S+/#/\S+", output)
    browser.get(address)
    for text in ("BLEU against AL", "SM²-Bi (test/bleu)", "wait-k (test/bleu)", "test/AL"):
        shown = wait_for_text(browser, text)
    assert "w/o L_omt" not in shown
    # The bar of SM² at an AL of 3 has the number that the store does.
    query = "select value from metrics join runs using (run_uuid) where lifecycle_stage = 'active'"
    ((value,),) = rows(server, f"{query} and name = 'SM²-Bi' and key = 'bleu_at_al_3'")
    wait_for_text(browser, f"{value:.2f}")


def test_pages_show_our_numbers(params: Params, server: MlflowServer, browser: Chrome) -> None:
    server.start()
    for run in (SM2, WAITK):
        finish_run(params, run)
        score_run(params, run)
    assert "2 finished" in track(server).communicate()[0]
    query = "select name, run_uuid from runs where lifecycle_stage = 'active'"
    ids = dict(rows(server, f"{query} and status = 'FINISHED'"))
    (experiment,) = rows(server, "select experiment_id from experiments where name = 'tiny'")[0]
    scores = json.loads((Path("results/points") / str(WAITK) / "test/scores.json").read_text())
    bleu = scores["points"][0]["scores"]["bleu"]["value"]

    browser.get(f"{server.address}/#/experiments/{experiment}/runs/{ids['wait-k 3']}")
    wait_for_text(browser, f"{bleu:.2f}")
    chosen = [ids["SM²-Bi"], ids["wait-k 3"]]
    both, of = quote(json.dumps(chosen)), quote(json.dumps([str(experiment)]))
    browser.get(f"{server.address}/#/compare-runs?runs={both}&experiments={of}")
    text = wait_for_text(browser, "Comparing 2 Runs")
    assert "sm2.confidence_weight" in text
    wait_for_text(browser, f"{bleu:.3f}"[:-1])


def test_trainings_are_mirrored_while_snakemake_runs(tmp_path: Path, server: MlflowServer) -> None:
    server.start()
    for name in ("Snakefile", "params.yaml", "environment.yml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    run = Run("tiny-deen", "multipath", "uni", 1)
    done = subprocess.run(
        [BIN / "snakemake", "--profile", "workflow/profiles/local", "--config", "study=tiny",
         "--", str(run.folder / "settings.json")],
        cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"MLFLOW_TRACKING_URI": server.address},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    query = "select status from runs where name = 'm-wait-k'"
    while rows(server, query) != [("FINISHED",)]:
        time.sleep(0.5)
    last = "select max(step) from metrics join runs using (run_uuid) where key = 'train/loss'"
    assert rows(server, f"{last} and name = 'm-wait-k'") == [(8,)]
