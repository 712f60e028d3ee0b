"""Which state is it? The 64-bit xxHash (XXH64, seed 0) of an observation's canonical bytes.

Canonical bytes: C order, little-endian, −0 as 0. The hash has no secret and no seed, so that a state has the
same name in every run and every file.
"""

import sys

import numpy as np
from xxhash import xxh64_intdigest

from engram.typing import Array, States

HASH_NAME = "xxh64"
LITTLE_ENDIAN = sys.byteorder == "little"
FLOAT32 = np.dtype(np.float32)


def canonical(observation: Array) -> Array:
    """An equal array whose bytes are the same on every machine."""
    dtype = observation.dtype
    if dtype.kind == "f":
        observation = observation + 0.0  # −0 + 0 = 0; a Python float leaves the dtype alone
    if not (LITTLE_ENDIAN and dtype.isnative):
        observation = observation.astype(dtype.newbyteorder("<"))
    return observation if observation.flags.c_contiguous else np.ascontiguousarray(observation)


def state_of(observation: Array, *, seed: int = 0) -> int:
    """The 64-bit hash of an observation; with a seed, another hash for each seed."""
    if observation.dtype is FLOAT32 and LITTLE_ENDIAN and observation.flags.c_contiguous:  # nothing else to be done
        return xxh64_intdigest((observation + 0.0).data, seed)
    return xxh64_intdigest(canonical(observation).data, seed)


def states_of(observations: Array) -> States:
    """The 64-bit hashes of the rows of a batch."""
    return np.array([state_of(observation) for observation in observations], np.uint64)
