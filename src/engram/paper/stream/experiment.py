"""The paper's appendix: which points of a stream do the strategies keep?

First come the points of a grid, in random order, then as many from a skew normal distribution: random exploration,
then convergence. LRU, kM and DkM see them one by one, and so does `fading`, which is ours; k-means, the reference, sees
all at once and in no order.
How far what is kept is from the data is the energy distance between the two sets of points,

    E = 2 E|X − Y| − E|X − X'| − E|Y − Y'|,

which is 0 for equal distributions and for no others. The paper shows kernel density estimates; a divergence between
those would depend on a bandwidth and a lattice of one's choice, and needs more points than a small memory has. Every
entry counts as one point, whatever its n, as the paper plots centres without weights.

The paper gives no sizes, and one decides what DkM does: the length of the stream in capacities N. A write to a full
table adds 1 to one count and takes 1/N from each of N, so counts stay around 1, and an entry that is never the
nearest is gone after some N writes. Therefore streams of other lengths are measured too, and a long one is looked at
over time: so long that `fading` forgets too, whose entries last some thirty times as long.
"""

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engram import checks
from engram.errors import InvalidInputError, MissingExtraError, RunFolderError
from engram.files.disk import write_atomically
from engram.memory.memory import EpisodicMemory
from engram.paper.stream.costs import Cost, Timing, measure_costs
from engram.typing import Array, Doubles, Floats

try:
    from scipy.spatial.distance import cdist
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits
except ModuleNotFoundError as error:
    raise MissingExtraError('the study "stream" needs scikit-learn: pip install "engram-rl[report]"') from error

BATCH = "batch"  # k-means on the whole data, as opposed to the strategy "kmeans", which is online
ONLINE = ("lru", "kmeans", "dkm", "fading")  # strategies, which see one point after the other
METHODS = (*ONLINE, BATCH)
FRACTIONS = (0.25, 0.5, 0.75)  # of the stream, after which these are measured besides its end
LATER = (0, 1, 10)  # capacities after the change of the watched stream at which it is shown, besides its end
SEEDS = range(20)
SHOWN = 2_000  # points of the stream that are written down, at most
BLOCK = 500  # rows of distances held at a time


class Data(NamedTuple):
    """A stream's two halves, each [points / 2, 2] float32."""

    first: Floats
    second: Floats

    @property
    def all(self) -> Floats:
        """The whole stream, in order."""
        return np.concatenate(self)


@dataclass(frozen=True)
class Stream:
    """A stream of points in the plane, and what is measured on it. All defaults are ours: the paper names none."""

    points: int = 1_000  # of the whole stream, half of them from the grid
    capacity: int = 250  # N, points that each method may keep
    grid_low: float = 0.0  # the grid's points are the middles of as many rows as columns of cells, from here
    grid_high: float = 1.0  # to here in both dimensions
    location: tuple[float, float] = (0.25, 0.75)  # ξ of the skew normal distribution
    scale: tuple[float, float] = (0.2, 0.13)  # ω
    correlation: float = -0.5  # off the diagonal of Ω̄
    shape: tuple[float, float] = (6.0, -3.0)  # α; 0 would be the normal distribution
    lengths: tuple[int, ...] = (2, 3, 4, 6, 8, 12, 20)  # of the other streams, in capacities
    watched: int = 80  # length of the stream that is shown over time, in capacities
    timing: Timing = field(default_factory=Timing)  # of what it costs

    def __post_init__(self) -> None:
        if checks.at_least("points", self.points, 2) % 2:
            raise InvalidInputError(f"points must be even, half of each kind, got {self.points}")
        if not 1 <= self.capacity <= self.points:
            raise InvalidInputError(f"capacity must be from 1 to points = {self.points}, got {self.capacity}")
        checks.within("correlation", self.correlation, -0.999, 0.999)
        checks.at_least("watched", self.watched, 2 * max(LATER) + 2)

    def make(self, seed: int) -> Data:
        """The stream of a seed."""
        grid, skewed = (np.random.Generator(np.random.PCG64(s)) for s in np.random.SeedSequence(seed).spawn(2))
        count = self.points // 2
        side = int(np.ceil(np.sqrt(count)))
        line = self.grid_low + (np.arange(side) + 0.5) / side * (self.grid_high - self.grid_low)
        cells = grid.permutation(side * side)[:count]
        first = np.stack([line[cells % side], line[cells // side]], axis=1)
        return Data(first.astype(np.float32), self.skew_normal(skewed, count).astype(np.float32))

    def skew_normal(self, rng: np.random.Generator, count: int) -> Doubles:
        """ξ + ω z with z of density 2 φ(z; Ω̄) Φ(αᵀz) (Azzalini & Capitanio 1999), [count, 2].

        z = x if u < αᵀx, otherwise −x, with x from N(0, Ω̄) and u from N(0, 1).
        """
        root = np.linalg.cholesky([[1, self.correlation], [self.correlation, 1]])
        x = rng.standard_normal((count, 2)) @ root.T
        u = rng.standard_normal(count)
        z = np.where((u < x @ np.array(self.shape))[:, None], x, -x)
        return np.asarray(self.location + np.array(self.scale) * z)


class Distance(NamedTuple):
    """How far what a method keeps is from the data."""

    points: int  # of the stream
    seed: int
    method: str
    fraction: float  # of the stream that the method has seen
    to_first: float  # energy distance to the first half of the whole stream
    to_second: float
    to_all: float


def mean_distance(x: Array, y: Array) -> float:
    """E|X − Y| over all pairs of [n, d] and [m, d]."""
    total = sum(float(cdist(x[i : i + BLOCK], y).sum()) for i in range(0, len(x), BLOCK))
    return total / (len(x) * len(y))


def energy_distance(x: Array, y: Array, *, within_y: float | None = None) -> float:
    """E = 2 E|X − Y| − E|X − X'| − E|Y − Y'|, of the points as they are; the last term may be known already."""
    within_y = mean_distance(y, y) if within_y is None else within_y
    return max(2 * mean_distance(x, y) - mean_distance(x, x) - within_y, 0.0)


def stored(method: str, points: Floats, *, capacity: int, seed: int = 0) -> Floats:
    """What a strategy keeps of points written one after the other, or the centres of "batch" k-means, [≤ N, 2]."""
    if method == BATCH:
        with threadpool_limits(1):  # sums over several threads would depend on which is done first
            return np.asarray(KMeans(capacity, n_init=2, random_state=seed).fit(points).cluster_centers_, np.float32)
    memory = EpisodicMemory(actions=1, key_size=points.shape[1], capacity=capacity, strategy=method)
    memory.write(0, points, np.zeros(len(points), np.float32))
    return np.asarray(memory.entries(0)["keys"])


def snapshots(
    stream: Stream, seed: int, fractions: Sequence[float], methods: Sequence[str] = METHODS
) -> Iterator[tuple[str, float, Floats]]:
    """What each strategy keeps after fractions of the stream, and then every method after all of it."""
    points = stream.make(seed).all
    times = [(method, part) for method in methods if method in ONLINE for part in fractions]
    for method, fraction in [*times, *((method, 1.0) for method in methods)]:
        seen = points[: round(fraction * len(points))]
        yield method, fraction, stored(method, seen, capacity=stream.capacity, seed=seed)


def measure(
    stream: Stream,
    seeds: Sequence[int],
    *,
    fractions: Sequence[float] = FRACTIONS,
    methods: Sequence[str] = METHODS,
) -> list[Distance]:
    """Distances of methods after the whole stream, and of the strategies among them after fractions of it."""
    rows = []
    for seed in seeds:
        data = stream.make(seed)
        targets = [(points, mean_distance(points, points)) for points in (*data, data.all)]
        for method, fraction, kept in snapshots(stream, seed, fractions, methods):
            distances = (energy_distance(kept, points, within_y=within) for points, within in targets)
            rows.append(Distance(stream.points, seed, method, fraction, *distances))
    return rows


def measure_lengths(stream: Stream, seeds: Sequence[int]) -> list[Distance]:
    """Distances of all methods after streams of other lengths."""
    sizes = [2 * round(length * stream.capacity / 2) for length in stream.lengths]
    return [row for points in sizes for row in measure(replace(stream, points=points), seeds, fractions=())]


def watched(stream: Stream) -> tuple[Stream, list[float]]:
    """The stream that is shown over time, which is a long one, and the fractions of it after which it is."""
    half = stream.watched * stream.capacity // 2
    return replace(stream, points=2 * half), [(half + later * stream.capacity) / (2 * half) for later in LATER]


def measure_times(stream: Stream, seed: int) -> list[Distance]:
    """Distances of the strategies over time."""
    long, fractions = watched(stream)
    return measure(long, [seed], fractions=fractions, methods=ONLINE)


def run_stream(out: Path, *, stream: Stream | None = None, seeds: Sequence[int] = SEEDS) -> None:
    """Write what is missing of study.json, distances, lengths, times, points and costs (CSV), and meta.json.

    With other seeds than before everything but the times is made anew; other parameters need another folder.
    """
    stream, started = stream or Stream(), perf_counter()
    if not seeds:
        raise InvalidInputError("seeds must be at least one, got none")
    tables: dict[str, Callable[[], bytes]] = {
        "distances.csv": lambda: _csv(Distance._fields, measure(stream, seeds)),
        "lengths.csv": lambda: _csv(Distance._fields, measure_lengths(stream, seeds)),
        "times.csv": lambda: _csv(Distance._fields, measure_times(stream, seeds[0])),
        "points.csv": lambda: _csv(("points", "method", "fraction", "x", "y"), _points(stream, seeds[0])),
        "costs.csv": lambda: _csv(Cost._fields, measure_costs(stream.timing, seeds[0])),
    }
    _claim(out, {"study": "stream", "parameters": asdict(stream), "seeds": [int(seed) for seed in seeds]})
    missing = [name for name in tables if not (out / name).exists()]
    for name in missing:
        write_atomically(out / name, tables[name]())
    if missing or not (out / "meta.json").exists():
        write_atomically(out / "meta.json", _json(_meta(perf_counter() - started)))


def _claim(out: Path, study: dict[str, Any]) -> None:
    """Write `study.json`, unless the folder holds other parameters; remove what was made with other seeds."""
    path = out / "study.json"
    if path.exists():
        before, now = json.loads(path.read_bytes()), json.loads(_json(study))
        if before == now:
            return
        if before | {"seeds": None} != now | {"seeds": None}:
            raise RunFolderError(f"{out} holds a study with other parameters; use another folder")
        for name in ("distances.csv", "lengths.csv", "times.csv", "points.csv"):
            (out / name).unlink(missing_ok=True)
    write_atomically(path, _json(study))


def _points(stream: Stream, seed: int) -> Iterator[tuple[int, str, float, float, float]]:
    """What is drawn: the stream itself, what each method keeps of it, and what is kept of a long one over time."""
    data = stream.make(seed).all
    shown = data[np.linspace(0, len(data) - 1, min(len(data), SHOWN)).astype(int)]
    long, fractions = watched(stream)
    drawn = [(stream.points, "data", 1.0, shown)]
    drawn += [(stream.points, *kept) for kept in snapshots(stream, seed, ())]
    drawn += [(long.points, *kept) for kept in snapshots(long, seed, fractions, ONLINE)]
    for points, method, fraction, some in drawn:
        yield from ((points, method, fraction, float(x), float(y)) for x, y in some)


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2) + "\n").encode()


def _csv(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> bytes:
    lines = [",".join(f"{cell:.7g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows]
    return "\n".join([",".join(header), *lines, ""]).encode()


def _meta(seconds: float) -> dict[str, Any]:
    packages = ("engram-rl", "numba", "numpy", "scikit-learn", "scipy")
    return {
        "seconds": round(seconds, 3),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }
