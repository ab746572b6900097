"""The worked examples of docs/, followed in a fresh clone."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.samples.clone import SETUP, clone_environment, fresh_clone, share_results
from tests.samples.markdown import follow
from tests.samples.project import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("study")]


def follow_page(name: str, clone: Path) -> str:
    return follow(ROOT / "docs" / name, clone, clone_environment(clone), SETUP)


def json_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_new_method_is_planned_trained_decoded_and_tested(study: Path, tmp_path: Path) -> None:
    share_results(study, fresh_clone(tmp_path))
    said = follow_page("adding-a-method.md", tmp_path)
    assert "catchup/every5" in said
    assert list(tmp_path.glob("results/runs/tiny-deen/catchup/every5/seed1/model.pt"))
    folder = tmp_path / "results/points/tiny-deen/catchup/every5/seed1/test"
    assert len(json.loads((folder / "scores.json").read_text(encoding="utf-8"))["points"]) == 3
    for one in json_lines(folder / "instances.jsonl"):
        k, end = int(one["knob"]), len(one["source_tokens"].split())
        expected = [min(delay, end) for delay in (k, k + 1, k + 2, k + 3, k + 3, k + 4)]
        delays = one["token_delays"][: len(expected)]
        assert delays == expected[: len(delays)]


def test_new_corpus_is_read_trained_on_and_drawn(tmp_path: Path) -> None:
    follow_page("adding-a-corpus.md", fresh_clone(tmp_path))
    stats = tmp_path / "results/corpora/clock-fren/text/stats.json"
    assert json.loads(stats.read_text(encoding="utf-8"))["test"]["kept"] == 40
    assert (tmp_path / "results/paper/clock/figures/fig03-bleu-al.pdf").exists()
