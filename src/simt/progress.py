"""How far a long piece of work has come: a bar for a person, a line a minute for a log."""

import sys
from collections.abc import Callable
from typing import Any

from tqdm import tqdm


class _Lines(tqdm):  # type: ignore[type-arg]
    """Whole lines instead of a bar that is drawn over and over: a log file keeps them all."""

    @staticmethod
    def status_printer(file: Any) -> Callable[[str], None]:
        def print_line(text: str) -> None:
            if text.strip():
                file.write(text + "\n")
                file.flush()

        return print_line


def progress_bar(**options: Any) -> "tqdm[Any]":
    """Progress with an ETA on standard error.

    Where that is no terminal: nothing for what is over in seconds, else a plain line a minute.
    """
    if sys.stderr.isatty():
        return tqdm(file=sys.stderr, **options)
    plain: dict[str, Any] = {"mininterval": 60, "maxinterval": 60, "delay": 5}
    return _Lines(file=sys.stderr, bar_format="{l_bar} {r_bar}", **(plain | options))
