"""Words that know what they translate, and the sentence pair they end up in."""

from dataclasses import dataclass

Link = tuple[int, int]

MARKS = (",", ".", "?")


class Word:
    """A word of either language; an English one carries the German words that it renders."""

    __slots__ = ("place", "possible", "sure", "text")

    def __init__(
        self, text: str, sure: tuple["Word", ...] = (), possible: tuple["Word", ...] = ()
    ) -> None:
        self.text = text
        self.sure = sure
        self.possible = possible
        self.place = -1


class Phrase:
    """A constituent in both languages at once."""

    __slots__ = ("english", "german")

    def __init__(self, german: list[Word], english: list[Word]) -> None:
        self.german = german
        self.english = english

    def then(self, other: "Phrase") -> "Phrase":
        """This phrase and another after it, in both languages."""
        return Phrase(self.german + other.german, self.english + other.english)


@dataclass(frozen=True, slots=True)
class ToyPair:
    """A German sentence, its English translation and the gold alignment between their words.

    The words are tokenised: a punctuation mark is a word of its own. Links are 0-based,
    source first, sorted; no link is both sure and possible.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: tuple[Link, ...]
    possible: tuple[Link, ...]

    @property
    def source(self) -> str:
        """The German sentence as plain text."""
        return _plain_text(self.source_words)

    @property
    def target(self) -> str:
        """The English sentence as plain text."""
        return _plain_text(self.target_words)

    @property
    def alignment(self) -> str:
        """The links in the talp format: ``0-0`` is a sure link, ``1p2`` a possible one."""
        marked = [(i, j, "-") for i, j in self.sure] + [(i, j, "p") for i, j in self.possible]
        return " ".join(f"{i}{mark}{j}" for i, j, mark in sorted(marked))


def comma() -> Word:
    """A comma; of several in a row only one is written, and none before the final mark."""
    return Word(",")


def finished_pair(german: list[Word], english: list[Word], mark: str) -> ToyPair:
    """The pair with its final mark, capitals at the start, and every link as two positions."""
    final = Word(mark)
    source = _placed([*german, final])
    target = _placed([*english, Word(mark, sure=(final,))])
    sure = {(word.place, other.place) for other in target for word in other.sure}
    possible = {(word.place, other.place) for other in target for word in other.possible}
    return ToyPair(
        _capitalised(source),
        _capitalised(target),
        tuple(sorted(sure)),
        tuple(sorted(possible - sure)),
    )


def _placed(words: list[Word]) -> list[Word]:
    """The words that are written, each told its place.

    A comma gives way to a mark right after it, and its place is that mark's.
    """
    written: list[Word] = []
    for word in words:
        if word.text in MARKS and written and written[-1].text == ",":
            written.pop()
        word.place = len(written)
        written.append(word)
    return written


def _capitalised(words: list[Word]) -> tuple[str, ...]:
    texts = [word.text for word in words]
    texts[0] = texts[0][0].upper() + texts[0][1:]
    return tuple(texts)


def _plain_text(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    for mark in MARKS:
        text = text.replace(f" {mark}", mark)
    return text
