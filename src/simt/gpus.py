"""Which GPUs a job takes on a machine without a scheduler.

SLURM gives each job GPUs of its own. On a workstation nobody does: jobs side by side would all take
the first one.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def gpus_here() -> list[str]:
    """The names of this machine's GPUs, as CUDA_VISIBLE_DEVICES takes them."""
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
    path = Path(tempfile.gettempdir(), f"simt-{os.getuid()}-{gpu}.lock")
    file = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return False
    return True  # and the file stays open


def take_gpus(wanted: int) -> None:
    """Keep to GPUs that no other job uses, unless someone has already said which to take."""
    if "CUDA_VISIBLE_DEVICES" not in os.environ and (claimed := claim_gpus(wanted)):
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(claimed)


def use_threads(threads: int) -> None:
    """Compute with so many threads of the CPU."""
    import torch  # whoever only asks for GPUs does not wait for it

    torch.set_num_threads(threads)


def take_devices(threads: int) -> None:
    """A GPU where there is one, and so many threads."""
    take_gpus(1)
    use_threads(threads)
