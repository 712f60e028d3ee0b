"""The memory as the paper describes it, and as the protocol of strategies does, slowly: lists, scans and fractions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import erf, exp, isnan, sqrt
from operator import add
from typing import Any

import numpy as np

from engram.memory.strategies import Neighbourhood, Numbers, Strategy, Touch, Write, update
from engram.memory.strategies.decisions import APPEND, BLEND, DISCARD, UPDATE
from engram.typing import Doubles, Floats

NAN = float("nan")
FINE = 2**200  # fractions that would grow with every write are kept to the nearest 1/FINE


def total(values: Iterable[float]) -> float:
    """The sum from left to right, rounded after each term; `sum` compensates for rounding since Python 3.12."""
    return reduce(add, values, 0.0)


@dataclass
class Entry:
    key: Floats
    value: np.float32
    state: int
    last_used: int = 0
    surprise: float = 0.0
    n: Any = Fraction(1)
    worth: float = 0.0  # −1: a mean of several states


@dataclass
class Table:
    capacity: int
    strategy: str
    neighbours: int = 11
    delta: float = 1e-3
    kernel: str = "inverse"
    step: float | None = None  # None: keep the larger
    exact_read: bool = True
    decay: Fraction = Fraction(1)
    lifetime: Fraction = Fraction(10)
    entries: list[Entry] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)  # slots, in the order in which they were replaced

    def distances(self, key: Floats) -> Floats:
        total = np.zeros(len(self.entries), np.float32)
        for dim in range(len(key)):
            difference = np.array([entry.key[dim] for entry in self.entries], np.float32) - key[dim]
            total = total + difference * difference
        return total

    def nearest(self, key: Floats) -> list[int]:
        """Slots by (distance, slot), the k nearest."""
        order: list[int] = np.argsort(self.distances(key), kind="stable").tolist()
        return order[: self.neighbours]

    def read(self, key: Floats) -> float:
        if not self.entries:
            return 0.0
        slots = self.nearest(key)
        distances = self.distances(key)
        if self.exact_read and distances[slots[0]] == 0:
            return float(self.entries[slots[0]].value)
        if self.kernel == "mean":
            return float(np.mean([self.entries[slot].value for slot in slots], dtype=np.float64))
        weights = [1 / (float(distances[slot]) + self.delta) for slot in slots]
        values = [float(self.entries[slot].value) for slot in slots]
        return total(w * v for w, v in zip(weights, values, strict=True)) / total(weights)

    def touch(self, key: Floats, clock: int) -> None:
        for slot in self.nearest(key) if self.entries else []:
            self.entries[slot].last_used = clock

    def write(self, key: Floats, value: np.float32, state: int, clock: int, episode_return: float = NAN) -> None:
        full = len(self.entries) == self.capacity
        clusters = self.strategy in ("kmeans", "dkm", "fading")
        same = [entry for entry in self.entries if entry.state == state]
        estimate = float(same[0].value) if same else self.read(key)
        new = Entry(key.copy(), value, state, clock, abs(float(value) - estimate))
        if same and not (full and clusters):
            self.meet_again(same[0], new)
        elif not full:
            self.entries.append(new)
        elif self.strategy == "lru":
            self.replace(min(self.slots(), key=lambda i: (self.entries[i].last_used, i)), new)
        elif self.strategy == "rew":
            self.replace(min(self.slots(), key=lambda i: (self.entries[i].value, i)), new)
        elif self.strategy == "sur":
            self.replace(min(self.slots(), key=lambda i: (self.entries[i].surprise, i)), new)
        elif self.strategy == "kmeans":
            self.merge(self.entries[self.nearest(key)[0]], key, float(value))
        else:
            smallest = min(self.slots(), key=lambda i: (self.entries[i].n, i))
            if self.used_up(self.entries[smallest].n):
                self.replace(smallest, new)
            else:
                self.merge(self.entries[self.nearest(key)[0]], key, float(value))
            for entry in self.entries:
                entry.n = self.less(entry.n)

    def write_episode(self, keys: Floats, values: Floats, states: list[int]) -> None:
        """States of an ended episode in which one action was taken, in batches of at most N − 1."""
        new = [Entry(key.copy(), value, state) for key, value, state in zip(keys, values, states, strict=True)]
        most = max(self.capacity - 1, 1)
        for first in range(0, len(new), most):
            self.write_batch(new[first : first + most])

    def write_batch(self, batch: list[Entry]) -> None:
        """States for which there are free or used-up slots are stored; the others go to what was nearest before."""
        nearest = [self.nearest(state.key)[0] if self.entries else -1 for state in batch]
        gone = [slot for slot in self.slots() if self.strategy != "kmeans" and self.used_up(self.entries[slot].n)]
        gone.sort(key=lambda i: (self.entries[i].n, i))
        left: dict[int, list[Entry]] = {}
        for state, where in zip(batch, nearest, strict=True):
            same = [entry for entry in self.entries if entry.state == state.state]
            if len(self.entries) < self.capacity and same:
                self.meet_again(same[0], state)
            elif len(self.entries) < self.capacity:
                self.entries.append(state)
            elif gone:
                self.replace(gone.pop(0), state)
            else:
                left.setdefault(where, []).append(state)
        for slot, mine in left.items():
            key = [total(float(state.key[dim]) for state in mine) / len(mine) for dim in range(len(mine[0].key))]
            value = total(float(state.value) for state in mine) / len(mine)
            self.merge(self.entries[slot], np.array(key, np.float32), value)
            self.entries[slot].n += len(mine) - 1
        if left and self.strategy != "kmeans":
            for entry in self.entries:
                for _ in batch:
                    entry.n = self.less(entry.n)

    def used_up(self, n: Fraction) -> bool:
        return n <= 0 if self.strategy == "dkm" else n < Fraction(1, 2)

    def less(self, n: Fraction) -> Fraction:
        """What a write to the full table leaves of n."""
        if self.strategy == "dkm":
            return n - self.decay / self.capacity
        return Fraction(round(n * (1 - 1 / (self.lifetime * self.capacity)) * FINE), FINE)

    def slots(self) -> range:
        return range(len(self.entries))

    def replace(self, slot: int, new: Entry) -> None:
        self.entries[slot] = new
        self.replaced.append(slot)

    def meet_again(self, entry: Entry, new: Entry) -> None:
        if self.step is None:
            entry.value = max(entry.value, new.value)
        else:
            old = float(entry.value)
            entry.value = np.float32(old + self.step * (float(new.value) - old))
            entry.key = new.key
        entry.last_used, entry.surprise, entry.n = new.last_used, new.surprise, entry.n + 1

    def merge(self, entry: Entry, new_key: Floats, new_value: float) -> None:
        """(n c + s)/(n + 1), computed as c + (s − c)/(n + 1) in double precision."""
        weight = 1 / (float(entry.n) + 1)
        key = entry.key.astype(np.float64)
        difference = (new_key - entry.key).astype(np.float64)
        entry.key = (key + weight * difference).astype(np.float32)
        old = float(entry.value)
        entry.value = np.float32(old + weight * (new_value - old))
        entry.n += 1


@dataclass
class AdaptiveTable(Table):
    """States where writes meet known ones and reads can tell them apart, and fading clusters elsewhere.

    An entry has one n for both: a state that is used has eʷ with w the worth of its best episode, and it fades as the n
    of clusters does.
    """

    favour: Fraction = Fraction(5)
    seen: int = 0
    full_writes: int = 0
    hits: float = 0.0
    mean: float = 0.0
    variance: float = 0.0

    @property
    def left(self) -> float:
        """What a write to the full table leaves of an n of 1."""
        return 1 - 1 / float(self.lifetime * self.capacity)

    @property
    def keeps_states(self) -> bool:
        return self.hits > 0.02

    def notice(self, hit: bool, episode_return: float) -> None:
        """Means over all writes, and later over the last lifetime · N, of which older ones count for less."""
        self.seen += 1
        rate = max(1 / self.seen, 1 / float(self.lifetime * self.capacity))
        self.hits += rate * ((hit and self.exact_read and self.capacity > self.neighbours) - self.hits)
        if not isnan(episode_return):
            square = (1 - rate) * (self.variance + self.mean**2) + rate * episode_return**2
            self.mean = (1 - rate) * self.mean + rate * episode_return
            self.variance = max(square - self.mean**2, 0.0)

    def worth(self, episode_return: float) -> float:
        z = 0.0
        if not isnan(episode_return) and self.variance > 1e-12:
            z = (episode_return - self.mean) / sqrt(self.variance)
        return float(self.favour) * (1 + erf(z / sqrt(2))) / 2

    def use(self, entry: Entry, fading: float = 1.0) -> None:
        if entry.worth >= 0:
            entry.n = max(entry.n, exp(entry.worth) * fading)

    def touch(self, key: Floats, clock: int) -> None:
        """A read comes at the time of the last write, of which n has faded since."""
        near = self.nearest(key) if self.entries else []
        if near and self.keeps_states and self.distances(key)[near[0]] == 0:
            self.use(self.entries[near[0]], self.left if self.full_writes else 1.0)

    def write(self, key: Floats, value: np.float32, state: int, clock: int, episode_return: float = NAN) -> None:
        full = len(self.entries) == self.capacity
        same = next((entry for entry in self.entries if entry.state == state), None)
        if full:
            self.notice(same is not None, episode_return)
        new = Entry(key.copy(), value, state, n=1.0)
        if same and not full:
            self.meet_again(same, new)
            self.notice(True, episode_return)
            self.met(same, episode_return)
        elif not full:
            self.entries.append(new)
            self.notice(False, episode_return)
            self.begin(new, episode_return)
        else:
            self.write_full(new, same, episode_return)
            self.full_writes += 1
            for entry in self.entries:
                entry.n *= self.left

    def write_full(self, new: Entry, same: Entry | None, episode_return: float) -> None:
        lowest = min(self.slots(), key=lambda i: (self.entries[i].n, i))
        if self.keeps_states and same is not None and same.worth >= 0:
            self.meet_again(same, new)
            self.met(same, episode_return)
        elif self.keeps_states:
            slot = lowest if same is None else next(i for i in self.slots() if self.entries[i] is same)
            if same is not None or exp(self.worth(episode_return)) >= self.entries[lowest].n:
                self.replace(slot, new)
                self.begin(new, episode_return)
        elif self.entries[lowest].n < 0.5:
            self.replace(lowest, new)
            self.begin(new, episode_return)
        else:
            nearest = self.entries[self.nearest(new.key)[0]]
            if (new.key != nearest.key).any():
                nearest.worth = -1.0
            self.merge(nearest, new.key, float(new.value))

    def begin(self, entry: Entry, episode_return: float) -> None:
        entry.worth = self.worth(episode_return)
        entry.n = exp(entry.worth) if self.keeps_states else 1.0

    def met(self, entry: Entry, episode_return: float) -> None:
        """After `meet_again`, which has added 1 to n."""
        entry.worth = max(entry.worth, self.worth(episode_return))
        if self.keeps_states:
            entry.n -= 1
            self.use(entry)


@dataclass
class Kept:
    """An entry with the numbers that a strategy keeps of it."""

    key: Floats
    value: np.float32
    state: int
    numbers: dict[str, float]


@dataclass
class ProtocolTable:
    """One table that asks a strategy and tells it, by running its methods in plain Python."""

    strategy: Strategy
    capacity: int
    neighbours: int
    step: float | None = None
    entries: list[Kept] = field(default_factory=list)
    own: dict[str, float] = field(default_factory=dict)
    writes: int = 0

    def __post_init__(self) -> None:
        self.own = dict.fromkeys(self.strategy.table_numbers, 0.0)

    def near(self, key: Floats) -> tuple[list[int], Floats]:
        """The nearest slots, and d² of all entries."""
        as_paper = Table(self.capacity, "", self.neighbours, entries=[Entry(e.key, e.value, 0) for e in self.entries])
        return as_paper.nearest(key), as_paper.distances(key)

    def estimate(self, key: Floats) -> float:
        entries = [Entry(entry.key, entry.value, entry.state) for entry in self.entries]
        return Table(self.capacity, "", self.neighbours, exact_read=self.step is None, entries=entries).read(key)

    def arrays(self) -> dict[str, Doubles]:
        columns = {name: np.array([e.numbers[name] for e in self.entries]) for name in self.strategy.numbers}
        return columns | {name: np.array([value]) for name, value in self.own.items()}

    def take_back(self, numbers: Numbers) -> None:
        """Keep what a method of the strategy has changed."""
        for slot, entry in enumerate(self.entries):
            entry.numbers = {name: float(numbers[name][slot]) for name in self.strategy.numbers}
        self.own = {name: float(numbers[name][0]) for name in self.own}

    def describe(self, key: Floats, value: float, state: int, episode_return: float, clock: int) -> Write:
        strategy, size = self.strategy, len(self.entries)
        full = size == self.capacity
        needs = (strategy.needs_nearest, strategy.needs_neighbours, strategy.needs_estimate)
        nearest, neighbours, estimate = (need is True or (need == "full" and full) for need in needs)
        same = [slot for slot, entry in enumerate(self.entries) if entry.state == state]
        updated = bool(same) and not (strategy.clusters and full)
        slots, distances = self.near(key) if size else ([], np.zeros(0, np.float32))
        values = np.array([self.entries[slot].value for slot in slots], np.float32)
        told = Neighbourhood(np.array(slots, np.int64), distances[slots], values)
        nothing = Neighbourhood(told.slots[:0], told.distances[:0], told.values[:0])
        first = nearest and size > 0
        shown: Any = (told if neighbours else nothing) if strategy.needs_neighbours else None
        order = [entry.numbers[strategy.order] for entry in self.entries] if strategy.order else []
        return Write(
            size,
            self.capacity,
            clock,
            self.writes,
            self.neighbours,
            self.step is None,
            value,
            episode_return,
            same[0] if same else -1,
            NAN if not estimate else float(self.entries[same[0]].value) if updated else self.estimate(key),
            slots[0] if first else -1,
            float(told.distances[0]) if first else NAN,
            float(told.values[0]) if first else NAN,
            shown,
            order.index(min(order)) if order else -1,
            NAN,
        )

    def write(self, key: Floats, value: np.float32, state: int, episode_return: float, clock: int) -> None:
        full = len(self.entries) == self.capacity
        told = self.describe(key, float(value), state, episode_return, clock)
        decision = update()
        if told.match < 0 or (self.strategy.clusters and full):
            numbers = self.arrays()
            decision = self.strategy.decide(told, numbers)
            self.take_back(numbers)
        if decision.kind == UPDATE:
            entry = self.entries[told.match]
            if self.step is None:
                entry.value = max(entry.value, value)
            else:
                entry.value = np.float32(float(entry.value) + self.step * (float(value) - float(entry.value)))
                entry.key = key.copy()
            self.tell("met_again", int(told.match), told)
        elif decision.kind == BLEND:
            entry = self.entries[decision.slot]
            way = (key - entry.key).astype(np.float64)
            entry.key = (entry.key + decision.weight * way).astype(np.float32) if decision.weight < 1 else key
            old = float(entry.value)
            entry.value = np.float32(old + decision.weight * (float(value) - old))
            self.tell("blended", int(decision.slot), told)
        elif decision.kind != DISCARD:
            new = Kept(key.copy(), value, state, dict.fromkeys(self.strategy.numbers, 0.0))
            slot = len(self.entries) if decision.kind == APPEND else int(decision.slot)
            self.entries[slot : slot + 1] = [new]
            self.tell("stored", slot, told)
        self.writes += full

    def tell(self, method: str, slot: int, told: Write) -> None:
        numbers = self.arrays()
        getattr(self.strategy, method)(slot, told._replace(entry_value=float(self.entries[slot].value)), numbers)
        self.take_back(numbers)

    def touch(self, key: Floats, clock: int) -> None:
        if self.strategy.touches:
            slots, distances = self.near(key) if self.entries else ([], np.zeros(0, np.float32))
            numbers = self.arrays()
            self.strategy.touched(Touch(np.array(slots, np.int64), distances[slots], clock), numbers)
            self.take_back(numbers)
