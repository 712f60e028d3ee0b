"""What a trace tells: the memory as it was, and every game as it was played."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engram.agents import Agent
from engram.envs.make import Env
from engram.errors import ModelFileError, NotReproducibleError, RunFolderError
from engram.files.arrays import read_arrays
from engram.files.disk import is_file
from engram.randomness import reset_seed
from engram.runs.snapshots import Snapshot, read_snapshot
from engram.runs.trace import END, snapshot_paths
from engram.training.environment import CheckedEnv
from engram.typing import Array


class Traced(NamedTuple):
    """The trace of a run."""

    snapshots: list[Snapshot]  # in order of time; the last is of the end
    games: Mapping[int, Array]  # the actions of each game, in order of time

    @property
    def last(self) -> Snapshot:
        """The memory at the end."""
        return self.snapshots[-1]


def read_trace(folder: Path, agent: Agent | None = None) -> Traced | None:
    """The trace in a run's folder; None if there is none, or if it does not end where this agent is."""
    paths = snapshot_paths(folder)
    if not paths or not is_file(folder / END):
        return None
    if agent is not None and max(paths) != agent.steps:
        return None
    snapshots = [read_snapshot(path) for path in paths.values()]
    kinds = {_kind(each) for each in snapshots}
    if len(kinds) != 1 or [each.step for each in snapshots] != list(paths):
        raise RunFolderError(f"the snapshots in {folder} are of different memories; delete trace-*.safetensors")
    memory: Any = getattr(agent, "memory", None)
    if memory is not None and kinds != {(memory.actions, memory.key_size, memory.capacity)}:
        raise RunFolderError(f"the snapshots in {folder} are not of this agent's memory; delete trace-*.safetensors")
    return Traced(snapshots, _games(folder / END, snapshots[-1]))


def _kind(snapshot: Snapshot) -> tuple[int, int, int]:
    """The actions, the key size and the capacity of the memory."""
    return len(snapshot.tables), snapshot.tables[0].keys.shape[1], snapshot.capacity


def _games(path: Path, last: Snapshot) -> dict[int, Array]:
    """The actions of each game, if the entries of the last snapshot can come from them."""
    _, arrays = read_arrays(path)
    try:
        games, lengths, actions = arrays["games"], arrays["lengths"], arrays["actions"]
        numbered = all(each.ndim == 1 and each.dtype.kind in "iu" for each in (games, lengths, actions))
        if not numbered or bool((games < 0).any() or (lengths < 0).any() or (actions >= len(last.tables)).any()):
            raise ValueError("games, lengths and actions should be numbers of games, of steps and of actions")
        if len(games) != len(lengths) or sum(lengths.tolist()) != len(actions):
            raise ValueError("episodes and actions do not agree")
        parts: dict[int, list[Array]] = {}
        for game, end, length in zip(games.tolist(), np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
            parts.setdefault(game, []).append(actions[end - length : end])
        found = {game: np.concatenate(each) for game, each in parts.items()}
        for table in last.tables:
            for game, step in zip(np.asarray(table.games).tolist(), np.asarray(table.steps).tolist(), strict=True):
                if game >= 0 and not 0 <= step < len(found[game]):
                    raise ValueError(f"an entry comes from step {step} of game {game}, which was shorter")
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is not the trace of a run ({error!r}); delete it") from error
    return found


def replay(agent: Agent, env: Env, game: int, actions: Array) -> Iterator[Array]:
    """Play a game of training again: what the agent saw before each of its actions."""
    checked = CheckedEnv(env)
    observation = checked.reset(reset_seed(agent.seed, "games", game))
    for step, action in enumerate(actions.tolist(), 1):
        yield observation
        observation, _, terminated, truncated, _ = checked.step(agent.source.first_action + action, step)
        if (terminated or truncated) and step < len(actions):
            raise NotReproducibleError(
                f"game {game} was replayed from its seed and ended after {step} of its {len(actions)} steps, so the "
                "environment is not reproducible (or not the one that the agent was trained in)"
            )
