"""A trace of a run: where the entries of its memory come from, and what it held every so often.

`trace-<step>.safetensors` is the memory after that step, and `trace.safetensors` what is known at the end: every action
of every game, so that a game can be played again from its seed, and for each entry the game and the step that it comes
from. Nothing in them depends on times, and they are bounded: the more steps, the fewer of them are kept.
"""

import re
from array import array
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from engram import checks
from engram.agents import Agent
from engram.agents.common.episode import Finished
from engram.agents.common.model_file import MALFORMED
from engram.errors import InvalidInputError, RunFolderError, UnusableRunError
from engram.files.arrays import read_arrays, write_arrays
from engram.files.disk import is_file, list_files, remove
from engram.memory import EpisodicMemory
from engram.runs.checkpoints import Checkpoint
from engram.runs.restoring import REMEDY
from engram.runs.snapshots import COUNT, Entries, Snapshot, entries_of, write_snapshot
from engram.training.events import EpisodeEnd, Event, Step
from engram.typing import Array

MOST_SNAPSHOTS = 100  # in a folder; then every second is removed
USUAL_SNAPSHOTS = 80  # at most, of a run of the length that it began with
MOST_NUMBERS = 250_000  # in a snapshot's keys and columns: a megabyte
COLUMNS = 8  # numbers of an entry besides its key, about
SNAPSHOT = re.compile(r"trace-(\d{12,18})\.safetensors")
END = "trace.safetensors"
FIRST = "trace-000000000000.safetensors"


class Trace:
    """Listens to a run, and writes its trace into the run's folder."""

    def __init__(self, folder: Path, agent: Agent, steps: int, state: dict[str, Any] | None = None) -> None:
        if not hasattr(agent, "recall"):
            raise InvalidInputError(f"a trace is of the memory of MFEC or NEC, got {agent.label}; leave --trace out")
        self._folder, self._agent = folder, agent
        self._memory: EpisodicMemory = agent.memory  # type: ignore[attr-defined]
        self._learned = self._memory.companions.shape[2] > 0  # values change without being written
        self._interval = rounded_up(steps / USUAL_SNAPSHOTS)
        self._actions = array("B" if self._memory.actions <= 256 else "I")  # of all episodes that ended
        self._games, self._lengths = array("q"), array("q")  # of each of these episodes: its game, and its steps
        shape = (self._memory.actions, self._memory.capacity)
        self._origin = np.full((*shape, 2), -1, np.int32)  # of each entry: its game, and the step there
        self._writes, self._written = np.zeros(shape, np.int32), np.zeros(shape, np.int64)  # how often; when last
        self._pending: list[tuple[int, Finished]] = []  # episodes by number, of which nothing has been noted yet
        if state is not None:
            self._load(state)
        waiting = agent.waiting.episodes  # type: ignore[attr-defined]
        self._pending = [(len(self._games) - len(waiting) + i, each) for i, each in enumerate(waiting)]
        self._before = [self._memory.entries(action, keys=False) for action in range(self._memory.actions)]
        agent.unfinished.told = self._ended  # type: ignore[attr-defined]
        if state is None:
            self._keep()

    def __call__(self, event: Event) -> None:
        """Note what an episode has changed; keep a snapshot if it is time."""
        if isinstance(event, EpisodeEnd):
            self._note_all()
        elif isinstance(event, Step) and event.step % self._interval == 0:
            self._keep()

    def state_dict(self) -> dict[str, Any]:
        """All that a later process must know to go on."""
        sizes = self._memory.size
        filled = [slice(0, int(size)) for size in sizes]
        return {
            "interval": self._interval,
            "actions": np.array(self._actions),
            "games": np.array(self._games),
            "lengths": np.array(self._lengths),
            **{
                name: np.concatenate([column[action, part] for action, part in enumerate(filled)])
                for name, column in (("origin", self._origin), ("writes", self._writes), ("written", self._written))
            },
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._interval = checks.at_least("interval", state["interval"], 1)
        for name, mine in (("actions", self._actions), ("games", self._games), ("lengths", self._lengths)):
            mine.extend(state[name].tolist())
        ends = np.cumsum(self._memory.size)[:-1]
        for name, column in (("origin", self._origin), ("writes", self._writes), ("written", self._written)):
            for action, part in enumerate(np.split(state[name], ends)):
                column[action, : len(part)] = part

    def finish(self) -> None:
        """Write what is known at the end, and the last snapshot."""
        self._keep()
        state = self.state_dict()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        about = {"interval": self._interval, "step": self._agent.steps, "seed": self._agent.seed}
        write_arrays(self._folder / END, about, arrays)

    def _ended(self, finished: Finished) -> None:
        """Take down the actions of an episode; what it changes is noted once it is written."""
        self._pending.append((len(self._games), finished._replace(keys=None)))
        self._actions.extend(finished.actions.tolist())
        self._games.append(self._agent.loop.game - 1)
        self._lengths.append(len(finished.actions))

    def _note_all(self) -> None:
        """Note what the episodes since the last time have changed; while keys have not settled, nothing is written."""
        if not self._agent.recall.encoder.settled:
            return
        for action in range(self._memory.actions):
            now = self._memory.entries(action, keys=False)
            self._note(action, self._before[action], now)
            self._before[action] = now
        self._pending.clear()

    def _note(self, action: int, before: dict[str, Array], now: dict[str, Array]) -> None:
        """Note which entries of a table were written, and which are new."""
        visits = defaultdict(list)  # state → (episode, step of the episode, return), in order of time
        for number, finished in self._pending:
            for step in np.flatnonzero(finished.actions == action).tolist():
                visits[int(finished.states[step])].append((number, step, float(finished.returns[step])))
        if not visits:
            return
        old, size = len(before["values"]), len(now["values"])
        new = np.ones(size, bool)
        new[:old] = now["states"][:old] != before["states"]
        met = np.isin(now["states"], np.fromiter(visits, np.uint64))
        written = new | met
        if not self._learned:
            written[:old] |= now["values"][:old] != before["values"]
        if COUNT in now:
            written[:old] |= now[COUNT][:old] > before[COUNT]
        self._writes[action, :size][new] = 0
        self._writes[action, :size][written & ~met] += 1
        self._written[action, :size][written] = self._agent.steps
        for slot in np.flatnonzero(met).tolist():
            self._writes[action, slot] += len(visits[int(now["states"][slot])])
            origin = self._origin_of(visits[int(now["states"][slot])], float(now["values"][slot]), bool(new[slot]))
            if origin is not None:
                self._origin[action, slot] = origin

    def _origin_of(self, visits: list[tuple[int, int, float]], value: float, is_new: bool) -> tuple[int, int] | None:
        """Game and step of the visit that an entry's value comes from, if it is one of these."""
        latest = is_new or self._memory.match != "max"
        right = [visit for visit in visits if visit[2] == value] or (visits if latest else [])
        if not right:
            return None
        number, step, _ = right[-1]
        game, first = self._games[number], 0
        while number > 0 and self._games[number - 1] == game:  # an earlier life of the same game
            number -= 1
            first += self._lengths[number]
        return game, first + step

    def _keep(self) -> None:
        """Write a snapshot; where there are many, remove every second one."""
        self._note_all()
        step = self._agent.steps
        write_snapshot(self._folder / name_of(step), self._snapshot(self._most_entries()))
        kept = snapshot_paths(self._folder)
        if len(kept) > MOST_SNAPSHOTS:
            self._interval *= 2
            for found, path in kept.items():
                if found % self._interval and found != step:
                    remove(path)

    def _most_entries(self) -> int:
        memory = self._memory
        return max(50, MOST_NUMBERS // (memory.actions * (memory.key_size + COLUMNS)))

    def _snapshot(self, most: int) -> Snapshot:
        """The memory now with all that is known of its entries; of large tables `most`, at equal distances."""
        tables = []
        for action, size in enumerate(self._memory.size.tolist()):
            found, end = entries_of(self._memory, action), slice(0, size)
            told = Entries(
                found.keys,
                found.values,
                found.states,
                self._writes[action, end].astype(np.float64) if found.counts is None else found.counts,
                self._agent.steps - self._written[action, end],
                *self._origin[action, end].astype(np.int64).T,
            )
            tables.append(told.at(np.linspace(0, size - 1, min(size, most)).astype(np.int64)))
        return Snapshot(tuple(tables), tuple(self._memory.size.tolist()), self._memory.capacity, self._agent.steps)


def prepare_trace(folder: Path, agent: Agent, steps: int, *, wanted: bool) -> None:
    """In the folder of a run that is yet to begin: the first snapshot, which says that the run is traced, or none."""
    if wanted:
        Trace(folder, agent, steps)
    else:
        remove(folder / FIRST)


def begin_trace(folder: Path, agent: Agent, steps: int, found: Checkpoint | None, *, wanted: bool) -> Trace | None:
    """The trace of a run that is to have one, or that was begun with one."""
    if found is None:
        left = snapshot_paths(folder)  # by a process that was killed, perhaps of a run of another length
        for step, path in left.items():
            if step > 0:  # the first says that the run is traced
                remove(path)
        return Trace(folder, agent, steps) if wanted or left else None
    state = found.state.get("trace") or _state_at_end(folder, found.step)
    if state is None and wanted:
        raise RunFolderError(
            f"a trace begins with the first step, and {folder} is at step {found.step:,} without one; leave --trace "
            "out, or begin again with --start-over"
        )
    try:
        return None if state is None else Trace(folder, agent, steps, state)
    except MALFORMED as error:
        raise UnusableRunError(
            f"the trace in the checkpoint of {folder} cannot be used ({error!r}); {REMEDY}"
        ) from error


def _state_at_end(folder: Path, step: int) -> dict[str, Any] | None:
    """What a trace that ended at this step must know to go on, as the run does."""
    if not is_file(folder / END):
        return None
    about, arrays = read_arrays(folder / END)
    return {**arrays, "interval": about.get("interval")} if about.get("step") == step else None


def rounded_up(number: float) -> int:
    """The next of 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, …"""
    scale = 1
    while True:
        for first in (10, 20, 25, 50):
            if first * scale % 10 == 0 and first * scale >= 10 * number:
                return first * scale // 10
        scale *= 10


def name_of(step: int) -> str:
    """The file of a snapshot."""
    return f"trace-{step:012d}.safetensors"


def snapshot_paths(folder: Path) -> dict[int, Path]:
    """The snapshots in a folder by step, the earliest first."""
    paths = {}
    for path in list_files(folder, "trace-*"):
        if match := SNAPSHOT.fullmatch(path.name):
            paths[int(match[1])] = path
    return dict(sorted(paths.items()))
