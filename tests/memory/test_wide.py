"""The search among wide keys finds, bit for bit, what a scan of all keys in the same arithmetic finds."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.memory.arguments import KEY_LIMIT
from engram.memory.keys import WIDE
from engram.memory.sketch import has_axes, is_sketched
from engram.memory.wide import TILE
from engram.typing import Floats, Longs

DIMS = [WIDE // 2, 70, WIDE, 128]
KINDS = [
    "few directions",
    "normal",
    "duplicated",
    "equal",
    "far away",
    "large",
    "small",
    "underflow",
    "whole numbers",
    "mixed",
]
LANES = 16


def make_keys(kind: str, rows: int, dims: int, rng: np.random.Generator) -> Floats:
    keys = rng.standard_normal((rows, dims))
    few = rng.standard_normal((rows, 6)) @ rng.standard_normal((6, dims)) + 0.05 * keys
    made = {
        "few directions": few,
        "normal": keys,
        "duplicated": few[rng.integers(rows // 4 + 1, size=rows)],
        "equal": np.ones((rows, dims)),
        "far away": few + 1e4,
        "large": few * 1e13,
        "small": few * 1e-17,
        "underflow": few * 1e-23,
        "whole numbers": np.rint(few),
        "mixed": few * 10.0 ** rng.integers(-20, 14, size=(rows, 1)),
    }
    return made[kind].astype(np.float32)


def distances(keys: Floats, query: Floats) -> Floats:
    """d² in float32: sixteen partial sums, halves of which are added until one is left; then what is left over."""
    with np.errstate(over="ignore"):
        squares = np.square(keys - query)
        whole = squares.shape[1] // LANES * LANES
        sums = np.zeros((len(keys), LANES), np.float32)
        for start in range(0, whole, LANES):
            sums = sums + squares[:, start : start + LANES]
        while sums.shape[1] > 1:
            half = sums.shape[1] // 2
            sums = sums[:, :half] + sums[:, half:]
        total = sums[:, 0]
        for dim in range(whole, squares.shape[1]):
            total = total + squares[:, dim]
    return total


def nearest(keys: Floats, query: Floats, wanted: int) -> tuple[Longs, Floats]:
    d2 = distances(keys, query)
    order = np.argsort(d2, kind="stable")[:wanted]
    return order, d2[order]


def assert_exact(memory: EpisodicMemory, queries: Floats) -> None:
    for action in range(memory.actions):
        keys = memory.entries(action)["keys"]
        slots, found = memory.find_neighbours(action, queries)
        for b, query in enumerate(queries):
            expected_slots, expected = nearest(keys, query, memory.neighbours)
            np.testing.assert_array_equal(found[b], expected)
            np.testing.assert_array_equal(slots[b], expected_slots)


def axes_of(memory: EpisodicMemory) -> Floats:
    """The axes of a sketch."""
    sketch = memory._tables.sketch
    assert sketch
    return sketch[2]


@pytest.mark.parametrize("neighbours", [1, 11, 100])
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_those_of_a_scan(kind: str, dims: int, neighbours: int) -> None:
    """One table full and one partly filled; queries from among the keys, near them, and from elsewhere."""
    rng = np.random.default_rng(dims + neighbours)
    capacity = 64 * dims + 37
    assert is_sketched(capacity, dims)
    memory = EpisodicMemory(actions=2, key_size=dims, capacity=capacity, neighbours=neighbours)
    tables = [make_keys(kind, capacity, dims, rng), make_keys(kind, capacity - 500, dims, rng)]
    for action, keys in enumerate(tables):
        memory.write(action, keys, np.arange(len(keys)), states=np.arange(len(keys)))
        np.testing.assert_array_equal(memory.entries(action)["keys"], keys)
    assert has_axes(axes_of(memory)) == (kind not in ("normal", "equal"))
    queries = np.concatenate(
        [
            tables[0][:3],
            tables[1][-3:] * np.float32(1.001),
            make_keys("few directions", 3, dims, rng),
            [0 * tables[0][0]],
        ]
    )
    assert_exact(memory, queries)


@pytest.mark.parametrize("strategy", ["lru", "dkm", pytest.param("fading", marks=pytest.mark.slow)])
def test_sketches_follow_their_keys(strategy: str) -> None:
    """Entries replaced, merged and adjusted are found where they are now; and so after loading."""
    rng = np.random.default_rng(3)
    capacity = 64 * WIDE
    memory = EpisodicMemory(actions=1, key_size=WIDE, capacity=capacity, strategy=strategy)
    keys = make_keys("few directions", 3 * capacity, WIDE, rng)
    for some in np.array_split(keys, 10):
        memory.write(0, some, rng.standard_normal(len(some)))
    slots = rng.choice(capacity, 50, replace=False)
    memory.adjust(np.zeros(50, np.int64), slots, make_keys("normal", 50, WIDE, rng), np.zeros(50, np.float32))
    queries = np.concatenate(
        [keys[-5:], make_keys("few directions", 5, WIDE, rng), memory.entries(0)["keys"][slots[:5]]]
    )
    assert_exact(memory, queries)
    again = EpisodicMemory(actions=1, key_size=WIDE, capacity=capacity, strategy=strategy)
    again.load_state_dict(memory.state_dict())
    again.check_valid()
    assert has_axes(axes_of(again))
    assert_exact(again, queries)


def test_a_table_of_more_than_one_tile() -> None:
    rng = np.random.default_rng(5)
    keys = make_keys("few directions", 2 * TILE + 77, WIDE, rng)
    memory = EpisodicMemory(actions=1, key_size=WIDE, capacity=len(keys))
    memory.write(0, keys, np.arange(len(keys)), states=np.arange(len(keys)))
    assert_exact(memory, np.concatenate([keys[[0, TILE - 1, TILE, -1]], make_keys("few directions", 4, WIDE, rng)]))


def test_a_search_that_passes_entries_over_says_no_less() -> None:
    """Numbers as large as they may be are found among small ones."""
    rng = np.random.default_rng(0)
    capacity = 64 * WIDE
    keys = make_keys("few directions", capacity, WIDE, rng)
    keys[4000] = KEY_LIMIT
    memory = EpisodicMemory(actions=1, key_size=WIDE, capacity=capacity, neighbours=3)
    memory.write(0, keys, np.arange(capacity), states=np.arange(capacity))
    slots, found = memory.find_neighbours(0, keys[4000:4001])
    assert slots[0, 0] == 4000
    assert found[0, 0] == 0
    assert_exact(memory, keys[4000:4001])


ELSEWHERE = """
import numpy as np
from engram.memory import byte_products, wide
for module, name in ((byte_products, "HAS_BYTE_PRODUCTS"), (wide, "HAS_COMPRESSION")):
    assert getattr(module, name) in (True, False)
    setattr(module, name, False)  # before anything is compiled
from engram import EpisodicMemory
from engram.memory.sketch import has_axes
rng = np.random.default_rng(0)
keys = rng.standard_normal((64 * 96 + 5, 4)) @ rng.standard_normal((4, 96))
keys = (keys + 0.05 * rng.standard_normal(keys.shape)).astype(np.float32)
memory = EpisodicMemory(actions=1, key_size=96, capacity=len(keys))
memory.write(0, keys, np.zeros(len(keys)), states=np.arange(len(keys)))
assert has_axes(memory._tables.sketch[2])
queries = keys[:20] + np.float32(0.01)
exact = ((keys[None].astype(np.float64) - queries[:, None].astype(np.float64)) ** 2).sum(2)
assert (np.argsort(exact, axis=1, kind="stable")[:, :11] == memory.find_neighbours(0, queries)[0]).all()
"""


@pytest.mark.slow
def test_processors_without_special_instructions_find_the_same(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_kernel_holds_one_of_the_two_searches_only(tmp_path: Path) -> None:
    code = (
        "import numpy as np; from engram import EpisodicMemory; from engram.memory import narrow, wide\n"
        "EpisodicMemory(actions=1, key_size=128, capacity=100).read(np.zeros((1, 128), np.float32), touch=True)\n"
        "print(len(wide.search_wide._inner), len(narrow.search_narrow._inner))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "0"]
