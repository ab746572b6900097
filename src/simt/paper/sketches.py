"""Schematics as data: states of a real sentence, before anything is drawn.

A state (i, j) is about to write target token i with j source tokens read, both from 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from simt.paper.style import Style

State = tuple[int, int]


class Sentence(NamedTuple):
    """The tokens of both sides, and where they are from, for the caption."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    origin: str


class DecisionPath(NamedTuple):
    """How a system went through the states: source tokens read at each target token."""

    style: Style
    delays: tuple[int, ...]

    def states(self) -> Iterator[State]:
        """Every state that it came by: READ leads to the right, WRITE down."""
        for row, (before, delay) in enumerate(pairwise((1, *self.delays)), start=1):
            yield from ((row, read) for read in range(min(before, delay), delay + 1))


class Region(NamedTuple):
    """Some of the states, with a line around them."""

    style: Style
    states: frozenset[State]


@dataclass(frozen=True)
class Grid:
    """All states of a sentence: a column for each source token, a row for each target token.

    ``values`` colours states by a number from 0 to 1, ``allowed`` shades those that may be visited.
    """

    title: str
    sentence: Sentence | None
    values: Mapping[State, float]
    values_label: str = ""
    allowed: frozenset[State] = frozenset()
    regions: tuple[Region, ...] = ()
    paths: tuple[DecisionPath, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingStep:
    """What SM² computes in one training step: for each target token, with ``prefix`` tokens read.

    Probabilities are those of the reference's token, given the whole source and given the prefix.
    """

    title: str
    sentence: Sentence | None
    prefix: int
    full: Sequence[float]
    partial: Sequence[float]
    confidence: Sequence[float]
    notes: tuple[str, ...] = ()

    @property
    def mixture(self) -> list[float]:
        """c·p_ij + (1 - c)·p_i, what the loss of a state is taken of."""
        rows = zip(self.full, self.partial, self.confidence, strict=True)
        return [c * partial + (1 - c) * full for full, partial, c in rows]


Sketch = Grid | TrainingStep
