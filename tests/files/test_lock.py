"""The lock on a folder: one holder at a time, named in the error, and gone with its process."""

import errno
import os
import platform
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engram.errors import FolderInUseError, RunFolderError, StorageError
from engram.files.lock import HOLDER, LOCK, WITHOUT_LOCKS, FolderLock

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


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b'{"pid": 1e999}', b"\xff"])
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


@pytest.mark.parametrize("code", WITHOUT_LOCKS)
def test_a_file_system_without_locks_is_an_error(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that merely exists is no lock: it would outlive a killed process."""

    def missing(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", missing)
    with pytest.raises(StorageError, match=r"cannot lock .*its file system has no locks.*choose a folder on a disk of"):
        FolderLock(tmp_path).__enter__()


FORK = """
import os, sys, time
from pathlib import Path
from engram.files.lock import FolderLock
lock = FolderLock(Path(sys.argv[1])).__enter__()
if os.fork() == 0:
    lock.__exit__(None, None, None)  # which releases nothing: the lock is the parent's
    os.write(1, b"child\\n")
    time.sleep(60)
os.write(1, b"held\\n")
time.sleep(60)
"""

INHERITED = """
import ctypes, os, sys, time
from pathlib import Path
from engram.files.lock import FolderLock
lock = FolderLock(Path(sys.argv[1])).__enter__()
if ctypes.CDLL(None).fork() == 0:  # as a library would: Python does not hear of it
    print("child", flush=True)
    time.sleep(60)
os._exit(9)
"""


def start(program: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_forked_child_does_not_keep_the_lock_of_a_dead_process(tmp_path: Path) -> None:
    with start(FORK, tmp_path) as process:
        try:
            assert process.stdout is not None
            assert {process.stdout.readline(), process.stdout.readline()} == {"held\n", "child\n"}
            with pytest.raises(FolderInUseError, match=f"in use by process {process.pid}"):
                FolderLock(tmp_path).__enter__()
            process.kill()
            process.wait()
            with FolderLock(tmp_path):
                pass
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="a fork behind Python's back")
def test_a_lock_that_outlives_its_process_is_told_as_such(tmp_path: Path) -> None:
    with start(INHERITED, tmp_path) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "child\n"
            process.wait()
            with pytest.raises(FolderInUseError, match=rf"although its process {process.pid} is gone.*fuser .*lock"):
                FolderLock(tmp_path).__enter__()
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted")
def test_deleting_the_lock_file_lets_nobody_in(tmp_path: Path) -> None:
    with FolderLock(tmp_path) as lock:
        lock.check()
        (tmp_path / LOCK).unlink()
        with pytest.raises(FolderInUseError):
            FolderLock(tmp_path).__enter__()
        with pytest.raises(StorageError, match="was replaced while the run was writing"):
            lock.check()


def test_where_folders_have_no_locks_a_deleted_lock_file_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderLock, "_lock_folder", lambda self: True)
    with FolderLock(tmp_path) as first:
        (tmp_path / LOCK).unlink()
        with FolderLock(tmp_path) as second:
            second.check()
            with pytest.raises(StorageError, match="another process may use the folder"):
                first.check()
            first.__exit__(None, None, None)
            assert (tmp_path / HOLDER).exists(), "it names the second"


def test_a_lock_is_waited_for(tmp_path: Path) -> None:
    with hold(tmp_path) as process:
        threading.Timer(0.3, process.kill).start()
        with FolderLock(tmp_path, wait_seconds=20):
            assert process.wait() != 0


@pytest.mark.parametrize("name", [LOCK, HOLDER])
def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "treasure").write_bytes(b"gold")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).symlink_to(tmp_path / "treasure")
    with pytest.raises(StorageError, match=rf"cannot use .*{name}: it is a symbolic link"):
        FolderLock(folder).__enter__()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(StorageError, match=rf"cannot use .*{name}: it is a named pipe"):
        FolderLock(folder).__enter__()
    assert (tmp_path / "treasure").read_bytes() == b"gold"
