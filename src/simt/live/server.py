"""The server behind the live page: four fixed files, a stream of events for each tab, and text in.

Nothing in an address is ever taken for the name of a file: all that can be asked for is in memory
before the first browser comes.
"""

import asyncio
import ipaddress
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from fastapi.sse import EventSourceResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simt.errors import SimtError
from simt.live.lanes import Event
from simt.live.systems import Served, example_sentences
from simt.live.tabs import MOST_CHARACTERS, Limits, NoRoom, Tab, Tabs
from simt.pages import shared_file, templates_in

_HERE = Path(__file__).parent
_MOST_BYTES = 16 * MOST_CHARACTERS  # a character is up to 12 in JSON; there are knob values, too
# The browser itself sees to it that nothing is loaded from elsewhere and that no page frames ours.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; "
    "script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Asked(BaseModel):
    """What a tab sends: all of its text, a knob value for each system, and whether time is new."""

    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    knobs: Annotated[list[Annotated[str, Field(max_length=20)]], Field(max_length=100)]
    is_new: bool = False


def make_app(tabs: Tabs, allowed_hosts: Sequence[str] = ("*",)) -> FastAPI:
    """The pages and their addresses."""
    app = FastAPI(openapi_url=None)  # and so no pages about itself, which load from elsewhere
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts))
    app.add_middleware(Guard)
    _add_files(app, tabs.systems)

    async def new_tab() -> AsyncIterator[Tab | NoRoom]:
        async with tabs.opened() as tab:
            yield tab

    # A dependency, because FastAPI closes those, but not a generator that it leaves at a yield.
    @app.get("/events", response_class=EventSourceResponse)
    async def events(tab: Annotated[Tab | NoRoom, Depends(new_tab)]) -> AsyncIterator[Event]:
        """A new tab; it ends when the browser does not listen any more."""
        async for event in tab.events():
            yield event

    @app.post("/tabs/{name}")
    async def ask(name: str, request: Request) -> Response:
        """What a tab wants to have translated now."""
        tab = tabs.find(name)
        if tab is None:
            return _refusal(404, "this tab is not open any more: reload the page")
        body = await _body(request)
        if body is None:
            return _refusal(413, f"this page takes {MOST_CHARACTERS:,} characters: send less")
        try:
            asked = Asked.model_validate_json(body)
            tab.ask(asked.text, asked.knobs, asked.is_new)
        except ValidationError:
            return _refusal(422, "send JSON with text, a string, and knobs, a list of strings")
        except SimtError as error:
            return _refusal(422, str(error))
        return Response(status_code=204)

    return app


async def _body(request: Request) -> bytes | None:
    """What was sent; None if it is more than should be kept."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            return None
    return body


def _refusal(status: int, why: str) -> JSONResponse:
    return JSONResponse({"why": why}, status)


class Guard:
    """Refuses what pages of other people send, which browsers let them; adds the headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        is_foreign = scope["type"] == "http" and _is_foreign(Headers(scope=scope))
        refusal = _refusal(403, "only the page itself may ask for this")
        await (refusal if is_foreign else self._app)(scope, receive, send_with_headers)


def _is_foreign(headers: Headers) -> bool:
    """Whether another page asks, other than by a link to ours."""
    is_ours = headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    return not is_ours and headers.get("sec-fetch-mode") != "navigate"


# --- files ----------------------------------------------------------------------------------------


def _add_files(app: FastAPI, systems: Sequence[Served]) -> None:
    files = {
        "/": (_page(systems), "text/html"),
        "/live.css": (shared_file("base.css") + _own("live.css"), "text/css"),
        "/live.js": (_own("live.js"), "text/javascript"),
        "/switch.js": (shared_file("switch.js"), "text/javascript"),
    }
    for address, (text, kind) in files.items():
        app.add_api_route(address, _constant(text, kind), response_class=Response)


def _constant(text: str, kind: str) -> Callable[[], Awaitable[Response]]:
    async def file() -> Response:
        return Response(text, media_type=kind)

    return file


def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _page(systems: Sequence[Served]) -> str:
    page = templates_in(_HERE).get_template("page.html")
    return page.render(
        systems=[served.described() for served in systems],
        languages=systems[0].system.languages,
        examples=example_sentences(systems),
    )


# --- the process ----------------------------------------------------------------------------------


def serve_page(systems: Sequence[Served], host: str, port: int) -> None:
    """Serve the page until somebody presses Ctrl-C."""
    with _listening(host, port) as listening:
        address, port = listening.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        print(f"simt: open http://{shown}:{port} in a browser; Ctrl-C ends the server", flush=True)
        is_private = ipaddress.ip_address(address).is_loopback
        own_names = ("127.0.0.1", "localhost", "[::1]", shown, host.lower())
        tabs = Tabs(systems, Limits())
        app = make_app(tabs, own_names if is_private else ("*",))
        with suppress(KeyboardInterrupt):
            LiveServer(app, tabs).run(sockets=[listening])


class LiveServer(uvicorn.Server):
    """A server that does not wait for its tabs: it tells them that it ends."""

    def __init__(self, app: FastAPI, tabs: Tabs) -> None:
        super().__init__(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
        self._tabs = tabs

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._tabs.end_all("the server was stopped")
        await asyncio.sleep(0)
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((str(where[0]), port), family=family)
    except (OSError, UnicodeError) as error:
        raise SimtError(
            f"cannot listen at {host}, port {port}: {_why(error)}; give another --port or --host"
        ) from None


def _why(error: OSError | UnicodeError) -> str:
    """In the words of the system, to which Python adds its own."""
    if isinstance(error, socket.gaierror):  # its numbers are not those of the system
        return error.strerror or str(error)
    if isinstance(error, OSError):
        return os.strerror(error.errno or 0)
    return "it is not an address"  # no name of a machine can look like this
