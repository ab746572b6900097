"""How far a long piece of work has come: a bar for a person, a line a minute for a log."""

import sys
from typing import Any

from tqdm import tqdm


def progress_bar(**options: Any) -> "tqdm[Any]":
    """A tqdm bar on standard error; where that is not a terminal, a plain line once a minute."""
    if not sys.stderr.isatty():
        options = {"mininterval": 60, "maxinterval": 60, "ascii": True, "ncols": 100, **options}
    return tqdm(file=sys.stderr, **options)
