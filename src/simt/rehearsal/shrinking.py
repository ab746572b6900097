"""params.yaml with less of everything that takes time, and all else as it is.

Models, methods, variants, knobs, seeds, pairs, figures and tables stay. Text becomes a sample of
itself, a training a few updates, and a vocabulary is filled up, so that models keep their size.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from simt.system_folder import names_folder

Raw = dict[str, Any]
Names = Mapping[str, Collection[str]]  # of entries under downloads, licensed and local, by pair

STAND_INS = "stand-in"  # the folder of generated text, below the corpora of a rehearsal


@dataclass(frozen=True)
class Amounts:
    """How much is left of each; ``None`` is all."""

    updates: int
    saved_every: int  # updates, and validated
    batch_tokens: int | None
    micro_tokens: int | None
    target_tokens: int | None  # of a decoded sentence
    sentences: Mapping[str, int]  # by split


# A GPU gets the real batches, since its memory must show; ten updates give the five snapshots that
# a model is the mean of, which main memory must hold.
ON_GPU = Amounts(
    updates=10, saved_every=2, batch_tokens=None, micro_tokens=None, target_tokens=None,
    sentences={"train": 4000, "valid": 32, "test": 32, "aligned": 32},
)  # fmt: skip
# Two micro-batches an update, so that gradients are added up as they are in earnest.
ON_CPU = Amounts(
    updates=2, saved_every=2, batch_tokens=256, micro_tokens=128, target_tokens=12,
    sentences={"train": 1000, "valid": 4, "test": 6, "aligned": 8},
)  # fmt: skip


def shrunk(values: Raw, study: str, fidelity: str, amounts: Amounts, stand_ins: Names) -> Raw:
    """The content of params.yaml for a rehearsal of ``study``.

    ``stand_ins`` are entries in whose place there is generated text.
    """
    capped: Raw = _capped(values, amounts)
    of_study = capped["studies"][study]["runs"]
    pairs = {
        name: _pair(name, entry, amounts, stand_ins.get(name, ())) if name in of_study else entry
        for name, entry in capped["pairs"].items()
    }
    bpe = {name: entry | {"is_filled_up": True} for name, entry in capped["bpe"].items()}
    methods = {name: _from_here(entry) for name, entry in capped["methods"].items()}
    chosen = {"study": study, "fidelity": fidelity, "rehearsal": True}
    return capped | chosen | {"pairs": pairs, "bpe": bpe, "methods": methods}


def _capped(values: Any, amounts: Amounts) -> Any:
    """Values below the caps of their keys, wherever those stand: a layer may be over another."""
    if isinstance(values, list):
        return [_capped(value, amounts) for value in values]
    if not isinstance(values, dict):
        return values
    found = {}
    for key, value in values.items():
        cap = _cap(key, amounts)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        found[key] = min(value, cap) if is_number and cap else _capped(value, amounts)
    return found


def _cap(key: str, amounts: Amounts) -> int | None:
    caps = {
        "batch_tokens": amounts.batch_tokens,
        "micro_tokens": amounts.micro_tokens,
        "max_tokens": amounts.micro_tokens,  # a sentence must fit into a micro-batch
        "max_target_tokens": amounts.target_tokens,
        "validate_every_updates": amounts.saved_every,
        "snapshot_every_updates": amounts.saved_every,
        "mask_from_update": 1,  # otherwise ITST would come to its end before it masks
    }
    if key in caps:
        return caps[key]
    is_of_updates = key == "updates" or key.endswith(("_updates", "_update"))
    return amounts.updates if is_of_updates else None


def _pair(name: str, entry: Raw, amounts: Amounts, stand_ins: Collection[str]) -> Raw:
    if entry.get("toy"):
        sizes = entry["toy"]["sizes"]
        least = {split: min(size, amounts.sentences[split]) for split, size in sizes.items()}
        return entry | {"toy": entry["toy"] | {"sizes": least}}
    splits = {split: _split(split, parts, amounts) for split, parts in entry["splits"].items()}
    here = {
        kind: {key: one for key, one in entry.get(kind, {}).items() if key not in stand_ins}
        for kind in ("downloads", "licensed", "local")
    }
    here["local"] |= {key: {"folder": f"{STAND_INS}/{name}/{key}"} for key in stand_ins}
    return entry | {"splits": splits} | here


def _split(split: str, parts: Any, amounts: Amounts) -> Any:
    """The parts of a split with fewer sentences each; gold alignments are one part."""
    number = amounts.sentences[split]
    if isinstance(parts, dict):
        return parts | {"sample": _sample(parts.get("sample"), number)}
    of_each = ceil(number / len(parts))
    return [part | {"sample": _sample(part.get("sample"), of_each)} for part in parts]


def _sample(sample: Raw | None, number: int) -> Raw:
    """The first of a sample, or of all."""
    whole = sample or {"begin": 0, "min_words": 1}
    end = min(whole.get("end", number), whole["begin"] + number)
    return whole | {"end": end, "may_be_short": True}


def _from_here(method: Raw) -> Raw:
    """A method whose variants find the folders that they start from, from any folder."""
    variants = {
        name: recipe | {"start_from": str(Path(recipe["start_from"]).resolve())}
        if names_folder(recipe.get("start_from") or "")
        else recipe
        for name, recipe in method["variants"].items()
    }
    return method | {"variants": variants}
