"""Text in, translations out, while it comes: for a pipe, a terminal or a program."""

import codecs
import json
import os
import shutil
import sys
import termios
import time
import tty
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol, TextIO

from simt.corpus.growing import Written
from simt.errors import SimtError, shown
from simt.params import Knob
from simt.session import Act, Session, Translator
from simt.translators import Chosen
from simt.wording import count

_MARK = "\N{REPLACEMENT CHARACTER}"
_SOURCE_COLUMN = 16
_ERASERS = ("\b", "\x7f")
LONGEST_SENTENCE = 200  # words: nobody says longer ones, and reading on would take ever longer


class Speaker:
    """A translator at a knob value, under the name that a person gave it."""

    def __init__(self, name: str, translator: Translator, knob: Knob) -> None:
        self.name = name
        self._translator = translator
        self._knob = knob

    def begin(self) -> Session:
        """A new sentence."""
        return Session(self._translator, self._knob)


# --- what comes in --------------------------------------------------------------------------------


def heard_words(read: Callable[[], bytes], say: Callable[[str], None]) -> Iterator[str | None]:
    """The words of a stream as soon as a blank or the end of the line follows; None ends a line.

    ``read`` gives what has come, and nothing at the end.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun, is_open, has_warned = "", False, False
    is_over = False
    while not is_over:
        chunk = read()
        is_over = not chunk
        decoded = decoder.decode(chunk, final=is_over)
        if _MARK in decoded and _MARK.encode() not in chunk and not has_warned:
            say(f"the input is not UTF-8 everywhere: what cannot be read stands as {_MARK}")
            has_warned = True
        text = begun + decoded
        words, begun = complete_words(text)
        yield from words
        is_open = not text.endswith("\n") if text else is_open
    if begun:
        yield begun
    if is_open:
        yield None


def complete_words(text: str) -> tuple[list[str | None], str]:
    """The words that something follows, with None at the end of each line; and the last, if not."""
    *lines, last = text.split("\n")
    words: list[str | None] = []
    for line in lines:
        words += [*line.split(), None]
    of_last = last.split()
    begun = of_last.pop() if last and not last[-1].isspace() else ""
    return [*words, *of_last], begun


class Keyboard:
    """A terminal that hands on each word when the blank behind it is typed; a context manager.

    Otherwise a terminal keeps a line to itself until Enter. Backspace works within a word.
    """

    def __init__(self, descriptor: int, echo: Callable[[str], object]) -> None:
        self._descriptor = descriptor
        self._echo = echo
        self._usual = termios.tcgetattr(descriptor)
        self._has_ended = False

    def __enter__(self) -> "Keyboard":
        tty.setcbreak(self._descriptor, termios.TCSADRAIN)  # keeps what was typed before
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._usual)

    def read(self) -> bytes:
        """The next word with what ends it, or nothing when Ctrl-D says that there is no more."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        word = ""
        while not self._has_ended and (byte := os.read(self._descriptor, 1)):
            typed = decoder.decode(byte)
            if typed == "\x04":
                self._has_ended = True
                break
            if typed in _ERASERS:
                self._echo("\b \b" * bool(word))
                word = word[:-1]
            elif typed.isspace():
                return f"{word}{typed}".encode()
            elif typed.isprintable():
                self._echo(typed)
                word += typed
        return word.encode()


def paced(words: Iterable[str | None], per_minute: float) -> Iterator[str | None]:
    """The words no faster than somebody would speak them.

    Time that the listener loses is caught up, a pause of the speaker is not.
    """
    due = asked = time.monotonic()
    for word in words:
        came = time.monotonic()
        due += max(0.0, came - max(due, asked))
        if word is not None:
            time.sleep(max(0.0, due - came))
            due += 60 / per_minute
        yield word
        asked = time.monotonic()


# --- what goes out --------------------------------------------------------------------------------


class Face(Protocol):
    """Shows what sessions do."""

    def hear(self, word: str | None) -> None:
        """A source word has come, or the end of the sentence."""
        ...

    def show(self, place: int, done: Act | Written) -> None:
        """A system has done something with it."""
        ...

    def rest(self, sessions: Sequence[Session], is_line_over: bool) -> None:
        """All systems have done what they can with it."""
        ...


def translate_stream(
    chosen: Sequence[Chosen], origin: Path | None, words_a_minute: int | None, is_json: bool
) -> None:
    """Translate a file, a pipe or what a person types with the chosen systems."""
    if not origin and sys.stdin is None:
        raise SimtError("standard input is closed: pipe text into it, or name a file with --from")
    speakers = [Speaker(one.name, one.system.open(), one.knob) for one in chosen]
    is_typed = not origin and sys.stdin.isatty() and sys.stdout.isatty()
    names = [speaker.name for speaker in speakers]
    face = choose_face(names, is_json, is_typed, shutil.get_terminal_size().columns)
    with ExitStack() as stack:
        if is_typed:
            echo = partial(print, end="", flush=True)
            read = stack.enter_context(Keyboard(sys.stdin.fileno(), echo)).read
            _say("type a sentence and Enter; Ctrl-D ends")
        else:
            file = stack.enter_context(origin.open("rb")) if origin else sys.stdin
            read = partial(os.read, file.fileno(), 1 << 16)
        words = heard_words(read, _say)
        if words_a_minute:
            words = paced(words, words_a_minute)
        translate(speakers, words, face, _say)


def _say(text: str) -> None:
    print(f"simt: {text}", file=sys.stderr)


class Lines:
    """The translation of one line after the other while its words come in, with each speaker."""

    def __init__(
        self,
        speakers: Sequence[Speaker],
        face: Face,
        say: Callable[[str], None],
        first_line: int = 1,
    ) -> None:
        self._speakers = speakers
        self._face = face
        self._say = say
        self._line = first_line
        self._told_line = 0  # the last one that was said to be too long
        self._begin()

    def hear(self, word: str | None) -> None:
        """Do all that can be done with one more word; None ends the line."""
        if word is not None and self._heard == LONGEST_SENTENCE:
            self._tell_length()
            self._hear(None, is_line_over=False)
        self._hear(word, is_line_over=word is None)
        self._line += word is None

    def _hear(self, word: str | None, is_line_over: bool) -> None:
        """The same; None ends the sentence, be it inside a line."""
        self._face.hear(word)
        self._follow(word)
        self._heard += word is not None
        self._face.rest(self._sessions, is_line_over)
        if word is None:
            self._tell_cuts()
            self._tell_unknown()
            self._begin()

    def _begin(self) -> None:
        self._heard = 0
        self._sessions = [speaker.begin() for speaker in self._speakers]

    def _follow(self, word: str | None) -> None:
        for place, session in enumerate(self._sessions):
            for done in session.follow(word):
                self._face.show(place, done)

    def _tell_length(self) -> None:
        """Once a line, however long it is."""
        if self._told_line != self._line:
            self._say(
                f"line {self._line} goes on after {self._heard} words: "
                "the rest is a sentence of its own"
            )
        self._told_line = self._line

    def _tell_cuts(self) -> None:
        for speaker, session in zip(self._speakers, self._sessions, strict=True):
            if session.is_cut_off:
                self._say(
                    f"line {self._line}: the translation by {speaker.name} was cut off at its "
                    "greatest length (decoding.max_target_tokens)"
                )

    def _tell_unknown(self) -> None:
        """Where a system knows less than half of the words: it says something even then."""
        for speaker, session in zip(self._speakers, self._sessions, strict=True):
            unknown, words = session.source.unknown, len(session.source.tokens)
            if 2 * unknown > words:
                self._say(
                    f"line {self._line}: {speaker.name} does not know the characters of "
                    f"{unknown} of {count(words, 'word')}, so its translation means little"
                )


def translate(
    speakers: Sequence[Speaker],
    words: Iterable[str | None],
    face: Face,
    say: Callable[[str], None],
) -> None:
    """Translate each line with each speaker while its words come in."""
    lines = Lines(speakers, face, say)
    for word in words:
        lines.hear(word)


class PlainFace:
    """The words of one system as they become final, a line for each line."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self._has_begun = False

    def hear(self, word: str | None) -> None:
        pass

    def show(self, place: int, done: Act | Written) -> None:
        if isinstance(done, Written):
            blank = " " if self._has_begun and done.blank_before else ""
            print(f"{blank}{done.text}", end="", file=self._to, flush=True)
            self._has_begun = True

    def rest(self, sessions: Sequence[Session], is_line_over: bool) -> None:
        if is_line_over:
            print(file=self._to, flush=True)
            self._has_begun = False


class TableFace:
    """A row for each source word, and what each system did when it came.

    One system shows each READ and WRITE, several only their final words; numbers are confidences.
    """

    def __init__(self, to: TextIO, names: Sequence[str], width: int, is_echoed: bool) -> None:
        self._to = to
        self._is_alone = len(names) == 1
        self._is_echoed = is_echoed  # a typed word stands in its row already
        self._width = max(20, (width - _SOURCE_COLUMN) // len(names) - 1)
        self._heard = ""
        self._cells: list[list[str]] = [[] for _ in names]
        if not self._is_alone:
            self._print("", [[name] for name in names])

    def hear(self, word: str | None) -> None:
        self._heard = "↵" if word is None else shown(word)
        if self._is_echoed and word is not None:
            print(end="\r", file=self._to)  # write over what was typed
        self._cells = [[] for _ in self._cells]

    def show(self, place: int, done: Act | Written) -> None:
        if isinstance(done, Act) and self._is_alone:
            verb = "WRITE" if done.is_write else "READ"
            self._cells[place].append(f"{verb} {done.piece}{_degree(done.value)}")
        if isinstance(done, Written) and not self._is_alone:
            self._cells[place].append(f"{done.text}{_degree(done.confidence)}")

    def rest(self, sessions: Sequence[Session], is_line_over: bool) -> None:
        self._print(self._heard, self._cells)
        if sessions[0].has_ended and self._is_alone:
            self._print("=", [sessions[0].text.split()], between=" ")
        elif sessions[0].has_ended:
            print(file=self._to, flush=True)

    def _print(
        self, heard: str, cells: Sequence[Sequence[str]], between: str | None = None
    ) -> None:
        """A row, and as many more as its fullest cell takes, so that columns stay columns."""
        usual = "   " if self._is_alone else " "
        columns = [_filled(cell, self._width, between or usual) for cell in cells]
        for place, lines in enumerate(zip_longest(*columns, fillvalue="")):
            padded = [_padded(line, self._width) for line in lines]
            first = _padded("" if place else heard, _SOURCE_COLUMN)
            row = f"{first} {' '.join(padded)}".rstrip()
            print(row, file=self._to, flush=True)


def _filled(items: Sequence[str], width: int, between: str) -> list[str]:
    """The items in lines no wider than ``width``, as far as each by itself is not."""
    lines = [""]
    for item in items:
        longer = f"{lines[-1]}{between}{item}" if lines[-1] else item
        if lines[-1] and _columns(longer) > width:
            lines.append(item)
        else:
            lines[-1] = longer
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * max(0, width - _columns(text))


def _columns(text: str) -> int:
    """The columns of a terminal that the text takes: a Chinese character takes two."""
    return len(text) + sum(unicodedata.east_asian_width(one) in "WF" for one in text)


def _degree(value: float | None) -> str:
    return "" if value is None else f" {value:.2f}"


def event_of(done: Act | Written, system: str) -> dict[str, Any]:
    """What a system has done, as plain values."""
    if isinstance(done, Act):
        event = "write" if done.is_write else "read"
        values: dict[str, Any] = {"piece": done.piece, "value": done.value}
    else:
        event = "word"
        values = {
            "word": done.text, "blank_before": done.blank_before, "delay_words": done.delay.words,
            "delay_tokens": done.delay.tokens, "released_after": done.released_after,
            "confidence": done.confidence,
        }  # fmt: skip
    return {"event": event, "system": system, **values, "ms": round(done.ms, 3)}


class JsonFace:
    """One JSON object a line for everything that happens."""

    def __init__(self, to: TextIO, names: Sequence[str]) -> None:
        self._to = to
        self._names = names
        self._line = 1

    def hear(self, word: str | None) -> None:
        if word is not None:
            self._print({"event": "source", "word": word})

    def show(self, place: int, done: Act | Written) -> None:
        self._print(event_of(done, self._names[place]))

    def rest(self, sessions: Sequence[Session], is_line_over: bool) -> None:
        if sessions[0].has_ended:
            for name, session in zip(self._names, sessions, strict=True):
                end = {"event": "end", "system": name, "text": session.text}
                self._print({**end, "is_cut_off": session.is_cut_off})
        self._line += is_line_over

    def _print(self, values: dict[str, Any]) -> None:
        text = json.dumps({"line": self._line, **values}, ensure_ascii=False)
        print(text, file=self._to, flush=True)


def choose_face(names: Sequence[str], is_json: bool, is_typed: bool, width: int) -> Face:
    """How to show the work of these systems on standard output."""
    if is_json:
        return JsonFace(sys.stdout, names)
    if is_typed or len(names) > 1:
        return TableFace(sys.stdout, names, width, is_echoed=is_typed)
    return PlainFace(sys.stdout)
