"""The episodic memory: one table of keys and values per action, bounded in size and read by similarity."""

import operator
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.hashing import states_of
from engram.memory.archive import as_arrays, settings_in, state_in
from engram.memory.arguments import (
    WIDEST,
    as_floats,
    as_longs,
    as_returns,
    as_states,
    check_finite,
    check_keys,
    check_range,
    check_shape,
    refuse_keys,
)
from engram.memory.batch import check_merging
from engram.memory.keys import is_wide
from engram.memory.quick import Desk
from engram.memory.raw_clusters import ObservedStore, check_observed
from engram.memory.read import Reading
from engram.memory.saving import load_store, save_in_pieces, save_store
from engram.memory.store import Neighbours, Store
from engram.memory.strategies import STRATEGIES, Strategy, get_strategy
from engram.memory.strategy_checks import check_strategy
from engram.memory.tables import MOST_ENTRIES, Renewal, Tables
from engram.memory.validity import check_tables
from engram.typing import Array, Floats, Longs

FLOAT32 = np.dtype(np.float32)
LATER = {"match_key": "newer", "observation_size": 0}  # settings of which arrays that were exported before say nothing


class EpisodicMemory:
    """Per-action tables of at most `capacity` entries, each a key with the return that followed it.

    Args:
        actions: Number of tables.
        key_size: Dimensions of a key.
        capacity: Entries per table, N.
        strategy: What is forgotten when a table is full: a name, or an instance with its options.
        neighbours: Entries that a read averages over, k.
        delta: δ of the weights 1/(d² + δ).
        kernel: "inverse" for those weights, "mean" for equal ones.
        match: Writing a state met before keeps its best return ("max"), or moves a step of this size towards
            the new one.
        match_key: With such a step, a state met before takes the "newer" key, or the "older" one stays.
        merging: A table merges states one at a time ("single"), or those of one call of `write` in batches ("episode"):
            each goes to the entry that was nearest before its batch, and an entry merges their mean.
        exact_read: Reading at d² = 0 gives the stored value; otherwise reads are always averages.
        observation_size: Numbers of the raw observations by which clusters are found, and which `write` is given too;
            0: they are found by keys.
        companions: Numbers per entry that an optimiser keeps in `memory.companions`. They are 0 for a new entry,
            and are multiplied by 1 − w when a state is merged into an entry with weight w.
        device: Where keys are kept and searched: "cpu", "cuda", or "auto" for the GPU where there is one.

    Numbers of keys are from −10¹⁵ to 10¹⁵, so that no squared distance overflows; values are any finite float32.
    """

    def __init__(
        self,
        *,
        actions: int,
        key_size: int,
        capacity: int,
        strategy: str | Strategy = "lru",
        neighbours: int = 11,
        delta: float = 1e-3,
        kernel: Literal["inverse", "mean"] = "inverse",
        match: Literal["max"] | float = "max",
        match_key: Literal["newer", "older"] = "newer",
        merging: Literal["single", "episode"] = "single",
        exact_read: bool = True,
        observation_size: int = 0,
        companions: int = 0,
        device: str = "cpu",
    ) -> None:
        self.actions = checks.at_least("actions", actions, 1, MOST_ENTRIES)
        self.key_size = checks.at_least("key_size", key_size, 1, WIDEST)
        self.capacity = checks.at_least("capacity", capacity, 1, MOST_ENTRIES)
        self.strategy = check_strategy(get_strategy(strategy))
        self.neighbours = checks.at_least("neighbours", neighbours, 1, MOST_ENTRIES)
        self.delta = checks.within("delta", delta, 1e-12, 1e12)
        self.kernel = checks.one_of("kernel", kernel, ("inverse", "mean"))
        self.match = _checked_match(match)
        self.match_key = checks.one_of("match_key", match_key, ("newer", "older"))
        self.merging = check_merging(merging, self.strategy)
        self.observation_size = checks.at_least("observation_size", observation_size, 0, WIDEST)
        self._check_together(device)
        self.exact_read = checks.flag("exact_read", exact_read)
        self._store = self._make_store(device)(
            actions=self.actions,
            key_size=self.key_size,
            capacity=self.capacity,
            companions=checks.at_least("companions", companions, 0, 2 * WIDEST),
            strategy=self.strategy,
            renewal=_renewal(self.match, self.match_key),
            by_episode=merging == "episode",
            reading=Reading(min(self.neighbours, self.capacity), self.delta, self.kernel == "inverse", self.exact_read),
        )

    def _check_together(self, device: str) -> None:
        """Raise InvalidInputError unless settings that each need something of the others have it."""
        if self.merging == "episode" and device != "cpu":
            raise InvalidInputError(f'merging="episode" needs a memory on the CPU; use device="cpu", got {device!r}')
        if not self.observation_size:
            return
        check_observed(self.strategy)
        if self.merging == "episode" or device != "cpu":
            raise InvalidInputError(
                f'an observation_size needs merging="single" and device="cpu", got {self.merging!r} and {device!r}'
            )

    def _make_store(self, device: str) -> Callable[..., Store]:
        kind = device.partition(":")[0] if isinstance(device, str) else device
        checks.one_of("device", kind, ("cpu", "cuda", "auto"))
        if self.observation_size:
            return partial(ObservedStore, observation_size=self.observation_size)
        if device == "cpu":
            return Store
        from engram.memory.device import device_store  # noqa: PLC0415 (needs torch)

        return device_store(device)

    def __repr__(self) -> str:
        filled = f"{int(self._tables.size.sum()):,} of {self.actions} × {self.capacity:,} entries"
        return f"<EpisodicMemory: {filled}, keys of size {self.key_size}, strategy {self.strategy.spec()}>"

    @property
    def _tables(self) -> Tables:
        return self._store.tables

    @property
    def size(self) -> Longs:
        """Entries in each table, [actions]."""
        return self._tables.size.copy()

    @property
    def is_in_main_memory(self) -> bool:
        """Whether keys are in main memory rather than on a device."""
        return self._store.in_main_memory

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is kept."""
        return self._store.nbytes

    @property
    def companions(self) -> Floats:
        """What an optimiser keeps per entry, [actions, capacity, companions], to be read; `adjust` changes it."""
        companions = self._tables.companions.view()
        companions.flags.writeable = False
        return companions

    @property
    def clock(self) -> int:
        """Ticks so far: one for each state that was written, and for each key whose read counted as use."""
        return int(self._tables.clock[0])

    @property
    def written(self) -> Longs:
        """Writes to each table since it was made or loaded, by how they ended (`OUTCOMES`), [actions, 5]."""
        return self._tables.written.copy()

    def read(self, keys: Any, *, touch: bool = False) -> Any:
        """Q of every key in every table, [B, key_size] → [B, actions], NumPy or torch as given.

        With `touch` the neighbours that were read count as used (LRU); without it nothing changes.
        """
        queries = self._checked_keys(keys)
        values = self._store.read(queries, touch=touch if isinstance(touch, bool) else checks.flag("touch", touch))
        if values is None:
            refuse_keys(as_floats("keys", queries))
        return values if type(keys) is type(values) else _like(keys, values)

    def read_stored(self, states: Any) -> Floats:
        """The values that are stored of these very states, given as in `write`: [T] → [T, actions], NaN for none."""
        return self._store.read_stored(as_states(states))

    def look_up(self, actions: Longs, keys: Any, *, touch: bool = False) -> Neighbours:
        """The neighbours of each key in the table of its own action, with their keys and values."""
        queries, actions = self._usable_keys(keys), as_longs("actions", actions)
        check_shape("actions", actions, (len(queries),), "as keys do")
        check_range("actions", actions, self.actions - 1)
        return self._store.look_up(actions, queries, touch=checks.flag("touch", touch))

    def find_neighbours(self, action: int, keys: Any) -> tuple[Longs, Floats]:
        """Slots and squared distances of the nearest entries in one table, each [B, min(neighbours, size)]."""
        action, queries = self._checked_action(action), self._usable_keys(keys)
        wanted = min(self.neighbours, int(self._tables.size[action]))
        if wanted == 0:
            return np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0), np.float32)
        slots, distances = self._store.find_neighbours(action, queries, wanted)
        return slots.astype(np.int64), distances

    def nearest_distances(self, keys: Any) -> Floats:
        """d² of every key to the nearest entry of every table, [B, actions]; infinite for an empty table."""
        queries = self._usable_keys(keys)
        found = np.full((len(queries), self.actions), np.inf, np.float32)
        for action in np.flatnonzero(self._tables.size).tolist():
            wanted = min(self.neighbours, int(self._tables.size[action]))
            found[:, action] = self._store.find_neighbours(action, queries, wanted)[1][:, 0]
        return found

    def write(
        self,
        action: int,
        keys: Any,
        values: Any,
        *,
        states: Any = None,
        episode_return: Any = np.nan,
        observations: Any = None,
    ) -> None:
        """Store states in one action's table, in order of time: keys [T, key_size], values [T], states [T].

        `states` says which states they are (uint64); by default a hash of each key. `episode_return` is the
        undiscounted return of the episode that they belong to, one number for all or one for each. `observations`
        [T, observation_size] are needed where clusters are found by them.
        """
        action, keys, values = self._checked_action(action), self._usable_keys(keys), as_floats("values", values)
        states = states_of(as_floats("keys", keys)) if states is None else as_states(states)
        for name, array in (("values", values), ("states", states)):
            check_shape(name, array, (len(keys),), "as keys do")
        check_finite("values", values)
        needed_by = self.strategy.name if self.strategy.needs_episode_return else ""
        returns = as_returns(episode_return, len(keys), needed_by=needed_by)
        if isinstance(self._store, ObservedStore):
            observed = self._checked_observations(observations, len(keys))
            self._store.write_with(observed, action, keys, values, states, returns)
        elif observations is None:
            self._store.write(action, keys, values, states, returns)
        else:
            raise InvalidInputError(
                "this memory finds clusters by keys; leave out observations=, or make it with an observation_size"
            )

    def adjust(self, actions: Any, slots: Any, keys: Any, values: Any, *, companions: Any = None) -> None:
        """Give entries new keys and values, as an optimiser does: [U], [U], [U, key_size], [U].

        `companions` [U, companions] are the new numbers that the optimiser keeps beside these entries, not negative.
        """
        actions, slots = as_longs("actions", actions), as_longs("slots", slots)
        keys, values = as_floats("keys", keys), as_floats("values", values)
        if actions.ndim != 1:
            raise InvalidInputError(f"actions must have one dimension, got {actions.shape}")
        for name, array, width in (("slots", slots, ()), ("keys", keys, (self.key_size,)), ("values", values, ())):
            check_shape(name, array, (len(actions), *width), "as there are actions")
        check_range("actions", actions, self.actions - 1)
        if not ((slots >= 0) & (slots < self._tables.size[actions])).all():
            raise InvalidInputError(
                f"slots must be those of entries, got {checks.shown(slots)} for sizes {checks.shown(self.size)}"
            )
        check_keys(keys)
        check_finite("values", values)
        if companions is not None:
            companions = as_floats("companions", companions)
            check_shape("companions", companions, (len(actions), self.companions.shape[2]), "as there are actions")
            if not (np.isfinite(companions) & (companions >= 0)).all():
                raise InvalidInputError("companions must be finite and not negative; lower the learning rate")
        self._store.adjust(actions, slots, keys, values)
        if companions is not None:
            self._tables.companions[actions, slots] = companions

    def desk(self, *args: Any) -> Desk | None:
        """Where a training step reads and is noted in one compiled call; None where that cannot be done.

        It needs a memory in main memory with narrow keys, and a compiled strategy whose numbers need no check after
        each use. Further arguments are `Desk`'s.
        """
        store = self._store
        compiled = store.compiled is not None and not store.watched
        narrow = not is_wide(self.key_size, self.capacity)
        return Desk(store, *args) if self.is_in_main_memory and compiled and narrow else None

    def probe_all(self, count: int) -> Any:
        """A search for so many queries in all tables as a part of work on a device; None if keys are not there."""
        probe = self._probes()
        return None if probe is None else probe.ProbeAll(self._store, count)

    def probe_each(self, count: int) -> Any:
        """A search for so many queries, each in its own table, likewise."""
        probe = self._probes()
        return None if probe is None else probe.ProbeEach(self._store, count)

    def _probes(self) -> Any:
        """The module with searches on a device, if the keys are on one."""
        if not hasattr(self._store, "read_found"):
            return None
        from engram.memory import probe  # noqa: PLC0415 (needs torch)

        return probe

    def read_found(self, found: Any) -> Floats:
        """Q of every query in every table, [B, actions], from what `probe_all` found; counts as use."""
        store: Any = self._store
        values: Floats = store.read_found(found, touch=True)
        return values

    def entries(self, action: int, *, keys: bool = True) -> dict[str, Array]:
        """Copies of one table's entries by name: values, states, the strategy's numbers and, if wanted, the keys."""
        action = self._checked_action(action)
        size = self._tables.size[action]
        return {
            **({"keys": self._store.keys(action)} if checks.flag("keys", keys) else {}),
            "values": self._tables.values[action, :size].copy(),
            "states": self._tables.states[action, :size].copy(),
            **self.entry_numbers(action),
        }

    def entry_numbers(self, action: int) -> dict[str, Array]:
        """Copies of the strategy's numbers of one table's entries, by name, as `entries` has them."""
        action = self._checked_action(action)
        numbers = {name: array.copy() for name, array in self._store.numbers_of(action).items()}
        return dict(self.strategy.show(numbers, int(self._tables.writes[action]), self.capacity))

    def values(self, action: int) -> Floats:
        """A copy of the values of one table's entries."""
        action = self._checked_action(action)
        return self._tables.values[action, : self._tables.size[action]].copy()

    def plot(self, axes: str | None = None) -> Any:
        """A picture of the entries, one panel per action: it has `save`, and a notebook shows it.

        `axes` are two dimensions of keys, such as "0,2"; by default the most telling ones.
        """
        pictures = import_module("engram.pictures")  # which needs an extra, and knows memories
        return pictures.plot_entries(self, axes)

    def table_numbers(self, action: int) -> dict[str, float]:
        """The numbers that the strategy keeps for one table, by name."""
        numbers = self._store.numbers_of(self._checked_action(action))
        return {name: float(numbers[name][0]) for name in self.strategy.table_numbers}

    def describe(self) -> dict[str, Any]:
        """The settings that the memory was made with, as plain data."""
        names = ("actions", "key_size", "capacity", "neighbours", "delta", "kernel", "match", "merging", "exact_read")
        described = {name: getattr(self, name) for name in names}
        described |= {name: getattr(self, name) for name, usual in LATER.items() if getattr(self, name) != usual}
        return described | {"strategy": self.strategy.describe(), "companions": self._tables.companions.shape[2]}

    def to_arrays(self) -> dict[str, Array]:
        """Everything as arrays for NumPy, a row for every entry, with the settings as text: for `np.savez`."""
        return as_arrays(self.describe(), self.state_dict())

    def load_arrays(self, arrays: Mapping[str, Any]) -> None:
        """Take over the entries that `to_arrays` gave, of a memory with the same settings."""
        ours, theirs = self.describe(), settings_in(arrays)
        differing = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
        if differing:
            told = ", ".join(f"{name} {checks.shown(theirs.get(name))}, not {ours.get(name)}" for name in differing)
            raise InvalidInputError(f"the arrays are of a memory with other settings: {told}")
        self.load_state_dict(state_in(arrays, self.actions, self.capacity))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Any], *, strategy: str | Strategy | None = None, device: str = "cpu"
    ) -> Self:
        """A memory from what `to_arrays` gave, or from `np.load` of it; a strategy of one's own has to be given."""
        settings = settings_in(arrays)
        settings["strategy"] = STRATEGIES.restore(settings.get("strategy"), strategy)
        try:
            memory = cls(**settings, device=device)
        except TypeError as error:
            raise InvalidInputError(
                f"the arrays are of a memory with settings that there are none of: {error}"
            ) from error
        memory.load_arrays(arrays)
        return memory

    def state_dict(self) -> dict[str, Any]:
        """Everything that the memory knows: arrays with the entries of all tables one after the other."""
        return save_store(self._store)

    def state_in_pieces(self) -> dict[str, Any]:
        """As `state_dict`, for writing to a file at once: large arrays are made piece by piece as they are written."""
        return save_in_pieces(self._store)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave; on an error the memory is left as it was."""
        load_store(self._store, state)

    def check_valid(self) -> None:
        """Raise InvalidInputError, saying what is wrong, unless all arrays of the memory agree with each other."""
        check_tables(self._tables, self.strategy)

    def _checked_action(self, action: int) -> int:
        try:
            number = operator.index(action)
        except TypeError:
            raise InvalidInputError(f"action must be a whole number, got {checks.shown(action)}") from None
        if not 0 <= number < self.actions:
            raise InvalidInputError(f"action must be from 0 to {self.actions - 1}, got {checks.shown(action)}")
        return number

    def _checked_observations(self, observations: Any, count: int) -> Floats:
        """The observations of states that are written, if they can be searched."""
        if observations is None:
            raise InvalidInputError(
                f"this memory finds clusters by observations; give those of the {count} states: "
                f"write(..., observations=) of shape ({count}, {self.observation_size})"
            )
        checked = as_floats("observations", observations)
        check_shape("observations", checked, (count, self.observation_size), "as keys and the memory do")
        check_keys(checked)
        return checked

    def _checked_keys(self, keys: Any) -> Any:
        """Keys as the store takes them; whether they are usable is left to the search."""
        usable = type(keys) is np.ndarray and keys.dtype is FLOAT32 and keys.flags.carray
        checked = keys if usable else self._store.as_keys(keys)
        if checked.ndim != 2 or checked.shape[1] != self.key_size:
            raise InvalidInputError(
                f"keys must have shape (batch, {self.key_size}), got {tuple(checked.shape)}; "
                "one key alone is a batch of one: key[None]"
            )
        return checked

    def _usable_keys(self, keys: Any) -> Any:
        """Keys as the store takes them, all of them usable."""
        checked = self._checked_keys(keys)
        check_keys(as_floats("keys", checked))
        return checked


def _checked_match(match: Any) -> Any:
    """The way of writing a state met before, if it is a known one."""
    step = checks.is_number(match) and 0 < match <= 1
    if not (step or (isinstance(match, str) and match == "max")):
        raise InvalidInputError(f'match must be "max" or a step size above 0 and up to 1, got {checks.shown(match)}')
    return match


def _renewal(match: Any, match_key: str) -> Renewal:
    """How the entry of a state met before is written: with the best return, its key never changes."""
    return Renewal(0.0, False) if match == "max" else Renewal(float(match), match_key == "newer")


def _like(given: Any, values: Any) -> Any:
    """The values as what was given: a torch tensor on its device, otherwise NumPy."""
    torch = sys.modules.get("torch")
    if torch is None:
        return values
    if isinstance(given, torch.Tensor):
        return torch.as_tensor(values).to(given.device)
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else values
