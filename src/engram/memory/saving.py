"""A memory as a dict of arrays, and back.

How keys lie in memory, the hash index and the heap are not saved: they follow from the rest.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.files.exact_state import form_of_state, from_form
from engram.files.pieces import Pieces
from engram.memory.arguments import check_keys
from engram.memory.store import Store
from engram.memory.strategies import Strategy
from engram.memory.tables import Tables
from engram.memory.validity import check_tables
from engram.typing import Array, Floats

RESERVED = frozenset(
    {"keys", "values", "states", "ranks", "size", "writes", "clock", "companions", "observations", "strategy"}
)
PIECE = 2**22  # bytes of a piece of keys, about
ODD = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)  # what unexpected data raises


def save_store(store: Store) -> dict[str, Any]:
    """All tables as arrays, the entries of one table after those of the other, and the strategy's own state."""
    state = save_in_pieces(store)
    return {name: part.whole() if isinstance(part, Pieces) else part for name, part in state.items()}


def save_in_pieces(store: Store) -> dict[str, Any]:
    """As `save_store`, with arrays that are made piece by piece where they have a row for every entry."""
    tables, strategy = store.tables, store.strategy
    total = int(tables.size.sum())
    columns = entry_columns(strategy, tables)
    return {
        "keys": Pieces((total, store.key_size), np.dtype(np.float32), lambda: keys_in_pieces(store)),
        **{name: column_in_pieces(column, tables) for name, column in columns.items()},
        **{name: column.copy() for name, column in table_columns(strategy, tables).items()},
        "size": tables.size.copy(),
        "writes": tables.writes.copy(),
        "clock": tables.clock.copy(),
        "strategy": form_of_state(strategy, strategy.state_dict()),
    }


def keys_in_pieces(store: Store) -> Iterator[Floats]:
    """The keys of all entries, some rows at a time."""
    rows = max(1, PIECE // (4 * store.key_size))
    for action, size in enumerate(store.tables.size.tolist()):
        for first in range(0, size, rows):
            yield store.keys(action, first, min(first + rows, size))


def column_in_pieces(column: Array, tables: Tables) -> Pieces:
    """The used part of each table's row of an array [actions, capacity, …], one after the other."""
    sizes = tables.size.tolist()
    shape = sum(sizes), *column.shape[2:]
    return Pieces(shape, column.dtype, lambda: (column[action, :size] for action, size in enumerate(sizes)))


def load_store(store: Store, state: Mapping[str, Any]) -> None:
    """Restore what `save_store` gave; on an error nothing is changed."""
    actions, _, companions = store.tables.companions.shape
    check_state(store, state)
    fresh = store.new_tables(actions, companions)
    columns, own = entry_columns(store.strategy, fresh), table_columns(store.strategy, fresh)
    start = 0
    for action, size in enumerate(state["size"].tolist()):
        entries = slice(start, start + size)
        for name, column in columns.items():
            column[action, :size] = state[name][entries]
        store.fill(fresh, action, np.require(state["keys"][entries], np.float32, ["C", "A", "W"]))
        start += size
    for name, column in own.items():
        column[:] = state[name]
    for name in ("size", "writes", "clock"):
        getattr(fresh, name)[:] = state[name]
    check_tables(fresh, store.strategy)
    checks.at_least("clock", int(fresh.clock[0]), 0, checks.MOST_STEPS)  # which leaves room to go on
    try:
        store.strategy.load_state_dict(from_form(dict(state["strategy"])))
    except ODD as error:
        raise InvalidInputError(f"{store.strategy.name} cannot go on from the state of its own ({error!r})") from error
    store.take(fresh)


def entry_columns(strategy: Strategy, tables: Tables) -> dict[str, Array]:
    """The arrays with one row per entry that are saved as they are, [actions, capacity, …]."""
    columns: dict[str, Array] = {"values": tables.values, "states": tables.states, "ranks": tables.ranks}
    if tables.companions.shape[2]:
        columns["companions"] = tables.companions
    names = strategy.column_names()
    if tables.columns.shape[1] > len(names):
        columns["observations"] = tables.columns[:, len(names) :].swapaxes(1, 2)  # see observed.py
    return columns | {name: tables.columns[:, i] for i, name in enumerate(names)}


def table_columns(strategy: Strategy, tables: Tables) -> dict[str, Array]:
    """The numbers that a strategy keeps per table, [actions] each."""
    return {name: tables.own[:, i] for i, name in enumerate(strategy.table_numbers)}


def check_state(store: Store, state: Mapping[str, Any]) -> None:
    """Raise InvalidInputError unless a state holds the right arrays in the right shapes and types, with usable keys."""
    tables, strategy = store.tables, store.strategy
    actions, capacity = tables.values.shape
    columns, own = entry_columns(strategy, tables), table_columns(strategy, tables)
    needed = {"keys", "size", "writes", "clock", "strategy", *columns, *own}
    if not isinstance(state, Mapping) or set(state) != needed:
        got = ", ".join(sorted(map(str, state))) if isinstance(state, Mapping) else checks.shown(state)
        raise InvalidInputError(f"memory state must hold {', '.join(sorted(needed))}, got {got}")
    if not isinstance(state["strategy"], Mapping):
        raise InvalidInputError(f"memory state 'strategy' must be a mapping, got {checks.shown(state['strategy'])}")
    sizes = state["size"]
    if not isinstance(sizes, np.ndarray) or sizes.dtype.kind not in "iu":
        raise InvalidInputError(f"memory state 'size' must be an array of whole numbers, got {checks.shown(sizes)}")
    if sizes.shape != (actions,) or not ((sizes >= 0) & (sizes <= capacity)).all():
        raise InvalidInputError(
            f"memory state must have {actions} tables of 0 to {capacity} entries, got sizes "
            f"{checks.shown(sizes.tolist())}"
        )
    total = int(sizes.sum())
    expected = {name: ((total, *column.shape[2:]), column.dtype) for name, column in columns.items()}
    expected |= {name: ((actions,), column.dtype) for name, column in own.items()}
    expected |= {"keys": ((total, store.key_size), tables.values.dtype), "clock": ((1,), tables.clock.dtype)}
    expected |= {"writes": ((actions,), tables.writes.dtype), "size": ((actions,), tables.size.dtype)}
    for name, (shape, dtype) in expected.items():
        _check_array(name, state[name], shape, dtype)
    check_keys(np.require(state["keys"], np.float32, ["C", "A", "W"]))


def _check_array(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise InvalidInputError unless this is an array of that shape and type."""
    if not isinstance(array, np.ndarray):
        raise InvalidInputError(f"memory state {name!r} must be an array, got {checks.shown(array)}")
    if array.shape != shape:
        raise InvalidInputError(f"memory state {name!r} must have shape {shape}, got {array.shape}")
    if array.dtype != dtype:
        raise InvalidInputError(f"memory state {name!r} must be of type {dtype}, got {array.dtype}")
