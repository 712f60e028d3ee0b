"""How many keys a sketch leaves to be looked at: `python -m tools.sketch_axes [GAME]`.

Keys of 18,000 frames of random play fill a table of 10,000, queries come from 2,000 frames of another game. For several
kinds of sketches the share of entries is printed that they do not rule out, given the true distance to the k-th
neighbour. See engram/memory/sketch.py.
"""

import sys
from typing import NamedTuple

import numpy as np

from engram.bench.real_keys import random_play
from engram.memory.sketch import LARGEST, SPREAD, turned
from engram.typing import Doubles


class Kind(NamedTuple):
    """A kind of sketch."""

    first: int  # axes with the first size of steps
    more: int = 0  # axes with smaller steps
    norms: bool = False  # with the norm of what the axes leave out
    turned: bool = False  # among the principal components, so that keys differ as much along each
    occurred: bool = False  # rounding errors that occurred, instead of the largest possible

    def __str__(self) -> str:
        words = [f"{self.first} axes" + (f" and {self.more} finer ones" if self.more else "")]
        words += [name for name in ("norms of the rest",) if self.norms]
        words += [name for name in ("turned",) if self.turned]
        words += [name for name in ("errors that occurred",) if self.occurred]
        return ", ".join(words)


KINDS = (
    *(Kind(12), Kind(32), Kind(32, norms=True), Kind(64), Kind(16), Kind(16, 32), Kind(16, 48), Kind(16, 64)),
    *(Kind(16, 64, turned=True), Kind(16, 64, turned=True, occurred=True), Kind(16, turned=True, occurred=True)),
)


def lower_bounds(table: Doubles, query: Doubles, variances: Doubles, kind: Kind) -> Doubles:
    """Squared distances that those along some axes are not below, from codes. Arrays are along principal components."""
    spread = float(np.sqrt(variances.max()))
    if kind.turned:
        axes, spread = turned(np.eye(len(query)), variances)
        table, query = table @ axes, query @ axes
    step = SPREAD * spread / LARGEST
    entries, asked = (np.clip(each / step, -LARGEST, LARGEST) for each in (table, query))
    codes, code = np.rint(entries), np.rint(asked)
    error = np.sqrt(((entries - codes) ** 2).sum(axis=1).max()) if kind.occurred else 0.5 * np.sqrt(len(query))
    distances = np.sqrt(((codes - code) ** 2).sum(axis=1))
    bounds: Doubles = (np.maximum(distances - error - np.sqrt(((asked - code) ** 2).sum()), 0) * step) ** 2
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
        for kind in KINDS:
            left = []
            for query in asked:
                bound = np.partition(((table - query) ** 2).sum(axis=1), neighbours - 1)[neighbours - 1]
                low = np.zeros(len(table))
                for some in (slice(kind.first), slice(kind.first, kind.first + kind.more)):
                    if some.stop > (some.start or 0):
                        low += lower_bounds(table[:, some], query[some], variances[some], kind)
                if kind.norms:
                    rests = (np.sqrt((each[..., kind.first :] ** 2).sum(axis=-1)) for each in (table, query))
                    low = low + np.subtract(*rests) ** 2
                left.append(float((low <= bound).mean()))
            print(f"{game}, k = {neighbours}: {kind!s:55} {np.mean(left):.3f} of all entries are left", flush=True)


if __name__ == "__main__":
    main()
