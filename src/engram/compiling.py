"""How Engram's kernels are compiled: ahead of their first use, once per machine, without fast-math.

Without fast-math every kernel is plain IEEE arithmetic in the order in which it is written, so its bits
depend neither on the batch it is part of nor on the width of the machine's vectors.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a pure function of numbers and arrays to machine code, kept on disk between processes."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
