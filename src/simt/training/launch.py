"""One process for each device of this machine, and one that watches over them.

That one holds the lock of the run and answers for it: whatever happens to it happens to them.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from uuid import uuid4

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from simt.errors import SimtError
from simt.signals import ASKS_FOR_RETRY, StopRequest

SAVING_SECONDS = 300  # from a request to stop until the kill, as in the profile of SLURM
_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>


def run_on_devices(devices: int, command: Sequence[str]) -> int:
    """The exit code of ``command``, run once for each device with the variables of torchrun.

    A request to stop is passed on to the processes. What went wrong they have said themselves,
    unless they were killed.
    """
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=devices, max_restarts=0, run_id=uuid4().hex,
        # A machine need not know its own name, which torch would take for the address.
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost",
        signals_to_handle=",".join(each.name for each in StopRequest.SIGNALS),
        shutdown_timeout=SAVING_SECONDS,
        logs_specs=DefaultLogsSpecs(log_dir=os.devnull),
    )  # fmt: skip
    try:
        elastic_launch(config, command[0])(*command[1:])
    except SignalException:
        return ASKS_FOR_RETRY
    except ChildFailedError as failed:
        rank, first = failed.get_first_failure()
        if first.exitcode < 0:
            raise SimtError(
                f"process {rank} of {devices} was ended by {first.signal_name()}. If nobody did "
                "that on purpose, memory has run out: lower training.micro_tokens. The same "
                "command resumes from the newest checkpoint."
            ) from None
        return first.exitcode
    return 0


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, in whatever way."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("simt: the process that started this one has ended")
