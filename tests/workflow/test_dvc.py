"""DVC over the finished tiny study, as people use it."""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.samples.browser import wait_for_text
from tests.samples.markers import change_settings
from tests.samples.project import BIN, LOCAL, ROOT, planned, run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]

# Those of the interpreter first, as after `source .venv/bin/activate`.
ENVIRONMENT = {
    **os.environ,
    "PATH": f"{BIN}:{os.environ['PATH']}",
    "GIT_AUTHOR_NAME": "someone",
    "GIT_AUTHOR_EMAIL": "someone@example.org",
    "GIT_COMMITTER_NAME": "someone",
    "GIT_COMMITTER_EMAIL": "someone@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
LAMBDA = "methods.sm2.variants.bi-p.confidence_weight"


EXTRA = "tiny-deen,new/one,1,a new system,#123456,0.5,2.0,7.5\n"


def dvc(folder: Path, *arguments: str) -> str:
    return run(folder, "dvc", *arguments, environment=ENVIRONMENT)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", *arguments], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True
    )


def change_lambda(folder: Path) -> None:
    """Another λ for every SM² model."""
    params = folder / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(text.replace("confidence_weight: 0.1 ", "confidence_weight: 0.25 ", 1))


@pytest.fixture(scope="module")
def repository(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished study under Git and DVC, with the tiny study as the default."""
    folder = tmp_path_factory.mktemp("dvc") / "repository"
    shutil.copytree(study, folder, symlinks=True)
    shutil.copytree(ROOT / ".dvc", folder / ".dvc", ignore=shutil.ignore_patterns("tmp", "cache"))
    for name in ("dvc.yaml", ".dvcignore", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    params = folder / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(text.replace("\nstudy: toy ", "\nstudy: tiny ", 1), encoding="utf-8")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "the study before DVC")
    said = dvc(folder, "repro")
    assert said.count("Nothing to be done") == 4, said
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "the study")
    return folder


def test_nothing_is_to_do_after_a_repro(repository: Path) -> None:
    assert "up to date" in dvc(repository, "status")


def test_metrics_fit_a_terminal_and_name_the_systems_as_figures_do(repository: Path) -> None:
    shown = dvc(repository, "metrics", "show")
    assert max(map(len, shown.splitlines())) <= 120
    found = json.loads(dvc(repository, "metrics", "show", "--json"))[""]["data"]
    values = found["results/paper/tiny/bleu.json"]["data"]
    path = repository / "results/points/tiny-deen/offline/bi/seed1/test/scores.json"
    (point,) = json.loads(path.read_text())["points"]
    assert values["OMT-Bi"] == round(point["scores"]["bleu"]["value"], 2)
    assert len(values) <= 10


def test_table_of_what_experiments_change_fits_a_terminal(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    change_lambda(copy)
    dvc(copy, "exp", "save", "--name", "another")
    shown = dvc(copy, "exp", "show", "--no-pager", "--only-changed")
    assert "methods.sm2.settings.confidence_weight" in shown
    assert max(map(len, shown.splitlines())) <= 120, shown


def test_plots_lay_the_curves_of_revisions_over_each_other_without_a_net(
    repository: Path, tmp_path: Path, browser: Chrome
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    path = copy / "results/paper/tiny/curves.csv"
    with path.open(encoding="utf-8") as stream:
        systems = {row["system"] for row in csv.DictReader(stream) if row["knob"] != "full"}
    path.write_text(path.read_text(encoding="utf-8") + EXTRA, encoding="utf-8")
    dvc(copy, "plots", "diff", "HEAD", "--out", "plots")
    page = copy / "plots/index.html"
    assert 'src="http' not in page.read_text(encoding="utf-8")
    browser.get(page.as_uri())
    text = wait_for_text(browser, "average lagging")
    for name in (*systems, "a new system", "HEAD", "workspace"):
        assert name in text
    drawn = browser.find_elements("css selector", "svg [data-system] polyline")
    assert len(drawn) == 2 * len(systems) + 1
    images = [path.name for path in (copy / "plots/static").iterdir()]
    assert any("fig03-bleu-al.png" in name for name in images)


def test_study_that_snakemake_made_is_recorded_without_doing_it_again(
    repository: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    (copy / "dvc.lock").unlink()
    assert "changed" in dvc(copy, "status")
    dvc(copy, "commit", "--force", "--quiet")  # as `make demo` does in the end
    assert "up to date" in dvc(copy, "status")
    assert dvc(copy, "repro").count("didn't change, skipping") == 4


def test_experiment_with_one_lambda_trains_that_run_only(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    models = {path: path.stat().st_mtime_ns for path in copy.glob("results/runs/*/*/*/*/model.pt")}
    dvc(copy, "exp", "run", "--set-param", f"+{LAMBDA}=0.25", "runs")
    changed = {path.parent for path, time in models.items() if path.stat().st_mtime_ns != time}
    assert changed == {copy / "results/runs/tiny-deen/sm2/bi-p/seed1"}
    (folder,) = changed
    settings = json.loads((folder / "settings.json").read_text())["settings"]
    assert settings["method_settings"]["confidence_weight"] == 0.25
    assert LAMBDA in dvc(copy, "params", "diff")


def test_pulled_results_are_checked_and_not_made_again(repository: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    shutil.copytree(repository, copy, symlinks=True)
    dvc(copy, "remote", "add", "--default", "storage", str(tmp_path / "storage"))
    dvc(copy, "push")
    git(copy, "add", "dvc.lock", ".dvc/config")
    git(copy, "commit", "--quiet", "--message", "where the results are")
    git(tmp_path, "clone", "--quiet", str(copy), str(other))
    dvc(other, "pull")
    assert "steps up to paper are those of params.yaml" in run(other, "simt", "check", "paper")
    run(other, *LOCAL, "--touch")
    assert not planned(other)


def test_result_that_does_not_fit_params_cannot_be_locked(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    path = copy / "results/runs/tiny-deen/sm2/bi/seed1/settings.json"
    before = path.stat()
    change_settings(path, revision=7)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # Snakemake sees no change
    lock = (copy / "dvc.lock").read_text()
    done = subprocess.run(
        [BIN / "dvc", "repro", "--single-item", "--force", "runs"],
        cwd=copy, env=ENVIRONMENT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "revision 7 -> " in done.stdout + done.stderr
    assert (copy / "dvc.lock").read_text() == lock
