"""Files and folders that appear whole or not at all."""

from pathlib import Path

import pytest

from simt.atomic import atomic_folder


def test_folder_gets_its_name_when_all_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "model" / "old").mkdir(parents=True)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "weights").write_text("1")
        assert [path.name for path in (tmp_path / "model").iterdir()] == ["old"]
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["weights"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def break_off(path: Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "half").write_text("1")
        raise OSError("full")


def test_folder_that_broke_off_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "model" / "old").mkdir(parents=True)
    with pytest.raises(OSError, match="full"):
        break_off(tmp_path / "model")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["old"]


def test_old_folder_of_a_killed_process_is_no_hindrance(tmp_path: Path) -> None:
    for name in ("model", ".model.old"):
        (tmp_path / name / "old").mkdir(parents=True)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "weights").write_text("1")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["weights"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_folder_that_broke_off_has_no_name_and_is_no_hindrance(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="full"):
        break_off(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "weights").write_text("1")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["weights"]


def test_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "behind" / "old").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to("behind")
    with atomic_folder(link) as folder:
        (folder / "new").touch()
    assert link.is_symlink()
    assert [path.name for path in (tmp_path / "behind").iterdir()] == ["new"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["behind", "link"]
