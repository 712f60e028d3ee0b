"""Compiled strategies of a user's own that use all of the protocol, and the same in plain Python."""

import inspect
from dataclasses import dataclass
from typing import Any

from engram.memory.strategies import (
    CompiledStrategy,
    Decision,
    Numbers,
    Strategy,
    Touch,
    Write,
    append,
    blend,
    discard,
    replace,
    update,
)


@dataclass(frozen=True)
class Everything(CompiledStrategy):
    """Asks for all there is to know, keeps several numbers, and gives all five answers."""

    share: float = 0.25
    period: int = 3
    gentle: bool = True

    numbers = ("hits", "score", "age", "last")  # the order is not the first
    table_numbers = ("seen", "best")
    order = "score"
    needs_nearest = True
    needs_neighbours = True
    needs_estimate = True
    clusters = True
    LIMIT = 5

    def decide(self, write: Write, numbers: Numbers) -> Decision:
        numbers["seen"][0] += 1
        near = write.neighbours
        if write.size < write.capacity:
            return discard() if len(near.slots) > 1 and near.distances[1] == 0 else append()
        if write.match >= 0:
            return update() if int(numbers["seen"][0]) % 2 else blend(write.match, self.share)
        if int(numbers["seen"][0]) % self.period == 0:
            return discard()
        if self.lowest(write, numbers) < write.episode_return:
            return replace(write.lowest)
        far = near.slots[len(near.slots) - 1]
        return blend(far, 1 / (numbers["hits"][far] + 2)) if self.gentle else blend(write.nearest, 1)

    def lowest(self, write: Write, numbers: Numbers) -> float:
        return float(numbers["score"][write.lowest])

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["hits"][slot] += 1  # numbers of a new entry are 0
        numbers["score"][slot] = write.entry_value
        numbers["age"][slot] = write.clock + write.writes
        numbers["last"][slot] = write.nearest_value if write.nearest >= 0 else -1.0
        numbers["best"][0] = max(numbers["best"][0], write.episode_return)

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["hits"][slot] += 10
        numbers["score"][slot] = write.entry_value + write.estimate

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["hits"][slot] += 1
        numbers["score"][slot] += write.value if write.match == slot else -write.distance
        numbers["last"][slot] = min(write.value, self.LIMIT)

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        for i in range(len(touch.slots)):
            slot = touch.slots[i]
            numbers["age"][slot] = touch.clock
            numbers["score"][slot] += 2 if touch.distances[i] == 0 else 0.5

    def adjusted(self, slot: int, value: float, numbers: Numbers) -> None:
        numbers["score"][slot] = -value


@dataclass(frozen=True)
class BestEpisodes(CompiledStrategy):
    """Replaces the entry of the worst episode, unless the new state's episode was worse still."""

    numbers = ("episode",)
    order = "episode"
    needs_episode_return = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        if write.episode_return < numbers["episode"][write.lowest]:
            return discard()
        return replace(write.lowest)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["episode"][slot] = write.episode_return

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["episode"][slot] = max(numbers["episode"][slot], write.episode_return)


def plain_twin(strategy: CompiledStrategy) -> Strategy:
    """The same strategy in plain Python: a class with the same rules that derives from Strategy alone."""
    kind = type(strategy)
    hidden = {"column_names", "rank_name", "fields_for_rules"}
    members = {
        name: inspect.getattr_static(kind, name)
        for each in reversed(kind.__mro__)
        if issubclass(each, Strategy) and each is not Strategy
        for name in vars(each)
        if not name.startswith("__") and name not in hidden
    }
    twin: Any = type(f"Plain{kind.__name__}", (Strategy,), members)()
    for name, value in vars(strategy).items():
        object.__setattr__(twin, name, value)
    return twin  # type: ignore[no-any-return]
