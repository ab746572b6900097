"""Processes that train together find each other, and leave each other in the end."""

import os
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import multiprocessing

from simt.errors import SimtError
from simt.training.devices import Devices

WORLD = 2


def meet(rank: int, port: int, folder: str) -> None:
    """One process: what all have together, and whether it is alone again in the end."""
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    devices = Devices.connect(rank, WORLD, local_rank=rank)
    (total,) = devices.sum_values([rank + 1.0])
    devices.disconnect()
    (Path(folder) / str(rank)).write_text(f"{total} {dist.is_initialized()}")


@pytest.mark.slow
def test_processes_sum_together_and_leave_nothing_open(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    multiprocessing.spawn(meet, (port, str(tmp_path)), nprocs=WORLD)
    assert [(tmp_path / str(rank)).read_text() for rank in range(WORLD)] == ["3.0 False"] * WORLD


def test_process_alone_has_nobody_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "destroy_process_group", lambda: pytest.fail("left a group"))
    Devices.connect(rank=0, world=1, local_rank=0).disconnect()


def test_nccl_is_told_which_gpu_a_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **rest: told.update(rest))
    Devices.connect(rank=5, world=8, local_rank=1)
    assert told.pop("timeout") > timedelta(minutes=10)  # what nccl allows by itself
    assert told == {"rank": 5, "world_size": 8, "device_id": torch.device("cuda", 1)}


def test_process_without_a_gpu_beside_others_that_have_one_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(SimtError, match="process 2 has no GPU: there are 1; lower --devices"):
        Devices.connect(rank=1, world=2, local_rank=1)
