"""Where entries lie in a picture: in a room, along two numbers of an observation, or along two principal axes."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from engram.agents import Agent
from engram.agents.common.episode import as_array
from engram.encoders.identity import Identity
from engram.encoders.scaled import Scaled
from engram.errors import InvalidInputError
from engram.hashing import state_of
from engram.pictures.scene import Scene
from engram.runs.snapshots import Entries, Snapshot
from engram.typing import Array, Doubles, Floats, Longs

FITTED = 2_000  # entries, at most, from which a plane is chosen
NEAREST = 0.98  # of them, by which principal axes are fitted
FEW_VALUES = 4  # of a number, along which there is no plane to draw
MOST_NUMBERS = 16  # of an observation, of which a telling pair is looked for
ON_CURVE = 0.15  # the smallest singular value of terms of length 1, below which they nearly depend on each other


class Plane:
    """Maps keys to two coordinates."""

    labels: tuple[str, str]
    note: str  # how the coordinates come about, as the end of a caption
    dimensions: tuple[int, int] | None = None  # the two numbers of a key that they are, if they are such

    def place(self, entries: Entries) -> Doubles:
        """[n, 2]."""
        raise NotImplementedError


class Dimensions(Plane):
    """Two numbers of a key."""

    def __init__(self, first: int, second: int, names: Sequence[str], note: str) -> None:
        self.dimensions, self.note = (first, second), note
        self.labels = names[first], names[second]

    def place(self, entries: Entries) -> Doubles:
        """Two columns of the keys."""
        return entries.keys[:, self.dimensions].astype(np.float64)


class KeyAndValue(Plane):
    """The only number of a key, and the value."""

    def __init__(self, name: str) -> None:
        self.labels, self.note = (name, "value"), "Keys are single numbers, so the height shows the value."

    def place(self, entries: Entries) -> Doubles:
        """Keys and values side by side."""
        return np.stack([entries.keys[:, 0], entries.values], axis=1).astype(np.float64)


class PrincipalAxes(Plane):
    """The two directions in which keys differ most."""

    def __init__(self, keys: Floats) -> None:
        sample = _without_farthest(keys[spread_out(len(keys), FITTED)].astype(np.float64))
        self._mean = sample.mean(axis=0)
        _, spread, axes = np.linalg.svd(sample - self._mean, full_matrices=False)
        self._axes = np.zeros((2, keys.shape[1]))
        self._axes[: len(axes[:2])] = axes[:2]
        largest = self._axes[[0, 1], np.abs(self._axes).argmax(axis=1)]
        self._axes *= np.where(largest < 0, -1, 1)[:, None]  # a sign of its own has no meaning
        variance = spread**2
        shares = [100 * float(variance[i : i + 1].sum() / (variance.sum() or 1.0)) for i in (0, 1)]
        self.labels = (f"1st principal axis ({shares[0]:.0f} %)", f"2nd principal axis ({shares[1]:.0f} %)")
        self.note = (
            f"Keys have {keys.shape[1]} numbers; shown are the two directions in which they differ most, with their "
            "shares of the variance. What lies far off is drawn at the edge."
        )

    def place(self, entries: Entries) -> Doubles:
        """Projected keys."""
        return np.asarray((entries.keys - self._mean) @ self._axes.T, np.float64)


def _without_farthest(points: Doubles) -> Doubles:
    """All points but the few that lie farthest from the middle, which would decide the axes alone."""
    if not len(points):
        return np.zeros((1, points.shape[1]))
    away: Doubles = ((points - np.median(points, axis=0)) ** 2).sum(axis=1)
    return np.asarray(points[away <= np.quantile(away, NEAREST)], np.float64)


class Floor(Plane):
    """The cells of a room, for keys that are not coordinates themselves: an entry lies where its state does."""

    def __init__(self, floor: Floats, keys: Floats) -> None:
        self._floor, self._keys = floor, keys
        self._cells = {state_of(cell): number for number, cell in enumerate(floor)}
        self.labels, self.dimensions = ("x", "y"), (0, 1)
        self.note = (
            "Entries lie on the cell whose state they were stored with; an entry of no single cell lies on the one "
            "whose key is nearest."
        )

    def place(self, entries: Entries) -> Doubles:
        """The cells of states that are cells; for others those with the nearest keys."""
        numbers = np.array([self._cells.get(int(state), -1) for state in entries.states], np.int64)
        lost = numbers < 0
        away = ((entries.keys[lost, None] - self._keys[None]) ** 2).sum(axis=2)
        numbers[lost] = away.argmin(axis=1) if lost.any() else 0
        return self._floor[numbers].astype(np.float64)


def choose_plane(agent: Agent, scene: Scene, snapshot: Snapshot, wanted: str | None = None) -> Plane:
    """The plane of the agent's keys: the two numbers that were asked for (`"0,2"`, or names), or the most telling."""
    made_by = key_maker(agent)
    if wanted is not None and (scene.plan is not None or not scene.numbers):
        what = "images" if scene.plan is None else "the cells of a room, which is drawn as it is"
        raise InvalidInputError(
            f"axes are two numbers of an observation, and the observations here are {what}; leave out axes, got "
            f"{wanted!r}"
        )
    if scene.plan is not None:
        coordinates = Dimensions(0, 1, scene.numbers, "Entries lie where their states do.")
        return coordinates if type(made_by) is Identity else Floor(scene.floor, keys_of(agent, scene.floor))
    if type(made_by) is Identity and scene.numbers:
        return plane_of_keys(scene.numbers, snapshot, wanted)
    if type(made_by) is Scaled:
        return plane_of_keys([f"{name}, scaled" for name in scene.numbers], snapshot, wanted, scene.numbers)
    return PrincipalAxes(snapshot.keys)


def plane_of_keys(
    labels: Sequence[str], snapshot: Snapshot, wanted: str | None, names: Sequence[str] | None = None
) -> Plane:
    """A plane of keys that are numbers with names, which may be asked for by other names than those shown."""
    if wanted is not None:
        return Dimensions(*parse_pair(wanted, names or labels), labels, "")
    if len(labels) == 1:
        return KeyAndValue(labels[0])
    if len(labels) == 2:
        return Dimensions(0, 1, labels, "")
    if len(labels) > MOST_NUMBERS:
        return PrincipalAxes(snapshot.keys)
    varied = varied_numbers(snapshot.keys)
    if len(varied) < 2:
        return PrincipalAxes(snapshot.keys)
    first, second = telling_pair(snapshot.keys[:, varied], snapshot.values)
    note = f"Of {len(labels)} numbers these two tell most about the values."
    return Dimensions(varied[first], varied[second], labels, note)


def key_maker(agent: Agent) -> Any:
    """What makes the agent's keys: an encoder, or a network."""
    recall = getattr(agent, "recall", None)
    return getattr(agent, "encoder", None) if recall is None else recall.encoder


def keys_of(agent: Agent, observations: Array) -> Floats:
    """The keys of observations, [B, …] → [B, key_size]."""
    with agent.lock:
        return as_array(key_maker(agent)(observations))


def parse_pair(wanted: str, names: Sequence[str]) -> tuple[int, int]:
    """Two numbers of an observation from text such as `0,2` or `pole angle,pole velocity`."""
    parts = [part.strip() for part in wanted.split(",")]
    found = [_number(part, names) for part in parts]
    if len(found) != 2 or None in found or found[0] == found[1]:
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(names[:MOST_NUMBERS]))
        raise InvalidInputError(
            f"axes must be two different numbers of an observation, such as 0,1, got {wanted!r}; there are {known}"
        )
    return int(found[0] or 0), int(found[1] or 0)


def _number(part: str, names: Sequence[str]) -> int | None:
    if part in names:
        return list(names).index(part)
    return int(part) if part.isdecimal() and int(part) < len(names) else None


def varied_numbers(points: Array) -> list[int]:
    """The numbers of observations that take more than a few values, as those that are on or off do not."""
    every = range(points.shape[1])
    if len(points) <= 2 * FEW_VALUES:
        return list(every)
    return [number for number in every if len(np.unique(points[:, number])) > FEW_VALUES]


def telling_pair(points: Array, values: Array) -> tuple[int, int]:
    """The two dimensions of which a quadratic function comes nearest to the values, and that fill a plane if any do."""
    chosen = spread_out(len(points), FITTED)
    x, y = points[chosen].astype(np.float64), values[chosen].astype(np.float64)
    if len(x) < 8:
        return 0, 1
    deviation = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    misses = {}
    for i, j in combinations(range(x.shape[1]), 2):
        a, b = x[:, i], x[:, j]
        columns = np.stack([np.ones_like(a), a, b, a * b, a * a, b * b], axis=1)
        fitted = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
        misses[i, j] = _lie_on_curve(columns), float(((y - fitted) ** 2).sum())
    return min(misses, key=lambda pair: misses[pair])


def _lie_on_curve(columns: Doubles) -> bool:
    """Whether points nearly fulfil an equation of the second degree, as the cosine and the sine of an angle do."""
    lengths = np.linalg.norm(columns, axis=0)
    smallest = np.linalg.svd(columns / np.where(lengths > 0, lengths, 1), compute_uv=False)[-1]
    return bool(smallest < ON_CURVE)


def spread_out(count: int, most: int) -> Longs:
    """The numbers from 0 to `count` − 1, or `most` of them at equal distances."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)
