"""What a figure or table is made from: the runs that its entry names, and their numbers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from simt.paper.rows import (
    ALL,
    Gap,
    Number,
    Place,
    Rows,
    load_rows,
)
from simt.params import Drawing, Knob, Params, Study, Variant
from simt.runs import Run, drawing_points
from simt.settings import METHOD_SETTINGS
from simt.systems import system_key


class System(NamedTuple):
    """What one curve shows: a variant at its knob values, or several at one each."""

    key: str
    method: str
    variants: tuple[str, ...]


class KnobName(NamedTuple):
    """A knob value for a reader: ``γ`` and ``0.5``, or only ``(2, 4)``."""

    symbol: str
    value: str

    def __str__(self) -> str:
        return f"{self.symbol} = {self.value}" if self.symbol else self.value


class Missing(NamedTuple):
    """A number that belongs into a figure or table and is not there."""

    pair: str
    system: str
    knob: KnobName
    seed: int | None  # None: every seed of the study
    reason: str


@dataclass(frozen=True)
class FigureData:
    """The parameters, the study, the entry of the figure or table, and its rows."""

    params: Params
    drawing: Drawing
    rows: Rows
    with_paper_numbers: bool

    @property
    def study(self) -> Study:
        """The study that is drawn."""
        return self.params.chosen_study

    @cached_property
    def pairs(self) -> tuple[str, ...]:
        """The pairs that the figure or table shows."""
        return self.study.pairs.in_role(self.drawing.pairs)

    def direction(self, pair: str) -> str:
        """A pair for a reader: ``wmt15-deen (de→en)``."""
        entry = self.params.pairs[pair]
        return f"{pair} ({entry.source}→{entry.target})"

    def systems(
        self, pair: str, method: str | None = None, *, other_than: str | None = None
    ) -> list[System]:
        """The systems shown on a pair, in the order of the study: all, or of some methods."""
        runs = [point.run for point in drawing_points(self.study, self.drawing)]
        variants: dict[tuple[str, str], dict[str, None]] = {}
        for run in runs:
            if run.pair != pair or run.method not in (method or run.method,):
                continue
            if run.method != other_than:
                key = system_key(run.method, run.variant)
                variants.setdefault((key, run.method), {})[run.variant] = None
        return [System(key, name, tuple(own)) for (key, name), own in variants.items()]

    def settings(self, pair: str, system: System) -> dict[str, Any]:
        """The method's settings of a system, those of its first variant."""
        return self.params.method_settings(pair, system.method, system.variants[0])

    def places(
        self, pair: str, system: System, is_shown: Callable[[Knob], bool], group: str = ALL
    ) -> Iterator[Place]:
        """Every seed of every variant at every knob value that ``is_shown``."""
        for variant in system.variants:
            for knob in self.params.knobs(pair, system.method, variant):
                seeds = self.study.seeds_of(system.method, variant)
                for seed in seeds if is_shown(knob) else ():
                    run = Run(pair, system.method, variant, seed)
                    yield Place(run, self.drawing.split, knob, group)

    def places_by_knob(
        self, pair: str, system: System, is_shown: Callable[[Knob], bool]
    ) -> list[list[Place]]:
        """The same, with all seeds of a variant at a knob value together."""
        together: dict[tuple[str, Knob | None], list[Place]] = {}
        for place in self.places(pair, system, is_shown):
            together.setdefault((place.run.variant, place.knob), []).append(place)
        return list(together.values())

    def look_up(self, place: Place, *metrics: str) -> tuple[Number, ...] | Gap:
        """All of some numbers of a place, or why one of them is missing."""
        numbers = []
        for metric in metrics:
            number = self.rows.look_up(place, metric)
            if isinstance(number, Gap):
                return number
            numbers.append(number)
        return tuple(numbers)

    def knob_numbers(self, place: Place) -> tuple[float, ...]:
        """What tells this point from others of its system: k, δ, γ, or L and K; () is the whole."""
        run = place.run
        if run.method == "hmt" and place.knob is not None:
            settings = self.params.method_settings(run.pair, run.method, run.variant)
            return (float(settings["low"]), float(settings["states"]))
        return () if place.knob is None or place.knob == "full" else (place.knob,)

    def knob_name(self, place: Place) -> KnobName:
        """The same for a reader."""
        numbers = self.knob_numbers(place)
        if len(numbers) != 1:
            values = ", ".join(f"{number:g}" for number in numbers)
            return KnobName("", f"({values})" if values else str(place.knob or ""))
        knob_range = METHOD_SETTINGS[place.run.method].knob_range
        assert knob_range is not None, f"{place.run} has the knob value {place.knob}"
        return KnobName(knob_range.symbol, f"{numbers[0]:g}")

    def recipe(self, system: System) -> Variant:
        """The entry in params.yaml of a system, of several variants the first."""
        return self.params.methods[system.method].variants[system.variants[0]]


def gather(params: Params, drawing: Drawing, with_paper_numbers: bool) -> FigureData:
    """The data of one figure or table."""
    rows = load_rows(drawing_points(params.chosen_study, drawing))
    return FigureData(params, drawing, rows, with_paper_numbers)


def merge_seeds(missing: Iterable[Missing], seeds: Sequence[int]) -> tuple[Missing, ...]:
    """What is missing for every seed as one entry, and what only some seeds lack as it was."""
    together: dict[Missing, list[Missing]] = {}
    for one in missing:
        together.setdefault(one._replace(seed=None), []).append(one)
    merged: list[Missing] = []
    for whole, some in together.items():
        merged += [whole] if {one.seed for one in some} >= set(seeds) else some
    return tuple(merged)


def is_simultaneous(knob: Knob) -> bool:
    """Whether a knob value lets the system write before it has read everything."""
    return knob != "full"


def is_full(knob: Knob) -> bool:
    """Whether the whole source is read first."""
    return knob == "full"
