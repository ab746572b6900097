"""Checkpoints: a training killed at any moment resumes from the newest one that is whole.

A checkpoint is a file of ``torch.save``, read with ``weights_only``: it can run no code. Such a
file is a zip archive whose parts carry checksums, which torch does not look at and we do.
"""

import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from simt.atomic import atomic_file
from simt.errors import SimtError, short

KEPT = 2  # the newest, and the one before it in case the newest is damaged
DAMAGED = ".damaged"  # behind the name of a file that was put aside
_NAME = re.compile(rf"update-(\d+)\.pt({re.escape(DAMAGED)})?")


class DamagedError(SimtError):
    """A file that is not what was written, and will not be, however often it is read."""

    def __init__(self, path: Path, reason: str) -> None:
        self.finding = f"{path} is damaged ({reason})"
        super().__init__(f"{self.finding}: delete it and make it again")


def save_tensors(path: Path, values: dict[str, Any]) -> None:
    """Write ``values`` whole or not at all; a full disk is an error with the remedy."""
    try:
        with atomic_file(path, "wb") as stream:
            torch.save(values, stream)
    except (OSError, RuntimeError) as error:
        # torch makes a RuntimeError of a failed write, and sometimes of a full disk without one.
        free = shutil.disk_usage(path.parent).free
        is_of_writing = isinstance(error, OSError) or isinstance(error.__context__, OSError)
        if not is_of_writing and free > 1 << 20:
            raise
        raise SimtError(
            f"cannot write {path}: {error} ({free / 1e6:.0f} MB free). What was saved before is "
            "intact: free some space and start the same command again."
        ) from None


def load_tensors(path: Path) -> dict[str, Any]:
    """What ``save_tensors`` wrote; a file that it did not write so is an error that names it."""
    try:
        reason = _damage(path)
        if reason is None:
            values = torch.load(path, map_location="cpu", weights_only=True)
            if isinstance(values, dict) and all(isinstance(name, str) for name in values):
                return values
            reason = "not weights by their names"
    except OSError as error:
        raise SimtError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a damaged file can make torch stumble over anything
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise SimtError(f"{path} cannot be read: there is not enough memory") from None
        reason = "not tensors, numbers and text only"  # torch's own words advise to run its code
    raise DamagedError(path, reason)


def _damage(path: Path) -> str | None:
    """What is wrong with the archive itself, or None."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
                return "compressed, which ours are not"  # and it might unpack without end
            part = archive.testzip()
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
        return short(str(error))
    return None if part is None else f"in its part {short(part)}"


def saved_updates(folder: Path, suffix: str = "") -> list[tuple[int, Path]]:
    """The files of a folder by update, oldest first."""
    found = [(_NAME.fullmatch(path.name), path) for path in folder.glob(f"update-*.pt{suffix}")]
    return sorted((int(match[1]), path) for match, path in found if match)


class Checkpoints:
    """The resumable states of one training, in a folder of its own."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.say = say

    def save(self, update: int, state: dict[str, Any]) -> None:
        """Keep the state after ``update``, and the one before it."""
        save_tensors(self.folder / f"update-{update}.pt", state)
        for _, path in saved_updates(self.folder)[:-KEPT]:
            path.unlink()

    def newest(self) -> dict[str, Any] | None:
        """The newest state that is whole, or None; a damaged one is named and put aside.

        One that cannot be read just now may be whole: it is kept, and the error is the caller's.
        """
        for _, path in reversed(saved_updates(self.folder)):
            try:
                return load_tensors(path)
            except DamagedError as error:
                self._put_aside(path)
                self.say(
                    f"{error.finding}; the newest such file is kept as *{DAMAGED}; "
                    "going back to the checkpoint before it"
                )
        return None

    def _put_aside(self, path: Path) -> None:
        """Rename a file, and keep the newest of its kind: torch may be wrong, and not the file."""
        path.rename(path.with_name(path.name + DAMAGED))
        for _, older in saved_updates(self.folder, DAMAGED)[:-1]:
            older.unlink()


class Snapshots:
    """Weights kept along the way; the model is the mean of the last ``kept``."""

    def __init__(self, folder: Path, kept: int) -> None:
        self.folder = folder
        self.kept = kept

    def save(self, update: int, weights: dict[str, Any]) -> None:
        """Keep the weights after ``update``, and the ones before it that the mean needs."""
        save_tensors(self.folder / f"update-{update}.pt", weights)
        for _, path in saved_updates(self.folder)[: -self.kept]:
            path.unlink()

    def go_back_to(self, update: int) -> None:
        """Drop what was kept after ``update``: it will come again."""
        for number, path in saved_updates(self.folder):
            if number > update:
                path.unlink()

    def mean(self, taken: int) -> dict[str, torch.Tensor]:
        """The mean of the weights that are kept, in float32, of all the times they were taken."""
        paths, expected = [path for _, path in saved_updates(self.folder)], min(self.kept, taken)
        try:
            saved = [load_tensors(path) for path in paths]
        except DamagedError:
            raise SimtError(f"{self.folder} has a damaged snapshot: {self._remedy}") from None
        if len(saved) != expected:
            raise SimtError(
                f"{self.folder} has {len(saved)} snapshots instead of {expected}: {self._remedy}"
            )
        return {
            name: torch.stack([weights[name].float() for weights in saved]).mean(dim=0)
            for name in saved[0]
        }

    @property
    def _remedy(self) -> str:
        return f"delete {self.folder.parent} and start the same command, which then begins anew"
