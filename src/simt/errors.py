"""The one exception for what the user can put right, and messages of a readable length."""

MOST_LINES = 40
LONGEST_LINE = 1000
LONGEST_MESSAGE = 6000  # characters
LONGEST_VALUE = 80
PERMIT = "correct its permissions"  # of what may not be read: to make it again would lose it
_LAST_LINES = 3


class SimtError(Exception):
    """Something outside the program is wrong: the message says what, where and what to do.

    The command line prints the message and exits with 1; it never shows a traceback for it.
    """

    def __str__(self) -> str:
        return readable(super().__str__())


def short(text: str) -> str:
    """A value as a message quotes it: whole, or what it begins and ends with."""
    return _cut(text, LONGEST_VALUE)


def readable(message: str) -> str:
    """A message that fits on a screen and cannot steer the terminal, whatever it quotes.

    What it begins with and its last lines stay: those say the remedy.
    """
    every = message.split("\n")
    last = [_plain(line) for line in every[-_LAST_LINES:]]
    rest = every[:-_LAST_LINES]
    first: list[str] = []
    room = LONGEST_MESSAGE - sum(map(len, last))
    for line in map(_plain, rest[: MOST_LINES - _LAST_LINES]):
        room -= len(line)
        if room < 0:
            break
        first.append(line)
    left_out = len(rest) - len(first)
    gap = [f"  … and {left_out} more lines …"] if left_out else []
    return "\n".join([*first, *gap, *last])


def _plain(line: str) -> str:
    return _cut(shown(_cut(line, LONGEST_LINE)), LONGEST_LINE)


def _cut(text: str, limit: int) -> str:
    """``text`` with its middle left out if it is longer than ``limit``: a remedy stands last."""
    if len(text) <= limit:
        return text
    return f"{text[: limit * 2 // 3]} … {text[-limit // 4 :]}"


def shown(text: str) -> str:
    """Text of strangers as a terminal may show it: what cannot be printed is escaped.

    A server's words and the names in an archive could otherwise colour, move or erase ours.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
