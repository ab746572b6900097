"""What all our pages share: style, the switch between light and dark, colours for both."""

from pathlib import Path

_HERE = Path(__file__).parent


def shared_file(name: str) -> str:
    """The text of ``base.css`` or ``switch.js``."""
    return (_HERE / name).read_text(encoding="utf-8")
