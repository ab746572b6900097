"""The files that a report is made from; what is missing is named with the command that makes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simt.problems import parse_json, read_text
from simt.runs import paper_folder


@dataclass(frozen=True)
class Files:
    """The files of one study, below the working folder."""

    study: str

    @property
    def paper(self) -> Path:
        """Where figures, tables and claims are."""
        return paper_folder(self.study)

    def text(self, path: Path) -> str:
        """The text of a file."""
        return read_text(path, f"make it with: snakemake --config study={self.study} -- {path}")

    def json(self, path: Path) -> Any:
        """The values of a JSON file."""
        return self._parsed(self.text(path), path)

    def json_lines(self, path: Path) -> list[Any]:
        """The values of a file with one JSON value a line."""
        return [self._parsed(line, path) for line in self.text(path).splitlines()]

    def _parsed(self, text: str, path: Path) -> Any:
        return parse_json(text, path, "remove it and make it again")
