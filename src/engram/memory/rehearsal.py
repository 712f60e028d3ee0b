"""The kernels that write to a memory, compiled in a process of their own while this one compiles those that read.

`python -m engram.memory.rehearsal SETTINGS` writes one state to a memory like the one that the settings describe. That
compiles what it needs and keeps it on disk; the name of each kernel is printed when it is there.
"""

import json
import subprocess
import sys
from threading import Condition, Thread
from typing import Any

import numpy as np

from engram.compiling import cache_folder
from engram.memory.memory import EpisodicMemory

SETTINGS = ("actions", "key_size", "capacity", "neighbours", "merging", "exact_read", "observation_size")
LONGEST_WAIT = 60.0  # seconds for a kernel: many times what one takes; the process may be stopped, and never end


class Rehearsal:
    """Another process that writes to a memory like this one; `close` ends it."""

    def __init__(self, memory: EpisodicMemory) -> None:
        settings = {name: getattr(memory, name) for name in SETTINGS}
        settings |= {"strategy": memory.strategy.spec(), "companions": memory.companions.shape[2]}
        command = [sys.executable, "-P", "-m", "engram.memory.rehearsal", json.dumps(settings)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.kernels = kernels_of(memory)
        self._done: set[str] = set()
        self._has_ended = False
        self._changed = Condition()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @staticmethod
    def is_possible(memory: Any) -> bool:
        """Whether another process can make such a memory, and keep kernels where this one finds them."""
        known = isinstance(memory, EpisodicMemory) and memory.strategy.is_built_in and memory.is_in_main_memory
        return known and bool(sys.executable) and cache_folder() is not None

    def _read(self) -> None:
        """Note what the process says, until it ends."""
        for line in self._process.stdout or ():
            with self._changed:
                self._done.add(line.strip())
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def wait_for(self, kernel: str) -> None:
        """Return when the kernel is on disk, or will not be; a process that takes too long is ended."""
        with self._changed:
            known = self._changed.wait_for(lambda: kernel in self._done or self._has_ended, LONGEST_WAIT)
        if not known:
            self.close()

    def close(self) -> None:
        """End the process, if it is still there."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()


def kernels_of(memory: EpisodicMemory) -> tuple[str, ...]:
    """The names of the kernels that the other process compiles, in their order."""
    usual = "write_observed" if memory.observation_size else "write_states"
    return ("write_episode" if memory.merging == "episode" else usual, "get_keys")


def rehearse(settings: dict[str, Any]) -> None:
    """Write to a new memory, and print the name of each kernel when it is on disk."""
    memory = EpisodicMemory(**settings)
    write, get = kernels_of(memory)
    observed = np.zeros((1, memory.observation_size), np.float32) if memory.observation_size else None
    memory.write(0, np.zeros((1, memory.key_size), np.float32), np.zeros(1, np.float32), observations=observed)
    print(write, flush=True)
    memory.entries(0)
    print(get, flush=True)


if __name__ == "__main__":
    rehearse(json.loads(sys.argv[1]))
