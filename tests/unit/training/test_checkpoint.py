"""Checkpoints are whole or not there, and run no code."""

import errno
import pickle
import resource
from pathlib import Path
from typing import Any

import pytest
import torch

from simt.errors import SimtError
from simt.training.checkpoint import Checkpoints, Snapshots, load_tensors, save_tensors


def checkpoints(folder: Path) -> tuple[Checkpoints, list[str]]:
    said: list[str] = []
    return Checkpoints(folder, said.append), said


def state(value: float) -> dict[str, Any]:
    return {"weights": torch.full((1000,), value), "position": {"update": int(value)}}


def test_newest_of_several_checkpoints_is_taken(tmp_path: Path) -> None:
    folder, _ = checkpoints(tmp_path)
    for update in (9, 10, 100):
        folder.save(update, state(update))
    assert folder.newest()["position"] == {"update": 100}  # type: ignore[index]


def test_only_the_newest_and_the_one_before_are_kept(tmp_path: Path) -> None:
    folder, _ = checkpoints(tmp_path)
    for update in (1, 2, 3):
        folder.save(update, state(update))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-2.pt", "update-3.pt"]


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_damaged_newest_checkpoint_falls_back_to_the_one_before_and_says_so(
    damage: str, tmp_path: Path
) -> None:
    folder, said = checkpoints(tmp_path)
    folder.save(1, state(1))
    folder.save(2, state(2))
    path = tmp_path / "update-2.pt"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF  # inside the tensor, where torch itself would not notice
    cut = {"cut": content[:-200], "flipped": content, "emptied": b""}
    path.write_bytes(cut[damage])
    newest = folder.newest()
    assert newest is not None
    assert newest["position"] == {"update": 1}
    assert len(said) == 1
    assert "update-2.pt is damaged" in said[0]
    assert "is kept as *.damaged; going back to the checkpoint before it" in said[0]
    assert (tmp_path / "update-2.pt.damaged").read_bytes() == cut[damage]


def test_newest_of_several_damaged_checkpoints_is_kept(tmp_path: Path) -> None:
    folder, said = checkpoints(tmp_path)
    for update in (9, 10):
        (tmp_path / f"update-{update}.pt").write_bytes(b"damaged")
    assert folder.newest() is None
    assert len(said) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["update-10.pt.damaged"]
    folder.save(11, state(11))
    assert folder.newest() is not None


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ESTALE, "Stale file handle"), "cannot be read: Stale file handle"),
        (MemoryError(), "cannot be read: there is not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "not enough memory"),
    ],
)
def test_checkpoint_that_cannot_be_read_just_now_is_kept(
    error: Exception, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = checkpoints(tmp_path)
    folder.save(1, state(1))

    def fails(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(torch, "load", fails)
        with pytest.raises(SimtError, match=says):
            folder.newest()
    assert folder.newest() is not None


def test_no_checkpoint_is_none(tmp_path: Path) -> None:
    assert checkpoints(tmp_path / "nothing")[0].newest() is None


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


def test_checkpoint_file_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "evil.pt"
    torch.save({"weights": Evil()}, path)
    with pytest.raises((SimtError, pickle.UnpicklingError)):
        load_tensors(path)
    assert not (tmp_path / "executed").exists()


def test_full_disk_is_told_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pt"
    save_tensors(path, state(1))

    def fails(values: Any, stream: Any) -> None:
        stream.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch, "save", fails)
    with pytest.raises(SimtError, match="intact: free some space"):
        save_tensors(path, state(2))
    assert load_tensors(path)["position"] == {"update": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_mean_of_snapshots_is_that_of_the_last_ones(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path, kept=2)
    for update, value in ((1, 100.0), (2, 1.0), (3, 4.0)):
        snapshots.save(update, {"weight": torch.full((3,), value)})
    assert snapshots.mean(taken=3)["weight"].tolist() == [2.5, 2.5, 2.5]


def test_mean_without_one_of_its_snapshots_is_none(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "snapshots", kept=3)
    for update in (1, 2, 3):
        snapshots.save(update, {"weight": torch.zeros(3)})
    (tmp_path / "snapshots/update-2.pt").write_bytes(b"damaged")
    with pytest.raises(SimtError, match=f"has a damaged snapshot: delete {tmp_path} and start"):
        snapshots.mean(taken=3)
    (tmp_path / "snapshots/update-2.pt").unlink()
    with pytest.raises(SimtError, match=f"has 2 snapshots instead of 3: delete {tmp_path} and"):
        snapshots.mean(taken=3)


def test_snapshots_after_the_checkpoint_are_dropped_on_going_back(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path, kept=5)
    for update in (1, 2, 3):
        snapshots.save(update, {"weight": torch.full((3,), float(update))})
    snapshots.go_back_to(2)
    assert snapshots.mean(taken=2)["weight"].tolist() == [1.5, 1.5, 1.5]


def test_write_that_breaks_off_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(SimtError, match="What was saved before is intact"):
            save_tensors(tmp_path / "model.pt", {"weights": torch.zeros(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())
