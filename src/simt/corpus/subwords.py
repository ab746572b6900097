"""Words to ids and back: what a model's side of the text needs of its subwords."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from simt.corpus.ids import SpecialIds


class Subwords(Protocol):
    """The pieces of one side: subword-nmt's, or those of a model that somebody has trained before.

    ``bpe.SubwordNmt`` is the one that we learn.
    """

    @property
    def ids(self) -> SpecialIds:
        """Ids that are no text."""
        ...

    def __len__(self) -> int:
        """How many ids there are, the special ones included."""
        ...

    def cut(self, word: str) -> list[str]:
        """The pieces of a word, also those that have no id of their own."""
        ...

    def encode_word(self, word: str) -> Sequence[int]:
        """The ids of the pieces of a word."""
        ...

    def knows(self, word: str) -> bool:
        """Whether all pieces of a word have ids of their own."""
        ...

    def piece(self, number: int) -> str:
        """The piece of an id, as logs have it."""
        ...

    def ends_word(self, number: int) -> bool:
        """Whether the piece of an id is the last of its word."""
        ...

    def decode(self, ids: Iterable[int]) -> list[str]:
        """The words of the ids: pieces joined, special ids left out."""
        ...
