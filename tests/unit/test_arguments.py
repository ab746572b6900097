"""Arguments that a person gets wrong: one message, before any work."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from simt.cli import main
from simt.errors import SimtError
from simt.lab.corpus_bench import bench_corpus
from simt.params import load_params
from simt.runs import Run, run_settings

ROOT = Path(__file__).parents[2]
VALUES: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
FOLDERS = {
    "fetch": ("--to", "t"),
    "prepare": ("--from", "f", "--to", "t"),
    "bpe": ("--from", "f", "--to", "t"),
    "train": ("--corpus", "c", "--to", "t"),
    "decode": ("--corpus", "c", "--run", "r", "--to", "t"),
    "confidences": ("--corpus", "c", "--run", "r", "--to", "t"),
    "states": ("--corpus", "c", "--run", "r", "--to", "t"),
    "score-point": ("--corpus", "c", "--split", "test", "--to", "t"),
    "estimator": ("--corpus", "c", "--to", "t"),
    "draw": ("fig03-bleu-al", "--to", "t"),
    "curves": ("--to", "t"),
    "write-claims": ("--to", "t"),
    "report": ("--to", "t"),
}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """What a command that must fail says."""
    assert main(arguments) == 1
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("command", FOLDERS)
def test_settings_that_are_no_json_are_one_message(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = said(capsys, command, "--settings", "{bad", *FOLDERS[command])
    assert line.startswith("simt: --settings is not JSON: key must be a string at line 1 column 2")


@pytest.mark.parametrize("command", FOLDERS)
def test_missing_settings_are_told_by_their_names(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *lines = said(capsys, command, "--settings", "{}", *FOLDERS[command])
    assert head == f"simt: --settings has {len(lines)} problems:"
    assert all(line.endswith(": missing; there is no default for it") for line in lines)


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize("depth", [300, 3_000, 30_000])
def test_deeply_nested_settings_are_one_message(
    command: str, depth: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = said(capsys, command, "--settings", '{"a":' * depth, *FOLDERS[command])
    assert line.startswith("simt: --settings is not JSON: recursion limit exceeded")


RUN = run_settings(load_params(ROOT / "params.yaml"), Run("tiny-deen", "waitk", "k3", 1))


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ('"k": Infinity, "target_states": "frozen"', "k: Input should be a valid integer"),
        ('"target_states": "frozen"', "k: Field required"),
        ('"k": 3, "target_states": "frozen", "x": 1', "x: Extra inputs are not permitted"),
        ('"k": 3, "target_states": "warm"', "target_states: Input should be"),
    ],
)
def test_wrong_setting_of_a_method_is_told_before_training(
    own: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.dumps(RUN.model_dump(mode="json") | {"method_settings": {}})
    text = whole.replace('"method_settings": {}', f'"method_settings": {{{own}}}')
    head, line = said(capsys, "train", "--settings", text, *FOLDERS["train"])
    assert head == "simt: --settings has 1 problem:"
    assert line.startswith(f"  settings: method_settings of waitk: {says}")


def test_unknown_method_is_told_before_training(capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps(RUN.model_dump(mode="json") | {"method": "waitq"})
    _, line = said(capsys, "train", "--settings", text, *FOLDERS["train"])
    assert line == "  settings: there is no method 'waitq'"


@pytest.mark.parametrize("seed", [2**63, 10**30, 10**400])
def test_seed_that_no_generator_takes_is_told(
    seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(RUN.model_dump(mode="json") | {"seed": seed})
    _, line = said(capsys, "train", "--settings", text, *FOLDERS["train"])
    assert line.startswith("  settings.seed: 1" if seed != 2**63 else "  settings.seed: 9")
    assert line.endswith("input should be less than or equal to 9007199254740992")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--threads", "0", "0 is below 1"),
        ("--threads", "-3", "-3 is below 1"),
        ("--devices", "-1", "-1 is below 1"),
        ("--checkpoint-minutes", "nan", "nan is not a number of minutes, 0 or more"),
    ],
)
def test_number_that_makes_no_sense_is_refused(
    option: str, value: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["train", "--settings", "{}", *FOLDERS["train"], option, value])
    assert end.value.code == 2
    assert says in capsys.readouterr().err


def test_split_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["score-point", "--settings", "{}", "--corpus", "c", "--to", "t", "--split", "tset"])
    assert end.value.code == 2
    assert "tset" in capsys.readouterr().err


def test_folder_for_params_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "plan", "--params", str(tmp_path)) == [
        f"simt: {tmp_path} cannot be read: Is a directory"
    ]


@pytest.mark.parametrize("pairs", [0, -3])
def test_bench_of_no_pairs_is_one_message(pairs: int, tmp_path: Path) -> None:
    with pytest.raises(SimtError, match=f"--pairs {pairs}: give 1 or more"):
        bench_corpus(pairs, tmp_path, 1)


def test_drawing_that_does_not_exist_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = said(capsys, "draw", "fig99-mine", "--to", "t", "--settings", "{}")
    assert line.startswith(
        "simt: there is no figure or table 'fig99-mine'; there are fig01-paradigms, fig02-framework"
    )


@pytest.mark.parametrize("command", [("plan",), ("check",), ("check", "paper"), ("claims",)])
def test_misspelt_figure_is_told_before_any_work(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    values = copy.deepcopy(VALUES)
    figures = values["paper"]["figures"]
    figures["fig30-bleu-al"] = figures.pop("fig03-bleu-al")
    Path("params.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    head, unknown, missing = said(capsys, *command)
    assert head == "simt: params.yaml has 2 problems:"
    assert unknown.startswith(
        "  paper.figures.fig30-bleu-al: there is no figure 'fig30-bleu-al' "
        "(did you mean fig03-bleu-al?)"
    )
    assert missing == "  paper.figures.fig03-bleu-al: missing; the report shows this figure"
