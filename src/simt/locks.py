"""Locks on files, which the kernel gives back whenever their process ends."""

import errno
import fcntl
import sys
from pathlib import Path

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)  # on some file systems of clusters


def has_taken(file: int, path: Path, danger: str) -> bool:
    """Whether no other process had the lock of an open file, so that this one has it now.

    On a file system without locks nobody can tell: it goes on, and says the danger in that.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        told = f"simt: {path.parent} is on a file system without locks: {danger}"
        print(told, file=sys.stderr)
    return True
