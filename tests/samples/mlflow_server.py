"""A real MLflow server on this machine, that can be stopped and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

BIN = Path(sys.executable).parent
_PLAIN = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}


class MlflowServer:
    """A server over the database ``mlflow.db`` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as some:
            some.bind(("127.0.0.1", 0))
            self.port = some.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start unless it runs, and wait until it answers."""
        if self.process is not None:
            return
        command = [BIN / "mlflow", "server", "--backend-store-uri", "sqlite:///mlflow.db",
                   "--artifacts-destination", "./artifacts", "--host", "127.0.0.1",
                   "--port", str(self.port), "--workers", "1"]  # fmt: skip
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | _PLAIN,
            )  # fmt: skip
        while not self._answers():
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.2)

    def stop(self) -> None:
        """End it with all its processes."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/health", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False
