"""A table's numbers as a compiled rule sees them: `numbers["name"][slot]`, as in plain Python.

The number by which a strategy orders its entries stands in the ranks, and setting it moves the entry in the heap. So the
heap is right at any time, whatever a rule does.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import cgutils, errors, types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, make_attribute_wrapper, models, overload, register_model

from engram.compiling import compiled
from engram.memory.heap import sift
from engram.memory.strategies.decisions import RefusedError
from engram.memory.strategy_types import StrategyType, class_of
from engram.typing import Whole

ROW = types.Array(types.float64, 1, "C")
PLACES = types.Array(types.int32, 1, "C")
MEMBERS = (
    ("ranks", ROW),  # [size]
    ("heap", PLACES),  # [capacity]
    ("place", PLACES),  # [capacity]
    ("columns", types.Array(types.float64, 2, "C")),  # [columns, capacity]
    ("own", ROW),  # [table_numbers]
)


class NumbersType(types.Type):  # type: ignore[misc]
    """The type of one table's numbers for a strategy."""

    def __init__(self, strategy: StrategyType) -> None:
        self.strategy = strategy
        super().__init__(name=f"numbers of {strategy}")


class OrderedType(types.Type):  # type: ignore[misc]
    """The type of the number that orders a table's entries."""


ordered_type = OrderedType("ordered numbers")


@register_model(NumbersType)
@register_model(OrderedType)
class _Model(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: types.Type) -> None:
        super().__init__(manager, kind, MEMBERS)


for _name, _ in MEMBERS:
    make_attribute_wrapper(NumbersType, _name, _name)
    make_attribute_wrapper(OrderedType, _name, _name)


@intrinsic  # type: ignore[untyped-decorator]
def pack_numbers(typing: Any, strategy: Any, ranks: Any, heap: Any, place: Any, columns: Any, own: Any) -> Any:
    """One table's numbers, from its rows of all tables' arrays."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        for (name, _), value in zip(MEMBERS, args[1:], strict=True):
            setattr(struct, name, value)
        return impl_ret_borrowed(context, builder, signature.return_type, struct._getvalue())

    return NumbersType(strategy)(strategy, *(kind for _, kind in MEMBERS)), generate


@intrinsic  # type: ignore[untyped-decorator]
def _as_ordered(typing: Any, numbers: Any) -> Any:
    """The ranks of a table's numbers, with their heap."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, args[0])

    return ordered_type(numbers), generate


@overload(operator.getitem, strict=False, prefer_literal=True)  # type: ignore[untyped-decorator]
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
        return lambda numbers, name: numbers.own[at : at + 1]
    if key == cls.rank_name():
        return (lambda numbers, name: _as_ordered(numbers)) if cls.order else (lambda numbers, name: numbers.ranks)
    if key in cls.numbers:
        column = cls.column_names().index(key)
        return lambda numbers, name: numbers.columns[column, : len(numbers.ranks)]
    raise errors.TypingError(f"numbers[{key!r}]: {cls.name} keeps {(*cls.numbers, *cls.table_numbers)}")


@overload(operator.getitem, strict=False)  # type: ignore[untyped-decorator]
def _get_ordered(column: Any, slot: Any) -> Callable[..., Any] | None:
    if isinstance(column, OrderedType) and isinstance(slot, types.Integer):
        return lambda column, slot: column.ranks[slot]
    return None


@overload(operator.setitem, strict=False)  # type: ignore[untyped-decorator]
def _set_ordered(column: Any, slot: Any, value: Any) -> Callable[..., Any] | None:
    if isinstance(column, OrderedType) and isinstance(slot, types.Integer):
        return lambda column, slot, value: set_rank(column.heap, column.place, column.ranks, slot, value)
    return None


@overload(len, strict=False)  # type: ignore[untyped-decorator]
def _len_ordered(column: Any) -> Callable[..., Any] | None:
    return (lambda column: len(column.ranks)) if isinstance(column, OrderedType) else None


@compiled
def set_rank(heap: Any, place: Any, ranks: Any, slot: Whole, rank: float) -> None:
    """Give an entry a rank, and its place in the heap."""
    if not 0 <= slot < len(ranks):
        raise RefusedError("a strategy set a number of a slot that is not in use")
    ranks[slot] = np.float64(rank)
    sift(heap, place, ranks, len(ranks), slot)
