"""Arrays that a kernel uses without counting who uses them.

numba counts the users of every array, with an atomic addition each time that one is sliced, handed to another kernel or
taken out of a tuple. A step that writes four numbers would count for longer than it writes. Whoever calls a kernel
holds the arrays that it hands over until the kernel returns, so inside they need not be counted.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

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
