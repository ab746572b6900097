"""A word on stderr where results are not those of params.yaml."""

import sys
from collections.abc import Collection

from simt.check import mismatch_warning
from simt.params import Params
from simt.steps import Steps


def warn_of_other_settings(params: Params, runs: Collection[str] | None = None) -> None:
    """Say so of some runs, or of all that a study has trained, decoded and scored."""
    steps = Steps(params)
    read = (
        [*steps.runs(), *steps.points()]
        if runs is None
        else [step for step in steps.runs() if step.name in runs]
    )
    if warning := mismatch_warning(read):
        print(f"simt: {warning}", file=sys.stderr)
