"""A table's numbers as a compiled rule sees them: `numbers["name"][slot]`, as in plain Python.

The number by which a strategy orders its entries stands in the ranks, and setting it moves the entry in the heap. So
the heap is right at any time, whatever a rule does.

Rules get pointers into the tables, which outlive every call of a kernel: counting references to arrays would take
longer than what most rules do. What a pointer leads to is as long as the table's own row, and which column it is is
known when a rule is compiled, so an array that is made of it has the right length. Rules are compiled with bounds
checks, and the heap is reached through `get_rank` and `set_rank` alone.
"""

import operator
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, errors, types
from numba.extending import make_attribute_wrapper, models, overload, register_model

from engram.compiling import compiled, settings
from engram.memory.heap import hear
from engram.memory.lanes import generated
from engram.memory.strategies.decisions import RefusedError
from engram.memory.strategy_types import StrategyType, class_of
from engram.typing import Whole

CHECKED = bool(settings.BOUNDSCHECK)  # numba does not check what is reached by a pointer
carray: Any = numba.carray  # type: ignore[attr-defined]
DOUBLES, INTS = types.CPointer(types.float64), types.CPointer(types.int32)
MEMBERS = (
    ("ranks", DOUBLES),  # [capacity]
    ("heap", INTS),  # [capacity]
    ("known", DOUBLES),  # [capacity]
    ("place", INTS),  # [capacity]
    ("columns", DOUBLES),  # [columns, capacity]
    ("own", DOUBLES),  # [table numbers]
    ("size", types.intp),  # entries in use
    ("capacity", types.intp),
)


class NumbersType(types.Type):
    """The type of one table's numbers for a strategy."""

    def __init__(self, strategy: StrategyType) -> None:
        self.strategy = strategy
        super().__init__(name=f"numbers of {strategy}")


class OrderedType(types.Type):
    """The type of the number that orders a table's entries."""


ordered_type = OrderedType("ordered numbers")


@register_model(NumbersType)
@register_model(OrderedType)
class _Model(models.StructModel):
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, MEMBERS)  # type: ignore[no-untyped-call]


for _name, _ in MEMBERS:
    make_attribute_wrapper(NumbersType, _name, _name)
    make_attribute_wrapper(OrderedType, _name, _name)


@generated
def pack_numbers(
    typing: Any, strategy: Any, ranks: Any, heap: Any, known: Any, place: Any, columns: Any, own: Any, size: Any
) -> Any:
    """One table's numbers, from its rows of all tables' arrays."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        values = zip(rows, args[1:7], strict=True)
        arrays = [context.make_array(kind)(context, builder, value) for kind, value in values]
        for (name, _), array in zip(MEMBERS, arrays, strict=False):
            setattr(struct, name, array.data)
        struct.size = args[7]
        struct.capacity = cgutils.unpack_tuple(builder, arrays[0].shape)[0]
        return struct._getvalue()

    rows = (ranks, heap, known, place, columns, own)
    return NumbersType(strategy)(strategy, *rows, types.intp), generate


@generated
def _as_ordered(typing: Any, numbers: Any) -> Any:
    """The ranks of a table's numbers, with their heap."""
    return ordered_type(numbers), lambda context, builder, signature, args: args[0]


@generated
def _shifted(typing: Any, pointer: Any, count: Any) -> Any:
    """A pointer to the element that comes `count` later."""
    return pointer(pointer, types.intp), lambda context, builder, signature, args: builder.gep(args[0], [args[1]])


@overload(operator.getitem, strict=False, prefer_literal=True)
def _get_column(numbers: Any, name: Any) -> Callable[..., Any] | None:
    """`numbers["name"]`: [size] for a number of the entries, [1] for one of the table."""
    if not isinstance(numbers, NumbersType):
        return None
    cls = class_of(numbers.strategy)
    if not isinstance(name, types.StringLiteral):
        raise errors.TypingError('numbers["name"] needs a name that is written out')
    key = name.literal_value
    if key in cls.table_numbers:
        at = cls.table_numbers.index(key)
        return lambda numbers, name: carray(_shifted(numbers.own, at), (1,))
    if key == cls.rank_name() and cls.order:
        return lambda numbers, name: _as_ordered(numbers)
    if key == cls.rank_name():
        return lambda numbers, name: carray(numbers.ranks, (numbers.size,))
    if key in cls.numbers:
        column = cls.column_names().index(key)
        return lambda numbers, name: carray(_shifted(numbers.columns, column * numbers.capacity), (numbers.size,))
    raise errors.TypingError(f"numbers[{key!r}]: {cls.name} keeps {(*cls.numbers, *cls.table_numbers)}")


@overload(operator.getitem, strict=False)
def _get_ordered(column: Any, slot: Any) -> Callable[..., Any] | None:
    if isinstance(column, OrderedType) and isinstance(slot, types.Integer):
        return lambda column, slot: get_rank(column.ranks, column.size, slot)
    return None


@overload(operator.setitem, strict=False)
def _set_ordered(column: Any, slot: Any, value: Any) -> Callable[..., Any] | None:
    if isinstance(column, OrderedType) and isinstance(slot, types.Integer):
        return lambda column, slot, value: set_rank(
            column.heap, column.known, column.place, column.ranks, column.size, column.capacity, slot, value
        )
    return None


@overload(len, strict=False)
def _len_ordered(column: Any) -> Callable[..., Any] | None:
    return (lambda column: column.size) if isinstance(column, OrderedType) else None


@compiled
def get_rank(ranks: Any, size: int, slot: Whole) -> float:
    """The rank of an entry."""
    if not 0 <= slot < size:
        raise RefusedError("a strategy read the number of a slot that is not in use")
    return float(ranks[slot])


@compiled
def set_rank(heap: Any, known: Any, place: Any, ranks: Any, size: int, capacity: int, slot: Whole, rank: float) -> None:
    """Give an entry a rank, and let the heap know of it in time."""
    if not 0 <= slot < size:
        raise RefusedError("a strategy set the number of a slot that is not in use")
    if not np.isfinite(rank):
        raise RefusedError("a strategy set the number that orders its entries to NaN or infinity")
    ranks[slot] = rank
    if CHECKED:
        hear(carray(heap, capacity), carray(place, capacity), carray(known, capacity), size, slot, rank)
    else:
        hear(heap, place, known, size, slot, rank)
