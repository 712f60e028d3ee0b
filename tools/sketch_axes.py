"""How many keys a sketch leaves to be looked at: `python -m tools.sketch_axes [GAME]`.

Keys of 18,000 frames of random play fill a table of 10,000, queries come from 2,000 frames of another game. For several
numbers of axes, and for one size of steps or two, the share of entries is printed that the sketch does not rule out,
given the true distance to the k-th neighbour. See engram/memory/sketch.py.
"""

import sys

import numpy as np

from engram.bench.real_keys import random_play
from engram.typing import Doubles

LARGEST, SPREAD = 127, 3


def coded(numbers: Doubles, step: float) -> Doubles:
    """Coordinates in whole steps, clipped."""
    return np.rint(np.clip(numbers / step, -LARGEST, LARGEST))


def lower_bounds(table: Doubles, query: Doubles, step: float) -> Doubles:
    """Squared distances that those along some axes are not below, from their codes."""
    clipped = np.clip(query / step, -LARGEST, LARGEST)
    code = np.rint(clipped)
    error = 0.5 * np.sqrt(len(query)) + np.sqrt(((clipped - code) ** 2).sum())
    distances = np.sqrt(((coded(table, step) - code) ** 2).sum(axis=1))
    bounds: Doubles = (np.maximum(distances - error, 0) * step) ** 2
    return bounds


def main() -> None:
    """Print a line for each kind of sketch."""
    game = sys.argv[1] if len(sys.argv) > 1 else "pong"
    keys = random_play(game, 18_000, 0).astype(np.float64)
    keys = keys[np.random.default_rng(0).permutation(len(keys))[:10_000]]
    queries = random_play(game, 2_000, 1_000)[::20].astype(np.float64)
    variances, axes = np.linalg.eigh(np.cov(keys.T))
    variances, axes = variances[::-1], axes[:, ::-1]
    table, asked = (keys - keys.mean(axis=0)) @ axes, (queries - keys.mean(axis=0)) @ axes
    for neighbours in (11, 50):
        for first, more, norms in (
            (12, 0, False),
            (32, 0, False),
            (32, 0, True),
            (64, 0, False),
            (16, 32, False),
            (16, 48, False),
        ):
            left = []
            for query in asked:
                bound = np.partition(((table - query) ** 2).sum(axis=1), neighbours - 1)[neighbours - 1]
                low = lower_bounds(table[:, :first], query[:first], SPREAD * np.sqrt(variances[0]) / LARGEST)
                if more:
                    step = SPREAD * np.sqrt(variances[first]) / LARGEST
                    low = low + lower_bounds(table[:, first : first + more], query[first : first + more], step)
                if norms:
                    rests = (np.sqrt((each[..., first:] ** 2).sum(axis=-1)) for each in (table, query))
                    low = low + np.subtract(*rests) ** 2
                left.append(float((low <= bound).mean()))
            what = (
                f"{first} axes" + (f" and {more} finer ones" if more else "") + (", norms of the rest" if norms else "")
            )
            print(f"{game}, k = {neighbours}: {what:34} {np.mean(left):.3f} of all entries are left", flush=True)


if __name__ == "__main__":
    main()
