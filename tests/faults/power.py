"""Simulated power cuts at every file operation of a run: what was synced is kept, anything else may be lost."""

import random
import shutil
from collections.abc import Iterator
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from engram.agents.d3qn import D3QN, D3QNConfig
from engram.agents.mfec import MFEC, MFECConfig
from engram.agents.nec import NEC, NECConfig
from engram.runs import checkpoints
from engram.runs.cadence import Cadence
from engram.runs.run import Run
from tests.faults.tally import Tally, determined, differing, finish, scratch
from tests.faults.watch import Operation, Watch

CADENCE = Cadence(steps=20)
TINY = Run(MFEC, "CartPole-v1", MFECConfig(capacity=10, strategy="lru", neighbours=3, seed=1), 90, 30, 2)
NETWORK: dict[str, Any] = {
    "replay_size": 32,
    "batch_size": 4,
    "learning_start_steps": 10,
    "learning_interval_steps": 8,
    "seed": 1,
}
RUNS = (
    TINY,
    Run(MFEC, "engram/FourRoom-v0", MFECConfig(capacity=5, strategy="dkm", neighbours=3, seed=2), 90, 45, 2),
    Run(NEC, "CartPole-v1", NECConfig(capacity=10, strategy="dkm", learn_memory=True, **NETWORK), 90, 45, 1),
    Run(D3QN, "CartPole-v1", D3QNConfig(**NETWORK), 90, 45, 1),
)
SEGMENT_ROWS = 8  # such that a tiny replay has segments, old ones to forget among them
CONTENTS = ("written", "dropped", "halved", "garbled", "zeroed")

State = dict[str, bytes | None]  # of a disk: every file's content; None for a folder


class File:
    """A file's content as programs see it, and the part of it that is certainly on the disk."""

    def __init__(self) -> None:
        self.content, self.durable = b"", b""
        self.dirty: list[tuple[int, int]] = []  # what was written since

    def write(self, at: int, data: bytes) -> None:
        self.content = self.content[:at].ljust(at, b"\0") + data + self.content[at + len(data) :]
        self.dirty.append((at, at + len(data)))

    def sync(self) -> None:
        self.durable, self.dirty = self.content, []

    def after_cut(self, how: str, rng: random.Random) -> bytes:
        """What a power cut may leave of content that was not synced."""
        if self.content == self.durable or how == "written":
            return self.content
        if how == "dropped":
            return self.durable
        if how == "halved":
            return self.content[: (len(self.durable) + len(self.content)) // 2]
        left = bytearray(self.content)
        for start, stop in self.dirty:
            stop = min(stop, len(left))  # noqa: PLW2901
            left[start:stop] = rng.randbytes(max(stop - start, 0)) if how == "garbled" else bytes(max(stop - start, 0))
        return bytes(left)


class Change(NamedTuple):
    """An atomic change of a folder: a new name for a file (None for a new folder), a removed name, or both."""

    new: str | None = None
    file: File | None = None
    gone: str | None = None

    def enact(self, names: dict[str, File | None]) -> None:
        if self.gone is not None:
            names.pop(self.gone, None)
        if self.new is not None:
            names[self.new] = self.file

    @property
    def folder(self) -> str:
        return str(Path(self.new or self.gone or "").parent)


class Disk:
    """A simulated disk, which follows every operation and knows what a power cut may leave."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.names: dict[str, File | None] = {self.root: None}
        self.durable: dict[str, File | None] = dict(self.names)
        self.pending: list[Change] = []  # changes of names that are on no disk yet

    def apply(self, operation: Operation) -> None:
        kind, path, at, data, target = operation
        file = self.names.get(path)
        if kind == "create":
            self._change(Change(path, File()))
        elif kind == "make_folder":
            self._change(Change(path))
        elif kind == "unlink":
            self._change(Change(gone=path))
        elif kind == "replace":
            self._change(Change(target, file, path))
        elif kind == "sync_folder":
            for change in self.pending:
                if change.folder == path:
                    change.enact(self.durable)
            self.pending = [change for change in self.pending if change.folder != path]
        elif file is None:
            return
        elif kind == "write":
            file.write(at, data)
        elif kind == "truncate":
            file.content = file.content[:at]
        elif kind == "sync":
            file.sync()

    def states(self, rng: random.Random) -> Iterator[State]:
        """Every state in which a power cut may leave the disk: any subset of name changes, any kind of content."""
        for chosen in subsets(self.pending):
            names = dict(self.durable)
            for change in chosen:
                change.enact(names)
            for how in CONTENTS:
                yield {
                    name: None if file is None else file.after_cut(how, rng)
                    for name, file in names.items()
                    if str(Path(name).parent) in names or name == self.root
                }

    def _change(self, change: Change) -> None:
        change.enact(self.names)
        self.pending.append(change)


def subsets(pending: list[Change]) -> Iterator[list[Change]]:
    """All subsets of up to four changes; of more, those with at most one change or all but at most one."""
    sizes = range(len(pending) + 1) if len(pending) <= 4 else (0, 1, len(pending) - 1, len(pending))
    for size in sizes:
        yield from map(list, combinations(pending, size))


def restore(state: State, root: Path) -> None:
    """Make the files under a folder those of a simulated disk."""
    shutil.rmtree(root)
    for name, content in sorted(state.items()):
        if content is None:
            Path(name).mkdir()
        else:
            Path(name).write_bytes(content)


def power_cuts(run: Run, seed: int, most: int | None = None, *, ignoring: str = "") -> Tally:
    """Cut the power at every operation of a run, in every way, and resume; at most `most` states, if given.

    The disk takes no notice of operations of the kind `ignoring`, which shows whether they are needed.
    """
    tally, rng = Tally(), random.Random(seed)
    with scratch() as root, patch.object(checkpoints, "SEGMENT_ROWS", SEGMENT_ROWS):
        folder = root / "disk" / "run"
        folder.parent.mkdir()
        operations: list[Operation] = []
        with Watch(folder.parent, operations.append):
            finish(run, folder, CADENCE)
        expected = determined(folder)
        disk = Disk(folder.parent)
        cuts: dict[str, tuple[State, int, str]] = {}
        for number, operation in enumerate(operations):
            if operation.kind != ignoring:
                disk.apply(operation)
            surest = last_checkpoint(disk.durable)
            for state in disk.states(rng):
                digest = sha256(repr(sorted(state.items())).encode()).hexdigest()
                cuts.setdefault(digest, (state, surest, f"after operation {number} {operation.kind}"))
        seen = {name: None if file is None else file.content for name, file in disk.names.items() if name != disk.root}
        there = {str(path): path.read_bytes() if path.is_file() else None for path in folder.parent.rglob("*")}
        if seen != there:
            tally.losses.append(f"{run.id}: not every operation was seen")
        chosen = list(cuts.values())
        if most is not None and most < len(chosen):
            chosen = rng.sample(chosen, most)
        for state, surest, when in chosen:
            restore(state, folder.parent)
            tally.count("disks after a power cut")
            if (loss := go_on(run, folder, expected, surest)) is not None:
                tally.losses.append(f"{run.id}, {when}: {loss}")
    tally.count("file operations cut at", sum(each.kind not in ("stat", "open", "list") for each in operations))
    return tally


def go_on(run: Run, folder: Path, expected: dict[str, bytes | None], surest: int) -> str | None:
    """Resume a run after a power cut; return what was lost, or None."""
    done = (folder / "result.json").exists()
    try:
        messages = finish(run, folder, CADENCE)
    except Exception as error:
        return f"could not go on: {error!r}"
    if names := differing(folder, expected):
        return f"differs in {', '.join(names)}"
    resumed = max((int(text.split()[-1]) for text in messages if text.startswith("going on")), default=0)
    if not done and resumed < surest:
        return f"went on from step {resumed} though the checkpoint of step {surest} was complete"
    return None


def last_checkpoint(names: dict[str, File | None]) -> int:
    """The step of the latest checkpoint, or 0."""
    found = (Path(name).name for name in names)
    return max((int(name[11:23]) for name in found if name.startswith("checkpoint-")), default=0)
