"""Blocks of code on the project's pages, and doing what a worked example says."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """What stands between two fences, and the language that the first one names."""

    language: str
    text: str


def code_blocks(page: Path) -> list[Block]:
    """All blocks of a page that name a language, from top to bottom."""
    return [Block(*found) for found in _FENCED.findall(page.read_text(encoding="utf-8"))]


def commands(block: Block) -> list[str]:
    """The lines of a block of shell, without their comments."""
    lines = (re.sub(r"(^|\s\s)#.*", "", line).strip() for line in block.text.splitlines())
    return [line for line in lines if line]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    # Superscript digits are no letters there, though Python calls them word characters.
    plain = (re.sub(r"[^\w\- ]|[²³]", "", heading.lower()) for heading in headings)
    return {text.replace(" ", "-") for text in plain}


def rows(page: Path, *columns: str) -> list[list[str]]:
    """The cells below some first columns, of every table of a page that has these."""
    found: list[list[str]] = []
    is_wanted = False
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]][: len(columns)]
        if not line.startswith("|"):
            is_wanted = False
        elif is_wanted:
            found += [] if set(cells[0]) <= set("-:") else [cells]
        else:
            is_wanted = cells == list(columns)
    return found


def shell(folder: Path, environment: Mapping[str, str], *lines: str) -> str:
    """All that a shell prints that runs some lines, each of which must succeed."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"{lines[-1]}\n{said[-6000:]}"
    return said


def follow(page: Path, folder: Path, environment: Mapping[str, str], setup: Sequence[str]) -> str:
    """All that the commands of a worked example print, done in ``folder`` from top to bottom.

    A block of Python is a new file, named by its first line; a block of diff changes the file that
    its first line names; blocks of shell are run.
    """
    exports = [*setup]
    said = ""
    for block in code_blocks(page):
        if block.language == "sh":
            lines = commands(block)
            said += shell(folder, environment, *exports, *lines)
            exports += [line for line in lines if line.startswith("export ")]
            continue
        name, _, text = block.text.partition("\n")
        file = folder / name.split()[1]
        if block.language == "python":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        else:
            assert block.language == "diff", f"{page.name}: nothing is known of {block.language}"
            file.write_text(changed(file.read_text(encoding="utf-8"), text), encoding="utf-8")
    return said


def changed(text: str, difference: str) -> str:
    """``text`` with a change made whose context it has just once."""
    lines = difference.splitlines()
    before = "\n".join(line[1:] for line in lines if not line.startswith("+"))
    after = "\n".join(line[1:] for line in lines if not line.startswith("-"))
    assert text.count(before) == 1, f"found {text.count(before)} times:\n{before}"
    return text.replace(before, after)
