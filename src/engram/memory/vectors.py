"""Sums over the dimensions of one key, sixteen at a time.

A compiler may not reorder a sum of floats, so a loop over one key's dimensions adds them one after the other. Here the
order is part of the definition: sixteen partial sums, lane by lane, then halves of them added together until one is
left. So the bits are the same on every machine, whatever the width of its vectors.
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

from engram.compiling import settings

WIDTH = 16  # lanes

_FLOATS = ir.VectorType(ir.FloatType(), WIDTH)
_WORDS = ir.VectorType(ir.IntType(32), WIDTH)
_HALVES = ir.VectorType(ir.IntType(16), WIDTH)


def generated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a function that emits LLVM instructions into one that kernels can call."""
    return cast(Callable[..., Any], extending.intrinsic(function))


def _load(builder: ir.IRBuilder, data: ir.Value, place: ir.Value, kind: ir.VectorType, align: int) -> ir.Value:
    """Load sixteen adjacent numbers."""
    value = builder.load(builder.bitcast(builder.gep(data, [place]), kind.as_pointer()))
    value.align = align
    return value


def _sum_of_squares(
    builder: ir.IRBuilder, count: ir.Value, difference: Callable[[ir.Value], ir.Value], *, fused: bool = False
) -> ir.Value:
    """Σ difference(i)² for i = 0, 16, 32, … below the count; fused with the addition where that is fast."""
    sums = cgutils.alloca_once_value(builder, ir.Constant(_FLOATS, [0.0] * WIDTH))
    steps = builder.udiv(count, ir.Constant(count.type, WIDTH))
    with cgutils.for_range(builder, steps) as loop:
        d = difference(builder.mul(loop.index, ir.Constant(count.type, WIDTH)))
        if fused:
            kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
            multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f32")
            added = builder.call(multiply_add, [d, d, builder.load(sums)])
        else:
            added = builder.fadd(builder.load(sums), builder.fmul(d, d))
        builder.store(added, sums)
    total, width = builder.load(sums), WIDTH
    while width > 1:
        width //= 2
        low, high = (
            builder.shuffle_vector(
                total, ir.Constant(total.type, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), width), lanes)
            )
            for lanes in (list(range(width)), list(range(width, 2 * width)))
        )
        total = builder.fadd(low, high)
    return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))


def _data(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    return context.make_array(kind)(context, builder, value).data


def _length(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    return cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, value).shape)[0]


def _check(context: Any, builder: ir.IRBuilder, start: ir.Value, count: ir.Value, length: ir.Value) -> None:
    """Where numba checks bounds, check that `count` numbers from `start` on are among the first `length`."""
    if settings.BOUNDSCHECK:
        before = builder.icmp_signed("<", start, ir.Constant(start.type, 0))
        beyond = builder.icmp_signed(">", builder.add(start, count), length)
        with builder.if_then(builder.or_(before, beyond), likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("a key is out of bounds",))


@generated
def squared_distance_of_halves(typing: Any, halves: Any, start: Any, query: Any) -> Any:
    """d² of a query to the key of which `halves` [from start on] has the upper 16 bits of each number.

    Dimensions beyond the last whole sixteen are left out.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        upper = _data(context, builder, signature.args[0], args[0])
        wanted = _data(context, builder, signature.args[2], args[2])
        count = _length(context, builder, signature.args[2], args[2])
        _check(context, builder, args[1], count, _length(context, builder, signature.args[0], args[0]))
        sixteen = ir.Constant(_WORDS, [16] * WIDTH)

        def difference(i: ir.Value) -> ir.Value:
            bits = builder.zext(_load(builder, upper, builder.add(args[1], i), _HALVES, 2), _WORDS)
            key = builder.bitcast(builder.shl(bits, sixteen), _FLOATS)
            return builder.fsub(key, _load(builder, wanted, i, _FLOATS, 4))

        return _sum_of_squares(builder, count, difference, fused=True)

    return types.float32(halves, types.intp, query), generate


@generated
def squared_distance_of_both(typing: Any, halves: Any, upper: Any, lower: Any, query: Any) -> Any:
    """d² of a query to the key of which `halves` has the upper 16 bits of each number and, elsewhere, the lower ones.

    Dimensions beyond the last whole sixteen are left out.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stored = _data(context, builder, signature.args[0], args[0])
        wanted = _data(context, builder, signature.args[3], args[3])
        count = _length(context, builder, signature.args[3], args[3])
        for start in args[1:3]:
            _check(context, builder, start, count, _length(context, builder, signature.args[0], args[0]))
        sixteen = ir.Constant(_WORDS, [16] * WIDTH)

        def difference(i: ir.Value) -> ir.Value:
            high = builder.zext(_load(builder, stored, builder.add(args[1], i), _HALVES, 2), _WORDS)
            low = builder.sext(_load(builder, stored, builder.add(args[2], i), _HALVES, 2), _WORDS)
            key = builder.bitcast(builder.add(builder.shl(high, sixteen), low), _FLOATS)
            return builder.fsub(key, _load(builder, wanted, i, _FLOATS, 4))

        return _sum_of_squares(builder, count, difference)

    return types.float32(halves, types.intp, types.intp, query), generate


@generated
def prefetch(typing: Any, halves: Any, start: Any, count: Any) -> Any:
    """Prefetch `count` numbers from `start` on into the cache, which reads nothing: any address will do."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data = _data(context, builder, signature.args[0], args[0])
        byte, word = ir.IntType(8), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), word, word, word])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        lines = builder.udiv(builder.add(args[2], ir.Constant(args[2].type, 31)), ir.Constant(args[2].type, 32))
        with cgutils.for_range(builder, lines) as loop:
            place = builder.add(args[1], builder.mul(loop.index, ir.Constant(args[1].type, 32)))
            address = builder.bitcast(builder.gep(data, [place]), byte.as_pointer())
            builder.call(call, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(halves, types.intp, types.intp), generate
