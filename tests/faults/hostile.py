"""Hostile arguments: numbers, arrays and objects that nobody should hand to a library, and right ones among them."""

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

NAN, INF = float("nan"), float("inf")
NUMBERS: tuple[float, ...] = (
    *(NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-40, 1e-300, 1e10, 1e15, -1e15, 1.0000001e15, 1e19, -3e38),
    *(3.5e38, 1e300, -1e308, 2.0**53, 2.0**63),
)
WHOLE: tuple[int, ...] = (
    0,
    1,
    2,
    -1,
    -2,
    5,
    69,
    70,
    2**31 - 1,
    2**31,
    -(2**31),
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    10**400,
)
STRANGE: tuple[Any, ...] = (
    *(None, "", "lru", b"x", True, 1j, (), [], {}, [[]], [[1, 2], [3]], [None], ["a"], object(), float, 10**5000),
    *(np.array(None), np.array("x"), np.array([1j]), np.zeros((0, 0)), np.zeros((2, 0, 3)), np.float16(3), np.bool_(1)),
    *(
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(3, "V4"),
        np.array([object()]),
        np.broadcast_to(1.0, (10**13, 3)),
    ),
    *(torch.zeros(2, 3, dtype=torch.complex64), torch.zeros(1, 3, device="meta"), torch.zeros(3).to_sparse()),
)


def read_only(array: Any, _: random.Random) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: Any, _: random.Random) -> Any:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def as_another_type(array: Any, rng: random.Random) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(rng.choice((np.float16, np.int8, np.uint64, np.bool_, object, np.longdouble)))


FORMS: tuple[Callable[[Any, random.Random], Any], ...] = (
    read_only,
    misaligned,
    as_another_type,
    lambda array, _: array.tolist(),
    lambda array, _: np.asfortranarray(array),
    lambda array, _: np.repeat(array, 2, axis=0)[::2] if array.ndim else array,
    lambda array, _: torch.from_numpy(np.array(array, np.float32)),
    lambda array, _: torch.from_numpy(np.array(array, np.float32)).bfloat16().requires_grad_(),
    lambda array, _: array.astype(array.dtype.newbyteorder(">")),
    lambda array, _: array[..., :-1] if array.ndim else array,
    lambda array, _: array.T,
    lambda array, _: array[None],
)


class Hostile:
    """Makes arguments: mostly right ones, with something wrong in one of them."""

    def __init__(self, seed: int) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)

    def some(self, *shape: int) -> Any:
        """Numbers as they should be; now and then one of them is not."""
        array = self.rng.integers(-2, 3, shape) + self.rng.choice([0.0, 0.5])
        array = (array * self.random.choice((1, 1, 1, 1e-3, 1e6, 1e14))).astype(
            self.random.choice((np.float32, np.float64))
        )
        if array.size and self.random.random() < 0.2:
            with np.errstate(over="ignore"):
                array.reshape(-1)[self.random.randrange(array.size)] = self.random.choice(NUMBERS)
        return self.dressed(array)

    def dressed(self, array: Any) -> Any:
        """The same numbers in another form, more often than not as they are."""
        array = np.asarray(array)
        form = self.random.choice(FORMS) if self.random.random() < 0.6 else None
        return array if form is None else form(array, self.random)

    def whole(self, below: int, count: int) -> Any:
        """Whole numbers as they should be; now and then one of them is not."""
        numbers = self.rng.integers(0, max(below, 1), count)
        if count and self.random.random() < 0.15:
            listed = numbers.tolist()
            listed[self.random.randrange(count)] = self.random.choice(WHOLE)
            return listed
        return (
            numbers
            if self.random.random() < 0.8
            else numbers.astype(self.random.choice((np.int8, np.uint64, np.float64)))
        )

    def one(self, usual: Any) -> Any:
        """An argument as it should be, or something strange in its place."""
        draw = self.random.random()
        if draw < 0.05:
            return self.random.choice(STRANGE)
        return self.random.choice(NUMBERS + WHOLE) if draw < 0.07 else usual
