"""What the page serves: opened systems, with their names, knob values and example sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

from simt.errors import SimtError
from simt.knobs import knob_text
from simt.pages.colours import on_both
from simt.params import Knob
from simt.problems import parse_json, read_text
from simt.session import Translator
from simt.settings import METHOD_SETTINGS
from simt.systems import colour_of, system_key, training_label
from simt.translate import Speaker
from simt.translators import Chosen, System, choose

MAIN_SYSTEMS = ("sm2/bi", "waitk/k3", "offline/bi")  # what is served if nothing is asked for
_AGAIN = "prepare the corpus again"
MOST_EXAMPLES, LONGEST_EXAMPLE = 4, 14  # sentences, words


@dataclass(frozen=True, eq=False)
class Served:
    """A system that all tabs share, under the name that they may know; nothing in it changes."""

    system: System
    translator: Translator
    knob: Knob  # at the beginning

    def speaker(self, knob: Knob) -> Speaker:
        """The system at a knob value, as `simt translate` has it."""
        return Speaker(f"{self.system.name}@{knob_text(knob)}", self.translator, knob)

    def described(self) -> dict[str, Any]:
        """What the page needs to know."""
        knobs = METHOD_SETTINGS[self.system.method].knob_range
        method, variant = self.system.method, self.system.variant
        return {
            "name": self.system.name,
            "label": training_label(method, variant),
            "colour": on_both(colour_of(system_key(method, variant))),
            "symbol": knobs.symbol if knobs else "",
            "knobs": [knob_text(knob) for knob in self._knobs()],
            "knob": knob_text(self.knob),
        }

    def _knobs(self) -> list[Knob]:
        """Where the slider can be: from the fastest to the one that waits for all of the source."""
        every = {*self.system.knobs, self.knob}
        return sorted(every, key=lambda knob: inf if knob == "full" else knob)


def open_systems(chosen: Sequence[Chosen]) -> list[Served]:
    """The chosen systems, ready to translate; they must have the same languages."""
    if len({one.system.languages for one in chosen}) > 1:
        each = ", ".join(f"{one.name} {' to '.join(one.system.languages)}" for one in chosen)
        raise SimtError(f"systems on one page must translate between the same languages: {each}")
    named = [replace(one.system, name=_short_name(one.name)) for one in chosen]
    both = zip(named, chosen, strict=True)
    return [Served(system, system.open(), one.knob) for system, one in both]


def _short_name(name: str) -> str:
    """The name without its knob value; of a folder the last part, since the page may be public."""
    name = name.rpartition("@")[0]
    return Path(name).resolve().name if Path(name).is_dir() else name


def main_systems(systems: Sequence[System]) -> list[Chosen]:
    """The systems of the study that tell most beside each other, as far as they are finished.

    Where it has several pairs, those of the first one.
    """
    main = [system for system in systems if f"{system.method}/{system.variant}" in MAIN_SYSTEMS]
    of_pair = [system for system in main if system.pair == main[0].pair]
    finished = {f"{system.method}/{system.variant}" for system in of_pair}
    return [choose(name, None, of_pair) for name in MAIN_SYSTEMS if name in finished]


def example_sentences(systems: Sequence[Served]) -> list[str]:
    """Some sentences to click on: the first short ones of the test set, where there is one."""
    for served in systems:
        path = served.system.raw_test
        if path and path.exists():
            lines = read_text(path, _AGAIN).splitlines()
            sentences = (str(parse_json(line, path, _AGAIN)["source"]) for line in lines)
            short = (one for one in sentences if len(one.split()) <= LONGEST_EXAMPLE)
            return list(islice(short, MOST_EXAMPLES))
    return []
