"""The commands as a person types them."""

from pathlib import Path

import pytest

from simt.cli import main

ROOT = Path(__file__).parents[2]


def test_plan_lists_runs_decodings_figures_and_their_state(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "--study", "paper", "--params", str(ROOT / "params.yaml")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Study paper (fidelity default, seeds 1): 4 pairs, 87 runs")
    assert "wmt15-deen     waitk      5 to do            k1 k3 k5 k7 k9" in said
    assert "fig03-bleu-al" in said


def test_plan_of_an_unknown_study_is_a_message_not_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "--study", "nope", "--params", str(ROOT / "params.yaml")]) == 1
    assert capsys.readouterr().err == (
        "simt: params.yaml has 1 problem:\n"
        "  study: there is no study 'nope'; there are toy, tiny, multi30k, paper\n"
    )
