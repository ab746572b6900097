"""What comes out of the loop: tokens, delays, and the way there."""

from dataclasses import dataclass


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
