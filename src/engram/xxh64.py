"""XXH64 for kernels: the hash of an observation's bytes, the same as xxHash gives, without leaving compiled code."""

import numpy as np

from engram.compiling import compiled
from engram.typing import Array

P1 = np.uint64(0x9E3779B185EBCA87)
P2 = np.uint64(0xC2B2AE3D27D4EB4F)
P3 = np.uint64(0x165667B19E3779F9)
P4 = np.uint64(0x85EBCA77C2B2AE63)
P5 = np.uint64(0x27D4EB2F165667C5)
WORD = np.uint64(64)
STRIPE = 32  # bytes that the four sums take at a time


@compiled
def rotated(x: np.uint64, by: int) -> np.uint64:
    """The bits of a word, rotated to the left."""
    return (x << np.uint64(by)) | (x >> (WORD - np.uint64(by)))


@compiled
def mixed(total: np.uint64, word: np.uint64) -> np.uint64:
    """A sum with one more word of the input."""
    return rotated(total + word * P2, 31) * P1


@compiled
def word_at(data: Array, at: int, size: int) -> np.uint64:
    """The number that `size` bytes are, the lowest first."""
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return word


@compiled
def xxh64(data: Array, seed: np.uint64) -> np.uint64:
    """The 64-bit xxHash of some bytes."""
    size, at = len(data), 0
    if size >= STRIPE:
        s1, s2, s3, s4 = seed + P1 + P2, seed + P2, seed, seed - P1
        while at + STRIPE <= size:
            s1 = mixed(s1, word_at(data, at, 8))
            s2 = mixed(s2, word_at(data, at + 8, 8))
            s3 = mixed(s3, word_at(data, at + 16, 8))
            s4 = mixed(s4, word_at(data, at + 24, 8))
            at += STRIPE
        total = rotated(s1, 1) + rotated(s2, 7) + rotated(s3, 12) + rotated(s4, 18)
        for each in (s1, s2, s3, s4):
            total = (total ^ mixed(np.uint64(0), each)) * P1 + P4
    else:
        total = seed + P5
    total += np.uint64(size)
    while at + 8 <= size:
        total = rotated(total ^ mixed(np.uint64(0), word_at(data, at, 8)), 27) * P1 + P4
        at += 8
    if at + 4 <= size:
        total = rotated(total ^ (word_at(data, at, 4) * P1), 23) * P2 + P3
        at += 4
    while at < size:
        total = rotated(total ^ (np.uint64(data[at]) * P5), 11) * P1
        at += 1
    total = (total ^ (total >> np.uint64(33))) * P2
    total = (total ^ (total >> np.uint64(29))) * P3
    return total ^ (total >> np.uint64(32))
