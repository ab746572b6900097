"""How subword-nmt spells the pieces of words; nobody else knows."""

from collections.abc import Sequence

CONTINUES = "@@"  # ends every piece that is not the last of its word


def ends_word(piece: str) -> bool:
    """Whether the piece is the last of its word."""
    return not piece.endswith(CONTINUES)


def visible(piece: str) -> str:
    """What the piece adds to its word."""
    return piece.removesuffix(CONTINUES)


def word_ends(pieces: Sequence[str]) -> tuple[int, ...]:
    """How many pieces there are up to the end of each word, ``<eos>`` not among them."""
    ends = [place for place, piece in enumerate(pieces, 1) if ends_word(piece)]
    if pieces and (not ends or ends[-1] < len(pieces)):
        ends.append(len(pieces))
    return tuple(ends)


def join_pieces(pieces: Sequence[str]) -> list[str]:
    """The words that the pieces make; a word that was never finished ends with the sentence."""
    words, start = [], 0
    for end in word_ends(pieces):
        words.append("".join(map(visible, pieces[start:end])))
        start = end
    return words
