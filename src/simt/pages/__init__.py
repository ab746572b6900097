"""What all our pages share: style, the switch between light and dark, colours for both."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent


def shared_file(name: str) -> str:
    """The text of ``base.css`` or ``switch.js``."""
    return (_HERE / name).read_text(encoding="utf-8")


def templates_in(folder: Path) -> "Environment":
    """The templates of a folder: everything is escaped, and a misspelt name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # others need colours only

    return Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
