"""The losses of a few updates of every method, from weights and a batch that never change.

``python -m tests.contract.record_first_losses`` writes them to ``first_losses.json``. What agrees
with the record stays as it is: another machine has other last digits.
"""

import json
from collections.abc import Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Any

import torch

from simt.methods import METHODS
from simt.settings import METHOD_SETTINGS
from tests.samples.batches import random_batch
from tests.samples.settings import make_method, make_model

RECORD = Path(__file__).with_name("first_losses.json")
TOLERANCE = 1e-4  # relative: between machines
UPDATES = (1, 5_000, 50_000)  # far apart, so that schedules have an effect


def cases() -> dict[str, tuple[str, dict[str, Any]]]:
    """Every method, with each encoder if it has a choice."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name in METHODS:
        if "encoder" in METHOD_SETTINGS[name].model_fields:
            found[f"{name} uni"] = (name, {"encoder": "uni"})
            found[f"{name} bi"] = (name, {"encoder": "bi"})
        else:
            found[name] = (name, {})
    return found


def first_losses(name: str, changes: dict[str, Any]) -> list[float]:
    """Loss per token at three updates with Adam."""
    method = make_method(name, **changes)
    model = make_model(method, seed=1)
    generator = torch.Generator().manual_seed(1)
    batch = random_batch([9, 4, 7, 1, 6], [8, 5, 6, 3, 1], seed=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    values = []
    for update in UPDATES:
        loss = method.loss(model, batch, update, generator)
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        optimiser.step()
        values.append(round(float(loss.total.detach()) / loss.tokens, 6))
    return values


def updated(
    recorded: Mapping[str, Sequence[float]], losses: Mapping[str, Sequence[float]]
) -> dict[str, Sequence[float]]:
    """The record of these losses, by name; those that agree with what it had are not changed."""
    return {
        case: recorded[case] if agree(recorded.get(case, ()), values) else values
        for case, values in sorted(losses.items())
    }


def agree(some: Sequence[float], others: Sequence[float]) -> bool:
    """Whether losses are the same but for the machine."""
    return len(some) == len(others) and all(
        isclose(one, other, rel_tol=TOLERANCE) for one, other in zip(some, others, strict=True)
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    measured = {case: first_losses(*chosen) for case, chosen in cases().items()}
    before = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    RECORD.write_text(json.dumps(updated(before, measured), indent=1) + "\n")
