"""Mutations of model files: what a file says and holds is changed, and a valid checksum written for it."""

import copy
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from engram.files.arrays import FORMAT, checksum
from engram.typing import Array

STRANGE: tuple[Any, ...] = (
    *(None, True, False, "", "lru", -1, 0, 1, 2, 2.5, 1e-320, 1e30, 1e308, -1e308, float("nan"), float("inf")),
    *(255, 256, 10**6, 10**9, 10**12, 2**31, 2**32 - 1, 2**63, 2**64, -(2**70), 10**400, 2**128),
    *([], {}, [1, 2], [[]], {"name": "dkm", "decay": -1}, {"name": "projection", "size": 10**9}, {"name": "novelty"}),
    *({"name": "fading", "lifetime": 1e308}, {"name": "dkm", "decay": 1e308}, {"name": "mlp", "hidden": 10**6}),
    *(
        "os:system",
        "../../etc/passwd",
        "cuda",
        "first",
        "mean",
        "episode",
        "\0",
        "\ud800",
        "dkm:decay=1e308",
        "a" * 1000,
    ),
)
ENVIRONMENTS = (
    *(
        "evil:X-v0",
        "CartPole-v1?env_id=evil:X",
        'GymV26Environment-v0?env_id="evil\\u003aX-v0"',
        "engram/OpenRoom-v0?x=1",
    ),
    *(
        'engram/OpenRoom-v0?plan="###"',
        "engram/OpenRoom-v0?plan=[[[[",
        "engram/OpenRoom-v0?plan=",
        "pong?screen_size=20000",
    ),
    *("pong?frame_skip=0", "pong?stacked_frames=0", "pong?noop_max=-1", "../x", "", "engram/FourRoom-v0", "Taxi-v3"),
)
EXTREMES = (0, 1, -1, 99, 2**31, -(2**31), 2**52, 2**62, -(2**62), 2**63 - 1)
FLOATS = (np.nan, np.inf, -np.inf, -1, -0.0, 1e-45, 1e6, 1e15, 1e16, 1e30, 3e38, -3e38, 1e300)


class Content(NamedTuple):
    """What a model file holds."""

    manifest: dict[str, Any]
    arrays: dict[str, Array]


def content_of(path: Path) -> Content:
    """The manifest and the arrays of a file."""
    with safe_open(path, framework="numpy") as file:
        manifest = json.loads(file.metadata()[FORMAT].partition("\n")[2])
        return Content(manifest, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118 (not a mapping)


def signed(content: Content) -> bytes:
    """A model file of this content, with a valid checksum."""
    text = json.dumps(content.manifest)
    return save(content.arrays, {FORMAT: f"{checksum(text, content.arrays)}\n{text}"})


def mutate(content: Content, other: Content, rng: random.Random) -> Content:
    """Another content: a few changes of the manifest and the arrays, some of them with what another file has there."""
    mutated = Content(copy.deepcopy(content.manifest), {name: each.copy() for name, each in content.arrays.items()})
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.random() < 0.45:
            mutate_tree(mutated.manifest, other.manifest, rng)
        else:
            mutate_arrays(mutated.arrays, other.arrays, rng)
    return mutated


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, repeat or insert bytes anywhere, most often in the header."""
    mutated = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(min(len(mutated), 400) if rng.random() < 0.5 else len(mutated))
        kind = rng.randrange(5)
        if kind == 0:
            mutated[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            mutated[at] = rng.randrange(256)
        elif kind == 2:
            del mutated[at : at + rng.choice((1, 8, 100, 10**6))]
        elif kind == 3:
            mutated[at:at] = mutated[at : at + rng.choice((1, 8, 100))]
        else:
            mutated[at : at + 8] = rng.choice((2**63 - 1, 2**40, 0, 100_000_001)).to_bytes(8, "little")
        if not mutated:
            break
    return bytes(mutated)


def mutate_tree(tree: Any, other: Any, rng: random.Random) -> None:
    """Change one value of nested data, delete it, add one beside it, or take the one of another file."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        there = other[key] if isinstance(other, dict) and key in other else None
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.85:
            tree, other = tree[key], there
            continue
        kind = rng.randrange(10)
        if key == "env":
            tree[key] = rng.choice(ENVIRONMENTS)
        elif kind == 0:
            del tree[key]
        elif kind == 1 and isinstance(tree, dict):
            tree[rng.choice(("extra", "name", "source", "rows_end", "capacity"))] = copy.deepcopy(rng.choice(STRANGE))
        elif kind == 2 and there is not None:
            tree[key] = copy.deepcopy(there)
        elif kind < 6 and isinstance(tree[key], int | float) and not isinstance(tree[key], bool):
            tree[key] = rng.choice(
                (tree[key] + 1, tree[key] - 1, tree[key] * 2, -tree[key], tree[key] // 2, tree[key] + 0.5)
            )
        else:
            tree[key] = copy.deepcopy(rng.choice(STRANGE))
        return


def mutate_arrays(arrays: dict[str, Array], other: dict[str, Array], rng: random.Random) -> None:
    """Change an array's values, shape, dtype or name, or take another one in its place."""
    name = rng.choice(list(arrays)) if arrays else ""
    if not arrays:
        return
    array = arrays[name]
    kind = rng.randrange(12)
    with np.errstate(all="ignore"):
        if kind == 0:
            del arrays[name]
        elif kind <= 4 and array.size:
            mutate_values(array, rng)
        elif kind == 5:
            arrays[name] = array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
        elif kind == 6:
            arrays[name] = reshaped(array, rng)
        elif kind == 7:
            arrays[name] = array.astype(
                rng.choice((np.float64, np.float32, np.int8, np.int64, np.uint64, np.float16, bool))
            )
        elif kind == 8:
            arrays[rng.choice((name + "/deeper", "x", "memory", name[::-1], "loop/observation"))] = array
        elif kind == 9:
            arrays[name] = np.concatenate([array, array]) if array.ndim else array.reshape(1)
        elif kind == 10:
            arrays[name] = rng.choice([each for title, each in arrays.items() if title != name] or [array])
        else:
            arrays[name] = other.get(name, array)


def mutate_values(array: Array, rng: random.Random) -> None:
    """Change one value, some, or all of an array."""
    flat = array.reshape(-1)
    how = rng.randrange(6)
    if array.dtype.kind == "b":
        flat[rng.randrange(flat.size)] ^= True
        return
    value = rng.choice(FLOATS if array.dtype.kind == "f" else EXTREMES)
    drawn = np.array(value).astype(array.dtype)
    if how <= 2:
        flat[rng.randrange(flat.size)] = drawn
    elif how == 3:
        flat[:] = drawn
    elif how == 4:
        np.random.default_rng(rng.randrange(2**32)).shuffle(array)
    else:
        flat[:] = (flat * rng.choice((-1, 2, 100))).astype(array.dtype)


def reshaped(array: Array, rng: random.Random) -> Array:
    """The same numbers in another shape, or none at all in rows that would be very wide."""
    if rng.random() < 0.4:
        return np.zeros((0, rng.choice((1, 10**5, 10**9, 2**40))), array.dtype)
    return np.ascontiguousarray(array.T) if array.ndim > 1 else array.reshape(-1, 1)
