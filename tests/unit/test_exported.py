"""An exported folder translates elsewhere, and nothing in it is trusted."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from xml.etree import ElementTree

import pytest
from safetensors.torch import load_file, save_file

from simt.atomic import write_json
from simt.cli import main
from simt.errors import SimtError
from simt.exported import choose_folder, open_folder
from simt.markers import FileMark
from simt.params import load_params
from simt.runs import Point, Run, run_settings
from simt.session import Session
from tests.samples.markers import mark
from tests.samples.project import BIN, ROOT
from tests.samples.records import score_run
from tests.samples.trained import RUNS, write_project

SENTENCE = "Maria isst immer frisches Brot, bevor sie geht."


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_project(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for run in RUNS:
            name = f"{run.method}/{run.variant}"
            assert main(["export", name, "--to", f"out/{run.method}", "--study", "tiny"]) == 0
    return folder


@pytest.fixture
def folder(project: Path, tmp_path: Path) -> Path:
    """A copy that a test may corrupt."""
    return Path(shutil.copytree(project / "out" / "sm2", tmp_path / "elsewhere"))


def translated(project: Path, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the run itself says."""
    (project / "in.txt").write_text(SENTENCE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)
        assert main(["translate", name, "--from", "in.txt", "--study", "tiny"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.method)
def test_folder_translates_as_its_run_does(
    run: object, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(run, type(RUNS[0]))
    copy = shutil.copytree(project / "out" / run.method, tmp_path / "moved")
    chosen = choose_folder(str(copy), None)
    assert chosen is not None
    session = Session(chosen.system.open(), chosen.knob)
    session.push(SENTENCE)
    session.finish()
    assert session.text
    assert f"{session.text}\n" == translated(project, f"{run.method}/{run.variant}", capsys)


def test_weights_that_cannot_be_written_are_one_message(project: Path, tmp_path: Path) -> None:
    export = f"{BIN / 'simt'} export sm2/bi --study tiny --to {tmp_path / 'new'}"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 16; {export}"], cwd=project, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == f"simt: {tmp_path / 'new'}: File too large\n"
    assert list((tmp_path / "new").iterdir()) == []


def test_folder_translates_in_another_place_without_the_project(
    project: Path, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = subprocess.run(
        [BIN / "simt", "translate", f"{folder.name}@0.5"],
        cwd=tmp_path, input=SENTENCE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == translated(project, "sm2/bi@0.5", capsys)


def test_folder_that_is_not_there_is_told_without_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["translate", "sm2x@0.5"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no exported folder 'sm2x', " in line
    assert line.endswith("params.yaml does not exist: run from the project's folder")


def test_card_says_what_it_is_and_where_its_text_comes_from(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# sm2/bi: de to en\n")
    assert "sentences of simt's own toy grammar" in card
    assert "0" * 40 in card


def test_folder_that_was_exported_at_a_knob_value_keeps_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(["export", "sm2/bi@0.9", "--to", "out/late", "--study", "tiny"]) == 0
    assert "at the knob value 0.9;" in Path("out/late/README.md").read_text(encoding="utf-8")
    usual, asked = (choose_folder("out/late", knob) for knob in (None, "0.3"))
    assert usual is not None
    assert asked is not None
    assert (usual.name, usual.knob, asked.knob) == ("out/late@0.9", 0.9, 0.3)
    capsys.readouterr()
    assert translated(project, "out/late", capsys) == translated(project, "sm2/bi@0.9", capsys)


def test_folder_that_was_exported_without_a_knob_value_says_nothing_of_it(project: Path) -> None:
    system = json.loads((project / "out/sm2/system.json").read_text(encoding="utf-8"))
    assert "knob" not in system  # which versions before would not read
    card = (project / "out/sm2/README.md").read_text(encoding="utf-8")
    chosen = choose_folder(str(project / "out/sm2"), None)
    assert chosen is not None
    assert f"at the knob value {chosen.knob};" in card


def test_card_has_scores_with_signatures_licence_and_curve(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three points of which one has no BLEU and one waits for the whole source."""
    monkeypatch.chdir(shutil.copytree(project, tmp_path / "project"))
    places = (("full", 31, 9), (0.7, 27.126, 4.5), (0.5, 20.5, 2.25), (0.3, None, 1))
    entries = [
        {"knob": knob, "scores": {"bleu": {"value": bleu, "signature": "bleu|tok:13a"},
                                  "al_token": {"value": lagging, "signature": "AL|unit:token"}}}
        for knob, bleu, lagging in places
    ]  # fmt: skip
    scores = {"points": entries, "missing": {}, "main_latency": "al_token"}
    params = load_params(Path("params.yaml"), "tiny")
    score_run(params, RUNS[1])
    write_json(Point(RUNS[1], "test").folder / "scores.json", scores)
    assert main(["export", "sm2/bi", "--to", "card", "--study", "tiny"]) == 0
    card = Path("card/README.md").read_text(encoding="utf-8")
    assert "Licence of the data: MIT" in card
    assert "| 0.7 | 27.13 | 4.50 |" in card
    assert "| 0.3 |  | 1.00 |" in card
    assert "- `bleu|tok:13a`" in card
    assert "- `AL|unit:token`" in card
    assert "](curve.svg)" in card
    picture = ElementTree.parse("card/curve.svg")
    dots = picture.findall(".//{http://www.w3.org/2000/svg}circle")
    # From left below to right above, and nothing else.
    (x1, y1), (x2, y2) = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in dots]
    assert x1 < x2
    assert y1 > y2
    open_folder(Path("card")).open()


def test_card_has_no_scores_of_a_model_that_is_no_more(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shutil.copytree(project, tmp_path / "project"))
    run, params = RUNS[1], load_params(Path("params.yaml"), "tiny")
    score_run(params, run, updates=8)
    for updates, is_scored in ((8, True), (9, False)):  # the second time, it was trained again
        mark(run.folder, run_settings(params, run), {"model.pt": f"model of {updates} updates"})
        assert main(["export", "sm2/bi", "--to", f"card{updates}", "--study", "tiny"]) == 0
        card = Path(f"card{updates}/README.md").read_text(encoding="utf-8")
        assert ("| knob | BLEU | AL |" in card) is is_scored
        assert ("It has not been scored." in card) is not is_scored
        assert Path(f"card{updates}/curve.svg").exists() is is_scored


# --- elsewhere ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with simt as a package and what it needs, but nothing of this clone."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "venv", with_pip=False)
    shutil.copytree(ROOT / "src", folder / "source" / "src")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    to = ["--python", str(folder / "venv/bin/python"), "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *to, str(folder / "source")], capture_output=True, text=True
    )
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"simt cannot be built here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    # Linked, not installed again: half an hour of downloads would test pip. Files that would lead
    # from there to this clone are not read.
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "needed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    shutil.rmtree(folder / "source")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.method)
def test_folder_says_the_same_in_a_fresh_environment(
    run: Run, project: Path, fresh: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(project / "out" / run.method, tmp_path / "moved")
    bare = {"HOME": str(tmp_path), "PATH": os.defpath}
    tool = fresh / "venv" / "bin"
    where = subprocess.run(
        [tool / "python", "-c", "import simt; print(simt.__file__)"],
        cwd=tmp_path, env=bare, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(where.stdout).is_relative_to(fresh)
    done = subprocess.run(
        [tool / "simt", "translate", "moved"],
        cwd=tmp_path, env=bare, input=SENTENCE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == translated(project, f"{run.method}/{run.variant}", capsys)


def test_all_who_may_read_the_card_may_read_the_weights(project: Path) -> None:
    modes = {path.stat().st_mode for path in (project / "out" / "sm2").iterdir()}
    assert len(modes) == 1


def test_full_folder_is_not_written_over(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    assert main(["export", "sm2/bi", "--to", "out/sm2", "--study", "tiny"]) == 1
    assert "out/sm2 is not empty" in capsys.readouterr().err


# --- what is wrong with a folder ------------------------------------------------------------------


def complaint(folder: Path) -> str:
    with pytest.raises(SimtError) as caught:
        open_folder(folder).open()
    return str(caught.value)


def sign(folder: Path, name: str) -> None:
    """Have the manifest agree to what was done to a file."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"][name] = FileMark.of_file(folder / name).model_dump()
    path.write_text(json.dumps(manifest), encoding="utf-8")


def test_all_damaged_files_are_told_at_once(folder: Path) -> None:
    (folder / "codes").unlink()
    with (folder / "vocabulary").open("a") as stream:
        stream.write("more 1\n")
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    said = complaint(folder)
    assert "codes: is missing" in said
    assert "vocabulary: has" in said
    assert "model.safetensors: does not match its SHA-256" in said


def test_folder_of_something_else_is_told(tmp_path: Path) -> None:
    assert "is not a folder that `simt export` wrote" in complaint(tmp_path)


def test_manifest_cannot_name_files_elsewhere(folder: Path) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"]["../secret"] = {"sha256": "0" * 64, "bytes": 1}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert "../secret: does not belong to an exported system" in complaint(folder)


def test_weights_of_another_size_are_told(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["target_embedding_VD"] = weights["target_embedding_VD"][:-1].contiguous()
    save_file(weights, folder / "model.safetensors")
    sign(folder, "model.safetensors")
    assert "target_embedding_VD is" in complaint(folder)


def test_pickle_under_the_name_of_weights_is_not_opened(project: Path, folder: Path) -> None:
    shutil.copyfile(project / RUNS[1].folder / "model.pt", folder / "model.safetensors")
    sign(folder, "model.safetensors")
    assert "has no weights" in complaint(folder)


def test_settings_that_are_unknown_are_told(folder: Path) -> None:
    path = folder / "system.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["run"]["model"]["depth"] = 3
    path.write_text(json.dumps(values), encoding="utf-8")
    sign(folder, "system.json")
    assert "run.model.depth: unknown setting" in complaint(folder)
