"""A word on stderr where results are not those of params.yaml."""

import sys
from collections.abc import Iterable

from simt.check import mismatch_warning
from simt.params import Params
from simt.runs import Point, Run
from simt.steps import Step, Steps


def warn_of_other_settings(params: Params) -> None:
    """Say so of all that a study has trained, decoded and scored."""
    steps = Steps(params)
    _warn([*steps.runs(), *steps.points()])


def warn_of_other_models(params: Params, runs: Iterable[Run]) -> None:
    """Say so of some trainings."""
    _warn(map(Steps(params).run, runs))


def warn_of_other_scores(params: Params, runs: Iterable[Run]) -> None:
    """Say so of some trainings, and of their decodings and scores on the test set."""
    steps = Steps(params)
    points = {run: Point(run, "test") for run in runs}
    _warn(
        step
        for run, point in points.items()
        for step in (steps.run(run), steps.decoding(point), steps.scoring(point))
    )


def _warn(steps: Iterable[Step]) -> None:
    if warning := mismatch_warning(steps):
        print(f"simt: {warning}", file=sys.stderr)
