"""How each system looks and what it is called, the same in every figure and table.

One colour a system. Systems with a bidirectional encoder have solid lines, those with a
unidirectional one dashed lines; the four methods to compare with are told apart by colour and
marker. Colours are those of Okabe and Ito and of Tol ("muted"), which colour-blind readers can
tell apart; markers tell the systems apart in print without colour.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

STYLE_FILE = Path(__file__).with_name("paper.mplstyle")
COLUMN_INCHES = 3.3  # one column of a two-column paper
PAGE_INCHES = 6.9  # both

SOLID = "-"
DASHED = (0, (4, 1.6))
DOTTED = (0, (1, 1.5))
Dashes = str | tuple[int, tuple[float, ...]]

INK = "#333333"
PAPER_GREY = "#9a9a9a"
JOIN_GREY = "#c4c4c4"
EMPTY_GREY = "#d5d5d5"
ALLOWED_BLUE = "#c6ddf0"


@dataclass(frozen=True)
class Look:
    """Colour, line and marker of a curve; ``label`` may hold mathematics between dollars."""

    label: str
    colour: str
    dashes: Dashes = SOLID
    marker: str = "o"
    is_filled: bool = True


class _Name(NamedTuple):
    """What a system is called in text and in mathematics, and how it looks."""

    label: str
    colour: str
    dashes: Dashes = SOLID
    marker: str = "o"
    mathematics: str | None = None


# A system is a method, or a method with a variant where each variant is a curve of its own.
_NAMES = {
    "offline/uni": _Name("OMT-Uni", INK, DASHED, ""),
    "offline/bi": _Name("OMT-Bi", INK, SOLID, ""),
    "offline/bi-small": _Name("OMT-Bi (small)", "#777777", DOTTED, ""),
    "offline/bi-big": _Name("OMT-Bi (big)", "#000000", (0, (6, 1.2, 1, 1.2)), ""),
    "waitk": _Name("wait-k", "#56b4e9", SOLID, "v"),
    "multipath/uni": _Name("m-wait-k", "#0072b2", SOLID, "^"),
    "hmt": _Name("HMT", "#009e73", SOLID, "D"),
    "itst/uni": _Name("ITST", "#cc79a7", SOLID, "s"),
    "sm2/uni": _Name("SM²-Uni", "#e69f00", DASHED, "o"),
    "sm2/bi": _Name("SM²-Bi", "#d55e00", SOLID, "o"),
    "sm2/uni-p": _Name("SM²-Uni-P", "#9d8ad0", DASHED, "D"),
    "sm2/bi-p": _Name("SM²-Bi-P", "#4b2991", SOLID, "D"),
    "sm2/bi-ft": _Name("SM²-FT", "#882255", SOLID, "<"),
    "sm2/bi-adapter": _Name("SM²-adapter", "#5a4a00", SOLID, ">"),
    "sm2/bi-small-ft": _Name("SM²-FT (small)", "#d88aae", SOLID, "d"),
    "sm2/bi-big-ft": _Name("SM²-FT (big)", "#3a0b26", SOLID, "p"),
    "sm2/bi-no-omt": _Name("w/o L_omt", "#008a8a", SOLID, "s", r"w/o $L_\mathrm{omt}$"),
    "sm2/bi-no-pi": _Name("w/o p_i", "#332288", SOLID, "D", r"w/o $p_i$"),
}
_SPARE_COLOURS = ("#aa4499", "#44aa99", "#ddcc77", "#661100", "#88ccee", "#555555")

ORACLE = Look("oracle", "#000000", "", "*")
SHIFTED_ORACLE = Look("oracle, words earlier or later", "#000000", DOTTED, "")
DECISION = Look("decisions", "#d55e00", SOLID, "o")  # a path through states
FULL_SOURCE = Look(r"$p_i$, whole source", INK, "", "s", is_filled=False)
PREFIX = Look(r"$p_{ij}$, prefix", "#0072b2", "", "o")
CONFIDENCE = Look(r"$c_{ij}$, confidence", "#009e73", "", "D")
MIXTURE = Look("mixture of both", "#d55e00", "", "X")
PAPER = Look("paper (same markers)", PAPER_GREY, SOLID, "o", is_filled=False)


def look_of(system: str) -> Look:
    """How a system is drawn; one that nobody has named yet gets a colour by its name."""
    name = _NAMES.get(system)
    if name is None:
        colour = _SPARE_COLOURS[sum(system.encode()) % len(_SPARE_COLOURS)]
        dashes = DASHED if "uni" in system.split("/")[-1].split("-") else SOLID
        return Look(label_of(system), colour, dashes, "h")
    return Look(name.mathematics or name.label, name.colour, name.dashes, name.marker)


def label_of(system: str) -> str:
    """What a system is called in plain text."""
    if system in _NAMES:
        return _NAMES[system].label
    weight = system.removeprefix("sm2/bi-w")
    return system.replace("/", " ") if weight == system else f"SM²-Bi with λ = {weight}"


# λ = 0.1 is SM²-Bi itself, in its own colour; larger ones follow viridis from dark to light.
_WEIGHTS = ("#d55e00", "#440154", "#482576", "#404688", "#33638d", "#287d8e", "#1f968b", "#29af7f",
            "#56c667", "#95d840")  # fmt: skip
_WEIGHT_MARKERS = "osD^v<>pdh"


def weight_look(weight: float) -> Look:
    """How the model with the confidence weight λ is drawn; λ from 0.1 to 1."""
    place = min(max(round(10 * weight) - 1, 0), len(_WEIGHTS) - 1)
    return Look(f"λ = {weight:g}", _WEIGHTS[place], SOLID, _WEIGHT_MARKERS[place])
