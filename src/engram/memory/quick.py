"""A training step of MFEC for vectors in one compiled call: the read with its touch, the best action, and a note of it.

The arrays that a step needs lie where they are for thousands of steps, and to look at each of them anew would take as
long as the step itself. So their addresses are kept in one array, the only one that is handed over, together with what
they are: whoever holds that array holds them too. `Desk` makes it, and makes it again when a memory has new tables.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types

from engram.compiling import compiled
from engram.memory.arguments import FLOAT, KEY_LIMIT, as_floats, check_shape, refuse_keys
from engram.memory.narrow import narrow_room, search_narrow
from engram.memory.read import Reading, weighted_mean
from engram.memory.store import Store
from engram.memory.strategies.base import Touch
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategy_numbers import pack_numbers
from engram.memory.strategy_types import Kernel
from engram.memory.vectors import generated
from engram.typing import Array, Floats, Longs, States
from engram.xxh64 import xxh64

ROWS = 256  # of the blocks in which keys and states are noted
LIMIT = np.float32(KEY_LIMIT)
ZERO = np.float32(0)
SEED = np.uint64(0)
UNUSABLE = -(2**31)  # in the place of an action: the observation cannot be searched
carray: Any = numba.carray  # type: ignore[attr-defined]


def _pointer(kind: Any) -> Any:
    """A function for kernels that makes a pointer to numbers of a kind from an address."""

    def make(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            return builder.inttoptr(args[0], context.get_value_type(types.CPointer(kind)))

        return types.CPointer(kind)(types.int64), generate

    return generated(make)


bytes_at, floats_at, doubles_at = _pointer(types.uint8), _pointer(types.float32), _pointer(types.float64)
ints_at, longs_at, words_at = _pointer(types.int32), _pointer(types.int64), _pointer(types.uint64)


@compiled
def take_down(observation: Floats, keys: Floats, states: States, row: int) -> bool:
    """Note an observation as a key and as a state, if it can be one."""
    key = keys[row]
    for dim in range(len(key)):
        if not abs(observation[dim]) <= LIMIT:
            return False
        key[dim] = observation[dim] + ZERO  # −0 + 0 = 0
    states[row] = xxh64(key.view(np.uint8), SEED)
    for dim in range(len(key)):
        key[dim] = observation[dim]
    return True


@compiled
def act(strategy: CompiledStrategy, desk: Longs, delta: float, observation: Floats, row: int, reads: bool) -> int:
    """Note an observation in a row of the block; if it is to be read, return the best action.

    Where several are best, their number is returned, below 0; the values of all are in `q`.
    """
    actions, capacity, dims, neighbours = desk[0], desk[1], desk[2], desk[3]
    if len(observation) != dims or not 0 <= row < ROWS:
        return UNUSABLE
    block = carray(floats_at(desk[9]), (ROWS, dims))
    if not take_down(observation, block, carray(words_at(desk[10]), (ROWS,)), row):
        return UNUSABLE
    if not reads:
        return 0
    reading = Reading(neighbours, delta, desk[4] != 0, desk[5] != 0)
    keys = carray(floats_at(desk[11]), (actions * capacity * dims,))
    values = carray(floats_at(desk[12]), (actions, capacity))
    ranks = carray(doubles_at(desk[13]), (actions, capacity))
    heap, place = carray(ints_at(desk[14]), (actions, capacity)), carray(ints_at(desk[15]), (actions, capacity))
    columns = carray(doubles_at(desk[16]), (actions, desk[6], capacity))
    own = carray(doubles_at(desk[17]), (actions, desk[7]))
    size, clock = carray(longs_at(desk[18]), (actions,)), carray(longs_at(desk[19]), (1,))
    q = carray(floats_at(desk[20]), (actions,))
    distances, slots = carray(floats_at(desk[21]), (neighbours,)), carray(ints_at(desk[22]), (neighbours,))
    touches, room = desk[8] != 0, carray(floats_at(desk[23]), (desk[24],))
    query = block[row]
    first, count = 0, 0
    if touches:
        clock[0] += 1
    for action in range(actions):
        found = search_narrow(keys, action, size[action], capacity, query, room, distances, slots)
        q[action] = weighted_mean(values[action], distances, slots, found, reading)
        if touches:
            numbers = pack_numbers(
                strategy, ranks[action], heap[action], place[action], columns[action], own[action], size[action]
            )
            strategy.touched(Touch(slots[:found], distances[:found], clock[0]), numbers)
        if action == 0 or q[action] > q[first]:
            first, count = action, 1
        elif q[action] == q[first]:
            count += 1
    return first if count == 1 else -count


class Desk:
    """Where everything for a step of training lies: a store's tables, and a block in which steps are noted.

    `keys` [256, dims] and `states` [256] are the block, `q` [actions] the values that were read last.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        actions = len(store.tables.size)
        self.keys = np.zeros((ROWS, store.key_size), np.float32)
        self.states, self.q = np.zeros(ROWS, np.uint64), np.zeros(actions, np.float32)
        self._found = np.zeros(store.reading.neighbours, np.float32), np.zeros(store.reading.neighbours, np.int32)
        self._room = narrow_room(store.key_size)
        self._act = Kernel(act)
        self._lay_out()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy begins from: everything but addresses."""
        return {name: value for name, value in vars(self).items() if name not in ("_desk", "_tables")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy, whose arrays lie elsewhere."""
        vars(self).update(state)
        self._lay_out()

    def _lay_out(self) -> None:
        """Note where the tables lie."""
        tables, store = self.store.tables, self.store
        self._tables = tables
        arrays: list[Array] = [
            *(self.keys, self.states, tables.keys, tables.values, tables.ranks, tables.heap, tables.place),
            *(tables.columns, tables.own, tables.size, tables.clock, self.q, *self._found, self._room),
        ]
        about = [
            *(len(tables.size), store.capacity, store.key_size, store.reading.neighbours),
            *(store.reading.inverse, store.reading.exact, tables.columns.shape[1], tables.own.shape[1]),
            store.strategy.touches,
        ]
        self._desk = np.array([*about, *(array.ctypes.data for array in arrays), len(self._room)], np.int64)
        self._delta = float(store.reading.delta)

    def act(self, observation: Array, row: int, *, reads: bool) -> int:
        """Note an observation in a row of the block and, if it is to be read, return the best action.

        Where several are best, their number is returned, below 0. An observation that cannot be searched is refused.
        """
        if self.store.tables is not self._tables:
            self._lay_out()
        if type(observation) is not np.ndarray or observation.dtype is not FLOAT or not observation.flags.carray:
            observation = as_floats("observation", observation)
        if observation.ndim != 1:
            observation = observation.reshape(-1)
        found: int = self._act(self.store.compiled, self._desk, self._delta, observation, row, reads)
        if found == UNUSABLE:
            check_shape("observation", observation, (self.store.key_size,), "as keys have numbers")
            refuse_keys(observation)
        return found
