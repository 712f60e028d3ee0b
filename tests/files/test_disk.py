"""Writing files: all of the new content or all of the old, on systems that can and cannot open folders."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from engram.errors import StorageError
from engram.files.disk import list_files, make_folder, remove, storage_errors, sync_folder, write_atomically


def as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no O_DIRECTORY, and refuses to open a folder."""
    real_open = os.open

    def no_folders(path: Any, *arguments: Any, **options: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_open(path, *arguments, **options)

    monkeypatch.setattr(os, "open", no_folders)
    monkeypatch.delattr(os, "O_DIRECTORY")


def test_content_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_atomically(path, b"old")
    write_atomically(path, b"two ", b"parts")
    assert path.read_bytes() == b"two parts"
    assert list(path.parent.iterdir()) == [path]


def test_files_are_written_where_folders_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_on_windows(monkeypatch)
    path = tmp_path / "new" / "file"
    write_atomically(path, b"content")
    assert path.read_bytes() == b"content"


def test_a_folder_is_flushed_where_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[bool] = []
    real_fsync = os.fsync

    def note(handle: int) -> None:
        flushed.append(os.path.samestat(os.fstat(handle), tmp_path.stat()))
        real_fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    sync_folder(tmp_path)
    assert flushed == [True]
    as_on_windows(monkeypatch)
    sync_folder(tmp_path)
    assert flushed == [True]


def test_system_errors_say_what_could_not_be_done(tmp_path: Path) -> None:
    message = r"cannot read .*run: No such file.*; what was saved before is untouched"
    with pytest.raises(StorageError, match=message), storage_errors("read", tmp_path / "run"):
        (tmp_path / "none").read_bytes()
    with pytest.raises(KeyError), storage_errors("read", tmp_path):  # other errors pass
        raise KeyError


def test_a_missing_folder_is_not_an_empty_one(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert list_files(tmp_path / "a" / "b", "*") == []
    with pytest.raises(StorageError, match="cannot read"):
        list_files(tmp_path / "none", "*")


def test_files_are_listed_in_order_and_by_case(tmp_path: Path) -> None:
    for name in ("b.x", "a.x", "c.X", "d.y"):
        (tmp_path / name).touch()
    assert [path.name for path in list_files(tmp_path, "*.x")] == ["a.x", "b.x"]
    remove(tmp_path / "a.x")
    remove(tmp_path / "a.x")
    assert [path.name for path in list_files(tmp_path, "*.x")] == ["b.x"]
