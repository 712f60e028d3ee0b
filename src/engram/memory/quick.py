"""Acting on a vector in one compiled call: the read with its touch, the best action, and a note of it.

MFEC notes the observation itself; NEC's kernel makes a key of it first.

The arrays that a step needs lie where they are for thousands of steps, and to look at each of them anew would take as
long as the step itself. So their addresses are kept in one array, the only one that is handed over, together with what
they are: whoever holds that array holds them too. `Desk` makes it, and makes it again when a memory has new tables.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory.arguments import FLOAT, KEY_LIMIT, all_usable, as_floats, check_shape, refuse_keys
from engram.memory.lanes import generated
from engram.memory.narrow import narrow_size, search_narrow
from engram.memory.read import Reading, weighted_mean
from engram.memory.store import Store
from engram.memory.strategies.base import Touch
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategy_numbers import pack_numbers
from engram.memory.strategy_types import Kernel
from engram.typing import Array, Floats, Longs
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
def state_of_vector(observation: Floats) -> np.uint64:
    """Which state it is: the same number as `engram.hashing` gives."""
    return xxh64((observation + ZERO).view(np.uint8), SEED)  # −0 + 0 = 0


@compiled
def note(desk: Longs, row: int, key: Floats, state: np.uint64) -> bool:
    """Note a key and the state that it is of in a row of the block, if a memory can take it."""
    dims = desk[2]
    if len(key) != dims or not 0 <= row < ROWS:
        return False
    noted = carray(floats_at(desk[9]), (ROWS, dims))[row]
    for dim in range(dims):
        if not abs(key[dim]) <= LIMIT:
            return False
        noted[dim] = key[dim]
    carray(words_at(desk[10]), (ROWS,))[row] = state
    return True


@compiled
def read_row(strategy: CompiledStrategy, desk: Longs, delta: float, row: int) -> int:
    """Read the key that is noted in a row in every table, and return the best action.

    Where several are best, their number is returned, below 0; the values of all are in `q`.
    """
    actions, capacity, dims, neighbours = desk[0], desk[1], desk[2], desk[3]
    reading = Reading(neighbours, delta, desk[4] != 0, desk[5] != 0)
    keys = carray(floats_at(desk[11]), (actions * capacity * dims,))
    values = carray(floats_at(desk[12]), (actions, capacity))
    ranks = carray(doubles_at(desk[13]), (actions, capacity))
    heap, place = carray(ints_at(desk[14]), (actions, capacity)), carray(ints_at(desk[15]), (actions, capacity))
    known = carray(doubles_at(desk[16]), (actions, capacity))
    columns = carray(doubles_at(desk[17]), (actions, desk[6], capacity))
    own = carray(doubles_at(desk[18]), (actions, desk[7]))
    size, clock = carray(longs_at(desk[19]), (actions,)), carray(longs_at(desk[20]), (1,))
    q = carray(floats_at(desk[21]), (actions,))
    distances, slots = carray(floats_at(desk[22]), (neighbours,)), carray(ints_at(desk[23]), (neighbours,))
    touches, room = desk[8] != 0, carray(floats_at(desk[24]), (desk[25],))
    query = carray(floats_at(desk[9]), (ROWS, dims))[row]
    first, count = 0, 0
    if touches:
        clock[0] += 1
    for action in range(actions):
        found = search_narrow(keys, action, size[action], capacity, query, room, distances, slots)
        q[action] = weighted_mean(values[action], distances, slots, found, reading)
        if touches:
            numbers = pack_numbers(
                strategy,
                ranks[action],
                heap[action],
                known[action],
                place[action],
                columns[action],
                own[action],
                size[action],
            )
            strategy.touched(Touch(slots[:found], distances[:found], clock[0]), numbers)
        if action == 0 or q[action] > q[first]:
            first, count = action, 1
        elif q[action] == q[first]:
            count += 1
    return first if count == 1 else -count


@compiled
def act(strategy: CompiledStrategy, desk: Longs, delta: float, observation: Floats, row: int, reads: bool) -> int:
    """Note an observation, which is its own key, in a row of the block; if it is to be read, return the best action."""
    observation = borrowed(observation)
    if not note(desk, row, observation, state_of_vector(observation)):
        return UNUSABLE
    return read_row(strategy, desk, delta, row) if reads else 0


class Desk:
    """Where everything for a step of training lies: a store's tables, and a block in which steps are noted.

    `keys` [256, dims] and `states` [256] are the block, `q` [actions] the values that were read last.

    Args:
        store: With narrow keys and a built-in strategy.
        kernel: That takes a step: as `act`, with further arguments.
        more: Those arguments, arrays that stay where they are.
        inputs: Numbers of an observation; by default as keys have.
    """

    def __init__(
        self, store: Store, kernel: Callable[..., Any] = act, more: tuple[Array, ...] = (), inputs: int | None = None
    ) -> None:
        self.store, self._shape = store, (store.key_size if inputs is None else inputs,)
        actions = len(store.tables.size)
        self.keys = np.zeros((ROWS, store.key_size), np.float32)
        self.states, self.q = np.zeros(ROWS, np.uint64), np.zeros(actions, np.float32)
        self._found = np.zeros(store.reading.neighbours, np.float32), np.zeros(store.reading.neighbours, np.int32)
        self._room = np.empty(narrow_size(store.key_size), np.float32)
        self._kernel, self._more = Kernel(kernel), more
        self._lay_out()

    def __getstate__(self) -> dict[str, Any]:
        """What a copy begins from: everything but addresses."""
        return {name: value for name, value in vars(self).items() if name not in ("_desk", "_tables", "_entry")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy, whose arrays lie elsewhere."""
        vars(self).update(state)
        self._lay_out()

    def _lay_out(self) -> None:
        """Note where the tables lie."""
        tables, store = self.store.tables, self.store
        built_in = store.compiled is not None and store.compiled.is_built_in  # of others, errors are told as theirs
        self._tables, self._entry = tables, self._enter if built_in else self._kernel
        arrays: list[Array] = [
            *(self.keys, self.states, tables.keys, tables.values, tables.ranks, tables.heap, tables.place),
            *(tables.known, tables.columns, tables.own, tables.size, tables.clock, self.q, *self._found, self._room),
        ]
        about = [
            *(len(tables.size), store.capacity, store.key_size, store.reading.neighbours),
            *(store.reading.inverse, store.reading.exact, tables.columns.shape[1], tables.own.shape[1]),
            store.strategy.touches,
        ]
        self._desk = np.array([*about, *(array.ctypes.data for array in arrays), len(self._room)], np.int64)
        self._delta = float(store.reading.delta)

    def _enter(self, *args: Any) -> int:
        """Compile the kernel for arguments like these, which all later ones are, and call it."""
        self._entry = self._kernel.compile(args)
        found: int = self._entry(*args)
        return found

    def act(self, observation: Array, row: int, reads: bool) -> int:
        """Note an observation in a row of the block and, if it is to be read, return the best action.

        Where several are best, their number is returned, below 0. An observation that cannot be searched is refused;
        `UNUSABLE` is returned if it is the kernel that cannot make a key of it.
        """
        if self.store.tables is not self._tables:
            self._lay_out()
        if type(observation) is not np.ndarray or observation.dtype is not FLOAT or not observation.flags.carray:
            observation = as_floats("observation", observation)
        if observation.shape != self._shape:
            observation = observation.reshape(-1)
            check_shape("observation", observation, self._shape, "as the environment's have numbers")
        found: int = self._entry(self.store.compiled, self._desk, self._delta, observation, row, reads, *self._more)
        if found == UNUSABLE and not all_usable(observation[None]):
            refuse_keys(observation)
        return found
