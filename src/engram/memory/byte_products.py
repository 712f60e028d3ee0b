"""Dot products of sketches: products of bytes, added four at a time.

Sums are those of whole numbers, and the same whatever instructions a processor has for them.
"""

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, types

from engram.memory.lanes import BYTES, WIDTH, WORDS, check, data_of, generated, length_of, load, repeat, sum_of_lanes

PAIRS = ir.VectorType(ir.IntType(16), 2 * WIDTH)
HAS_BYTE_PRODUCTS = bool(get_host_cpu_features().get("avx512vnni"))


def _add_products(builder: ir.IRBuilder, sums: ir.Value, codes: ir.Value, quads: ir.Value) -> ir.Value:
    """Add to sixteen sums the products of four bytes each, the first not negative, the second signed."""
    if HAS_BYTE_PRODUCTS:
        kind = ir.FunctionType(WORDS, [WORDS] * 3)
        product = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpbusd.512")
        return builder.call(product, [sums, builder.bitcast(codes, WORDS), quads])
    byte, low = (ir.Constant(PAIRS, [number] * 2 * WIDTH) for number in (8, 255))
    codes, quads = (builder.bitcast(each, PAIRS) for each in (codes, quads))
    odd = builder.lshr(codes, byte), builder.ashr(quads, byte)
    even = builder.and_(codes, low), builder.ashr(builder.shl(quads, byte), byte)
    return builder.add(builder.add(sums, _sums_of_pairs(builder, *even)), _sums_of_pairs(builder, *odd))


def _sums_of_pairs(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    """Products of 32 words of 16 bits, each added to its neighbour's, for which many processors have an instruction."""
    wide = ir.VectorType(ir.IntType(32), 2 * WIDTH)
    products = builder.mul(builder.sext(one, wide), builder.sext(other, wide))
    undefined = ir.Constant(wide, ir.Undefined)
    every_second = (ir.Constant(WORDS, list(range(first, 2 * WIDTH, 2))) for first in (0, 1))
    return builder.add(*(builder.shuffle_vector(products, undefined, lanes) for lanes in every_second))


@generated
def dot_products(typing: Any, codes: Any, start: Any, quads: Any, first: Any, count: Any, out: Any, place: Any) -> Any:
    """Dot products of the bytes of sixteen entries with a query's, to `out` from `place` on.

    The entries' bytes, which are not negative, begin at `start`: sixty-four for four dimensions, and so on. The
    query's, which are signed, are the four bytes of `count` words from `first` on.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stored, start, wanted, first, count, found, place = args
        data, asked, into = (data_of(context, builder, signature.args[which], args[which]) for which in (0, 2, 5))
        index = start.type
        span = ir.Constant(index, 4 * WIDTH)
        check(context, builder, start, builder.mul(count, span), length_of(context, builder, signature.args[0], stored))
        check(context, builder, first, count, length_of(context, builder, signature.args[2], wanted))
        check(context, builder, place, ir.Constant(index, WIDTH), length_of(context, builder, signature.args[5], found))
        sums = cgutils.alloca_once_value(builder, ir.Constant(WORDS, [0] * WIDTH))
        with cgutils.for_range(builder, count) as loop:
            codes = load(builder, data, builder.add(start, builder.mul(loop.index, span)), BYTES, 1)
            quad = repeat(builder, builder.load(builder.gep(asked, [builder.add(first, loop.index)])))
            builder.store(_add_products(builder, builder.load(sums), codes, quad), sums)
        address = builder.bitcast(builder.gep(into, [place]), WORDS.as_pointer())
        builder.store(builder.load(sums), address).align = 4
        return context.get_dummy_value()

    whole = types.intp
    return types.void(codes, whole, quads, whole, whole, out, whole), generate


@generated
def dot_product(typing: Any, codes: Any, start: Any, quads: Any, first: Any) -> Any:
    """The dot product of 64 bytes from `start` on, not negative, with the signed ones of 16 words from `first` on."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        stored, start, wanted, first = args
        data, asked = (data_of(context, builder, signature.args[which], args[which]) for which in (0, 2))
        bytes_, words = (ir.Constant(start.type, count) for count in (4 * WIDTH, WIDTH))
        check(context, builder, start, bytes_, length_of(context, builder, signature.args[0], stored))
        check(context, builder, first, words, length_of(context, builder, signature.args[2], wanted))
        codes, query = load(builder, data, start, BYTES, 1), load(builder, asked, first, WORDS, 4)
        sums = _add_products(builder, ir.Constant(WORDS, [0] * WIDTH), codes, query)
        return sum_of_lanes(builder, sums, builder.add)

    return types.int32(codes, types.intp, quads, types.intp), generate
