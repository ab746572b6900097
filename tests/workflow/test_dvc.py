"""DVC over the finished tiny study, as people use it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from simt.params import load_params
from simt.runs import study_points
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


def dvc(folder: Path, *arguments: str) -> str:
    return run(folder, "dvc", *arguments, environment=ENVIRONMENT)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", *arguments], cwd=folder, env=ENVIRONMENT, check=True, capture_output=True
    )


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


def test_metrics_have_a_row_a_run(repository: Path) -> None:
    found = json.loads(dvc(repository, "metrics", "show", "--json"))[""]["data"]
    rows = {name.removeprefix("results/paper/tiny/metrics/"): row for name, row in found.items()}
    path = repository / "results/points/tiny-deen/waitk/k3/seed1/test/scores.json"
    (point,) = json.loads(path.read_text())["points"]
    assert (
        rows["tiny-deen/waitk/k3/seed1.json"]["data"]["bleu"] == (point["scores"]["bleu"]["value"])
    )
    params = load_params(repository / "params.yaml")
    points = study_points(params, params.studies["tiny"])
    assert rows.keys() == {f"{point.run}.json" for point in points if point.split == "test"}


def test_plots_show_the_curve_of_every_system_and_the_figure(repository: Path) -> None:
    dvc(repository, "plots", "show", "--out", "plots")
    page = (repository / "plots/index.html").read_text(encoding="utf-8")
    for name in ("sm2/bi", "waitk/k3", "multipath/uni"):
        assert f'"run": "{name}"' in page
    assert "average lagging" in page
    images = [path.name for path in (repository / "plots/static").iterdir()]
    assert any("fig03-bleu-al.png" in name for name in images)


def test_experiment_with_one_lambda_trains_that_run_only(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    models = {path: path.stat().st_mtime_ns for path in copy.glob("results/runs/*/*/*/*/model.pt")}
    dvc(copy, "exp", "run", "--set-param", f"+{LAMBDA}=0.25", "runs")
    changed = {path.parent for path, time in models.items() if path.stat().st_mtime_ns != time}
    assert changed == {copy / "results/runs/tiny-deen/sm2/bi-p/seed1"}
    (folder,) = changed
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["method_settings"]["confidence_weight"] == 0.25
    assert LAMBDA in dvc(copy, "params", "diff")


def test_pulled_results_are_checked_and_not_made_again(repository: Path, tmp_path: Path) -> None:
    dvc(
        repository, "remote", "add", "--local", "--force", "--default", "store", str(tmp_path / "s")
    )
    dvc(repository, "push")
    other = tmp_path / "other"
    git(tmp_path, "clone", "--quiet", str(repository), str(other))
    dvc(other, "remote", "add", "--local", "--default", "store", str(tmp_path / "s"))
    dvc(other, "pull")
    assert "all " in run(other, "simt", "check", "paper")
    run(other, *LOCAL, "--touch")
    assert not planned(other)


def test_result_that_does_not_fit_params_cannot_be_locked(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    path = copy / "results/runs/tiny-deen/sm2/bi/seed1/settings.json"
    before = path.stat()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"revision": 7}))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # Snakemake sees no change
    lock = (copy / "dvc.lock").read_text()
    done = subprocess.run(
        [BIN / "dvc", "repro", "--single-item", "--force", "runs"],
        cwd=copy, env=ENVIRONMENT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode != 0
    assert "revision 7 -> " in done.stdout + done.stderr
    assert (copy / "dvc.lock").read_text() == lock
