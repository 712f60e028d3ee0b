"""A memory as a dict of arrays, and back.

How keys lie in memory, the hash index and the heap are not saved: they follow from the rest.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.memory.store import Store
from engram.memory.strategies import Strategy
from engram.memory.tables import Tables
from engram.memory.validity import check_tables
from engram.typing import Array

RESERVED = frozenset({"keys", "values", "states", "ranks", "size", "writes", "clock", "companions", "strategy"})


def save_store(store: Store) -> dict[str, Any]:
    """All tables as arrays, the entries of one table after those of the other, and the strategy's own state."""
    tables, strategy = store.tables, store.strategy
    used = [(action, slice(0, int(size))) for action, size in enumerate(tables.size)]
    columns = entry_columns(strategy, tables)
    return {
        "keys": np.concatenate([store.keys(action) for action in range(len(tables.size))]),
        **{name: np.concatenate([column[at] for at in used]) for name, column in columns.items()},
        **{name: column.copy() for name, column in table_columns(strategy, tables).items()},
        "size": tables.size.copy(),
        "writes": tables.writes.copy(),
        "clock": tables.clock.copy(),
        "strategy": deepcopy(strategy.state_dict()),  # which may hand out what it goes on changing
    }


def load_store(store: Store, state: Mapping[str, Any]) -> None:
    """Restore what `save_store` gave; on an error nothing is changed."""
    actions, _, companions = store.tables.companions.shape
    fresh = store.new_tables(actions, companions)
    columns, own = entry_columns(store.strategy, fresh), table_columns(store.strategy, fresh)
    _check_shapes(store, state, columns, own)
    start = 0
    for action, size in enumerate(state["size"].tolist()):
        entries = slice(start, start + size)
        for name, column in columns.items():
            column[action, :size] = state[name][entries]
        store.fill(fresh, action, np.ascontiguousarray(state["keys"][entries], np.float32))
        start += size
    for name, column in own.items():
        column[:] = state[name]
    for name in ("size", "writes", "clock"):
        getattr(fresh, name)[:] = state[name]
    check_tables(fresh, store.strategy)
    store.strategy.load_state_dict(deepcopy(state["strategy"]))
    store.take(fresh)


def entry_columns(strategy: Strategy, tables: Tables) -> dict[str, Array]:
    """The arrays with one row per entry that are saved as they are, [actions, capacity, …]."""
    columns: dict[str, Array] = {"values": tables.values, "states": tables.states, "ranks": tables.ranks}
    if tables.companions.shape[2]:
        columns["companions"] = tables.companions
    return columns | {name: tables.columns[:, i] for i, name in enumerate(strategy.column_names())}


def table_columns(strategy: Strategy, tables: Tables) -> dict[str, Array]:
    """The numbers that a strategy keeps per table, [actions] each."""
    return {name: tables.own[:, i] for i, name in enumerate(strategy.table_numbers)}


def _check_shapes(
    store: Store, state: Mapping[str, Any], columns: Mapping[str, Array], own: Mapping[str, Array]
) -> None:
    """Raise InvalidInputError unless a state holds the right arrays in the right shapes."""
    actions, capacity = store.tables.values.shape
    needed = {"keys", "size", "writes", "clock", "strategy", *columns, *own}
    if set(state) != needed:
        raise InvalidInputError(f"memory state must hold {', '.join(sorted(needed))}, got {', '.join(sorted(state))}")
    sizes = np.asarray(state["size"])
    if sizes.shape != (actions,) or not ((sizes >= 0) & (sizes <= capacity)).all():
        raise InvalidInputError(
            f"memory state must have {actions} tables of 0 to {capacity} entries, got sizes {sizes.tolist()}"
        )
    total = int(sizes.sum())
    shapes = {name: (total, *column.shape[2:]) for name, column in columns.items()}
    shapes |= {"keys": (total, store.key_size), "clock": (1,)}
    shapes |= dict.fromkeys(("writes", *own), (actions,))
    for name, expected in shapes.items():
        if state[name].shape != expected:
            raise InvalidInputError(f"memory state {name!r} must have shape {expected}, got {state[name].shape}")
