"""`simt decode` with a model, ids, a vocabulary or settings that are not what they should be."""

import io
import json
import pickle
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simt import decoding
from simt.cli import main
from simt.params import Params, load_params
from simt.runs import Point, Run
from tests.samples.markers import change_settings
from tests.samples.small_study import (
    CORPUS,
    PAIR,
    corpus_command,
    decode_command,
    train_command,
    write_params,
)

WAITK, MULTIPATH = Run(PAIR, "waitk", "k3", 1), Run(PAIR, "multipath", "uni", 1)
SM2 = Run(PAIR, "sm2", "bi", 1)
MODEL = WAITK.folder / "model.pt"
BPE, TEXT = CORPUS / "bpe", CORPUS / "text"
CANARY = Path("code-was-run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Params]:
    """A folder with a corpus and runs, two of them with weights of the same names and shapes."""
    folder = tmp_path_factory.mktemp("trained")
    params = load_params(write_params(folder))
    with chdir(folder):
        for step in ("fetch", "prepare", "bpe"):
            assert main(corpus_command(params, step)) == 0
        for run in (WAITK, MULTIPATH, SM2):
            assert main(train_command(params, run)) == 0
    return folder, params


@pytest.fixture
def project(trained: tuple[Path, Params], tmp_path: Path) -> Iterator[Params]:
    """The params of a copy of that folder, in which the test then is."""
    shutil.copytree(trained[0], tmp_path, dirs_exist_ok=True)
    with chdir(tmp_path):
        yield trained[1]


def decode(params: Params) -> int:
    return main(decode_command(params, Point(WAITK, "test"), to=Path("out")))


def refusal(params: Params, capsys: pytest.CaptureFixture[str]) -> str:
    """What a decoding that must fail says; nothing of it may be left, and no code may have run."""
    capsys.readouterr()
    assert decode(params) == 1
    said = capsys.readouterr().err
    assert said.startswith("simt: ")
    assert "Traceback" not in said
    assert "weights_only" not in said
    assert not Path("out", "settings.json").exists()
    assert not Path("out", "instances.jsonl").exists()
    assert not CANARY.exists()
    return said


def test_model_of_its_own_run_and_corpus_translates(project: Params) -> None:
    assert decode(project) == 0
    assert Path("out", "instances.jsonl").exists()


def test_model_from_before_it_said_what_it_is_of_translates(project: Params) -> None:
    values = torch.load(MODEL, weights_only=True)
    del values["made_from"]
    torch.save(values, MODEL)
    assert decode(project) == 0


def test_model_of_another_method_is_refused(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(MULTIPATH.folder / "model.pt", MODEL)
    said = refusal(project, capsys)
    assert f"{MODEL} is of {PAIR}/multipath/uni/seed1, not of {PAIR}/waitk/k3/seed1" in said


def test_damaged_text_is_told_before_anything_is_decoded(
    project: Params, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (TEXT / "test.raw.jsonl").write_text("{\n", encoding="utf-8")
    monkeypatch.setattr(decoding, "simulate", lambda *_, **__: pytest.fail("it decodes first"))
    assert "test.raw.jsonl has 1 lines for 3 sentences" in refusal(project, capsys)


SENTENCES = '{"sentences": 1, "max_source_words": 40}'
MAKES = {
    "decode": ("test", "instances.jsonl"),
    "confidences": ("valid", "confidence.json"),
    "states": ("aligned", "states.jsonl"),
}


def command_of_sm2(command: str, params: Params) -> list[str]:
    split: Any = MAKES[command][0]
    arguments = decode_command(params, Point(SM2, split), command, Path("out"))
    if command == "states":
        arguments[2] = SENTENCES
    return arguments


@pytest.mark.parametrize("command", MAKES)
def test_every_command_that_decodes_opens_a_model_of_its_run(command: str, project: Params) -> None:
    assert main(command_of_sm2(command, project)) == 0
    assert Path("out", MAKES[command][1]).exists()


@pytest.mark.parametrize("command", MAKES)
def test_every_command_that_decodes_refuses_a_model_of_another_run(
    command: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(MODEL, SM2.folder / "model.pt")
    assert main(command_of_sm2(command, project)) == 1
    said = capsys.readouterr().err
    assert f"is of {PAIR}/waitk/k3/seed1, not of {PAIR}/sm2/bi/seed1" in said
    assert not any(path.is_file() for path in Path("out").rglob("*"))


def test_model_of_another_method_is_no_start(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    values = torch.load(MODEL, weights_only=True)
    values["confidence.weight"] = torch.zeros(1)
    torch.save(values, MODEL)
    command = train_command(project, MULTIPATH, Path("out"))
    assert main([*command, "--start", str(WAITK.folder)]) == 1
    said = capsys.readouterr().err
    assert f"{WAITK.folder}: the model to start from has weights that are no use here" in said


@pytest.mark.parametrize("part", ["vocabulary", "the whole of bpe/"])
def test_shuffled_vocabulary_of_equal_size_is_refused(
    part: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (BPE / "vocabulary").read_text(encoding="utf-8").splitlines(keepends=True)
    (BPE / "vocabulary").write_text("".join(reversed(lines)), encoding="utf-8")
    if part != "vocabulary":
        size = len(lines) + 4
        for path in BPE.glob("test.*.ids.npy"):  # encoded anew, as it were
            ids = np.load(path)
            np.save(path, np.where(ids < 4, ids, size + 3 - ids).astype(ids.dtype))
    said = refusal(project, capsys)
    assert f"{MODEL} was trained with another vocabulary than that of the corpus" in said


def test_shuffled_vocabulary_is_refused_for_a_model_from_before(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    test_model_from_before_it_said_what_it_is_of_translates(project)
    shutil.rmtree("out")
    lines = (BPE / "vocabulary").read_text(encoding="utf-8").splitlines(keepends=True)
    (BPE / "vocabulary").write_text("".join(reversed(lines)), encoding="utf-8")
    assert "test.source, line 1 is not what its ids say" in refusal(project, capsys)


def rewritten(change: Callable[[dict[str, Any], str], Any]) -> bytes:
    """The model's file after a change; the name is that of one weight."""
    values = torch.load(MODEL, weights_only=True)
    name = next(name for name in values if name != "made_from")
    stream = io.BytesIO()
    torch.save(change(values, name) or values, stream)
    return stream.getvalue()


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (CANARY,))


def compressed(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for part in old.namelist():
            new.writestr(part, old.read(part), zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def set_value(value: Callable[[Any], Any]) -> Callable[[], bytes]:
    return lambda: rewritten(lambda values, name: values.update({name: value(values[name])}))


BROKEN_MODELS: dict[str, tuple[Callable[[], bytes], str]] = {
    "NaN": (set_value(lambda weight: weight * nan), "has weights that are NaN or infinite: "),
    "infinity": (set_value(lambda weight: weight + inf), "has weights that are NaN or infinite: "),
    "one weight fewer": (
        lambda: rewritten(lambda values, name: values.__delitem__(name)),
        "does not fit the settings beside it: missing: ",
    ),
    "one weight more": (
        lambda: rewritten(lambda values, name: values.update(x=values[name])),
        "does not fit the settings beside it: unknown: x. Train it again.",
    ),
    "another shape": (
        set_value(lambda weight: weight[:-1]),
        " instead of (",
    ),
    "whole numbers": (set_value(lambda weight: weight.int()), "is not a model: "),
    "a sparse matrix": (set_value(lambda weight: weight.to_sparse()), "is not a model: "),
    "no memory": (set_value(lambda weight: weight.to("meta")), "is not a model: "),
    "one number for all": (
        set_value(lambda weight: torch.zeros(1).expand(weight.shape)),
        "is not a model: ",
    ),
    "text for a weight": (set_value(lambda _: "text"), "is not a model: "),
    "a list": (lambda: rewritten(lambda values, _: [values]), "not weights by their names"),
    "a pickle": (lambda: pickle.dumps(Evil()), "is damaged (File is not a zip file)"),
    "code beside the weights": (
        lambda: rewritten(lambda values, _: values.update(x=Evil())),
        "is damaged (not tensors, numbers and text only): delete it and make it again",
    ),
    "no origin": (
        lambda: rewritten(lambda values, _: values.update(made_from=[])),
        "is not a model: made_from",
    ),
    "an archive of something else": (lambda: compressed(rewritten(lambda *_: None)), "compressed"),
    "half of it": (lambda: MODEL.read_bytes()[:5000], "is damaged (File is not a zip file)"),
    "nothing": (lambda: b"", "is damaged (File is not a zip file)"),
    "a text": (lambda: b"hello\n", "is damaged (File is not a zip file)"),
}


@pytest.mark.parametrize("kind", BROKEN_MODELS)
def test_broken_model_is_one_message(
    kind: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    make, says = BROKEN_MODELS[kind]
    MODEL.write_bytes(make())
    said = refusal(project, capsys)
    assert str(MODEL) in said
    assert says in said


FILES = (
    MODEL,
    WAITK.folder / "settings.json",
    BPE / "vocabulary",
    BPE / "codes",
    BPE / "test.json",
    BPE / "test.source.ids.npy",
    BPE / "test.target.offsets.npy",
    TEXT / "settings.json",
    TEXT / "test.source",
    TEXT / "test.raw.jsonl",
)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("damage", ["missing", "a folder", "empty", "not UTF-8", "brackets"])
def test_damaged_file_is_named(
    damage: str, file: Path, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    elif damage != "missing":
        contents = {"empty": b"", "not UTF-8": b"\xff\xfe {}\n", "brackets": b"[" * 100_000}
        file.write_bytes(contents[damage])
    assert file.name in refusal(project, capsys)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"method": "waitq"}, "settings: there is no method 'waitq'"),
        ({"method": "sm2"}, "settings: method_settings of sm2: encoder: Field required"),
        ({"seed": "1"}, "settings.seed"),
        ({"extra": 1}, "settings.extra: unknown setting"),
        ({"model": None}, "settings.model"),
    ],
)
def test_wrong_settings_of_a_run_are_told(
    changes: dict[str, Any], says: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    file = WAITK.folder / "settings.json"
    change_settings(file, **changes)
    said = refusal(project, capsys)
    assert str(file) in said
    assert says in said


@pytest.mark.parametrize("value", [0, 60_000])
def test_damaged_ids_are_told(
    value: int, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = np.load(BPE / "test.source.ids.npy")
    ids[1] = value
    np.save(BPE / "test.source.ids.npy", ids)
    said = refusal(project, capsys)
    assert "not what its ids say" in said or "do not match the vocabulary" in said


def test_text_that_has_changed_since_it_was_encoded_is_told(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (TEXT / "test.source").read_text(encoding="utf-8").splitlines(keepends=True)
    (TEXT / "test.source").write_text("".join([lines[1], lines[0], *lines[2:]]), encoding="utf-8")
    said = refusal(project, capsys)
    assert f"{TEXT / 'test.source'}, line 1 is not what its ids say; delete its folder" in said


@pytest.mark.parametrize(
    ("run", "knob", "says"),
    [
        (WAITK, 0, "knobs of waitk: k = 0 must be above 0"),
        (WAITK, -1, "knobs of waitk: k = -1 must be above 0"),
        (WAITK, 0.5, "knobs of waitk: k = 0.5 is not a whole number"),
        (MULTIPATH, 1e308, "knobs of multipath: k = 1e+308 is too large"),
    ],
)
def test_knob_that_the_method_does_not_take_is_told(
    run: Run, knob: float, says: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    command = decode_command(project, Point(run, "test"), to=Path("out"))
    assert main(with_settings(command, knobs=[knob])) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ([], "settings.knobs: is empty; give at least one"),
        (["full", "full"], "settings: a knob value appears twice"),
        ([1, 1.0], "settings: a knob value appears twice"),
    ],
)
def test_knobs_are_some_and_each_is_there_once(
    knobs: list[Any], says: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    command = decode_command(project, Point(WAITK, "test"), to=Path("out"))
    assert main(with_settings(command, knobs=knobs)) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("command", ["confidences", "states"])
def test_confidence_of_a_model_that_has_none_is_told(
    command: str, project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = decode_command(project, Point(WAITK, "valid"), command, Path("out"))
    if command == "states":
        arguments[2] = SENTENCES
    assert main(arguments) == 1
    assert "a model of waitk has no confidence; give a run of sm2" in capsys.readouterr().err


def test_model_that_fits_in_no_memory_is_one_message(
    project: Params, capsys: pytest.CaptureFixture[str]
) -> None:
    command = train_command(project, WAITK, Path("out"))
    size = json.loads(command[2])["model"] | {"width": 2**40, "heads": 2}
    assert main(with_settings(command, model=size)) == 1
    assert capsys.readouterr().err.startswith("simt: out of memory. Take a device with more")


def with_settings(command: list[str], **changes: Any) -> list[str]:
    place = command.index("--settings") + 1
    settings = json.loads(command[place]) | changes
    return [*command[:place], json.dumps(settings), *command[place + 1 :]]
