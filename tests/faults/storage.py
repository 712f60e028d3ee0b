"""Failing storage, damaged files, vanished folders and signals: a clear error, and nothing saved before is lost."""

import errno
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import EngramError, RunFolderError, StorageError, UnusableRunError
from engram.files.arrays import read_arrays, write_arrays
from engram.files.lock import HOLDER, LOCK
from engram.runs import checkpoints
from engram.runs.cadence import Cadence
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from tests.faults.kills import launch, wait_for_lock
from tests.faults.power import CADENCE, RUNS, SEGMENT_ROWS, TINY
from tests.faults.tally import Stopped, Tally, determined, differing, finish, scratch, stop_at
from tests.faults.watch import WRITING, Operation, Watch

OTHER = Run(MFEC, "CartPole-v1", MFECConfig(capacity=10, strategy="lru", neighbours=3, seed=2), 90, 30, 2)
LONG = ("train", "mfec", "--steps", "1000000", "--capacity", "50", "--no-progress", "--out")


class Fault:
    """Storage that fails at one operation or, if lasting, also at every later one that writes."""

    def __init__(self, at: int, code: int, *, lasting: bool) -> None:
        self.at, self.code, self.lasting = at, code, lasting
        self.count = 0
        self.operation = ""

    def __call__(self, operation: Operation) -> None:
        number, self.count = self.count, self.count + 1
        if number == self.at or (self.lasting and number > self.at and operation.kind in WRITING):
            self.operation = self.operation or f"{operation.kind} {Path(operation.path).name}"
            raise OSError(self.code, os.strerror(self.code), operation.path)


def storage_faults(run: Run, stride: int = 1) -> Tally:
    """Let each file operation of a run (or every `stride`th) fail in turn: of a new run and of a resumed one."""
    tally = Tally()
    with scratch() as root, patch.object(checkpoints, "SEGMENT_ROWS", SEGMENT_ROWS):
        finish(run, root / "whole", CADENCE)
        expected = determined(root / "whole")
        half = interrupted(run, root / "half", at=70)
        for start in (None, half):
            counter = Fault(-1, errno.ENOSPC, lasting=False)
            with Watch(prepare(root / "run", start), counter):
                finish(run, root / "run", CADENCE)
            for number in range(0, counter.count, stride):
                for code, lasting in ((errno.ENOSPC, False), (errno.EACCES, False), (errno.ENOSPC, True)):
                    fault = Fault(number, code, lasting=lasting)
                    prepare(root / "run", start)
                    if (loss := one_fault(run, root / "run", expected, fault, tally)) is not None:
                        what = f"{errno.errorcode[code]} at operation {number} ({fault.operation})"
                        tally.losses.append(f"{run.id}, {what}: {loss}")
    return tally


def one_fault(run: Run, folder: Path, expected: dict[str, bytes | None], fault: Fault, tally: Tally) -> str | None:
    """Carry out a run with a fault, then resume it without one; return what was lost, or None."""
    try:
        with Watch(folder, fault):
            finish(run, folder, CADENCE)
        tally.count("faults without consequence")
    except (StorageError, RunFolderError) as error:
        tally.count("faults reported")
        if "cannot" not in str(error) or "what was saved before is untouched" not in str(error):
            return f"not said plainly: {error}"
    except BaseException as error:
        return f"escaped as {error!r}"
    if folder.exists() and (broken := half_written(folder)):
        return f"left {', '.join(broken)} half-written"
    try:
        finish(run, folder, CADENCE)
    except EngramError as error:
        return f"could not go on: {error}"
    names = differing(folder, expected)
    return f"differs in {', '.join(names)}" if names else None


def half_written(folder: Path) -> list[str]:
    """Names of files that are in their place but cannot be read."""
    broken = []
    for path in folder.iterdir():
        try:
            if path.suffix == ".json":
                json.loads(path.read_text())
            elif path.suffix == ".safetensors":
                read_arrays(path)
        except (ValueError, EngramError):
            broken.append(path.name)
    return broken


def prepare(folder: Path, start: Path | None) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    if start is not None:
        shutil.copytree(start, folder)
    return folder


def interrupted(run: Run, folder: Path, at: int) -> Path:
    """The folder of a run that crashed at a step."""
    with pytest.raises(Stopped):
        RunFolder(folder).record(run, run.make_agent(), (stop_at(at),), cadence=CADENCE, tell=lambda _: None)
    return folder


# Checks of one event each; `root` is a folder that a check may write to ---------------------------------------------


def expected_of(run: Run, root: Path) -> dict[str, bytes | None]:
    finish(run, root / "expected", CADENCE)
    return determined(root / "expected")


def a_read_only_folder(root: Path) -> None:
    expected, folder = expected_of(TINY, root), interrupted(TINY, root / "run", at=70)

    def refuse(operation: Operation) -> None:  # permissions alone do not stop the superuser
        if operation.kind in (*WRITING, "unlink"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), operation.path)

    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    folder.chmod(0o555)
    with Watch(folder, refuse), pytest.raises(StorageError, match=r"Permission denied; what was saved before is"):
        finish(TINY, folder, CADENCE)
    folder.chmod(0o755)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert "going on from step 60" in finish(TINY, folder, CADENCE)
    assert not differing(folder, expected)


def a_folder_that_vanishes(root: Path) -> None:
    expected, folder = expected_of(TINY, root), root / "run"

    def vanish(event: object) -> None:
        if getattr(event, "step", None) == 50 and folder.exists():
            shutil.rmtree(folder)

    with pytest.raises(StorageError, match=r"lock: No such file"):
        RunFolder(folder).record(TINY, TINY.make_agent(), (vanish,), cadence=CADENCE)
    assert not folder.exists(), "nothing is written to a folder that is gone"
    finish(TINY, folder, CADENCE)
    assert not differing(folder, expected)


def a_folder_that_is_replaced(root: Path) -> None:
    folder = root / "run"
    interrupted(OTHER, root / "other", at=70)

    def replace(event: object) -> None:
        if getattr(event, "step", None) == 50:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(root / "other", folder)

    with pytest.raises(StorageError, match="was replaced while the run was writing"):
        RunFolder(folder).record(TINY, TINY.make_agent(), (replace,), cadence=CADENCE)
    assert determined(folder) == determined(root / "other")


def a_clock_that_jumps(root: Path) -> None:
    expected, rng = expected_of(TINY, root), random.Random(0)
    with patch.object(time, "time", lambda: rng.uniform(0, 4e9)):
        interrupted(TINY, root / "run", at=70)
        RunFolder(root / "run").record(TINY, TINY.make_agent(), cadence=Cadence(1e-3), tell=lambda _: None)
    assert not differing(root / "run", expected)
    assert 0 <= json.loads((root / "run" / "meta.json").read_text())["seconds"] < 60


def truncate(path: Path, root: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path, root: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path, root: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def swap(path: Path, root: Path) -> None:
    if not (root / "other").exists():
        interrupted(OTHER, root / "other", at=70)
    shutil.copy(root / "other" / path.name, path)


def misfit(path: Path, root: Path) -> None:
    """Leave a valid file with an incomplete state, of which a part is loaded before the error."""
    manifest, arrays = read_arrays(path)
    del manifest["plain"]["policy_rng"]
    write_arrays(path, manifest, arrays)


DAMAGES = {
    truncate: "is damaged",
    empty: "is damaged",
    flip: "is damaged",
    swap: "belongs to another run",
    misfit: "cannot go on from",
}


def tree(folder: Path) -> dict[str, bytes]:
    """The content of every file below a folder that a run may not lose, by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (LOCK, HOLDER)
    }


def damaged_checkpoints(root: Path) -> None:
    """With the latest checkpoint damaged a run resumes from the one before; with both damaged it stops.

    What is damaged is moved aside, or left where it is until the user asks to start over.
    """
    expected = expected_of(TINY, root)
    for damage, said in DAMAGES.items():
        folder = root / damage.__name__
        interrupted(TINY, folder, at=70)
        before, latest = sorted(folder.glob("checkpoint-*"))
        damage(latest, root)
        damaged, log = latest.read_bytes(), (folder / "progress.jsonl").read_bytes()
        both = shutil.copytree(folder, root / f"{damage.__name__}-both")
        messages = finish(TINY, folder, CADENCE)
        assert any(said in text and "before" in text for text in messages), messages
        assert messages[-1] == "going on from step 40"
        assert not differing(folder, expected)
        assert tree(folder / "aside-1") == {latest.name: damaged}
        assert tree(folder / "aside-2") == {"progress.jsonl": log}

        damage(both / before.name, root)
        there = tree(both)
        with pytest.raises(UnusableRunError, match=rf"{said}.*{said}.*nothing was changed; .*--start-over"):
            finish(TINY, both, CADENCE)
        assert tree(both) == there
        messages = start_over(TINY, both)
        assert messages == [f"what {both} held of the run is now in {both / 'aside-1'}"]
        assert not differing(both, expected)
        assert tree(both / "aside-1") == there


def start_over(run: Run, folder: Path) -> list[str]:
    messages: list[str] = []
    RunFolder(folder).record(run, run.make_agent(), cadence=CADENCE, start_over=True, tell=messages.append)
    return messages


def refused(folder: Path, message: str, fault: Callable[[Operation], object] = lambda _: None) -> None:
    """Resuming stops with an error that names what is wrong and --start-over, and changes nothing."""
    there = tree(folder)
    with pytest.raises(UnusableRunError, match=rf"(?s){message}.*--start-over"), Watch(folder, fault):
        finish(TINY, folder, CADENCE)
    assert tree(folder) == there


def checkpoints_that_cannot_be_read(root: Path) -> None:
    """What may be whole is not passed over for an earlier checkpoint: it may be readable tomorrow."""
    expected = expected_of(TINY, root)
    folder = interrupted(TINY, root / "run", at=70)
    latest = max(folder.glob("checkpoint-*"))

    def deny(operation: Operation) -> None:  # permissions alone do not stop the superuser
        if operation.path == str(latest):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), operation.path)

    def fail(operation: Operation) -> None:
        if operation.path == str(latest) and operation.kind == "open":
            raise OSError(errno.EIO, os.strerror(errno.EIO), operation.path)

    for fault, said in ((deny, "Permission denied"), (fail, "Input/output error")):
        refused(folder, f"{latest.name}: {said}", fault)
    assert finish(TINY, shutil.copytree(folder, root / "later"), CADENCE) == ["going on from step 60"]

    content = latest.read_bytes()
    latest.unlink()
    latest.mkdir()
    refused(folder, f"{latest.name}: it is a folder where a file should be")
    latest.rmdir()
    manifest, arrays = read_arrays(write(latest, content))
    write_arrays(latest, {**manifest, "version": 99}, arrays)
    refused(folder, f"{latest.name} has format version 99")
    start_over(TINY, folder)
    assert not differing(folder, expected)


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def a_missing_segment(root: Path) -> None:
    run = RUNS[-1]  # whose replay has segments
    with patch.object(checkpoints, "SEGMENT_ROWS", SEGMENT_ROWS):
        folder = interrupted(run, root / "run", at=70)
        for segment in folder.glob("segment-*"):
            segment.unlink()
        there = tree(folder)
        with pytest.raises(UnusableRunError, match=r"segment-\S+ is missing.*nothing was changed.*--start-over"):
            finish(run, folder, CADENCE)
        assert tree(folder) == there


def a_damaged_log(root: Path) -> None:
    expected, folder = expected_of(TINY, root), interrupted(TINY, root / "run", at=70)
    progress = folder / "progress.jsonl"
    content = progress.read_bytes()
    for damaged in (b"X" + content[1:], content[:20], b""):
        progress.write_bytes(damaged)
        refused(folder, r"progress\.jsonl is not what it was at step 60.*at step 40")
    progress.unlink()
    refused(folder, r"progress\.jsonl is not what it was at step 60")
    start_over(TINY, folder)
    assert not differing(folder, expected)


def a_log_without_checkpoints(root: Path) -> None:
    expected, folder = expected_of(TINY, root), interrupted(TINY, root / "run", at=70)
    log = (folder / "progress.jsonl").read_bytes()
    for path in folder.glob("checkpoint-*"):
        path.unlink()
    (folder / "meta.json").write_bytes(b"of a run whose result was lost")
    assert "there is no checkpoint" in finish(TINY, folder, CADENCE)[0]
    assert tree(folder / "aside-1") == {"progress.jsonl": log, "meta.json": b"of a run whose result was lost"}
    assert not differing(folder, expected)


def a_model_of_another_run(root: Path) -> None:
    """What lies in the place of the model when a run ends is kept; what an earlier attempt left, the same, is not."""
    expected, folder = expected_of(TINY, root), interrupted(TINY, root / "run", at=70)
    (folder / "model.safetensors").write_bytes(b"of another run")
    finish(TINY, folder, CADENCE)
    assert tree(folder / "aside-1") == {"model.safetensors": b"of another run"}
    assert not differing(folder, expected)
    again = interrupted(TINY, root / "again", at=70)
    shutil.copy(folder / "model.safetensors", again / "model.safetensors")
    finish(TINY, again, CADENCE)
    assert not list(again.glob("aside-*"))
    assert not differing(again, expected)


def damaged_json(root: Path) -> None:
    folder = interrupted(TINY, root / "run", at=70)
    config = (folder / "config.json").read_bytes()
    for content in (b"{", b"", b"[]", b"\xff\xfe", b'{"score": "high"}', b"[" * 100_000, b'{"a": ' * 100_000):
        (folder / "result.json").write_bytes(content)
        refused(folder, r"cannot read .*result\.json")
        with pytest.raises(UnusableRunError, match=r"cannot read .*result\.json"):
            assert RunFolder(folder).result
    (folder / "result.json").unlink()
    for content in (b"{", b"[]", b"\xff\xfe", b"[" * 100_000):
        (folder / "config.json").write_bytes(content)
        refused(folder, r"cannot read .*config\.json")
        with pytest.raises(UnusableRunError, match=r"cannot read .*config\.json"):
            RunFolder(folder).run()
    (folder / "config.json").unlink()
    refused(folder, r"cannot find .*config\.json")
    (folder / "config.json").write_bytes(config)
    assert finish(TINY, folder, CADENCE)[-1] == "going on from step 60"


def a_lock_file_of_a_dead_process(root: Path) -> None:
    expected, folder = expected_of(TINY, root), interrupted(TINY, root / "run", at=70)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (folder / LOCK).touch()
    (folder / HOLDER).write_text(json.dumps({"pid": dead.pid, "host": platform.node()}))
    assert finish(TINY, folder, CADENCE) == ["going on from step 60"]
    assert not differing(folder, expected)


def files_left_by_a_killed_process(root: Path) -> None:
    folder = interrupted(TINY, root / "run", at=70)
    (folder / ".result.json.12.part").write_text("{")
    write_arrays(folder / "segment-replay.rows-000000001.safetensors", {"run": TINY.id}, {})
    kept = {"segment-replay.rows-000000002.safetensors", ".notes.part", "checkpoint-old.safetensors"}
    for name in kept:
        (folder / name).write_bytes(b"not of this run, as far as anybody can tell")
    finish(TINY, folder, CADENCE)
    left = {path.name for path in folder.iterdir()} - kept
    assert left == {"config.json", "lock", "meta.json", "model.safetensors", "progress.jsonl", "result.json"}
    assert all((folder / name).exists() for name in kept)


def two_processes_and_signals(root: Path) -> None:
    """A second process is refused and the first is named; both signals stop the first, which says how to resume."""
    folder = root / "run"
    words = [*LONG, str(folder)]
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with launch(words, stderr=subprocess.PIPE) as process:
            try:
                assert wait_for_lock(process, folder)
                with pytest.raises(RunFolderError, match=f"in use by process {process.pid} on {platform.node()}"):
                    finish(RunFolder(folder).run(), folder, CADENCE)
                time.sleep(0.3)
                process.send_signal(number)
                _, messages = process.communicate(timeout=30)
            finally:
                process.kill()
        assert process.returncode == code, messages
        assert "with everything saved; go on with: engram train --resume" in messages.decode(), messages
        assert len(list(folder.glob("checkpoint-*"))) in (1, 2)


def a_signal_at_every_step(root: Path) -> None:
    """A run that is stopped every seven steps and resumed ends like an uninterrupted one."""
    expected, folder = expected_of(TINY, root), root / "run"

    def interrupt(event: object) -> None:
        if type(event).__name__ == "Step" and getattr(event, "step", 0) % 7 == 0:
            os.kill(os.getpid(), signal.SIGTERM)

    for _ in range(TINY.steps):
        try:
            RunFolder(folder).record(TINY, TINY.make_agent(), (interrupt,), cadence=CADENCE, tell=lambda _: None)
            break
        except EngramError as stopped:
            assert "with everything saved" in str(stopped)  # noqa: PT017
    assert not differing(folder, expected)


CHECKS: tuple[Callable[[Path], None], ...] = (
    a_read_only_folder,
    a_folder_that_vanishes,
    a_folder_that_is_replaced,
    a_clock_that_jumps,
    damaged_checkpoints,
    checkpoints_that_cannot_be_read,
    a_missing_segment,
    a_damaged_log,
    a_log_without_checkpoints,
    a_model_of_another_run,
    damaged_json,
    a_lock_file_of_a_dead_process,
    files_left_by_a_killed_process,
    two_processes_and_signals,
    a_signal_at_every_step,
)


def checked() -> Tally:
    """The tally of all checks above."""
    tally = Tally()
    for check in CHECKS:
        tally.count("checks")
        with scratch() as root:
            try:
                check(root)
            except (Exception, pytest.fail.Exception) as error:
                tally.losses.append(f"{check.__name__}: {error!r}")
    return tally
