"""Counts and losses of a campaign, and helpers to carry out its runs."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engram.runs.cadence import Cadence
from engram.runs.folder import RunFolder
from engram.runs.run import Run
from engram.training.events import Event, Step

DETERMINED = ("config.json", "progress.jsonl", "result.json", "model.safetensors")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Tally:
    """How often each thing was tried, and a description of every loss."""

    counts: dict[str, int] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)

    def count(self, name: str, number: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def add(self, other: "Tally") -> None:
        for name, number in other.counts.items():
            self.count(name, number)
        self.losses += other.losses


class Stopped(BaseException):
    """Raised to stop a run as a crash would: no error of which the run could save what it has."""


def stop_at(step: int) -> Callable[[Event], None]:
    def callback(event: Event) -> None:
        if isinstance(event, Step) and event.step == step:
            raise Stopped

    return callback


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, in memory where possible, because a campaign syncs files thousands of times."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="engram-faults-", dir=base) as folder:
        yield Path(folder)


def finish(run: Run, folder: Path, cadence: Cadence) -> list[str]:
    """Carry out a run to its end, resuming it if it has begun; return its messages."""
    messages: list[str] = []
    RunFolder(folder).record(run, run.make_agent(), cadence=cadence, tell=messages.append)
    return messages


def determined(folder: Path) -> dict[str, bytes | None]:
    """The contents of the files that the config determines, by name."""
    return {name: (folder / name).read_bytes() if (folder / name).exists() else None for name in DETERMINED}


def differing(folder: Path, expected: dict[str, bytes | None]) -> list[str]:
    """Names of the determined files whose content is not the expected one."""
    return [name for name, content in determined(folder).items() if content != expected[name]]


def timed(campaign: Callable[[], Tally]) -> dict[str, Any]:
    """Run a campaign; return its counts, losses and seconds."""
    start = time.monotonic()
    tally = campaign()
    return {"counts": tally.counts, "losses": tally.losses, "seconds": round(time.monotonic() - start, 1)}
