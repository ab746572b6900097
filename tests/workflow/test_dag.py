"""The graph: what a study plans, and what a change plans again."""

import subprocess
from pathlib import Path

import pytest

from tests.samples.project import BIN, LOCAL, change, planned, run


def test_paper_study_plans_87_trainings_of_four_pairs(project: Path) -> None:
    plan = planned(project, "--config", "study=paper", "--", "runs")
    assert (plan["fetch"], plan["prepare"], plan["bpe"], plan["train"]) == (4, 4, 4, 87)


def test_mistake_in_params_is_told_without_a_traceback(project: Path) -> None:
    change(project, "training/dropout", 3)
    done = subprocess.run(
        [BIN / "snakemake", "-n"], cwd=project, capture_output=True, text=True
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "training.dropout: 3: input should be less than 1" in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_corpora_are_made_once_and_again_only_for_what_changed(project: Path) -> None:
    corpora = ("--config", "study=tiny", "--", "corpora")
    run(project, *LOCAL, *corpora)
    assert not planned(project, *corpora)
    change(project, "bpe/joint-toy", {"joint": True, "source_merges": 50, "target_merges": 50,
                                      "min_pair_count": 2})  # fmt: skip
    assert planned(project, *corpora) == {"bpe": 1, "corpora": 1}
    change(project, "text/max_words", 20)
    assert planned(project, *corpora) == {"prepare": 1, "bpe": 1, "corpora": 1}
    change(project, "pairs/tiny-deen/toy/seed", 2)
    assert planned(project, *corpora) == {"fetch": 1, "prepare": 1, "bpe": 1, "corpora": 1}
