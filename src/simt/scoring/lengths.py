"""Long and short sentences: a test set halved by length.

docs/methods.md, "Long and short sentences".

Sorted by length, then by index; the shorter half is SHORT, and with an odd number the sentence in
the middle is LONG. In which unit the paper counted is not known [?]: every candidate is offered.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from simt.errors import SimtError
from simt.instances import Instance, Number
from simt.settings import LengthUnit


def _source_tokens(instance: Instance) -> int | None:
    return None if instance.source_tokens is None else len(instance.source_pieces)


def _source_tokens_without_eos(instance: Instance) -> int | None:
    tokens = _source_tokens(instance)
    return None if tokens is None else tokens - 1


_LENGTHS: dict[LengthUnit, Callable[[Instance], Number | None]] = {
    "source_token_eos": _source_tokens,
    "source_token": _source_tokens_without_eos,
    "source_word": lambda instance: instance.source_length,
    "target_token_eos": lambda instance: instance.reference_token_length,
    "target_word": lambda instance: len(instance.reference_in_words.split()),
}


class LengthGroups(NamedTuple):
    """The indices of both halves in order, and the mean length of each."""

    long: list[int]
    short: list[int]
    long_mean: float
    short_mean: float


def length_groups(lengths: Sequence[Number]) -> LengthGroups:
    """The halves of sentences 0, 1, ... of these lengths."""
    if len(lengths) < 2:
        raise SimtError("two groups by length need at least two sentences")
    order = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    half = len(order) // 2
    short, long = sorted(order[:half]), sorted(order[half:])
    means = [sum(lengths[index] for index in group) / len(group) for group in (long, short)]
    return LengthGroups(long, short, *means)


def sentence_lengths(instances: Sequence[Instance], unit: LengthUnit) -> list[Number]:
    """The length of every sentence in a unit that does not depend on the hypothesis."""
    lengths = [_LENGTHS[unit](instance) for instance in instances]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        raise SimtError(f"not every sentence has a length in {unit}: choose source_word")
    return known
