"""Vectors of sixteen numbers in LLVM's instructions: what functions that emit them share."""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import extending
from numba.core import cgutils

from engram.compiling import settings

WIDTH = 16  # lanes
LINE = 64  # bytes that are in the cache together

FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
WORDS = ir.VectorType(ir.IntType(32), WIDTH)
HALVES = ir.VectorType(ir.IntType(16), WIDTH)
BYTES = ir.VectorType(ir.IntType(8), 4 * WIDTH)


def generated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a function that emits LLVM instructions into one that kernels can call."""
    return cast(Callable[..., Any], extending.intrinsic(function))


def load(builder: ir.IRBuilder, data: ir.Value, place: ir.Value, kind: ir.VectorType, align: int) -> ir.Value:
    """Load sixteen adjacent numbers."""
    value = builder.load(builder.bitcast(builder.gep(data, [place]), kind.as_pointer()))
    value.align = align
    return value


def repeat(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """A vector of sixteen times the same number."""
    undefined = ir.Constant(ir.VectorType(number.type, WIDTH), ir.Undefined)
    single = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(single, undefined, ir.Constant(WORDS, [0] * WIDTH))


def sum_of_lanes(builder: ir.IRBuilder, total: ir.Value, add: Callable[..., ir.Value]) -> ir.Value:
    """The sum of a vector's sixteen lanes: halves of them added together until one is left."""
    width = WIDTH
    while width > 1:
        width //= 2
        low, high = (
            builder.shuffle_vector(
                total, ir.Constant(total.type, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), width), lanes)
            )
            for lanes in (list(range(width)), list(range(width, 2 * width)))
        )
        total = add(low, high)
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def data_of(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    """Where an array's numbers begin."""
    return context.make_array(kind)(context, builder, value).data


def length_of(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    """How many numbers a vector has."""
    return cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, value).shape)[0]


def check(context: Any, builder: ir.IRBuilder, start: ir.Value, count: ir.Value, length: ir.Value) -> None:
    """Where numba checks bounds, check that `count` numbers from `start` on are among the first `length`."""
    if settings.BOUNDSCHECK:
        before = builder.icmp_signed("<", start, ir.Constant(start.type, 0))
        beyond = builder.icmp_signed(">", builder.add(start, count), length)
        with builder.if_then(builder.or_(before, beyond), likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("a key is out of bounds",))
