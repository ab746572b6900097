"""A polite request to stop: SIGTERM and SIGUSR1 let the update finish and the state be saved."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

ASKS_FOR_RETRY = 75  # EX_TEMPFAIL: whoever started us should start us again


class StopRequest:
    """Inside the block, ``is_made`` says whether someone asked this process to stop."""

    SIGNALS = (signal.SIGTERM, signal.SIGUSR1)

    def __init__(self) -> None:
        self.is_made = False

    def __enter__(self) -> "StopRequest":
        self._before = {number: signal.signal(number, self._note) for number in self.SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_made = True


@contextmanager
def retry_when_stopped() -> Iterator[None]:
    """Inside the block a request to stop ends this process with the code that asks for a retry.

    For the time before and after the updates of a training, when nothing is left to save. After the
    block it changes nothing: the exit code is decided, and the interpreter is about to end.
    """
    for number in StopRequest.SIGNALS:
        signal.signal(number, _exit)
    try:
        yield
    finally:
        ignore_stops()


def ignore_stops() -> None:
    """From now on a request to stop changes nothing here; programs started from here heed it."""
    for number in StopRequest.SIGNALS:
        signal.signal(number, _ignore)


def _exit(number: int, frame: FrameType | None) -> None:
    raise SystemExit(ASKS_FOR_RETRY)


def _ignore(number: int, frame: FrameType | None) -> None:
    """A handler: a signal that is ignored stays ignored in every program started from here."""
