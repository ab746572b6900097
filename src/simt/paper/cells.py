"""Cells filled from rows, with a memory of what was missing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from simt.paper.figure_data import FigureData, Missing, System, merge_seeds
from simt.paper.notes import missing_note, mixture_note
from simt.paper.panels import missing_at
from simt.paper.rows import ALL, Gap, Number, Place, estimate_name
from simt.paper.tabular import Block, Column, Measured, Table
from simt.params import Knob
from simt.runs import Run
from simt.systems import label_of


@dataclass
class Reader:
    """Looks numbers up for one table."""

    data: FigureData
    measured: list[Measured] = field(default_factory=list)
    _missing: dict[Missing, dict[str, None]] = field(default_factory=dict)  # of which scores
    _present: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # pair, score: names

    def cell(self, places: Iterable[Place], metric: str, name: str) -> Measured | None:
        """A number over the seeds of ``places``; ``name`` is whose number it is."""
        found: list[tuple[Place, Number]] = []
        for place in places:
            number = self.data.rows.look_up(place, metric)
            present = self._present.setdefault(place.run.pair, {}).setdefault(metric, set())
            if isinstance(number, Gap):
                missing = missing_at(self.data, place, name, number)
                self._missing.setdefault(missing, {})[metric] = None
            else:
                present.add(name)
                found.append((place, number))
        if not found:
            return None
        self.measured.append(Measured(metric, tuple(found)))
        return self.measured[-1]

    def score(self, pair: str, system: System, knob: Knob | None, metric: str) -> Measured | None:
        """A score of a system at one knob value; None for what does not depend on it."""
        split, variant = self.data.drawing.split, system.variants[0]
        seeds = self.data.study.seeds_of(system.method, variant)
        runs = [Run(pair, system.method, variant, seed) for seed in seeds]
        places = [Place(run, split, knob) for run in runs]
        return self.cell(places, metric, label_of(system.key))

    def fact(
        self, pair: str, system: System, metric: str, split: str, group: str = ALL
    ) -> Measured | None:
        """What is alike for all seeds, by the first one; split ``run`` is for facts of the run."""
        run = Run(pair, system.method, system.variants[0], self.data.study.seeds[0])
        name = label_of(system.key) if group == ALL else f"{group} sentences"
        return self.cell([Place(run, split, None, group)], metric, name)

    def table(self, columns: Iterable[Column], blocks: Iterable[Block]) -> Table:
        """The finished table, each block with its small print."""
        return Table(
            title=self.data.drawing.title,
            columns=tuple(columns),
            blocks=tuple(
                replace(block, notes=(*block.notes, *self._notes(block.pair))) for block in blocks
            ),
            missing=merge_seeds(self._missing, self.data.study.seeds),
        )

    def _notes(self, pair: str) -> list[str]:
        notes = (*self._missing_notes(pair), *self._mixture_notes(pair))
        return [note for note in notes if note]

    def _missing_notes(self, pair: str) -> Iterator[str]:
        """A note for each set of scores that are missing together."""
        together: dict[tuple[str, ...], list[Missing]] = {}
        for missing, scores in self._missing.items():
            if missing.pair == pair:
                together.setdefault(tuple(scores), []).append(missing)
        present = self._present.get(pair, {})
        for lacking, some in together.items():
            names = set[str]().union(*(present[score] for score in lacking))
            what = "" if len(lacking) == len(present) else ", ".join(map(score_name, lacking))
            yield missing_note(merge_seeds(some, self.data.study.seeds), names, what)

    def _mixture_notes(self, pair: str) -> Iterator[str]:
        """A warning for each score that was not always computed in the same way."""
        signed: dict[str, list[Number]] = {}
        for cell in self.measured:
            numbers = [number for place, number in cell.values if place.run.pair == pair]
            signed.setdefault(cell.metric, []).extend(numbers)
        for metric, some in signed.items():
            yield mixture_note(score_name(metric), some)


def score_name(metric: str) -> str:
    """A score for a reader: ``COMET-Kiwi`` for ``comet:…``, ``AL`` for ``al_token``."""
    if metric.startswith("comet:"):
        return estimate_name(metric)
    names = {
        "bleu": "BLEU",
        "al_token": "AL",
        "al_word": "AL in words",
        "sa_word": "satisfied alignments",
        "confidence_weight": "λ",
    }
    return names.get(metric, metric.replace("_", " "))
