"""From tokens to words: where words end in the pieces, and delays in words."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate

from simt.instances.record import Instance, Words
from simt.pieces import join_pieces, visible, word_ends


def ends_in_tokens(tokens: Sequence[str], text: str, words: Words) -> tuple[int, ...]:
    """How many tokens there are up to the end of each word; the final ``<eos>`` is no word."""
    pieces = tuple(tokens[:-1])
    return word_ends(pieces) if words == "tokens" else text_word_ends(pieces, text)


@lru_cache(maxsize=1 << 14)  # a source is asked for once for every knob value
def text_word_ends(pieces: tuple[str, ...], text: str) -> tuple[int, ...]:
    """How many pieces there are up to the end of each word between blanks of ``text``.

    By counting characters: detokenising moves blanks only. Where the text was also normalised on
    the way to pieces (a source with typographic quotes), equal characters hold both together.
    """
    words = text.split()
    if not pieces or not words:
        return (0,) * len(words)
    cut = "".join(join_pieces(pieces))
    written = "".join(words)
    ends = list(accumulate(len(word) for word in words))
    if cut != written:
        ends = _carry_over(ends, written, cut)
    reach = list(accumulate(len(visible(piece)) for piece in pieces))
    return tuple(min(bisect_left(reach, end), len(pieces) - 1) + 1 for end in ends)


def _carry_over(ends: Sequence[int], written: str, cut: str) -> list[int]:
    """Where the ends of words in ``written`` are in ``cut``, which is nearly the same."""
    matcher = SequenceMatcher(None, written, cut, autojunk=False)
    anchors = [(-1, -1)]
    for block in matcher.get_matching_blocks():
        anchors += [(block.a + step, block.b + step) for step in range(block.size)]
    anchors.append((len(written), len(cut)))
    places = [place for place, _ in anchors]
    return [_between(anchors, bisect_left(places, end), end) for end in ends[:-1]] + [len(cut)]


def _between(anchors: Sequence[tuple[int, int]], number: int, end: int) -> int:
    """An end between two characters that occur in both: the gap is shared out from the left."""
    (place, carried), (next_place, next_carried) = anchors[number - 1], anchors[number]
    if end == next_place:
        return next_carried
    return min(carried + end - place, next_carried)


def word_delays(
    source_ends: Sequence[int], target_ends: Sequence[int], token_delays: Sequence[int]
) -> list[int]:
    """Complete source words read when the last token of each target word was written.

    docs/methods.md, "Latency metrics: definitions"; the ends are those of ``ends_in_tokens``.
    """
    return [bisect_right(source_ends, token_delays[end - 1]) for end in target_ends]


def delays_by_tokens(instance: Instance) -> list[int]:
    """What the delays in words must be, given those in tokens."""
    assert instance.token_delays is not None
    words = instance.words
    source_ends = ends_in_tokens(instance.source_pieces, instance.source, words.source)
    target_ends = ends_in_tokens(instance.pieces, instance.prediction, words.target)
    return word_delays(source_ends, target_ends, instance.token_delays)
