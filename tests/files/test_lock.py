"""The lock on a folder: one holder at a time, named in the error, and gone with its process."""

import errno
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engram.errors import RunFolderError, StorageError
from engram.files.lock import HOLDER, LOCK, FolderLock

HOLD = """
import sys, time
from pathlib import Path
from engram.files.lock import FolderLock
with FolderLock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(folder: Path) -> subprocess.Popen[str]:
    """A process that holds the folder's lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    with hold(tmp_path) as process:
        with pytest.raises(RunFolderError, match=f"in use by process {process.pid} on {platform.node()}; wait for it"):
            FolderLock(tmp_path).__enter__()
        process.kill()


def test_a_process_is_refused_what_it_holds_itself(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        with pytest.raises(RunFolderError, match=f"in use by process {os.getpid()} on"):
            FolderLock(tmp_path).__enter__()
        with pytest.raises(RunFolderError):  # the refusal released nothing
            FolderLock(tmp_path).__enter__()


def test_a_killed_process_leaves_files_but_no_lock(tmp_path: Path) -> None:
    with hold(tmp_path) as process:
        process.send_signal(signal.SIGKILL)
    assert {path.name for path in tmp_path.iterdir()} == {LOCK, HOLDER}
    with FolderLock(tmp_path):
        assert f'"pid": {os.getpid()},' in (tmp_path / HOLDER).read_text()


def test_a_released_folder_can_be_locked_again(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "new")
    for _ in range(2):
        with lock:
            assert (tmp_path / "new" / HOLDER).exists()
        assert [path.name for path in (tmp_path / "new").iterdir()] == [LOCK]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b"\xff"])
def test_a_holder_that_cannot_be_read_is_another_process(tmp_path: Path, content: bytes) -> None:
    with FolderLock(tmp_path):
        (tmp_path / HOLDER).write_bytes(content)
        with pytest.raises(RunFolderError, match="in use by another process"):
            FolderLock(tmp_path).__enter__()


def test_the_lock_is_released_if_its_holder_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(StorageError, match=r"cannot write .*lock\.json: No space left"):
            FolderLock(tmp_path).__enter__()
    with FolderLock(tmp_path):
        pass


def test_a_file_system_without_locks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that merely exists is no lock: it would outlive a killed process."""

    def missing(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", missing)
    with pytest.raises(StorageError, match=r"cannot lock .*Function not implemented"):
        FolderLock(tmp_path).__enter__()
