"""What each system is called and which colour it has, the same in every figure, table and page.

A system is a method, or a method with a variant where each variant is a curve of its own. Colours
are those of Okabe and Ito and of Tol ("muted"), which colour-blind readers can tell apart.
"""

from typing import NamedTuple

ONE_MODEL_PER_POINT = ("waitk", "hmt")  # their variants make up one curve


class _Name(NamedTuple):
    label: str
    colour: str


_NAMES = {
    "offline/uni": _Name("OMT-Uni", "#333333"),
    "offline/bi": _Name("OMT-Bi", "#333333"),
    "offline/bi-small": _Name("OMT-Bi (small)", "#777777"),
    "offline/bi-big": _Name("OMT-Bi (big)", "#000000"),
    "waitk": _Name("wait-k", "#56b4e9"),
    "multipath/uni": _Name("m-wait-k", "#0072b2"),
    "hmt": _Name("HMT", "#009e73"),
    "itst/uni": _Name("ITST", "#cc79a7"),
    "sm2/uni": _Name("SM²-Uni", "#e69f00"),
    "sm2/bi": _Name("SM²-Bi", "#d55e00"),
    "sm2/uni-p": _Name("SM²-Uni-P", "#9d8ad0"),
    "sm2/bi-p": _Name("SM²-Bi-P", "#4b2991"),
    "sm2/bi-ft": _Name("SM²-FT", "#882255"),
    "sm2/bi-adapter": _Name("SM²-adapter", "#999933"),
    "sm2/bi-small-ft": _Name("SM²-FT (small)", "#b8a1d9"),
    "sm2/bi-big-ft": _Name("SM²-FT (big)", "#111111"),
    "sm2/bi-no-omt": _Name("w/o L_omt", "#008a8a"),
    "sm2/bi-no-pi": _Name("w/o p_i", "#332288"),
}
_SPARE_COLOURS = ("#aa4499", "#7cae00", "#ddcc77", "#661100", "#c00040", "#555555")


def system_key(method: str, variant: str) -> str:
    """The name of the curve that a variant belongs to."""
    return method if method in ONE_MODEL_PER_POINT else f"{method}/{variant}"


def label_of(system: str) -> str:
    """What a system is called in plain text."""
    if system in _NAMES:
        return _NAMES[system].label
    weight = system.removeprefix("sm2/bi-w")
    return system.replace("/", " ") if weight == system else f"SM²-Bi with λ = {weight}"


def colour_of(system: str) -> str:
    """The colour of a system; one that nobody has named yet gets one by its name."""
    if system in _NAMES:
        return _NAMES[system].colour
    return _SPARE_COLOURS[sum(system.encode()) % len(_SPARE_COLOURS)]


def training_label(method: str, variant: str) -> str:
    """What one training of a system is called: ``SM²-Bi``, ``wait-k 3``."""
    label = label_of(system_key(method, variant))
    is_part = method in ONE_MODEL_PER_POINT
    return f"{label} {variant.removeprefix('k')}" if is_part else label
