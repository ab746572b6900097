"""The record of a training: one JSON line a row, while it runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from simt.atomic import atomic_file


@dataclass
class LogInterval:
    """What happened since the last row."""

    tokens: int = 0
    loss: float = 0.0
    gradient_norm: float = 0.0  # the largest: a mean would hide what matters
    parts: Mapping[str, Tensor | float] = field(default_factory=dict)
    seconds: float = 0.0  # of updates; validation and saving are not in it

    def add_parts(self, parts: Mapping[str, Tensor]) -> None:
        """Take in a micro-batch; tensors stay tensors, so that a GPU is not waited for."""
        self.parts = {name: self.parts.get(name, 0.0) + value for name, value in parts.items()}

    def add_update(self, loss: float, tokens: int, gradient_norm: float, seconds: float) -> None:
        """Take in the sums of an update over all processes, and how long it took."""
        self.loss += loss
        self.tokens += tokens
        self.gradient_norm = max(self.gradient_norm, gradient_norm)
        self.seconds += seconds

    def row(self) -> dict[str, Any]:
        """Means a token, and tokens a second."""
        parts = {name: float(value) / self.tokens for name, value in self.parts.items()}
        return {
            "loss": self.loss / self.tokens,
            **parts,
            "gradient_norm": self.gradient_norm,
            "tokens_per_s": round(self.tokens / self.seconds, 1),
        }


class History:
    """Rows with an ``update`` each, appended to a file; going back drops what came after."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, update: int, values: dict[str, Any]) -> None:
        """Append one row; a reader beside us takes whole lines only."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"update": update, **values}) + "\n")

    def go_back_to(self, update: int) -> None:
        """Drop the rows after ``update``, and a last line that was cut in the writing."""
        if self.path.exists():
            kept = [row for row in self.rows() if row["update"] <= update]
            with atomic_file(self.path) as stream:
                stream.writelines(json.dumps(row) + "\n" for row in kept)

    def rows(self) -> list[dict[str, Any]]:
        """Every row that is whole."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]
