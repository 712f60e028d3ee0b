"""Writing files: all of the new content or all of the old, on systems that can and cannot open folders."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram.errors import StorageError
from engram.files.disk import (
    is_file,
    is_folder,
    list_files,
    make_folder,
    move_aside,
    open_file,
    open_in_place,
    read_file,
    read_json,
    remove,
    storage_errors,
    sync_folder,
    write_atomically,
)


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


def make_link(path: Path) -> None:
    (path.parent / "treasure").write_bytes(b"gold")
    path.symlink_to(path.parent / "treasure")


def make_dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # its whole path may be too long


def make_device_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


MISPLACED: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (make_link, "a symbolic link"),
    "dangling": (make_dangling_link, "a symbolic link"),
    "device": (make_device_link, "a symbolic link"),
    "pipe": (os.mkfifo, "a named pipe"),
    "socket": (make_socket, "a socket"),
    "folder": (Path.mkdir, "a folder"),
}


@pytest.mark.parametrize("kind", MISPLACED)
def test_what_is_not_a_file_is_refused_unopened(kind: str, tmp_path: Path) -> None:
    """A pipe would hang, and a link would be followed to whatever it points to."""
    make, name = MISPLACED[kind]
    path = tmp_path / "file"
    make(path)
    before = sorted(path.name for path in tmp_path.iterdir())
    tries: list[Callable[[Path], object]] = [
        is_file,
        read_file,
        read_json,
        open_file,
        open_in_place,
        lambda path: write_atomically(path, b"new"),
        lambda path: open_file(path, os.O_RDWR | os.O_CREAT),
    ]
    for use in tries:
        with pytest.raises(StorageError, match=f"cannot use .*file: it is {name} where a file should be"):
            use(path)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    if kind == "link":
        assert (tmp_path / "treasure").read_bytes() == b"gold"


def test_a_link_that_appears_at_the_last_moment_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_link(tmp_path / "file")
    monkeypatch.setattr("engram.files.disk.is_file", lambda path: True)
    with pytest.raises(StorageError, match="cannot open"):
        open_file(tmp_path / "file", os.O_RDWR | os.O_TRUNC)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="a named pipe"):
        open_file(tmp_path / "pipe")
    assert (tmp_path / "treasure").read_bytes() == b"gold"


def test_only_folders_are_folders(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    assert is_folder(tmp_path)
    assert not is_folder(tmp_path / "none")
    for name, kind in (("link", "a symbolic link"), ("file", "a file")):
        with pytest.raises(StorageError, match=f"it is {kind} where a folder should be"):
            is_folder(tmp_path / name)


def test_a_file_with_two_names_is_not_changed_in_place(tmp_path: Path) -> None:
    (tmp_path / "backup").write_bytes(b"old")
    os.link(tmp_path / "backup", tmp_path / "file")
    with pytest.raises(StorageError, match="has other names"):
        open_in_place(tmp_path / "file")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "backup").read_bytes() == b"old"


def test_a_part_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "treasure").write_bytes(b"gold")
    (tmp_path / f".file.{os.getpid()}.part").symlink_to(tmp_path / "treasure")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "treasure").read_bytes() == b"gold"
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 5_000])
def test_what_is_not_json_is_a_value_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError):  # noqa: PT011 (whatever json says)
        read_json(tmp_path / "file")


def test_a_json_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(StorageError, match="1,099,511,627,776 bytes"):
        read_json(tmp_path / "file")


def test_moving_aside_overwrites_nothing(tmp_path: Path) -> None:
    for content in (b"one", b"two"):
        (tmp_path / "file").write_bytes(content)
        move_aside(tmp_path, [tmp_path / "file"])
    assert (tmp_path / "aside-1" / "file").read_bytes() == b"one"
    assert (tmp_path / "aside-2" / "file").read_bytes() == b"two"
