"""Fuzzing of model files: each of thousands of mutations must load as a valid agent or raise an EngramError."""

import copy
import json
import random
import resource
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from engram import D3QN, MFEC, NEC, load
from engram.errors import EngramError
from engram.files.arrays import FORMAT, checksum

SECONDS = 1.0  # that a load may take
MEMORY_MIB = 1024  # by which the process may grow over all loads
STRANGE: tuple[Any, ...] = (
    *(None, True, "", "lru", -1, 0, 1, 2.5, 1e308, 10**6, 10**9, 10**12, 2**63, -(2**70)),
    *([], {}, [1, 2], {"name": "dkm", "decay": -1}, "os:system", "../../etc/passwd", float("nan"), float("inf")),
)


def originals(folder: Path) -> list[Path]:
    """A model file of each kind of agent, saved in the middle of an episode."""
    small: dict[str, Any] = {"capacity": 20, "seed": 1}
    agents = {
        "mfec": MFEC("CartPole-v1", strategy="lru", **small).learn(333),
        "mfec-dkm": MFEC("engram/OpenRoom-v0", strategy="dkm", **small).learn(333),
        "nec": NEC("CartPole-v1", learn_memory=True, learning_start_steps=50, replay_size=100, **small).learn(333),
        "d3qn": D3QN("CartPole-v1", seed=1, learning_start_steps=50, replay_size=100).learn(333),
    }
    paths = []
    for name, agent in agents.items():
        paths.append(folder / f"{name}.safetensors")
        agent.save(paths[-1])
    return paths


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


def mutate_content(path: Path, rng: random.Random) -> bytes:
    """Change a file's manifest or arrays, and write a valid checksum for them."""
    with safe_open(path, framework="numpy") as file:
        text = file.metadata()[FORMAT].partition("\n")[2]
        arrays = {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118 (not a mapping)
    manifest = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.random() < 0.5:
            mutate_tree(manifest, rng)
        else:
            mutate_arrays(arrays, rng)
    text = json.dumps(manifest)
    return save(arrays, {FORMAT: f"{checksum(text, arrays)}\n{text}"})


def mutate_tree(tree: Any, rng: random.Random) -> None:
    """Replace a random value of nested data by an unexpected one, or delete it."""
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
            tree = tree[key]
            continue
        if rng.random() < 0.15:
            del tree[key]
        else:
            tree[key] = copy.deepcopy(rng.choice(STRANGE))
        return


def mutate_arrays(arrays: dict[str, Any], rng: random.Random) -> None:
    """Change an array's values, shape, dtype or name."""
    if not arrays:
        return
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.randrange(7)
    with np.errstate(all="ignore"):
        if kind == 0:
            del arrays[name]
        elif kind == 1 and array.size:
            flat = array.reshape(-1)
            flat[rng.randrange(flat.size)] = (
                rng.choice((np.nan, np.inf, -1, 1e30)) if array.dtype.kind == "f" else rng.choice((0, 1, 99))
            )
        elif kind == 2:
            arrays[name] = array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
        elif kind == 3:
            arrays[name] = np.ascontiguousarray(array.T) if array.ndim > 1 else array.reshape(-1, 1)
        elif kind == 4:
            arrays[name] = array.astype(rng.choice((np.float64, np.int8, np.uint64, np.float16, np.bool_)))
        elif kind == 5:
            arrays[rng.choice((name + "/deeper", "x", "memory", name[::-1]))] = array
        else:
            arrays[name] = np.concatenate([array, array]) if array.ndim else array.reshape(1)


def fuzz(count: int, seed: int) -> dict[str, Any]:
    """Load `count` mutated files and count the outcomes. Another error, a slow load or growing memory is a loss."""
    rng = random.Random(seed)
    outcomes = {"files": 0, "signed": 0, "refused": 0, "loaded": 0, "losses": 0}
    problems: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        paths = originals(folder)
        contents = {path: path.read_bytes() for path in paths}
        for path in paths:
            load(path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(count):
            path = rng.choice(paths)
            signed = number % 2 == 1
            mutated = folder / "mutated.safetensors"
            mutated.write_bytes(mutate_content(path, rng) if signed else mutate_bytes(contents[path], rng))
            begin = time.perf_counter()
            try:
                load(mutated).check_valid()
                outcomes["loaded"] += 1
            except EngramError:
                outcomes["refused"] += 1
            except Exception as error:
                outcomes["losses"] += 1
                problems.append(f"{path.stem} {'signed' if signed else 'bytes'} {number}: {error!r}")
            seconds = time.perf_counter() - begin
            if seconds > SECONDS:
                outcomes["losses"] += 1
                problems.append(f"{path.stem} {number}: {seconds:.1f} s")
            slowest = max(slowest, seconds)
            outcomes["files"] += 1
            outcomes["signed"] += signed
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    if grown > MEMORY_MIB:
        outcomes["losses"] += 1
        problems.append(f"the process grew by {grown} MiB")
    return {**outcomes, "slowest_seconds": round(slowest, 3), "grown_mib": grown, "problems": problems[:20]}
