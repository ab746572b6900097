"""The processes and devices that train one model together.

Each process holds the whole model and takes its part of the micro-batches of an update.
``gradients`` sums what they have found.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from simt.errors import SimtError
from simt.gpus import gpus_here
from simt.model.matmul import bf16_products, has_bf16_products
from simt.settings import Precision
from simt.usage import own_peak_memory_mb

# How long a process waits for the others: one of them may write a checkpoint to a slow file system
_PATIENCE = timedelta(hours=1)


@dataclass(frozen=True)
class Devices:
    """This process's place among ``world`` processes, and the device it computes on."""

    rank: int
    world: int
    device: torch.device

    @classmethod
    def connect(cls, rank: int, world: int, local_rank: int) -> "Devices":
        """Join the other processes, as torchrun started them; alone when ``world`` is 1."""
        has_gpu = torch.cuda.is_available()
        if has_gpu and local_rank >= (gpus := torch.cuda.device_count()):
            raise SimtError(
                f"process {local_rank + 1} has no GPU: there are {gpus}; lower --devices"
            )
        if not has_gpu and rank == 0 and gpus_here():
            print(
                f"simt: this machine has GPUs, but torch {torch.__version__} does not see them: it "
                "computes on the CPU. Install a build of torch for their driver, or set "
                "CUDA_VISIBLE_DEVICES= if that is meant",
                file=sys.stderr,
            )
        device = torch.device("cuda", local_rank) if has_gpu else torch.device("cpu")
        if has_gpu:
            torch.cuda.set_device(device)
        if world > 1:
            dist.init_process_group(
                "nccl" if has_gpu else "gloo", rank=rank, world_size=world, timeout=_PATIENCE,
                device_id=device if has_gpu else None,  # otherwise nccl guesses it from the rank
            )  # fmt: skip
        return cls(rank, world, device)

    def disconnect(self) -> None:
        """Leave the other processes, which must all come here; after an error, just end instead."""
        if self.world > 1:
            dist.destroy_process_group()

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and speaks to the user."""
        return self.rank == 0

    def precision(self, wanted: Precision) -> Precision:
        """What this device makes of it: a CPU has at most products in bf16, if even those.

        Old GPUs (V100, T4) would only emulate bf16, which has less precision and no use there.
        """
        if self.device.type == "cuda":
            has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
            return "bf16" if wanted != "fp32" and has_bf16 else "fp32"
        return wanted if wanted == "bf16-products" and has_bf16_products() else "fp32"

    def autocast(self, wanted: Precision) -> AbstractContextManager[object]:
        """A block that computes in ``precision(wanted)``."""
        match self.precision(wanted):
            case "bf16":
                return torch.autocast("cuda", dtype=torch.bfloat16)
            case "bf16-products":
                return bf16_products()
            case "fp32":
                return nullcontext()

    def sum_values(self, values: list[float]) -> list[float]:
        """Each value summed over the processes."""
        if self.world == 1:
            return values
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        with exchange():
            dist.all_reduce(tensor)
        return [float(value) for value in tensor]

    def sum_by_name(self, values: Mapping[str, Tensor | float]) -> dict[str, float]:
        """Values summed by name; a process without sentences may not know all names."""
        mine = {name: float(value) for name, value in values.items()}
        if self.world == 1:
            return mine
        everyones: list[dict[str, float]] = [{} for _ in range(self.world)]
        with exchange():
            dist.all_gather_object(everyones, mine)
        names = dict.fromkeys(name for theirs in everyones for name in theirs)
        return {name: sum(theirs.get(name, 0.0) for theirs in everyones) for name in names}

    def peak_memory_mb(self) -> int:
        """The most memory this process has held: of its GPU, or of the machine."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated() >> 20
        return own_peak_memory_mb()

    def wait_for_all(self) -> None:
        """Go on when every process has come here."""
        if self.world > 1:
            with exchange():
                dist.barrier()


@contextmanager
def exchange() -> Iterator[None]:
    """A block that every process must come to; one that has ended has said why itself."""
    try:
        yield
    except RuntimeError as error:
        raise SimtError(f"a process of this training has lost the others: {error}") from error
