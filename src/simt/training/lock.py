"""One training of a run at a time: two would corrupt each other's record.

It happens when Snakemake is killed and started again: the job of the first one is still at work.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simt.locks import has_taken


@contextmanager
def only_one(path: Path) -> Iterator[bool]:
    """Inside the block there is no other process in one on ``path``; says whether one was.

    The kernel gives the lock back whenever its process ends.
    """
    has_waited = False
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            has_waited |= _lock(stream.fileno(), path)
            if _is_still(path, stream.fileno()):
                yield has_waited
                return


def _lock(file: int, path: Path) -> bool:
    """Take the lock; says whether another process had it."""
    if has_taken(file, path, "nothing keeps another process from the same training"):
        return False
    print(f"another process trains in {path.parent}: waiting for it", file=sys.stderr)
    fcntl.flock(file, fcntl.LOCK_EX)
    return True


def _is_still(path: Path, file: int) -> bool:
    """Whether the file has its name; whoever is done takes it away with the folder."""
    try:
        return path.stat().st_ino == os.fstat(file).st_ino
    except FileNotFoundError:
        return False
