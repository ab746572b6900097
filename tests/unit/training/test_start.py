"""A training starts from a folder that was handed over as it would from the run itself."""

import hashlib
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from simt.check import Inspection
from simt.cli import main
from simt.errors import SimtError
from simt.markers import FileMark
from simt.params import Params, load_params
from simt.products import Patterns
from simt.runs import Run
from simt.steps import Step, Steps
from tests.samples.small_study import PAIR, corpus_command, small_params, train_command

OFFLINE = Run(PAIR, "offline", "bi", 1)
OTHER = Run(PAIR, "offline", "bi-other", 1)
TUNED = Run(PAIR, "sm2", "bi-ft", 1)
HANDED = Run(PAIR, "sm2", "handed", 1)
FOLDER = Path("handed over/offline")  # a blank needs quotes in a command
BPE = Path(f"results/corpora/{PAIR}/bpe")


def write_params(**handed: Any) -> Params:
    """Two offline runs, and such as are tuned from the first: by its name, and from a folder."""
    values = small_params()
    offline, sm2 = (values["methods"][name]["variants"] for name in ("offline", "sm2"))
    offline["bi-other"] = {**offline["bi"], "training": {"label_smoothing": 0.3}}
    runs = {"offline": ["bi", "bi-other"], "sm2": ["bi-ft"]}
    if handed:
        sm2["handed"] = {**sm2["bi-ft"], **handed}
        runs["sm2"].append("handed")
    values["studies"]["small"]["runs"] = {PAIR: runs}
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    Path("params.yaml").write_text(text, encoding="utf-8")
    return load_params(Path("params.yaml"))


def train(params: Params, run: Run, *more: str) -> int:
    start = shlex.split(Steps(params).start_option(run))
    return main([*train_command(params, run), *start, *more])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained offline runs, the first of them exported, and one tuned from it by name."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        params = write_params()
        for step in ("fetch", "prepare", "bpe"):
            assert main(corpus_command(params, step)) == 0
        for run in (OFFLINE, OTHER, TUNED):
            assert train(params, run) == 0
        assert main(["export", "offline/bi", "--to", str(FOLDER)]) == 0
    return folder


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """A copy that a test may spoil, with a run that starts from the folder."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "project"))
    return write_params(start_from=f"./{FOLDER}")


def weights_of(run: Run) -> dict[str, torch.Tensor]:
    values = torch.load(run.folder / "model.pt", weights_only=True)
    values.pop("made_from")
    return dict(values)


def test_training_from_a_folder_is_that_from_its_run_bit_by_bit(project: Params) -> None:
    assert train(project, HANDED) == 0
    ours, theirs = weights_of(HANDED), weights_of(TUNED)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    start = weights_of(OFFLINE)
    assert not all(torch.equal(ours[name], start[name]) for name in start)  # it was trained
    step = Steps(project).run(HANDED)
    assert Inspection().status(step).state == "done"


def read_of_subwords(step: Step) -> Patterns:
    (patterns,) = (read.patterns for read in step.reads if read.part == "bpe")
    return patterns


def test_graph_declares_the_files_of_the_folder(project: Params) -> None:
    step = Steps(project).run(HANDED)
    names = {path.name for path in FOLDER.iterdir()} - {"README.md"}
    assert {f"{FOLDER}/{name}" for name in names} <= set(step.inputs)
    assert "codes*" in read_of_subwords(step)  # compared with those of the folder
    assert "codes*" not in read_of_subwords(Steps(project).run(TUNED))
    digest = hashlib.sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()
    assert step.settings.model_dump()["start_from"] == f"sha256:{digest}"


def test_another_folder_of_the_same_name_is_noticed(project: Params) -> None:
    assert train(project, HANDED) == 0
    assert main(["export", "offline/bi-other", "--to", "other"]) == 0
    shutil.rmtree(FOLDER)
    Path("other").rename(FOLDER)
    status = Inspection().status(Steps(project).run(HANDED))
    assert status.state == "stale"
    assert status.why.startswith("start_from ")


def refusal(params: Params, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert train(params, HANDED, *more) == 1
    return capsys.readouterr().err


def test_folder_with_other_subwords_is_refused(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (BPE / "codes").read_text(encoding="utf-8").splitlines(keepends=True)
    (BPE / "codes").write_text("".join([lines[0], *reversed(lines[1:])]), encoding="utf-8")
    said = refusal(project, capsys)
    assert f"{FOLDER} ({OFFLINE}) has other subwords than the corpus of this run: codes" in said
    assert "or without start_from" in said


def test_damaged_folder_is_refused(project: Params, capsys: pytest.CaptureFixture[str]) -> None:
    with (FOLDER / "vocabulary").open("a", encoding="utf-8") as stream:
        stream.write("more 1\n")
    assert "vocabulary: has" in refusal(project, capsys)


def test_folder_with_other_weights_than_the_settings_say_is_refused(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "offline/bi-other", "--to", "other"]) == 0
    said = refusal(project, capsys, "--start", "other")
    assert "the settings of this run have start_from 'sha256:" in said


def test_run_that_starts_from_another_needs_its_folder(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(train_command(project, TUNED, Path("out"))) == 1
    assert "this run starts from offline/bi: give its folder (--start)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("handed", "said"),
    [
        ({"start_from": "./nowhere"}, "nowhere is not a folder that `simt export` wrote"),
        (
            {"start_from": f"./{FOLDER}", "encoder": "uni"},
            f"{FOLDER} has a bi encoder, this a uni one; make them equal",
        ),
    ],
    ids=["missing", "encoder"],
)
def test_params_say_that_a_folder_does_not_fit(
    handed: dict[str, str], said: str, project: Params
) -> None:
    with pytest.raises(SimtError) as caught:
        write_params(**handed)
    assert f"methods.sm2.variants.handed.start_from: {said}" in str(caught.value)


def test_params_say_that_a_folder_is_of_another_size(project: Params) -> None:
    claim_another_layer(FOLDER)
    with pytest.raises(SimtError, match=r"handed.start_from: .* is of size .*make them equal"):
        write_params(start_from=f"./{FOLDER}")


def test_folder_of_another_size_is_refused(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    """Layers that only we have would stay random."""
    claim_another_layer(FOLDER)
    assert "decoder_layers" in refusal(project, capsys)


def claim_another_layer(folder: Path) -> None:
    """Let an exported folder say that its model has a layer more, with checksums to match."""
    system, manifest = folder / "system.json", folder / "manifest.json"
    values = json.loads(system.read_text(encoding="utf-8"))
    values["run"]["model"]["decoder_layers"] += 1
    system.write_text(json.dumps(values), encoding="utf-8")
    marks = json.loads(manifest.read_text(encoding="utf-8"))
    marks["files"]["system.json"] = FileMark.of_file(system).as_values()
    manifest.write_text(json.dumps(marks), encoding="utf-8")
