"""Into which MLflow store a study is mirrored, by the environment; imports MLflow only to do it."""

import os
import select
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from simt.params import Params

if TYPE_CHECKING:
    from simt.tracking import Store

# MLflow reports its use unless told not to, asks a server that is down again for minutes, and tells
# the address of every run.
_QUIET_MLFLOW = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def mirror_once(params: Params, pages: str | None) -> str:
    """Says what the store now holds: the server that is configured, or a database here."""
    store = _store(_server(), pages)
    from simt.tracking import mirror_study

    return mirror_study(params, store, is_over=False)


def follow_into_server(load: Callable[[], Params], pages: str | None) -> None:
    """Mirror a study until standard input ends; without a server there is nothing to do."""
    if not (server := _server()):
        return
    store = _store(server, pages)
    from simt.tracking import follow_study

    params = load()
    say = partial(print, flush=True)
    follow_study(params, store, wait=_has_input_ended, say=say)


def _server() -> str:
    return os.environ.get("MLFLOW_TRACKING_URI", "")


def _store(server: str, pages: str | None) -> "Store":
    for name, value in _QUIET_MLFLOW.items():
        os.environ.setdefault(name, value)  # before MLflow is imported
    from simt.tracking import Store

    here = Path.cwd()
    pages = pages or (server if server.startswith("http") else "")
    return Store(server or f"sqlite:///{here / 'mlflow.db'}", here / "mlruns", pages)


def _has_input_ended(timeout_s: float) -> bool:
    """Whether nothing can come any more from standard input, after waiting for that."""
    readable, _, _ = select.select([sys.stdin], [], [], timeout_s)
    return bool(readable) and not sys.stdin.read(1)
