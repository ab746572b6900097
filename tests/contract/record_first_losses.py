"""The losses of a few updates of every method, from weights and a batch that never change.

``python -m tests.contract.record_first_losses`` writes them to ``first_losses.json``.
"""

import json
from pathlib import Path
from typing import Any

import torch

from simt.methods import METHODS
from simt.settings import METHOD_SETTINGS
from tests.samples.batches import random_batch
from tests.samples.settings import make_method, make_model

RECORD = Path(__file__).with_name("first_losses.json")
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


if __name__ == "__main__":
    torch.set_num_threads(1)
    losses = {case: first_losses(*chosen) for case, chosen in cases().items()}
    RECORD.write_text(json.dumps(losses, indent=1) + "\n")
