"""Browser tabs: each has lanes of its own, which end with it; all share the models.

Everything here runs in the event loop but what lanes do: one step of one lane at a time, in a
thread, so that the loop stays free and a step's time is that of a machine that does nothing else.
"""

import asyncio
import secrets
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

from simt.errors import SimtError
from simt.live.lanes import Event, Heard, Lane
from simt.live.systems import Served
from simt.translate import complete_words
from simt.wording import count

MOST_TABS = 32
MOST_CHARACTERS = 10_000
MOST_WORDS = 1_000
LONGEST_WORD = 200  # characters
MOST_UNREAD = 20_000  # events that a tab may leave unread
IDLE_MINUTES = 15


class Limits(NamedTuple):
    """How many tabs there may be, and after how many seconds without a word one ends."""

    tabs: int = MOST_TABS
    idle_seconds: float = 60 * IDLE_MINUTES


class Tabs:
    """All open tabs."""

    def __init__(self, systems: Sequence[Served], limits: Limits) -> None:
        self.systems = systems
        self._limits = limits
        self._open: dict[str, Tab] = {}
        self._computer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="lanes")

    def __len__(self) -> int:
        return len(self._open)

    def find(self, name: str) -> "Tab | None":
        """The open tab of that name, which only its browser knows."""
        return self._open.get(name)

    @asynccontextmanager
    async def opened(self) -> "AsyncIterator[Tab | NoRoom]":
        """A new tab, which is gone at the end of the block."""
        if len(self) >= self._limits.tabs:
            yield NoRoom(self._limits.tabs)
            return
        tab = Tab(secrets.token_urlsafe(16), self.systems, self._computer, self._limits)
        self._open[tab.name] = tab
        work = asyncio.create_task(tab.work())
        try:
            yield tab
        finally:
            del self._open[tab.name]
            work.cancel()

    def end_all(self, why: str) -> None:
        """Say good-bye to every tab."""
        for tab in self._open.values():
            tab.end(why)


class NoRoom(NamedTuple):
    """What stands in for a tab that is one too many."""

    tabs: int

    async def events(self) -> AsyncIterator[Event]:
        """All that its browser is told."""
        why = (
            f"{self.tabs} tabs are open, which is all that this page has room for: "
            "close one, or try again later"
        )
        yield {"event": "closed", "why": why}


class Tab:
    """What one browser tab wants translated, and what it is to be told."""

    def __init__(
        self, name: str, systems: Sequence[Served], computer: ThreadPoolExecutor, limits: Limits
    ) -> None:
        self.name = name
        self._systems = systems
        self._computer = computer
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._asked = self._loop.time()
        self._news = asyncio.Event()
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._text: list[Heard] = []
        self._knobs = [served.knob for served in systems]
        self._lanes: list[Lane] = []

    # --- what comes in

    def ask(self, text: str, knobs: Sequence[str], is_new: bool = False) -> None:
        """Have this text translated at these knob values; it replaces what was asked before.

        What is new comes now as a whole, even if all of it was there before.
        """
        words, _ = complete_words(_checked(text))
        if len(knobs) != len(self._systems):
            systems = count(len(self._systems), "system")
            raise SimtError(f"{count(len(knobs), 'knob value')}, but {systems}")
        both = zip(self._systems, knobs, strict=True)
        self._knobs = [served.system.knob(knob) for served, knob in both]
        self._asked = self._loop.time()
        self._text = self._timed(words, [] if is_new else self._text)
        self._news.set()

    def _timed(self, words: Sequence[str | None], before: list[Heard]) -> list[Heard]:
        """The words with the seconds in which they came; those that were there keep theirs."""
        kept = 0
        while kept < min(len(words), len(before)) and words[kept] == before[kept].word:
            kept += 1
        return before[:kept] + [Heard(word, self._asked) for word in words[kept:]]

    # --- what is done

    async def work(self) -> None:
        """Translate what is asked for, for ever."""
        try:
            await self._compute(self._new_lanes)
            while True:
                await self._news.wait()
                await self._turn_lanes()
                while lane := self._last_lane():
                    await self._compute(lane.step)
                    if self._events.qsize() > MOST_UNREAD:
                        self.end("this tab does not read what it is told")
                        return
                    if self._news.is_set():
                        await self._turn_lanes()
        except Exception:  # asyncio says nothing of a task that is cancelled after it has failed
            traceback.print_exc()
            self.end("simt has failed, and the terminal in which it runs says how; reload the page")

    async def _compute(self, work: Callable[[], None]) -> None:
        await self._loop.run_in_executor(self._computer, work)

    def _new_lanes(self) -> None:
        self._lanes = [Lane(*one, self._emit_from_thread) for one in enumerate(self._systems)]

    async def _turn_lanes(self) -> None:
        """Have all lanes follow what was asked last."""
        self._news.clear()
        text = self._text
        for lane, knob in zip(self._lanes, self._knobs, strict=True):
            await self._compute(partial(lane.turn_to, text, knob))

    def _last_lane(self) -> Lane | None:
        """The lane with most left to do: so all of them advance together."""
        lane = max(self._lanes, key=lambda one: one.left)
        return lane if lane.left else None

    # --- what goes out

    async def events(self) -> AsyncIterator[Event]:
        """What the tab is to be told, until it ends."""
        yield {"event": "open", "tab": self.name}
        while True:
            try:
                event = await asyncio.wait_for(self._events.get(), self._seconds_left())
            except TimeoutError:
                if self._seconds_left() > 0:
                    continue
                event = {"event": "closed", "why": "nothing was typed for a while", "is_idle": True}
            yield event
            if event["event"] == "closed":
                return

    def _seconds_left(self) -> float:
        return self._asked + self._limits.idle_seconds - self._loop.time()

    def end(self, why: str) -> None:
        """The last that the tab is told."""
        self._emit({"event": "closed", "why": why})

    def _emit(self, event: Event) -> None:
        self._events.put_nowait(event)

    def _emit_from_thread(self, event: Event) -> None:
        self._loop.call_soon_threadsafe(self._emit, event)


def _checked(text: str) -> str:
    if len(text) > MOST_CHARACTERS:
        raise SimtError(
            f"the text has {len(text):,} characters, but {MOST_CHARACTERS:,} is the most that this "
            "page takes: give less at a time, or use `simt translate`"
        )
    words = text.split()
    if len(words) > MOST_WORDS:
        raise SimtError(
            f"the text has {len(words):,} words, but {MOST_WORDS:,} is the most that this page "
            "takes: give less at a time, or use `simt translate`"
        )
    longest = max(words, key=len, default="")
    if len(longest) > LONGEST_WORD:
        raise SimtError(
            f"a word has {len(longest):,} characters, but {LONGEST_WORD} is the most that this "
            "page takes: put a blank or the end of a line into it"
        )
    return text
