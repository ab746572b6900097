"""The live page's server on a port of its own, and a tab without a browser."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import requests

from simt.live.server import LiveServer, make_app
from simt.live.systems import Served
from simt.live.tabs import Limits, Tabs

Event = dict[str, Any]
WAIT_S = 60


class Live(NamedTuple):
    """A running server."""

    url: str
    tabs: Tabs


@contextmanager
def running(systems: Sequence[Served], limits: Limits | None = None) -> Iterator[Live]:
    """A server for these systems, which is stopped at the end."""
    tabs = Tabs(systems, limits or Limits())
    server = LiveServer(make_app(tabs, ["127.0.0.1"]), tabs)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Live(f"http://127.0.0.1:{listening.getsockname()[1]}", tabs)
        finally:
            server.should_exit = True
            thread.join()


class Tab:
    """What a browser tab does, without the browser; a context manager."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.events: list[Event] = []
        self._answer = requests.get(f"{live.url}/events", stream=True, timeout=WAIT_S)
        self._lines = self._answer.iter_lines(chunk_size=1)
        self.name = self.until(lambda event: event["event"] in ("open", "closed")).get("tab", "")

    def __enter__(self) -> "Tab":
        return self

    def __exit__(self, *_: object) -> None:
        self._answer.close()

    def until(self, is_it: Callable[[Event], bool]) -> Event:
        """The next event of a kind, after reading all before it."""
        for line in self._lines:
            if line.startswith(b"data: "):
                self.events.append(json.loads(line.removeprefix(b"data: ")))
                if is_it(self.events[-1]):
                    return self.events[-1]
        raise AssertionError("the stream has ended")

    def ask(self, text: str, *knobs: str, **more: object) -> requests.Response:
        """Have the server translate all of this."""
        asked = {"text": text, "knobs": knobs, **more}
        return requests.post(f"{self._live.url}/tabs/{self.name}", json=asked, timeout=WAIT_S)

    def ends(self, lines: int, systems: int) -> list[list[str]]:
        """What each system has said of each line, once all of them are over."""
        missing = {(system, line + 1) for system in range(systems) for line in range(lines)}
        while missing:
            end = self.until(lambda event: event["event"] in ("end", "again"))
            place = (end["system"], end["line"])
            missing = missing - {place} if end["event"] == "end" else missing | {place}
        return [[self.said(system, line + 1) for line in range(lines)] for system in range(systems)]

    def next_ends(self, number: int) -> list[Event]:
        """All events up to so many more ends of sentences, without notes."""
        seen = len(self.events)
        for _ in range(number):
            self.until(lambda event: event["event"] == "end")
        return [event for event in self.events[seen:] if event["event"] != "note"]

    def words(self, system: int, line: int) -> list[Event]:
        """The words that stand on the page for a line."""
        words: list[Event] = []
        for event in self.events:
            if event.get("system") == system and event["event"] == "again":
                words = [word for word in words if word["line"] < event["line"]]
            elif event.get("system") == system and event["event"] == "word":
                words.append(event)
        return [word for word in words if word["line"] == line]

    def said(self, system: int, line: int) -> str:
        """The line as it stands on the page."""
        return " ".join(word["word"] for word in self.words(system, line))
