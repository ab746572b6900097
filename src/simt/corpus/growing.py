"""Text that grows word by word, and never takes back what it has handed on.

The tokens of a prefix are not always a prefix of the tokens: Moses decides on a full stop by what
comes next. And a written word is not complete before the next one is known, which may join it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from simt.corpus.subwords import Subwords
from simt.corpus.text import Tokeniser, has_chinese_gap

# What may come next, as far as it matters to Moses: nothing, a small letter, a capital, a digit.
_FOLLOWERS = ("", "a", "C", "1")  # C: also because of °C
_WINDOW = 32  # words that are cut again when one more comes


class SourceText:
    """A sentence whose words come one by one, and those of its tokens that are certain."""

    def __init__(self, tokeniser: Tokeniser, subwords: Subwords) -> None:
        self._tokeniser = tokeniser
        self._subwords = subwords
        self._window: list[str] = []  # the newest words
        self._before = 0  # characters before the window
        self._ends: list[int] = []  # characters up to the end of each word
        self._reach = [0]  # the same up to the end of each token that was handed on
        self._token_ends: list[int] = []  # and pieces
        self.words: list[str] = []
        self.tokens: list[str] = []
        self.pieces: list[str] = []

    def push(self, word: str) -> list[int]:
        """The ids that are certain now that one more word is known."""
        self.words.append(word)
        self._window.append(word)
        cuts = [self._cut(follower) for follower in _FOLLOWERS]
        self._ends.append(self._before + _characters(cuts[0]))
        ids = self._hand_on(_in_common(cuts))
        self._move_window(cuts[0])
        return ids

    def finish(self) -> list[int]:
        """The ids that were held back."""
        ids = self._hand_on(self._cut(""))
        self._ends = [min(end, self._reach[-1]) for end in self._ends]
        return ids

    @property
    def has_changed(self) -> bool:
        """Whether all words together would have been cut in another way."""
        return self.tokens != self._tokeniser.tokenise(" ".join(self.words))

    @property
    def unknown(self) -> int:
        """How many of its tokens have pieces that were in no training text."""
        return sum(not self._subwords.knows(token) for token in self.tokens)

    def piece(self, place: int) -> str:
        """A piece that was handed on; behind the last one, the end of the sentence."""
        if place < len(self.pieces):
            return self.pieces[place]
        return self._subwords.piece(self._subwords.ids.eos)

    def words_within(self, pieces: int) -> int:
        """How many words are complete within the first so many pieces."""
        tokens = bisect_right(self._token_ends, pieces)
        if not self._tokeniser.has_blanks:
            return tokens
        return bisect_right(self._ends, self._reach[tokens])

    def _cut(self, follower: str) -> list[str]:
        """The tokens of the newest words, if something follows."""
        tokens = self._tokeniser.tokenise(" ".join([*self._window, follower]))
        return tokens[:-1] if follower else tokens

    def _hand_on(self, tokens: Sequence[str]) -> list[int]:
        """The ids of what has not been handed on of the tokens of the newest words.

        Characters are counted, not tokens: what was handed on may turn out to be cut otherwise.
        """
        new = list(_behind(tokens, self._reach[-1] - self._before))
        pieces = [self._subwords.cut(token) for token in new]
        self._token_ends += list(accumulate(map(len, pieces), initial=len(self.pieces)))[1:]
        self._reach += list(accumulate(map(len, new), initial=self._reach[-1]))[1:]
        self.tokens += new
        self.pieces += [piece for of_token in pieces for piece in of_token]
        return [number for token in new for number in self._subwords.encode_word(token)]

    def _move_window(self, tokens: Sequence[str]) -> None:
        """Forget words that newer ones cannot change, or a long text would take ever longer."""
        if len(self._window) <= _WINDOW:
            return
        old, new = self._window[: _WINDOW // 2], self._window[_WINDOW // 2 :]
        parts = [self._tokeniser.tokenise(" ".join(words)) for words in (old, new)]
        passed = self._before + _characters(parts[0])
        if [*parts[0], *parts[1]] == tokens and passed <= self._reach[-1]:
            self._window, self._before = new, passed


@dataclass(frozen=True)
class Delay:
    """What had been read of the source when something was written."""

    words: int
    tokens: int


@dataclass(frozen=True)
class Written:
    """A final word of a translation: what stands between blanks, or else the tokeniser's word.

    ``blank_before`` says whether a blank parts it from what was said before, if something was.
    ``delay`` is that of its last token, as in instances. ``released_after`` is how many source
    words had come when nothing could join the word any more. ``confidence`` is the least of its
    tokens, None where there is none; ``ms`` the time that it took to compute.
    """

    text: str
    blank_before: bool
    delay: Delay
    released_after: int
    confidence: float | None
    ms: float


def text_of(words: Iterable[Written]) -> str:
    """The words as text."""
    return "".join(f"{' ' * word.blank_before}{word.text}" for word in words).lstrip()


@dataclass(frozen=True)
class _Part:
    """A word before it is joined with others."""

    text: str
    delay: Delay
    confidence: float | None
    ms: float


class TargetText:
    """A translation that is written token by token, and those of its words that are final."""

    def __init__(self, tokeniser: Tokeniser, subwords: Subwords) -> None:
        self._tokeniser = tokeniser
        self._subwords = subwords
        self._open: list[int] = []  # tokens of a word that goes on
        self._delay = Delay(0, 0)
        self._values: list[float] = []
        self._ms = 0.0
        self._parts: list[_Part] = []
        self._joined = 0  # parts that stand in final words
        self._last = ""  # of the final words
        self._has_ended = False
        self.words: list[Written] = []

    @property
    def has_changed(self) -> bool:
        """Whether all words together would have been written in another way."""
        return self._joined_words("") != [word.text for word in self.words]

    def spend(self, ms: float) -> None:
        """Time that was spent on the word to come."""
        self._ms += ms

    def write(self, token: int, delay: Delay, value: float | None) -> None:
        """Take one more token; EOS is the last."""
        self._has_ended = token == self._subwords.ids.eos
        if not self._has_ended:
            self._open.append(token)
            self._delay = delay
            self._values += [] if value is None else [value]
        if self._open and (self._has_ended or self._subwords.ends_word(token)):
            self._close()

    def _close(self) -> None:
        text = "".join(self._subwords.decode(self._open))
        self._parts.append(_Part(text, self._delay, min(self._values, default=None), self._ms))
        self._open, self._values, self._ms = [], [], 0.0

    def release(self, after: int) -> list[Written]:
        """The words that have become final, ``after`` so many source words."""
        words = self._joined_words("")
        if not self._has_ended and self._tokeniser.has_blanks:
            words = _in_common([self._joined_words(each)[:-1] for each in _FOLLOWERS])
        final = [self._word(each, after) for each in _behind(words, self._said)]
        self.words += final
        return final

    def _joined_words(self, follower: str) -> list[str]:
        """The text in words between blanks, if something follows; without blanks, nothing joins."""
        parts = [part.text for part in self._parts]
        if not self._tokeniser.has_blanks:
            return parts
        return self._tokeniser.detokenise([*parts, follower] if follower else parts).split()

    @property
    def _said(self) -> int:
        """How many characters are in final words."""
        return _characters([part.text for part in self._parts[: self._joined]])

    def _word(self, text: str, after: int) -> Written:
        """A word that is now final: it is made of whole parts, since joining moves blanks only."""
        first, end = self._joined, self._said + len(text)
        while self._said < end:
            self._joined += 1
        parts = self._parts[first : self._joined]
        values = [part.confidence for part in parts if part.confidence is not None]
        ms = sum(part.ms for part in parts)
        is_apart = self._tokeniser.has_blanks or has_chinese_gap(self._last, text)
        self._last = text
        return Written(text, is_apart, parts[-1].delay, after, min(values, default=None), ms)


def _in_common(sequences: Sequence[Sequence[str]]) -> list[str]:
    """What all of them begin with."""
    columns = zip(*sequences, strict=False)
    return [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]


def _characters(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def _behind(texts: Sequence[str], characters: int) -> Iterator[str]:
    """The texts behind the first so many characters; one on the border is cut."""
    for text in texts:
        if characters < len(text):
            yield text[characters:]
        characters = max(0, characters - len(text))
