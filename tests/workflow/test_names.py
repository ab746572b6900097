"""Names in params.yaml that only the code which draws can know."""

from pathlib import Path

from tests.samples.project import change, refusal


def test_figure_that_nothing_draws_is_told_before_any_work(project: Path) -> None:
    figure = {"title": "Mine", "pairs": "main", "split": "test", "runs": {"sm2": ["bi"]}}
    change(project, "paper/figures/fig99-mine", figure)
    assert "paper.figures.fig99-mine: there is no figure 'fig99-mine'" in refusal(project)
