"""How each system is drawn, the same in every figure.

One colour a system. SM² with a bidirectional encoder has solid lines and full markers, with a
unidirectional one dashed lines and open markers; the four methods to compare with are told apart
by colour and marker. Markers tell the systems apart in print without colour.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from simt.params import Face
from simt.systems import colour_of, label_of

_STYLE = Path(__file__).with_name("paper.mplstyle")
STYLE_FILES: dict[Face, tuple[Path, ...]] = {
    "sans": (_STYLE,),
    "serif": (_STYLE, _STYLE.with_name("serif.mplstyle")),  # a later one lies over the first
}
COLUMN_INCHES = 3.25  # one column of a two-column paper
PAGE_INCHES = 6.75  # both

SOLID = "-"
DASHED = (0, (4, 1.6))
DOTTED = (0, (1, 1.5))
Dashes = str | tuple[int, tuple[float, ...]]

INK = "#333333"
PAPER_GREY = "#9a9a9a"
JOIN_GREY = "#c4c4c4"
FRAME_GREY = "#888888"
EMPTY_GREY = "#d5d5d5"
ALLOWED_BLUE = "#c6ddf0"


@dataclass(frozen=True)
class Style:
    """Colour, line and marker of a curve; ``label`` may hold mathematics between dollars."""

    label: str
    colour: str
    dashes: Dashes = SOLID
    marker: str = "o"
    is_filled: bool = True
    is_main: bool = False  # drawn with a broad line under the others: neither hides the other


class _Line(NamedTuple):
    """How the curve of a system is drawn, and its name in mathematics where it has one."""

    dashes: Dashes = SOLID
    marker: str = "o"
    mathematics: str | None = None
    is_filled: bool = True


_LINES = {
    "offline/uni": _Line(DASHED, ""),
    "offline/bi": _Line(SOLID, ""),
    "offline/bi-small": _Line(DOTTED, ""),
    "offline/bi-big": _Line((0, (6, 1.2, 1, 1.2)), ""),
    "waitk": _Line(SOLID, "v"),
    "multipath/uni": _Line(SOLID, "^"),
    "hmt": _Line(SOLID, "D"),
    "itst/uni": _Line(SOLID, "s"),
    "sm2/uni": _Line(DASHED, "o", is_filled=False),
    "sm2/bi": _Line(SOLID, "o"),
    "sm2/uni-p": _Line(DASHED, "D", is_filled=False),
    "sm2/bi-p": _Line(SOLID, "D"),
    "sm2/bi-ft": _Line(SOLID, "<"),
    "sm2/bi-adapter": _Line(SOLID, ">"),
    "sm2/bi-small-ft": _Line(SOLID, "d"),
    "sm2/bi-big-ft": _Line(SOLID, "p"),
    "sm2/bi-no-omt": _Line(SOLID, "s", r"w/o $L_\mathrm{omt}$"),
    "sm2/bi-no-pi": _Line(SOLID, "D", r"w/o $p_i$"),
}

ORACLE = Style("oracle", "#000000", "", "*")
DECISION = Style("decisions", "#d55e00", SOLID, "o")  # a path through states
FULL_SOURCE = Style(r"$p_i$, whole source", INK, "", "s", is_filled=False)
PREFIX = Style(r"$p_{ij}$, prefix", "#0072b2", "", "o")
CONFIDENCE = Style(r"$c_{ij}$, confidence", "#009e73", "", "D")
MIXTURE = Style("mixture of both", "#d55e00", "", "X")
PAPER = Style("paper (same markers)", PAPER_GREY, SOLID, "o", is_filled=False)


def style_of(system: str) -> Style:
    """How a system is drawn."""
    line = _LINES.get(system)
    if line is None:
        dashes = DASHED if "uni" in system.split("/")[-1].split("-") else SOLID
        line = _Line(dashes, "h")
    label = line.mathematics or label_of(system)
    is_main = system in ("sm2/uni", "sm2/bi")
    return Style(label, colour_of(system), line.dashes, line.marker, line.is_filled, is_main)


# λ = 0.1 is SM²-Bi itself, in its own colour; larger ones follow viridis from dark to light.
_WEIGHTS = ("#d55e00", "#440154", "#482576", "#404688", "#33638d", "#287d8e", "#1f968b", "#29af7f",
            "#56c667", "#95d840")  # fmt: skip
_WEIGHT_MARKERS = "osD^v<>pdh"


def weight_style(weight: float) -> Style:
    """How the model with the confidence weight λ is drawn; λ from 0.1 to 1."""
    place = min(max(round(10 * weight) - 1, 0), len(_WEIGHTS) - 1)
    return Style(f"λ = {weight:g}", _WEIGHTS[place], SOLID, _WEIGHT_MARKERS[place])
