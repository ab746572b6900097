"""Numbers and lines as people read them."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """So many of something: ``1 seed``, ``2,000 sentences``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def short(number: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("E", 1e18), ("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def duration(hours: float | None) -> str:
    """In the unit that fits; a question mark for what is not known."""
    if hours is None:
        return "?"
    if hours < 1 / 60:
        return f"{hours * 3600:.1f} s"
    if hours < 1:
        return f"{hours * 60:.1f} min"
    return f"{hours:.1f} h" if hours < 100 else f"{hours:,.0f} h"


def wall_time(seconds: float) -> str:
    """The same, in days from the third on."""
    return f"{seconds / 86400:.1f} d" if seconds >= 2 * 86400 else duration(seconds / 3600)


def gigabytes(size: int | None) -> str:
    """Bytes, as disks and GPUs are sold."""
    if size is None:
        return "?"
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def indented(text: str) -> str:
    """Every line of it, below another."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
