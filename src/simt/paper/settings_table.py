"""Table 4: what the systems of the main pairs are made, trained and decoded with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from simt.paper.figure_data import FigureData, System
from simt.paper.tabular import Block, Column, Table
from simt.params import Size
from simt.runs import study_runs
from simt.settings import METHOD_SETTINGS, ModelSettings, TrainingSettings
from simt.systems import label_of

_SIZES: tuple[Size, ...] = ("small", "base", "big")
SettingRow = tuple[str, ...]  # part, setting, and a value for each pair
_NOTHING = "–"


# Settings whose names in params.yaml say too little to a reader; others have "_" for blanks.
_WORDS = {
    "ffn": "feed-forward width",
    "heads": "attention heads",
    "batch_tokens": "tokens per batch",
    "micro_tokens": "tokens a device takes at a time",
    "peak_lr": "peak learning rate",
    "warmup_initial_lr": "learning rate before warm-up",
    "warmup_updates": "warm-up updates",
    "lr_schedule": "learning rate falls",
    "adam_betas": "Adam, β",
    "adam_epsilon": "Adam, ε",
    "clip_norm": "gradients clipped to norm",
    "max_tokens": "longest training sentence (tokens)",
    "validate_every_updates": "updates between validations",
    "early_stop_validations": "ends after validations without gain",
    "snapshot_every_updates": "updates between snapshots",
    "average_snapshots": "snapshots averaged",
    "compile": "compiled",
    "joint": "same subwords on both sides",
    "min_pair_count": "least count of a merge",
    "target_states": "target states when more is read",
    "sample_k_per": "a k is drawn for each",
    "low": "L",
    "states": "K",
    "pads": "padding",
    "latency_acts_on": "latency loss acts on",
    "norm": "norm loss",
    "layers_agree_by": "layers that must agree",
    "mask_from_update": "masks states from update",
    "threshold_floor": "lowest threshold in training",
    "threshold_decay_updates": "threshold decays over updates",
    "confidence_weight": "confidence penalty, λ",
    "confidence_schedule": "λ over training",
    "annealed_start": "λ at the start",
    "annealed_decay_updates": "λ decays over updates",
    "prefix_sampling": "a prefix is drawn for each",
    "penalty_includes_pad": "penalty on padding",
    "smooth_mixture": "label smoothing of the mixture",
    "detach_full_source": "p_i of the mixture without gradient",
    "hint": "mixed with",
    "offline_loss": "loss of the whole source, L_omt",
    "prohibition": "states left out",
    "prohibition_lower": "states from wait-k, k =",
    "prohibition_upper": "states to wait-k, k =",
    "prohibition_normaliser": "loss is divided by",
    "prohibition_at_test": "left out in decoding, too",
    "first_read": "source tokens read first",
    "adapter_fraction": "adapter, fraction of the width",
    "adapter_place": "adapter after",
}
_VALUES = {
    "uni": "unidirectional",
    "bi": "bidirectional",
    "frozen": "kept",
    "recompute": "computed again",
    "full_source": "p_i of the whole source",
    "gold": "the reference",
    "batch_min": "batch",
    "row_sums": "sums of rows",
    "row_sums_squared": "squared sums of rows",
    "one_sided": "one bound",
    "both": "two bounds",
    "full": "whole source",
    "inverse_sqrt": "with the inverse square root",
    "linear": "linearly to 0",
    "bf16": "bf16 (on a CPU fp32)",  # run.json says what a training had
}
_METHODS = {"offline": "OMT", "sm2": "SM²", "waitk": "wait-k", "multipath": "m-wait-k"}
_OFF_AT_ZERO = ("clip_norm", "early_stop_validations", "adapter_fraction", "weight_decay")


def settings(data: FigureData) -> Table:
    """Every setting that has an effect, in words, a column for each pair."""
    width = round(0.5 / len(data.pairs), 2)
    columns = [Column("part", "Part"), Column("setting", "Setting")]
    columns += [Column(pair, data.direction(pair), width=width) for pair in data.pairs]
    blocks = (
        Block("", "models", _grouped(_models(data))),
        Block("", "training", _grouped([_training(data), _subwords(data)])),
        Block("", "methods", _grouped(_methods(data))),
    )
    return Table(data.drawing.title, tuple(columns), blocks)


def _grouped(groups: Iterable[Iterable[SettingRow]]) -> tuple[tuple[SettingRow, ...], ...]:
    """The lines in words; a setting without a value on any pair is left out."""
    return tuple(
        tuple(
            (part, _WORDS.get(key, key.replace("_", " ")), *values)
            for part, key, *values in group
            if set(values) != {_NOTHING}
        )
        for group in groups
    )


def _models(data: FigureData) -> Iterator[list[SettingRow]]:
    """Each size that the study trains on one of the pairs."""
    for size in _SIZES:
        presets = [_preset(data, pair, size) for pair in data.pairs]
        if any(presets):
            yield [
                (f"{size} model", key, *(_of_preset(data, one, key) for one in presets))
                for key in ModelSettings.model_fields
            ]


def _preset(data: FigureData, pair: str, size: Size) -> str | None:
    """The model that a pair has as its small, base or big one; None where none is trained."""
    methods = data.params.methods
    is_trained = any(
        run.pair == pair and methods[run.method].variants[run.variant].size == size
        for run in study_runs(data.study)
    )
    return data.params.pairs[pair].sizes[size] if is_trained else None


def _of_preset(data: FigureData, preset: str | None, key: str) -> str:
    return text_of(None if preset is None else getattr(data.params.model[preset], key))


def _training(data: FigureData) -> Iterator[SettingRow]:
    """The settings of training; a system that differs from most is named."""
    by_pair = [
        {
            label_of(system.key): data.params.training_settings(pair, system.method, variant)
            for system in data.systems(pair)
            for variant in system.variants
        }
        for pair in data.pairs
    ]
    for key in TrainingSettings.model_fields:
        shown = (
            {name: _shown(key, getattr(settings, key)) for name, settings in by_system.items()}
            for by_system in by_pair
        )
        yield ("training", key, *map(_with_exceptions, shown))


def _with_exceptions(by_system: dict[str, str]) -> str:
    """The usual value, and after it the systems that have another one."""
    usual = Counter(by_system.values()).most_common(1)[0][0]
    others = [f"{name} {value}" for name, value in by_system.items() if value != usual]
    return "; ".join([usual, *others])


def _subwords(data: FigureData) -> Iterator[SettingRow]:
    entries = [data.params.bpe[data.params.pairs[pair].bpe] for pair in data.pairs]
    for key in type(entries[0]).model_fields:
        yield ("subwords", key, *(text_of(getattr(entry, key)) for entry in entries))


def _methods(data: FigureData) -> Iterator[list[SettingRow]]:
    """For each method its own settings and its knob values."""
    methods = dict.fromkeys(system.method for pair in data.pairs for system in data.systems(pair))
    for method in methods:
        systems = {pair: data.systems(pair, method) for pair in data.pairs}
        keys = dict.fromkeys(
            key
            for pair, some in systems.items()
            for one in some
            for key in data.settings(pair, one)
        )
        name = _METHODS.get(method, method.upper())
        lines = [
            (name, key, *(_values(data, pair, systems[pair], key) for pair in data.pairs))
            for key in keys
        ]
        knob_range = METHOD_SETTINGS[method].knob_range
        if knob_range is not None:
            knobs = (_knobs(data, pair, systems[pair]) for pair in data.pairs)
            lines.append((name, f"{knob_range.symbol} in decoding", *knobs))
        yield lines


def _values(data: FigureData, pair: str, systems: Sequence[System], key: str) -> str:
    """The values of a setting where it has an effect."""
    values = []
    for system in systems:
        for variant in system.variants:
            own = data.params.method_settings(pair, system.method, variant)
            if key not in METHOD_SETTINGS[system.method].of(own).without_effect():
                values.append(_shown(key, own.get(key)))
    return _distinct(values)


def _knobs(data: FigureData, pair: str, systems: Sequence[System]) -> str:
    return _distinct(
        knob
        for system in systems
        for variant in system.variants
        for knob in data.params.knobs(pair, system.method, variant)
    )


def _distinct(values: Iterable[Any]) -> str:
    """Every value once, in the order of the study."""
    return ", ".join(dict.fromkeys(map(text_of, values))) or _NOTHING


def _shown(key: str, value: Any) -> str:
    """The value of a setting for a reader; some of them are off at 0."""
    return "off" if key in _OFF_AT_ZERO and value == 0 else text_of(value)


def text_of(value: Any) -> str:
    """A setting for a reader."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    return _VALUES.get(value, str(value))
