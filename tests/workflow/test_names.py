"""Names in params.yaml that only the code which draws can know."""

import subprocess
from pathlib import Path

from tests.samples.project import BIN, change


def test_figure_that_nothing_draws_is_told_before_any_work(project: Path) -> None:
    figure = {"title": "Mine", "pairs": "main", "split": "test", "runs": {"sm2": ["bi"]}}
    change(project, "paper/figures/fig99-mine", figure)
    done = subprocess.run(
        [BIN / "snakemake", "-n"], cwd=project, capture_output=True, text=True
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "paper.figures.fig99-mine: there is no figure 'fig99-mine'" in said
    assert "Traceback" not in said
