"""Numbers and names for a reader."""

from simt.params import Pair


def hours(value: float | None) -> str:
    """Device hours as a duration, from 2 of a unit on: ``95.0 s``, ``62.1 min``, ``35.0 h``."""
    if value is None:
        return "unknown"
    for unit, per_hour in (("h", 1), ("min", 60)):
        if value * per_hour >= 2:
            return f"{value * per_hour:.1f} {unit}"
    return f"{value * 3600:.1f} s"


def many(value: float) -> str:
    """A large count, rounded: ``731.8 k``, ``1.2 P``."""
    for unit, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f}"


def signed(value: float) -> str:
    """A measured difference: its sign and two decimals."""
    return f"{value:+.2f}"


def direction(pair: Pair) -> str:
    """Source and target: ``de→en``."""
    return f"{pair.source}→{pair.target}"
