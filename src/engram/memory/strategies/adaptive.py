"""Adaptive: keeps states as they are where they come back, and lets clusters fade where they do not.

Entries are states if writes meet states in the table, reads give back the value of a state that they hit, and there are
more entries than a read averages over. Then the lowest is replaced by how good the best episode was that a state was
part of, and by when it was last used. Elsewhere entries are clusters, and everything is as in `fading`.

A state keeps the rank w − T ln g, with w its worth and T the writes to the full table up to its last use, where a
cluster has ln n − T ln g. So one order serves both, and a table may go over from one to the other at any write.
"""

from dataclasses import dataclass
from math import erf, hypot, log, sqrt

import numpy as np

from engram.memory.strategies.base import Kept, Numbers, Touch, Write
from engram.memory.strategies.decisions import Decision, discard, replace, update
from engram.memory.strategies.fading import FadingKMeans
from engram.typing import Doubles

MERGED = -1.0  # in the place of an entry's worth: a mean of several states


@dataclass(frozen=True)
class Adaptive(FadingKMeans):
    """States, of which argmin of favour · Φ(z) + t/(lifetime · N) is replaced, or fading clusters.

    z: by how many standard deviations the return of its best episode lies above the mean; t: the write to the full
    table at which it was last used. A state for which that is lower than for all entries is not stored.
    """

    favour: float = 5.0  # in lifetimes: for how long a state of the best episodes is kept beyond one of the worst

    name = "adaptive"
    numbers = ("rank", "worth")
    table_numbers = ("now", "seen", "hits", "mean", "deviation")
    order = "rank"
    SELDOM = 0.02  # a share of writes that meet a state in the table, up to which states are said not to come back

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers({"favour": (0, 1e6)})

    def keeps_states(self, numbers: Numbers) -> bool:
        """Whether entries are states: enough writes meet one."""
        return bool(numbers["hits"][0] > self.SELDOM)

    def notice(self, write: Write, numbers: Numbers) -> None:
        """Note what a write tells about the table, before anything is decided."""
        numbers["now"][0] = self.faded(write.writes, write.capacity)
        numbers["seen"][0] += 1
        rate = max(1 / numbers["seen"][0], 1 / (self.lifetime * write.capacity))
        tells_apart = write.exact and write.capacity > write.averaged
        hit = 1.0 if write.match >= 0 and tells_apart else 0.0
        numbers["hits"][0] += rate * (hit - numbers["hits"][0])
        if write.episode_return == write.episode_return:  # it is known
            gap = write.episode_return - numbers["mean"][0]
            numbers["mean"][0] += rate * gap
            numbers["deviation"][0] = sqrt(1 - rate) * hypot(numbers["deviation"][0], sqrt(rate) * gap)

    def worth_of(self, write: Write, numbers: Numbers) -> float:
        """Favour · Φ(z) of an episode; half the favour where all are alike, or nothing is known."""
        z = 0.0
        if write.episode_return == write.episode_return and numbers["deviation"][0] > 0:
            z = (write.episode_return - numbers["mean"][0]) / numbers["deviation"][0]
        return self.favour * (1 + erf(z / sqrt(2.0))) / 2

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Update a state, or replace the lowest if that is worth it; or as fading."""
        self.notice(write, numbers)
        if self.keeps_states(numbers):
            if write.match >= 0:
                return update() if numbers["worth"][write.match] >= 0 else replace(write.match)
            if self.worth_of(write, numbers) + numbers["now"][0] < numbers["rank"][write.lowest]:
                return discard()
            return replace(write.lowest)
        return replace(write.lowest) if self.is_used_up(write, numbers) else self.merged(write, numbers)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """The worth of its episode; n ← 1 for a cluster."""
        if write.size < write.capacity:
            self.notice(write, numbers)
        numbers["worth"][slot] = self.worth_of(write, numbers)
        kept = numbers["worth"][slot] if self.keeps_states(numbers) else 0.0
        numbers["rank"][slot] = kept + numbers["now"][0]

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """The worth of the best of its episodes, used now; n ← n + 1 for a cluster."""
        if write.size < write.capacity:
            self.notice(write, numbers)
        numbers["worth"][slot] = max(numbers["worth"][slot], self.worth_of(write, numbers))
        if self.keeps_states(numbers):
            self.use(slot, numbers)
        else:
            self.count(slot, write, numbers)

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        self.count(slot, write, numbers)
        if write.distance > 0:
            numbers["worth"][slot] = MERGED

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        """A state that a read hits is used now."""
        if len(touch.slots) > 0 and touch.distances[0] == 0 and self.keeps_states(numbers):
            self.use(touch.slots[0], numbers)

    def use(self, slot: int, numbers: Numbers) -> None:
        """Note that a state is used now."""
        if numbers["worth"][slot] >= 0:
            numbers["rank"][slot] = max(numbers["rank"][slot], numbers["worth"][slot] + numbers["now"][0])

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """Ranks are what fading has, or a worth and a time; shares and counts are possible ones."""
        now, worth = self.faded(kept.writes, kept.capacity), numbers["worth"]
        most = (now + max(log(kept.clock + 1), self.favour) + log(2)) * (1 + 1e-9)  # ln(n + eʷ)
        if not ((numbers["rank"] >= 0) & (numbers["rank"] <= most)).all():
            return "a rank is ln n − T ln g, or worth − T ln g, with n and T no more than were written"
        if not ((worth == MERGED) | ((worth >= 0) & (worth <= self.favour * (1 + 1e-9)))).all():
            return "a worth is from 0 to that of the best episodes, or −1"
        own = {name: float(numbers[name][0]) for name in self.table_numbers}
        right = 0 <= own["hits"] <= 1 and own["deviation"] >= 0 and 0 <= own["now"] <= now and own["seen"] <= kept.clock
        return "" if right and own["seen"] == np.floor(own["seen"]) else "a table's numbers are not those of writes"

    def show(self, numbers: Numbers, writes: int, capacity: int) -> dict[str, Doubles]:
        """`n`: for clusters, their size after all fading; `worth`: for states, that of the best episode."""
        return {"n": self.sizes(numbers, writes, capacity), "worth": numbers["worth"]}
