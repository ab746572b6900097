"""Which GPUs a job takes on a machine without a scheduler.

SLURM gives each job GPUs of its own. On a workstation, or within an allocation of several GPUs,
nobody does: jobs side by side would all take the first one.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from itertools import takewhile
from pathlib import Path

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_NO_GPU = ("", "-1", "NoDevFiles")  # entries of it; the last is SLURM's


def gpus_here() -> list[str]:
    """The GPUs that jobs may take, named as CUDA_VISIBLE_DEVICES takes them.

    All of this machine, or those that this variable already names.
    """
    of_machine, said = _gpus_of_machine(), os.environ.get(_VISIBLE)
    return of_machine if said is None or not of_machine else _named(said)


def _named(visible: str) -> list[str]:
    """The entries that CUDA takes: those before the first that is no GPU."""
    entries = (entry.strip() for entry in visible.split(","))
    return list(takewhile(lambda entry: entry not in _NO_GPU, entries))


def _gpus_of_machine() -> list[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    asked = ["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"]
    said = subprocess.run(asked, capture_output=True, text=True)
    return said.stdout.split() if said.returncode == 0 else []


def claim_gpus(wanted: int) -> list[str]:
    """GPUs that no other job of this user has; where too few are free, some are shared.

    The kernel gives them back whenever this process ends.
    """
    gpus = gpus_here()
    free: list[str] = []
    for gpu in gpus:
        if len(free) < wanted and _claim(gpu):
            free.append(gpu)
    others = [gpu for gpu in gpus if gpu not in free]
    return [*free, *others][:wanted]


def _claim(gpu: str) -> bool:
    """Whether this process has it now; where that cannot be told it counts as taken."""
    name = gpu.replace("/", "-")  # parts of a GPU may have it: MIG-GPU-…/1/0
    path = Path(tempfile.gettempdir(), f"simt-{os.getuid()}-{name}.lock")
    try:
        file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    return True  # and the file stays open


def take_gpus(wanted: int) -> None:
    """Keep to GPUs that no other job uses, of those that someone may have said to take.

    Jobs of SLURM on one node may all call theirs "0": the second finds it taken, and shares it.
    """
    if claimed := claim_gpus(wanted):
        os.environ[_VISIBLE] = ",".join(claimed)


def use_threads(threads: int) -> None:
    """Compute with so many threads of the CPU."""
    import torch  # whoever only asks for GPUs does not wait for it

    torch.set_num_threads(threads)


def take_devices(threads: int) -> None:
    """A GPU where there is one, and so many threads."""
    take_gpus(1)
    use_threads(threads)
