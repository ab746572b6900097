"""How far a long piece of work has come: a bar for a person, lines for a log."""

import sys
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

_FIRST_S = 5.0  # so soon the first line of a log comes


class _Lines(tqdm):  # type: ignore[type-arg]
    """Whole lines instead of a bar that is drawn over and over: a log file keeps them all."""

    def __init__(self, longest_s: float, **options: Any) -> None:
        self.longest_s = longest_s  # from one line to the next
        super().__init__(**options)

    def display(self, *args: Any, **options: Any) -> None:
        """Print a line, and wait longer for the next."""
        wait = min(self.longest_s, max(_FIRST_S, self.format_dict["elapsed"] / 10))
        self.mininterval = self.maxinterval = wait
        super().display(*args, **options)

    @staticmethod
    def status_printer(file: Any) -> Callable[[str], None]:
        def print_line(text: str) -> None:
            if text.strip():
                file.write(text + "\n")
                file.flush()

        return print_line


def progress_bar(line_every_s: float = 60, **options: Any) -> "tqdm[Any]":
    """Progress with an ETA on standard error.

    Where that is no terminal: nothing for what is over in seconds, else plain lines, the longer it
    takes the rarer: one in five seconds at first, and never less than one in ``line_every_s``.
    """
    if sys.stderr.isatty():
        return tqdm(file=sys.stderr, **options)
    first = min(_FIRST_S, line_every_s)
    plain: dict[str, Any] = {"mininterval": first, "maxinterval": first, "delay": first}
    plain |= {"file": sys.stderr, "bar_format": "{l_bar} {r_bar}"}
    return _Lines(line_every_s, **(plain | options))
