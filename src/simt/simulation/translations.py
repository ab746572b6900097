"""What comes out of the loop: tokens, delays, and the way there."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Action(NamedTuple):
    """What was done after ``written`` target tokens and ``read`` source tokens, and its value.

    The value is None where the policy was not asked.
    """

    is_write: bool
    written: int
    read: int
    value: float | None


@dataclass(frozen=True)
class Translation:
    """One sentence: its tokens, with the final EOS, and how much had been read for each.

    ``elapsed_s`` is the computing time that the sentence had cost when a token was written. In a
    batch, each call of the decoder is shared out equally among its sentences, and the encoder is
    paid for by the token read, as if there were no other policy: that is what a sentence costs,
    not how long somebody waits for it. In batches of one sentence the two are nearly the same.
    """

    index: int  # of the sentence in its split
    tokens: tuple[int, ...]
    delays: tuple[int, ...]
    write_values: tuple[float, ...]
    read_values: tuple[float | None, ...]  # in the order of source tokens; None: was not asked
    elapsed_s: tuple[float, ...]

    def path(self) -> Iterator[Action]:
        """All actions in their order."""
        for written, (before, delay) in enumerate(pairwise((0, *self.delays))):
            for read in range(before, delay):
                yield Action(False, written, read, self.read_values[read])
            yield Action(True, written, delay, self.write_values[written])
