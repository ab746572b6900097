"""What a figure or table says in small print: what is missing, and what to beware of."""

from collections.abc import Collection, Iterable, Sequence

from simt.paper.figure_data import KnobName, Missing
from simt.paper.panels import Curve, Panel, by_seed
from simt.paper.rows import Number

_REASON_LENGTH = 60


def missing_note(missing: Sequence[Missing], present: Collection[str], what: str = "") -> str:
    """Every missing point by name, for example ``missing: wait-k k = 7 (not decoded)``.

    A system of which nothing is ``present`` is named without its knob values; ``what`` says which
    of several scores it is about.
    """
    if not missing:
        return ""
    by_reason: dict[str, list[Missing]] = {}
    for one in missing:
        by_reason.setdefault(one.reason, []).append(one)
    parts = [
        f"{'; '.join(_names(some, present, len(by_reason) == 1))} ({shorten(reason)})"
        for reason, some in by_reason.items()
    ]
    return f"missing{' ' if what else ''}{what}: " + "; ".join(parts)


def _names(missing: Sequence[Missing], present: Collection[str], is_only: bool) -> list[str]:
    systems: dict[str, list[Missing]] = {}
    for one in missing:
        systems.setdefault(one.system, []).append(one)
    if is_only and not present and len(systems) > 1:
        return ["every system"]
    return [
        _knobs(system, some) if system in present else system for system, some in systems.items()
    ]


def _knobs(system: str, missing: Sequence[Missing]) -> str:
    """A system with its missing knob values, each with the seeds that lack it if not all do."""
    seeds: dict[KnobName, list[str]] = {}
    for one in missing:
        seeds.setdefault(one.knob, []).extend([] if one.seed is None else [str(one.seed)])
    values = [
        f"{knob.value} (seed {', '.join(some)})" if some else knob.value
        for knob, some in seeds.items()
    ]
    symbol = missing[0].knob.symbol
    return f"{system} {symbol} = {', '.join(values)}" if symbol else f"{system} {', '.join(values)}"


def shorten(reason: str) -> str:
    """The beginning of a long reason; the whole of it is in the file of the caption."""
    if len(reason) <= _REASON_LENGTH:
        return reason
    for end in (", ", "; ", ": ", ". "):
        head = reason.split(end)[0]
        if len(head) <= 1.5 * _REASON_LENGTH:
            return head
    return reason[:_REASON_LENGTH].rsplit(" ", 1)[0] + " …"


def mixture_note(metric: str, numbers: Iterable[Number]) -> str:
    """A warning where numbers side by side were computed in different ways."""
    signatures = {number.signature for number in numbers}
    if len(signatures) < 2:
        return ""
    return f"beware: {metric} was computed in {len(signatures)} ways (signatures in the .json)"


def _apart_notes(panel: Panel) -> list[str]:
    """Which curves have no line, since their seeds have no latency in common."""
    return [
        f"no line for {curve.name}: its seeds have no latency in common"
        for curve in (() if panel.is_joined else panel.curves)
        if _is_apart(curve)
    ]


def _is_apart(curve: Curve) -> bool:
    """Whether there are several seeds, each with more than a point, and no band around them."""
    from simt.paper.bands import seed_band  # here: whoever asks for names needs no numpy

    seeds = by_seed(curve.marks).values()
    is_of_seeds = len(seeds) > 1 and all(len(marks) > 1 for marks in seeds)
    return is_of_seeds and seed_band(curve.marks) is None


def panel_notes(panel: Panel) -> list[str]:
    """What is missing in a panel and what to beware of."""
    present = {curve.name for curve in (*panel.curves, *panel.levels) if curve.marks}
    notes = (
        *panel.remarks,
        *_apart_notes(panel),
        missing_note(panel.missing, present),
        mixture_note(panel.x.metric, [mark.x for mark in panel.marks]),
        mixture_note(panel.y.metric, [mark.y for mark in panel.marks]),
    )
    return [note for note in notes if note]
