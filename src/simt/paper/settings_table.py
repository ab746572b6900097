"""Table 4: what the systems of the main pairs are made, trained and decoded with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simt.paper.material import Material, System
from simt.paper.style import label_of
from simt.paper.tabular import Block, Column, Table
from simt.params import Size
from simt.runs import study_runs
from simt.settings import ModelSettings, TrainingSettings

_SIZES: tuple[Size, ...] = ("small", "base", "big")
Line = tuple[str, ...]  # part, setting, and a value for each pair


def settings(material: Material) -> Table:
    """Every setting by the name that it has in params.yaml, a column for each pair."""
    width = round(0.6 / len(material.pairs), 2)
    columns = [Column("part", "Part"), Column("setting", "Setting")]
    columns += [Column(pair, material.direction(pair), width=width) for pair in material.pairs]
    blocks = (
        Block("", "models", tuple(map(tuple, _models(material)))),
        Block("", "training", (tuple(_training(material)), tuple(_subwords(material)))),
        Block("", "methods", tuple(map(tuple, _methods(material)))),
    )
    return Table(material.drawing.title, tuple(columns), blocks)


def _models(material: Material) -> Iterator[list[Line]]:
    """Each size that the study trains on one of the pairs."""
    for size in _SIZES:
        presets = [_preset(material, pair, size) for pair in material.pairs]
        if any(presets):
            yield [
                (f"model {size}", key, *(_of_preset(material, one, key) for one in presets))
                for key in ModelSettings.model_fields
            ]


def _preset(material: Material, pair: str, size: Size) -> str | None:
    """The model that a pair has as its small, base or big one; None where none is trained."""
    methods = material.params.methods
    is_trained = any(
        run.pair == pair and methods[run.method].variants[run.variant].size == size
        for run in study_runs(material.study)
    )
    return material.params.pairs[pair].sizes[size] if is_trained else None


def _of_preset(material: Material, preset: str | None, key: str) -> str:
    return text_of(None if preset is None else getattr(material.params.model[preset], key))


def _training(material: Material) -> Iterator[Line]:
    """The settings of training; a system that differs from most is named."""
    for key in TrainingSettings.model_fields:
        values = []
        for pair in material.pairs:
            by_system = {
                label_of(system.key): text_of(
                    material.params.training_settings(pair, system.method, variant)[key]
                )
                for system in material.systems(pair)
                for variant in system.variants
            }
            values.append(_with_exceptions(by_system))
        yield ("training", key, *values)


def _with_exceptions(by_system: dict[str, str]) -> str:
    """The usual value, and after it the systems that have another one."""
    usual = Counter(by_system.values()).most_common(1)[0][0]
    others = [f"{name} {value}" for name, value in by_system.items() if value != usual]
    return "; ".join([usual, *others])


def _subwords(material: Material) -> Iterator[Line]:
    entries = [material.params.bpe[material.params.pairs[pair].bpe] for pair in material.pairs]
    for key in type(entries[0]).model_fields:
        yield ("subwords", key, *(text_of(getattr(entry, key)) for entry in entries))


def _methods(material: Material) -> Iterator[list[Line]]:
    """For each method its own settings and its knob values."""
    methods = dict.fromkeys(
        system.method for pair in material.pairs for system in material.systems(pair)
    )
    for method in methods:
        systems = {pair: material.systems(pair, method) for pair in material.pairs}
        keys = dict.fromkeys(
            key
            for pair, some in systems.items()
            for one in some
            for key in material.settings(pair, one)
        )
        lines = [
            (method, key, *(_values(material, pair, systems[pair], key) for pair in material.pairs))
            for key in keys
        ]
        knobs = (_knobs(material, pair, systems[pair]) for pair in material.pairs)
        yield [*lines, (method, "knobs", *knobs)]


def _values(material: Material, pair: str, systems: Sequence[System], key: str) -> str:
    return _distinct(
        material.params.method_settings(pair, system.method, variant).get(key)
        for system in systems
        for variant in system.variants
    )


def _knobs(material: Material, pair: str, systems: Sequence[System]) -> str:
    return _distinct(
        knob
        for system in systems
        for variant in system.variants
        for knob in material.params.knobs(pair, system.method, variant)
    )


def _distinct(values: Iterable[Any]) -> str:
    """Every value once, in the order of the study."""
    return ", ".join(dict.fromkeys(map(text_of, values))) or "–"


def text_of(value: Any) -> str:
    """A setting for a reader."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    return str(value)
