"""The one exception for what the user can put right."""


class SimtError(Exception):
    """Something outside the program is wrong: the message says what, where and what to do.

    The command line prints the message and exits with 1; it never shows a traceback for it.
    """
