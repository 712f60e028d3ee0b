"""Arrays that a kernel uses without counting who uses them.

numba counts the users of every array, with an atomic addition each time that one is sliced, handed to another kernel or
taken out of a tuple. A step that writes four numbers would count for longer than it writes. Whoever calls a kernel
holds the arrays that it hands over until the kernel returns, so inside they need not be counted.

The bytes of an array can be seen as numbers of another type too: numba's own `view` compiles for a tenth of a second.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.np import arrayobj

from engram.typing import Array

T = TypeVar("T")


def _uncounted(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    """The value, in which no array knows by whom it is counted."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for number, part in enumerate(cast(Any, kind).types):
            found = _uncounted(context, builder, part, builder.extract_value(value, number))
            value = builder.insert_value(value, found, number)
    return value


def _borrow(typing: Any, given: Any) -> Any:
    """In kernels only: an argument, array or tuple of arrays, for use inside; not for arrays that are made there."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return _uncounted(context, builder, signature.args[0], args[0])

    return given(given), generate


borrowed = cast(Callable[[T], T], extending.intrinsic(_borrow))


def _see_as(typing: Any, given: Any, kind: Any) -> Any:
    """In kernels only: the bytes of a vector as numbers of another type, for as long as the vector is held."""
    if not isinstance(given, types.Array) or given.ndim != 1 or given.layout != "C":
        return None
    result: Any = types.Array(kind.dtype, 1, "C")

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        old, new = context.make_array(given)(context, builder, args[0]), context.make_array(result)(context, builder)
        type_of, size_of = context.get_data_type, context.get_abi_sizeof
        size = ir.Constant(old.nitems.type, size_of(type_of(result.dtype)))
        count = builder.udiv(builder.mul(old.nitems, old.itemsize), size)
        arrayobj.populate_array(
            new,
            data=builder.bitcast(old.data, type_of(result.dtype).as_pointer()),
            shape=[count],
            strides=[size],
            itemsize=size,
            meminfo=cgutils.get_null_value(new.meminfo.type),
        )
        return new._getvalue()

    return result(given, kind), generate


seen_as = cast(Callable[[Array, type[np.number[Any]]], Array], extending.intrinsic(_see_as))
