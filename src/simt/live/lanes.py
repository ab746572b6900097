"""A system that follows a text which grows, and which may also be changed by the one who types."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simt.corpus.growing import Written
from simt.lagging import average_lagging
from simt.live.systems import Served
from simt.params import Knob
from simt.session import Act, Session
from simt.translate import Lines, event_of

Event = dict[str, Any]
Emit = Callable[[Event], None]
_NO_END = 1 << 40  # words


class Heard(NamedTuple):
    """A source word, or None at the end of a line, and the second in which it came."""

    word: str | None
    second: float


class Lane:
    """One system on its way through a text.

    What it has said of a text stays as long as the text only grows. Where the text was changed, the
    lane begins that line again; with another knob value, the whole text, as if the knob had stood
    there from the beginning. So a lane always shows what `simt translate` says of the same text.
    """

    def __init__(self, place: int, served: Served, emit: Emit) -> None:
        self._served = served
        self._knob = served.knob
        self._text: Sequence[Heard] = ()
        self._done = 0  # words of the text that were heard
        self._face = LaneFace(place, emit)
        self._lines = self._begin(0)

    def turn_to(self, text: Sequence[Heard], knob: Knob) -> None:
        """From now on, follow this text at this knob value."""
        is_same_knob = knob == self._knob
        kept = _common(self._text[: self._done], text) if is_same_knob else 0
        self._text, self._knob = text, knob
        if kept < self._done or not is_same_knob:
            self._lines = self._begin(kept)

    def _begin(self, kept: int) -> Lines:
        """Begin the line again in which the text that is kept ends."""
        ends = [place + 1 for place in range(kept) if self._text[place].word is None]
        self._done = ends[-1] if ends else 0
        first_line = len(ends) + 1
        self._face.begin_again(first_line)
        speaker = self._served.speaker(self._knob)
        return Lines([speaker], self._face, self._face.say, first_line)

    @property
    def left(self) -> int:
        """How many words of the text have not been heard."""
        return len(self._text) - self._done

    def step(self) -> None:
        """Hear the next word and do all that can be done with it."""
        heard = self._text[self._done]
        self._done += 1
        self._face.now = heard.second
        self._lines.hear(heard.word)


def _common(old: Sequence[Heard], new: Sequence[Heard]) -> int:
    """How many words both begin with, heard at the same time."""
    both = zip(old, new, strict=False)
    return next((n for n, (a, b) in enumerate(both) if a != b), min(len(old), len(new)))


class LaneFace:
    """Tells what a lane does, and the moment of each word.

    The moment is that of a system which has a machine to itself: when the source word came, plus
    what the lane has computed since. Lanes that share a machine do not slow each other down, and
    what is said again for another knob value has the moment it would have had.
    """

    def __init__(self, place: int, emit: Emit) -> None:
        self._place = place
        self._emit_to = emit
        self.now = 0.0  # when the word came that is being heard

    def begin_again(self, line: int) -> None:
        """All that was said of a line and of those after it does not count any more."""
        self._line = line
        self._clock = 0.0
        self._begin_line()
        self._emit("again", {})

    def _begin_line(self) -> None:
        self._began: float | None = None
        self._words_before = 0  # of the line, in sentences that have ended
        self._ms = 0.0

    def hear(self, word: str | None) -> None:
        self._clock = max(self._clock, self.now)
        if self._began is None:
            self._began = self.now
        if word is not None:
            second = round(self.now - self._began, 3)
            self._emit("source", {"word": word, "second": second})

    def show(self, place: int, done: Act | Written) -> None:
        values = event_of(done, "")
        if isinstance(done, Act):
            self._clock += done.ms / 1000
            self._ms += done.ms
        else:
            assert self._began is not None
            values["second"] = round(self._clock - self._began, 3)
            values["released_after"] += self._words_before
        self._emit(values["event"], values)

    def rest(self, sessions: Sequence[Session], is_line_over: bool) -> None:
        (session,) = sessions
        numbers = {"lagging": lagging(session), "computing_ms": round(self._ms, 3)}
        self._emit("numbers", {**numbers, "words": len(session.target.words)})
        if session.has_ended:
            self._emit("end", {"text": session.text, "is_cut_off": session.is_cut_off})
            self._words_before += len(session.source.words)
            self._ms = 0.0
        if is_line_over:
            self._line += 1
            self._begin_line()

    def say(self, text: str) -> None:
        """A note to the one who types."""
        self._emit("note", {"text": text})

    def _emit(self, event: str, values: Event) -> None:
        place = {"event": event, "system": self._place, "line": self._line}
        self._emit_to({**values, **place})


def lagging(session: Session) -> float | None:
    """Average lagging in words; None of nothing.

    Before the end nobody knows how long both sides become: they count as equally long.
    """
    delays = [word.delay.words for word in session.target.words]
    if not delays:
        return None
    heard = session.source.words_within(len(session.source.pieces))
    lengths = (heard, len(delays)) if session.has_ended else (_NO_END, _NO_END)
    return round(average_lagging(delays, *lengths), 2)
