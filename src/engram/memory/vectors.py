"""Sums over the dimensions of one key, sixteen at a time.

A compiler may not reorder a sum of floats, so a loop over one key's dimensions adds them one after the other. Here the
order is part of the definition: sixteen partial sums, lane by lane, then halves of them added together until one is
left. So the bits are the same on every machine, whatever the width of its vectors.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, types

from engram.memory.lanes import (
    FLOATS,
    HALVES,
    LINE,
    WIDTH,
    WORDS,
    check,
    data_of,
    generated,
    length_of,
    load,
    repeat,
    sum_of_lanes,
)

HAS_COMPRESSION = bool(get_host_cpu_features().get("avx512f"))  # an instruction that lists lanes


def _sum_of_squares(
    builder: ir.IRBuilder, count: ir.Value, difference: Callable[[ir.Value], ir.Value], *, fused: bool = False
) -> ir.Value:
    """Σ difference(i)² for i = 0, 16, 32, … below the count; fused with the addition where that is fast."""
    sums = cgutils.alloca_once_value(builder, ir.Constant(FLOATS, [0.0] * WIDTH))
    steps = builder.udiv(count, ir.Constant(count.type, WIDTH))
    with cgutils.for_range(builder, steps) as loop:
        d = difference(builder.mul(loop.index, ir.Constant(count.type, WIDTH)))
        if fused:
            kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
            multiply_add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f32")
            added = builder.call(multiply_add, [d, d, builder.load(sums)])
        else:
            added = builder.fadd(builder.load(sums), builder.fmul(d, d))
        builder.store(added, sums)
    return sum_of_lanes(builder, builder.load(sums), builder.fadd)


@generated
def squared_distance_of_halves(typing: Any, halves: Any, start: Any, query: Any) -> Any:
    """d² of a query to the key of which `halves` [from start on] has the upper 16 bits of each number.

    Dimensions beyond the last whole sixteen are left out.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        upper = data_of(context, builder, signature.args[0], args[0])
        wanted = data_of(context, builder, signature.args[2], args[2])
        count = length_of(context, builder, signature.args[2], args[2])
        check(context, builder, args[1], count, length_of(context, builder, signature.args[0], args[0]))
        sixteen = ir.Constant(WORDS, [16] * WIDTH)

        def difference(i: ir.Value) -> ir.Value:
            bits = builder.zext(load(builder, upper, builder.add(args[1], i), HALVES, 2), WORDS)
            key = builder.bitcast(builder.shl(bits, sixteen), FLOATS)
            return builder.fsub(key, load(builder, wanted, i, FLOATS, 4))

        return _sum_of_squares(builder, count, difference, fused=True)

    return types.float32(halves, types.intp, query), generate


@generated
def squared_distance_of_both(typing: Any, halves: Any, upper: Any, lower: Any, query: Any) -> Any:
    """d² of a query to the key of which `halves` has the upper 16 bits of each number and, elsewhere, the lower ones.

    Dimensions beyond the last whole sixteen are left out.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stored = data_of(context, builder, signature.args[0], args[0])
        wanted = data_of(context, builder, signature.args[3], args[3])
        count = length_of(context, builder, signature.args[3], args[3])
        for start in args[1:3]:
            check(context, builder, start, count, length_of(context, builder, signature.args[0], args[0]))
        sixteen = ir.Constant(WORDS, [16] * WIDTH)

        def difference(i: ir.Value) -> ir.Value:
            high = builder.zext(load(builder, stored, builder.add(args[1], i), HALVES, 2), WORDS)
            low = builder.sext(load(builder, stored, builder.add(args[2], i), HALVES, 2), WORDS)
            key = builder.bitcast(builder.add(builder.shl(high, sixteen), low), FLOATS)
            return builder.fsub(key, load(builder, wanted, i, FLOATS, 4))

        return _sum_of_squares(builder, count, difference)

    return types.float32(halves, types.intp, types.intp, query), generate


@generated
def prefetch(typing: Any, numbers: Any, start: Any, count: Any) -> Any:
    """Prefetch `count` numbers from `start` on into the cache, which reads nothing: any address will do."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data = data_of(context, builder, signature.args[0], args[0])
        byte, word = ir.IntType(8), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), word, word, word])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        line = LINE * 8 // signature.args[0].dtype.bitwidth  # numbers
        lines = builder.udiv(builder.add(args[2], ir.Constant(args[2].type, line - 1)), ir.Constant(args[2].type, line))
        with cgutils.for_range(builder, lines) as loop:
            place = builder.add(args[1], builder.mul(loop.index, ir.Constant(args[1].type, line)))
            address = builder.bitcast(builder.gep(data, [place]), byte.as_pointer())
            builder.call(call, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(numbers, types.intp, types.intp), generate


@generated
def add_squares(
    typing: Any, keys: Any, start: Any, apart: Any, query: Any, begin: Any, end: Any, out: Any, place: Any, many: Any
) -> Any:
    """Add (xᵢ − qᵢ)² for the dimensions from `begin` to `end` to the sums of 16 neighbouring entries, or of 64.

    The entries' numbers of dimension i lie side by side from start + i · apart on. Their sums are in `out` from
    `place` on, and are 0 before the first dimension whatever is there. `many` is a tuple as long as there are vectors.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stored, start, apart, wanted, begin, end, sums, place, _ = args
        vectors, index = len(signature.args[8]), start.type
        data, asked, into = (data_of(context, builder, signature.args[which], args[which]) for which in (0, 3, 6))
        span = ir.Constant(index, vectors * WIDTH)
        last = builder.add(start, builder.mul(builder.sub(end, ir.Constant(index, 1)), apart))
        check(context, builder, start, span, length_of(context, builder, signature.args[0], stored))
        check(context, builder, last, span, length_of(context, builder, signature.args[0], stored))
        check(context, builder, begin, builder.sub(end, begin), length_of(context, builder, signature.args[3], wanted))
        check(context, builder, place, span, length_of(context, builder, signature.args[6], sums))
        zero, first = ir.Constant(FLOATS, [0.0] * WIDTH), builder.icmp_signed("==", begin, ir.Constant(index, 0))
        offsets = [ir.Constant(index, WIDTH * number) for number in range(vectors)]
        totals = []
        for offset in offsets:
            before = load(builder, into, builder.add(place, offset), FLOATS, 4)
            totals.append(cgutils.alloca_once_value(builder, builder.select(first, zero, before)))
        with cgutils.for_range_slice(builder, begin, end, ir.Constant(index, 1), index) as (dim, _count):
            repeated = repeat(builder, builder.load(builder.gep(asked, [dim])))
            row = builder.add(start, builder.mul(dim, apart))
            for offset, total in zip(offsets, totals, strict=True):
                d = builder.fsub(load(builder, data, builder.add(row, offset), FLOATS, 4), repeated)
                builder.store(builder.fadd(builder.load(total), builder.fmul(d, d)), total)
        for offset, total in zip(offsets, totals, strict=True):
            address = builder.bitcast(builder.gep(into, [builder.add(place, offset)]), FLOATS.as_pointer())
            builder.store(builder.load(total), address).align = 4
        return context.get_dummy_value()

    whole = types.intp
    return types.void(keys, whole, whole, query, whole, whole, out, whole, many), generate


@generated
def column_minima(typing: Any, numbers: Any, count: Any, out: Any, place: Any) -> Any:
    """The minima of the 16 columns of the first `count` numbers, a multiple of 64, to `out` from `place` on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data, into = (data_of(context, builder, signature.args[which], args[which]) for which in (0, 2))
        index = args[1].type
        zero, span = ir.Constant(index, 0), ir.Constant(index, 4 * WIDTH)
        check(context, builder, zero, args[1], length_of(context, builder, signature.args[0], args[0]))
        check(
            context,
            builder,
            args[3],
            ir.Constant(index, WIDTH),
            length_of(context, builder, signature.args[2], args[2]),
        )
        least = [cgutils.alloca_once_value(builder, ir.Constant(FLOATS, [float("inf")] * WIDTH)) for _ in range(4)]

        def smaller(one: ir.Value, other: ir.Value) -> ir.Value:
            return builder.select(builder.fcmp_ordered("<", one, other), one, other)

        with cgutils.for_range_slice(builder, zero, args[1], span, index) as (at, _count):
            for number, minima in enumerate(least):
                place = builder.add(at, ir.Constant(index, number * WIDTH))
                builder.store(smaller(load(builder, data, place, FLOATS, 4), builder.load(minima)), minima)
        first, second, third, fourth = (builder.load(minima) for minima in least)
        found = smaller(smaller(first, second), smaller(third, fourth))
        builder.store(found, builder.bitcast(builder.gep(into, [args[3]]), FLOATS.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(numbers, types.intp, out, types.intp), generate


def _compare(relation: str) -> Callable[..., Any]:
    """Code that tells which of 16 or 64 numbers are in this relation to a bound."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data, word, index = data_of(context, builder, signature.args[0], args[0]), ir.IntType(64), args[1].type
        vectors = len(signature.args[3])
        length = length_of(context, builder, signature.args[0], args[0])
        check(context, builder, args[1], ir.Constant(index, vectors * WIDTH), length)
        bounds, bits = repeat(builder, args[2]), ir.Constant(word, 0)
        for number in range(vectors):
            place = builder.add(args[1], ir.Constant(index, number * WIDTH))
            lanes = builder.fcmp_ordered(relation, load(builder, data, place, FLOATS, 4), bounds)
            some = builder.zext(builder.bitcast(lanes, ir.IntType(WIDTH)), word)
            bits = builder.or_(bits, builder.shl(some, ir.Constant(word, number * WIDTH)))
        return bits

    return generate


@generated
def within(typing: Any, numbers: Any, place: Any, bound: Any, many: Any) -> Any:
    """Which of 16 or 64 numbers from `place` on are at most the bound, as the bits of a word, the first one lowest.

    `many` is a tuple as long as there are vectors of sixteen.
    """
    return types.uint64(numbers, types.intp, types.float32, many), _compare("<=")


@generated
def below(typing: Any, numbers: Any, place: Any, bound: Any, many: Any) -> Any:
    """As `within`, without those that are equal to the bound."""
    return types.uint64(numbers, types.intp, types.float32, many), _compare("<")


@generated
def list_whole_within(typing: Any, numbers: Any, place: Any, bound: Any, first: Any, out: Any, at: Any) -> Any:
    """List in `out`, from `at` on, which of 16 whole numbers are at most the bound; return where the list ends.

    The numbers begin at `place`, and are counted from `first`. In `out` there must be room for all 16; what follows the
    list is undefined. Only for processors with `HAS_COMPRESSION`.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stored, place, bound, first, listed, at = args
        data, into = (data_of(context, builder, signature.args[which], args[which]) for which in (0, 4))
        index, word = place.type, ir.IntType(32)
        for which, start, array in ((0, place, stored), (4, at, listed)):
            length = length_of(context, builder, signature.args[which], array)
            check(context, builder, start, ir.Constant(index, WIDTH), length)
        is_within = builder.icmp_signed("<=", load(builder, data, place, WORDS, 4), repeat(builder, bound))
        names = builder.add(ir.Constant(WORDS, list(range(WIDTH))), repeat(builder, builder.trunc(first, word)))
        kind = ir.FunctionType(WORDS, [WORDS, WORDS, is_within.type])
        compress = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.mask.compress.v16i32")
        found = builder.call(compress, [names, names, is_within])
        builder.store(found, builder.bitcast(builder.gep(into, [at]), WORDS.as_pointer())).align = 4
        bits = builder.zext(builder.bitcast(is_within, ir.IntType(WIDTH)), index)
        return builder.add(at, builder.ctpop(bits))

    return types.intp(numbers, types.intp, types.int32, types.intp, out, types.intp), generate


@generated
def lowest_bit(typing: Any, word: Any) -> Any:
    """The number of the lowest bit that is set in a word that is not 0."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@generated
def count_bits(typing: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate
