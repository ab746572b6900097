"""Arguments that a person gets wrong: one message, before any work."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from simt.cli import main
from simt.corpus.bench import bench_corpus
from simt.errors import SimtError

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
    assert line.startswith("simt: --settings is not JSON: Expecting property name")


@pytest.mark.parametrize("command", FOLDERS)
def test_missing_settings_are_told_by_their_names(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *lines = said(capsys, command, "--settings", "{}", *FOLDERS[command])
    assert head == f"simt: --settings has {len(lines)} problems:"
    assert all(line.endswith(": missing; there is no default for it") for line in lines)


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
    params = str(ROOT / "params.yaml")
    (line,) = said(capsys, "draw", "fig99-mine", "--to", "t", "--params", params)
    assert line.startswith(
        "simt: there is no figure or table 'fig99-mine'; there are fig01-paradigms, fig02-framework"
    )


@pytest.mark.parametrize(
    "command", [("plan",), ("check", "paper"), ("draw", "fig03-bleu-al", "--to", "t")]
)
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
