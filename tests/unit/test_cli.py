"""The commands as a person types them."""

import argparse
import errno
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from simt.cli import GROUPS, _parser, main
from simt.instances import Unit
from simt.paper.style import Face
from simt.params import Params, load_params
from simt.runs import Run
from simt.steps import STAGES
from tests.samples.records import begin_run, finish_run, score_run, stop_run

ROOT = Path(__file__).parents[2]
Said = Callable[..., list[str]]


def test_plan_lists_runs_decodings_figures_and_their_state(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--study", "paper", "--params", str(ROOT / "params.yaml")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Study paper (fidelity default, seeds 1): 4 pairs, 87 runs")
    assert "wmt15-deen     waitk      5 to do            k1 k3 k5 k7 k9" in said
    assert "fig03-bleu-al" in said


@pytest.fixture
def planned(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[str, str]]:
    """What the plan of a study draws, and what it leaves out."""

    def plan(study: str) -> tuple[str, str]:
        monkeypatch.chdir(tmp_path)
        main(["plan", "--study", study, "--params", str(ROOT / "params.yaml")])
        drawn, left_out = capsys.readouterr().out.split("left out, and why\n")
        return drawn, left_out

    return plan


def test_plan_refuses_what_only_its_costs_would_heed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--gpus", "8", "--kind", "a100"]) == 1
    assert capsys.readouterr().err == "simt: --gpus, --kind need --cost: add --cost\n"
    assert main(["plan", "--cores", "2"]) == 1
    assert capsys.readouterr().err == "simt: --cores needs --cost: add --cost\n"


def test_plan_says_what_is_left_out_and_why(planned: Callable[[str], tuple[str, str]]) -> None:
    drawn, left_out = planned("multi30k")
    assert "fig05-alignments" not in drawn
    assert "  fig05-alignments               no gold alignments for multi30k-deen\n" in left_out
    assert "  tab06-numbers                  the study has no second main pair\n" in left_out


def test_plan_leaves_out_drawings_with_nothing_to_compare(
    planned: Callable[[str], tuple[str, str]],
) -> None:
    drawn, left_out = planned("tatoeba")
    reason = "the study has no sm2/bi-no-omt or sm2/bi-no-pi to compare"
    assert f"  fig08-ablations                {reason}\n" in left_out
    for name in ("fig06-prohibition", "fig07-offline-models", "fig09-lambda", "tab02-sizes"):
        assert name not in drawn
    assert "fig03-bleu-al" in drawn


def test_plan_leaves_out_figures_of_comet_without_a_model(
    planned: Callable[[str], tuple[str, str]],
) -> None:
    drawn, left_out = planned("multi30k-long")
    reason = "no COMET model: `comet` of multi30k-deen-long is empty"
    assert f"  fig04-comet-al                 {reason}\n" in left_out
    assert "tab05-numbers" in drawn
    assert "fig04-comet-al" in planned("multi30k")[0]  # its model may come


def test_plan_names_what_is_trained_for_no_figure_and_no_other_training(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bi-small is in no figure either, but bi-small-ft starts from it."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    title = "trained, but in no figure or table\n"
    for shown, less in {
        "offline: [bi, bi-small, bi-big]": "offline: [bi]",
        "about: {sm2: [bi-ft, bi-adapter, ": "about: {sm2: [bi-ft, ",
    }.items():
        assert shown in text
        text = text.replace(shown, less)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    main(["plan", "--study", "tiny"])
    listed = capsys.readouterr().out.split(title)[1].split("\n\n")[0].splitlines()
    assert listed[0].split() == ["tiny-deen", "sm2/bi-adapter"]
    assert listed[1].startswith("  To decode them, add them to `runs` of a drawing under `paper`")
    main(["plan", "--study", "tiny", "--params", str(ROOT / "params.yaml")])
    assert title not in capsys.readouterr().out


def test_plan_of_an_unknown_study_is_a_message_not_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "--study", "nope", "--params", str(ROOT / "params.yaml")]) == 1
    assert capsys.readouterr().err == (
        "simt: params.yaml has 1 problem:\n"
        "  study: there is no study 'nope'; there are toy, tiny, toy3, scale-toy, multi30k, "
        "scale-multi30k, multi30k-long, tatoeba, tatoeba-long, tatoeba-variants, paper\n"
    )


# --- help -----------------------------------------------------------------------------------------


def all_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from all_parsers(inner)


ARGUMENTS = [
    (f"{parser.prog} {'/'.join(action.option_strings) or action.dest}", action)
    for parser in all_parsers(_parser())
    for action in parser._actions
    if not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
]


@pytest.mark.parametrize(("name", "action"), ARGUMENTS, ids=[name for name, _ in ARGUMENTS])
def test_every_option_says_what_it_is_for_and_gives_an_example(
    name: str, action: argparse.Action
) -> None:
    assert action.help, name
    takes_a_value = action.nargs != 0
    assert not takes_a_value or action.choices or "e.g. " in action.help, name


def test_help_has_every_command_once_below_the_title_of_its_group(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    starts = [said.index(f"\n{group.title}:\n") for group in GROUPS]
    parts = [said[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    listed = [re.findall(r"^  (\S+) ", part, flags=re.MULTILINE) for part in parts]
    assert listed == [[command.name for command in group.commands] for group in GROUPS]
    (commands,) = (a for a in _parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert sorted(name for names in listed for name in names) == sorted(commands.choices)
    assert all(len(line) <= 100 for line in said.splitlines())


# Written out in the command line, which imports as little as it can before it knows the command.
CHOICES = {
    "simt check stage": STAGES,
    "simt score --unit": get_args(Unit),
    "simt latency --unit": get_args(Unit),
    "simt simuleval --unit": get_args(Unit),
    "simt draw --face": get_args(Face),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_of_an_option_are_those_of_the_code(name: str) -> None:
    (action,) = (action for argument, action in ARGUMENTS if argument == name)
    assert tuple(action.choices or ()) == CHOICES[name]


def test_figure_by_its_number_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "fig3", "--to", "t", "--settings", "{}"]) == 1
    assert "no figure or table 'fig3' (did you mean fig03-bleu-al?)" in capsys.readouterr().err


# --- runs -----------------------------------------------------------------------------------------


@pytest.fixture
def params() -> Params:
    return load_params(ROOT / "params.yaml", "tiny")


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Said:
    """What a command says about the tiny study in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def say(*arguments: str) -> list[str]:
        study = ("--study", "tiny", "--params", str(ROOT / "params.yaml"))
        main([*arguments, *study])
        captured = capsys.readouterr()
        return (captured.out + captured.err).splitlines()

    return say


def test_runs_of_an_empty_folder_say_what_to_do(said: Said) -> None:
    head, *_, last = said("runs")
    assert head == "Study tiny: 0 of 20 runs finished, 0 scored on test"
    assert last == "  snakemake --profile workflow/profiles/local --config study=tiny"


def test_runs_are_listed_with_their_state_and_their_curve(said: Said, params: Params) -> None:
    """Lagging and BLEU as the sample makes them: wait-1 lags by 1 - 1.3."""
    begin_run(params, Run("tiny-deen", "sm2", "bi", 1), updates=5)
    finish_run(params, Run("tiny-deen", "waitk", "k1", 1), updates=8)
    score_run(params, Run("tiny-deen", "waitk", "k1", 1), updates=8)
    lines = said("runs")
    assert lines[0] == "Study tiny: 1 of 20 runs finished, 1 scored on test"
    waitk, sm2 = lines[4:6]
    assert waitk.split()[:6] == ["waitk/k1", "wait-k", "stale", "8", "1.250", "-0.3"]
    assert sm2.split() == ["sm2/bi", "SM²-Bi", "running", "5", "1.000"]
    assert "18 not begun: simt plan lists them." in lines


def test_run_that_was_stopped_is_not_listed_as_running(said: Said, params: Params) -> None:
    stop_run(params, Run("tiny-deen", "sm2", "bi", 1), updates=5)
    assert said("runs")[4].split() == ["sm2/bi", "SM²-Bi", "stopped", "5", "1.000"]


def test_runs_are_listed_beside_a_damaged_one(said: Said, params: Params) -> None:
    """The damaged one is told on stderr, and the exit code is that of a failure: test_runs.py."""
    finish_run(params, Run("tiny-deen", "waitk", "k1", 1), updates=8)
    finish_run(params, Run("tiny-deen", "waitk", "k3", 1), updates=8)
    (Run("tiny-deen", "waitk", "k3", 1).folder / "settings.json").write_text("{")
    lines = said("runs")
    assert lines[0] == "Study tiny: 1 of 20 runs finished, 0 scored on test"
    assert lines[4].split()[:2] == ["waitk/k1", "wait-k"]
    assert "18 not begun: simt plan lists them." in lines


def test_runs_are_listed_beside_one_that_may_not_be_read(
    said: Said, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish_run(params, Run("tiny-deen", "waitk", "k1", 1), updates=8)
    closed = Run("tiny-deen", "waitk", "k3", 1)
    finish_run(params, closed, updates=8)
    read_text = Path.read_text

    def refuse(path: Path, *arguments: Any, **options: Any) -> str:
        if path == closed.folder / "settings.json":
            raise PermissionError(errno.EACCES, "Permission denied")
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", refuse)  # root may read anything
    assert said("runs")[4].split()[:2] == ["waitk/k1", "wait-k"]


def test_scores_of_a_model_that_is_no_more_are_not_listed(said: Said, params: Params) -> None:
    run = Run("tiny-deen", "waitk", "k1", 1)
    finish_run(params, run, updates=8)
    score_run(params, run, updates=3)  # before it was trained again
    lines = said("runs")
    assert lines[0] == "Study tiny: 1 of 20 runs finished, 0 scored on test"
    assert lines[4].split() == ["waitk/k1", "wait-k", "stale", "8", "1.250"]


def test_runs_can_be_chosen_by_a_part_of_their_name(said: Said, params: Params) -> None:
    for method, variant in (("sm2", "bi-ft"), ("sm2", "bi-p"), ("waitk", "k3")):
        finish_run(params, Run("tiny-deen", method, variant, 1))
    # bi-ft, bi-adapter, bi-small-ft, bi-big-ft, bi-no-omt
    assert said("runs", "sm2/bi-*t")[0] == "Study tiny: 1 of 5 runs finished, 0 scored on test"
    (line,) = said("runs", "sm/bi")
    assert line.startswith("simt: study tiny has no run 'sm/bi' (did you mean sm2/bi?)")
