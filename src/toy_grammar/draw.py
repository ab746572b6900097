"""The random choices behind one sentence."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from toy_grammar.frames import Frame
from toy_grammar.nouns import GROWN_UP, YOUNG, Name, Noun

Item = TypeVar("Item")


class DeadEndError(Exception):
    """The choices so far leave no good sentence: start it again with the next random numbers."""


class Draw:
    """Chooses, and remembers what the sentence has said so that it does not say it twice.

    Only ``Random.random`` is used: it is the one method whose numbers Python promises to keep.
    """

    __slots__ = ("_random", "has_time", "said")

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self.said: list[str] = []
        self.has_time = False

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self._random() < share

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, each as likely as the others."""
        return items[int(self._random() * len(items))]

    def noun(self, nouns: Sequence[Noun]) -> Noun:
        """A noun whose English has not been said; beside the young, nothing of grown-ups."""
        for _ in range(6):
            noun = self.pick(nouns)
            if noun.english not in self.said:
                self.said.append(noun.english)
                if noun in YOUNG:
                    self.said += GROWN_UP
                return noun
        raise DeadEndError

    def name(self, names: Sequence[Name]) -> Name:
        """A name that has not been said."""
        for _ in range(6):
            name = self.pick(names)
            if name.text not in self.said:
                self.said.append(name.text)
                return name
        raise DeadEndError

    def frame(self, frames: Sequence[Frame]) -> Frame:
        """A frame whose verb has not been said, in either language."""
        for _ in range(6):
            frame = self.pick(frames)
            verb = frame.verb
            if verb.base not in self.said and verb.stem not in self.said:
                self.said += (verb.base, verb.stem)
                return frame
        raise DeadEndError
