"""The episodic memory: one table of keys and values per action, read by similarity, bounded in size."""

import operator
import sys
from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.memory import index
from engram.memory.read import Reading, find_neighbours, read, read_and_touch
from engram.memory.search import get_keys
from engram.memory.states import states_of
from engram.memory.strategies import BuiltIn, Decision, Strategy, get_strategy
from engram.memory.strategies.base import APPEND, BLEND, REPLACE
from engram.memory.strategies.rules import rules_of
from engram.memory.tables import fill, merge, new_tables, store, update
from engram.memory.validity import check_tables
from engram.memory.write import look, write_built_in
from engram.typing import Array, Doubles, Floats, Longs

FLOAT32 = np.dtype(np.float32)
RESERVED = frozenset({"keys", "values", "states", "ranks", "size", "writes", "clock", "strategy"})


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
            the new one and takes the newer key.
        exact_read: Reading at d² = 0 gives the stored value; otherwise reads are always averages.
        device: Where keys are kept and searched; "cpu" is what there is.
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
        exact_read: bool = True,
        device: str = "cpu",
    ) -> None:
        self.actions = checks.at_least("actions", actions, 1)
        self.key_size = checks.at_least("key_size", key_size, 1)
        self.capacity = checks.at_least("capacity", capacity, 1)
        self.strategy = get_strategy(strategy)
        self.neighbours = checks.at_least("neighbours", neighbours, 1)
        self.delta = checks.within("delta", delta, 1e-12, 1e12)
        self.kernel = checks.one_of("kernel", kernel, ("inverse", "mean"))
        if match == "max":
            self._step = 0.0
        elif isinstance(match, (int, float)) and 0 < match <= 1:
            self._step = float(match)
        else:
            raise InvalidInputError(f'match must be "max" or a step size above 0 and up to 1, got {match!r}')
        self.match = match
        self.exact_read = bool(exact_read)
        self.device = checks.one_of("device", device, ("cpu",))
        self._tables = new_tables(self.actions, self.capacity, self.key_size)
        names = () if isinstance(self.strategy, BuiltIn) else self.strategy.numbers
        if RESERVED & set(names):
            raise InvalidInputError(f"{self.strategy.name}.numbers must not use the names {sorted(RESERVED)}")
        self._numbers: dict[str, Doubles] = {name: np.zeros((self.actions, self.capacity)) for name in names}
        self._ordered = isinstance(self.strategy, BuiltIn) and self.strategy.ordered
        self._touches = self.strategy.touches and isinstance(self.strategy, BuiltIn)
        self._reading = Reading(
            min(self.neighbours, self.capacity), self.delta, self.kernel == "inverse", self.exact_read
        )

    @property
    def size(self) -> Longs:
        """Entries in each table, [actions]."""
        return self._tables.size.copy()

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is kept."""
        arrays: list[Array] = [*self._tables, *self._numbers.values()]
        return sum(array.nbytes for array in arrays)

    def read(self, keys: Any, *, touch: bool = False) -> Any:
        """Q of every key in every table, [B, key_size] → [B, actions], NumPy or torch as given.

        With `touch` the neighbours that were read count as used (LRU); without it nothing changes.
        """
        tables, queries = self._tables, self._checked_keys(keys)
        values = np.empty((len(queries), self.actions), np.float32)
        if touch and self._touches:
            finite = read_and_touch(
                tables.keys,
                tables.values,
                tables.size,
                tables.ranks,
                tables.heap,
                tables.place,
                tables.clock,
                queries,
                *self._reading,
                values,
            )
        else:
            finite = read(tables.keys, tables.values, tables.size, queries, *self._reading, values)
        if not finite:
            raise InvalidInputError("keys contain NaN or infinity; check the observations they were made from")
        if touch and self.strategy.touches and not self._touches:
            self._touch_one_by_one(queries)
        return values if isinstance(keys, np.ndarray) else _like(keys, values)

    def write(self, action: int, keys: Any, values: Any, *, states: Any = None) -> None:
        """Store states in one action's table, in order of time: keys [T, key_size], values [T], states [T].

        `states` says which states they are (uint64); by default a hash of each key.
        """
        action = self._checked_action(action)
        keys = self._checked_keys(keys)
        values = _as_floats(values)
        states = states_of(keys) if states is None else np.ascontiguousarray(states, np.uint64)
        for name, array in (("values", values), ("states", states)):
            if array.shape != (len(keys),):
                raise InvalidInputError(f"{name} must have shape ({len(keys)},) as keys do, got {array.shape}")
        if not (np.isfinite(keys).all() and np.isfinite(values).all()):
            raise InvalidInputError("keys and values to write must be finite, got NaN or infinity")
        if isinstance(self.strategy, BuiltIn):
            rules = rules_of(self.strategy)
            write_built_in(self._tables, action, keys, values, states, rules, self._step, self._reading)
        else:
            for key, value, state in zip(keys, values, states, strict=True):
                self._write_one(action, key, float(value), state)

    def entries(self, action: int) -> dict[str, Array]:
        """Copies of one table's entries by name: keys, values, states, and the strategy's numbers."""
        action = self._checked_action(action)
        size = self._tables.size[action]
        if isinstance(self.strategy, BuiltIn):
            ranks = self._tables.ranks[action, :size].copy()
            numbers = self.strategy.named(ranks, int(self._tables.writes[action]), self.capacity)
        else:
            numbers = {name: array[action, :size].copy() for name, array in self._numbers.items()}
        return {
            "keys": self._get_keys(action),
            "values": self._tables.values[action, :size].copy(),
            "states": self._tables.states[action, :size].copy(),
            **numbers,
        }

    def find_neighbours(self, action: int, keys: Any) -> tuple[Longs, Floats]:
        """Slots and squared distances of the nearest entries in one table, each [B, min(neighbours, size)]."""
        action, queries = self._checked_action(action), self._checked_keys(keys)
        if not np.isfinite(queries).all():
            raise InvalidInputError("keys contain NaN or infinity; check the observations they were made from")
        size = int(self._tables.size[action])
        shape = (len(queries), min(self.neighbours, size))
        distances, slots = np.empty(shape, np.float32), np.empty(shape, np.int32)
        if size:
            find_neighbours(self._tables.keys, action, size, self.capacity, queries, distances, slots)
        return slots.astype(np.int64), distances

    def state_dict(self) -> dict[str, Any]:
        """Everything that the memory knows: arrays with the entries of all tables one after the other.

        How keys lie in memory, the index and the order are not part of it: they follow from the rest.
        """
        tables = self._tables
        used = [(action, slice(0, int(size))) for action, size in enumerate(tables.size)]
        columns: dict[str, Array] = {name: getattr(tables, name) for name in ("values", "states", "ranks")}
        columns |= self._numbers
        return {
            "keys": np.concatenate([self._get_keys(action) for action in range(self.actions)]),
            **{name: np.concatenate([column[at] for at in used]) for name, column in columns.items()},
            "size": tables.size.copy(),
            "writes": tables.writes.copy(),
            "clock": tables.clock.copy(),
            "strategy": self.strategy.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; on an error the memory is left as it was."""
        fresh = new_tables(self.actions, self.capacity, self.key_size)
        numbers = {name: np.zeros_like(array) for name, array in self._numbers.items()}
        columns: dict[str, Array] = {name: getattr(fresh, name) for name in ("values", "states", "ranks")}
        columns |= numbers
        self._check_state(state, columns)
        start = 0
        for action, size in enumerate(state["size"].tolist()):
            entries = slice(start, start + size)
            for name, column in columns.items():
                column[action, :size] = state[name][entries]
            fill(fresh, action, np.ascontiguousarray(state["keys"][entries], np.float32), self._ordered)
            start += size
        for name in ("size", "writes", "clock"):
            getattr(fresh, name)[:] = state[name]
        check_tables(fresh, numbers, self.strategy)
        self.strategy.load_state_dict(state["strategy"])
        for name in fresh._fields:
            getattr(self._tables, name)[:] = getattr(fresh, name)
        for name, array in numbers.items():
            self._numbers[name][:] = array

    def check_valid(self) -> None:
        """Raise InvalidInputError, saying what is wrong, unless everything that is kept fits together."""
        check_tables(self._tables, self._numbers, self.strategy)

    def _checked_action(self, action: int) -> int:
        try:
            number = operator.index(action)
        except TypeError:
            raise InvalidInputError(f"action must be a whole number, got {action!r}") from None
        if not 0 <= number < self.actions:
            raise InvalidInputError(f"action must be from 0 to {self.actions - 1}, got {action}")
        return number

    def _checked_keys(self, keys: Any) -> Floats:
        usable = isinstance(keys, np.ndarray) and keys.dtype is FLOAT32 and keys.flags.carray
        checked: Floats = keys if usable else _as_floats(keys)
        if checked.ndim != 2 or checked.shape[1] != self.key_size:
            raise InvalidInputError(
                f"keys must have shape (batch, {self.key_size}), got {checked.shape}; "
                "one key alone is a batch of one: key[None]"
            )
        return checked

    def _get_keys(self, action: int) -> Floats:
        keys = np.empty((int(self._tables.size[action]), self.key_size), np.float32)
        get_keys(self._tables.keys, action, self.capacity, keys)
        return keys

    def _write_one(self, action: int, key: Floats, value: float, state: np.uint64) -> None:
        """Write one state as a strategy in plain Python decides."""
        tables, strategy = self._tables, self.strategy
        tables.clock[0] += 1
        full = bool(tables.size[action] == self.capacity)
        match = int(index.find(tables.buckets[action], tables.states[action], state))
        if full and strategy.clusters:
            match = index.EMPTY
        needs = (strategy.needs_nearest, strategy.needs_estimate)
        write = look(tables, action, key, value, match, *needs, self._reading)
        numbers = {name: array[action, : write.size] for name, array in self._numbers.items()}
        if match >= 0:
            update(tables, action, match, key, value, self._step)
            strategy.renewed(match, write, numbers)
        else:
            kind, place, weight = self._checked_decision(strategy.decide(write, numbers), write.size)
            slot = int(place)
            if kind == APPEND:
                slot = write.size
                numbers = {name: array[action, : slot + 1] for name, array in self._numbers.items()}
            if kind == BLEND:
                merge(tables, action, slot, key, value, weight)
                strategy.renewed(slot, write, numbers)
            else:
                store(tables, action, slot, key, value, state)
                for column in numbers.values():
                    column[slot] = 0
                strategy.stored(slot, write, numbers)
        if full:
            tables.writes[action] += 1

    def _checked_decision(self, decision: Any, size: int) -> Decision:
        """What a strategy in plain Python answered, if it can be carried out."""
        if isinstance(decision, Decision):
            kind, slot, weight = decision
            if kind == APPEND and size < self.capacity:
                return decision
            inside = isinstance(slot, int | np.integer) and 0 <= slot < size
            if kind in (REPLACE, BLEND) and inside and isfinite(weight) and 0 <= weight <= 1:
                return decision
        raise InvalidInputError(
            f"{self.strategy.name}.decide must answer append() while there is room, replace(slot) or "
            f"blend(slot, weight) with a slot from 0 to {size - 1} and a weight from 0 to 1, got {decision!r}"
        )

    def _touch_one_by_one(self, queries: Floats) -> None:
        """Tell a strategy in plain Python which entries were read."""
        for query in queries:
            self._tables.clock[0] += 1
            for action in range(self.actions):
                slots, _ = self.find_neighbours(action, query[None])
                numbers = {name: array[action, : self._tables.size[action]] for name, array in self._numbers.items()}
                self.strategy.touched(slots[0], int(self._tables.clock[0]), numbers)

    def _check_state(self, state: Mapping[str, Any], columns: Mapping[str, Array]) -> None:
        """Raise InvalidInputError unless a state dict is of this memory's shape."""
        needed = {"keys", "size", "writes", "clock", "strategy", *columns}
        if set(state) != needed:
            raise InvalidInputError(
                f"memory state must hold {', '.join(sorted(needed))}, got {', '.join(sorted(state))}"
            )
        sizes = np.asarray(state["size"])
        if sizes.shape != (self.actions,) or not ((sizes >= 0) & (sizes <= self.capacity)).all():
            raise InvalidInputError(
                f"memory state must have {self.actions} tables of 0 to {self.capacity} entries, "
                f"got sizes {sizes.tolist()}"
            )
        total = int(sizes.sum())
        shapes = {"keys": (total, self.key_size), "writes": (self.actions,), "clock": (1,)}
        for name in needed - {"size", "strategy"}:
            expected = shapes.get(name, (total,))
            if state[name].shape != expected:
                raise InvalidInputError(f"memory state {name!r} must have shape {expected}, got {state[name].shape}")


def _as_floats(numbers: Any) -> Floats:
    """Any numbers, torch's too, as an array of float32 that a kernel can take as it is."""
    if hasattr(numbers, "detach"):
        numbers = numbers.detach().float().cpu().numpy()
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused as such
        floats = np.ascontiguousarray(numbers, np.float32)
    return floats if floats.flags.carray else floats.copy()


def _like(given: Any, values: Floats) -> Any:
    """The values as what was given: a torch tensor on its device, otherwise NumPy."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        return torch.from_numpy(values).to(given.device)
    return values
