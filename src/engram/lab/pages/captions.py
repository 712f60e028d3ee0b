"""What is to be seen in figures over memory sizes, in words made from the scores."""

from collections.abc import Mapping
from math import ceil, isfinite

from engram.lab.labels import strategy_label
from engram.lab.memory_needed import memory_for
from engram.lab.pages.block import Block
from engram.lab.pages.finding import FEW_PLACES
from engram.lab.pages.numbers import score_number
from engram.lab.pages.wording import counted, listed, number_in_words, sentence, some_of
from engram.lab.ranking import Comparison


def highest_in_words(blocks: Mapping[str, Block]) -> str:
    """Which strategy most often has the highest mean, in blocks by their names; nothing where none has."""
    parts, firsts, level = [], dict[str, int](), 0
    for where, block in blocks.items():
        comparison = block.comparison
        if comparison is None or comparison.all_the_same:
            continue
        names, times = _most_often_highest(comparison)
        if times:
            count = some_of(times, len(comparison.sizes), "size")
            have = "has" if len(names) == 1 else "each have"
            parts.append(f"with {where} {listed(names)} {have} the highest mean at {count}")
            if len(names) == 1:
                firsts[names[0]] = firsts.get(names[0], 0) + 1
            else:
                level += 1
    if len(parts) <= FEW_PLACES:
        return sentence(f"{'; '.join(parts)} at which tables filled") if parts else ""
    ranked = sorted(firsts.items(), key=lambda item: -item[1])
    panels = counted(len(parts), "panel")
    if not ranked:
        return sentence(f"in none of {panels} has one strategy alone the highest mean most often")
    (name, times), *others = ranked
    rest = [f"{other} in {number_in_words(count)}" for other, count in others]
    where = f"all {panels}" if times == len(parts) else f"{number_in_words(times)} of {panels}"
    head = f"in {where} {name} most often has the highest mean, of the sizes at which tables filled"
    equally = f"; in {number_in_words(level)} several have it equally often" if level else ""
    return sentence(f"{head}{f'; {listed(rest)}' if rest else ''}{equally}")


def _most_often_highest(comparison: Comparison) -> tuple[list[str], int]:
    """The strategies that most often have the highest mean, without a tie, and at how many sizes."""
    wins = dict.fromkeys(comparison.order, 0)
    for size in comparison.sizes:
        means = {name: float(by_size[size].mean()) for name, by_size in comparison.scores.items()}
        highest = [name for name, mean in means.items() if mean == max(means.values())]
        if len(highest) == 1:
            wins[highest[0]] += 1
    most = max(wins.values())
    return [strategy_label(name) for name, times in wins.items() if times == most], most


def needed_in_words(where: str, block: Block) -> str:
    """How much less memory others need for the best score of LRU, or of the first strategy; nothing if none does.

    Only sizes at which tables filled count: at others all strategies are the same.
    """
    means = {
        name: {size: float(scores.mean()) for size, scores in cells.items() if size in block.filled_sizes}
        for name, cells in block.complete.items()
    }
    if len(means) < 2 or not all(means.values()):
        return ""
    first = "lru" if "lru" in means else next(iter(means))
    level = max(means[first].values())
    enough = min(size for size, mean in means[first].items() if mean == level)
    needed = {name: memory_for(by_size, level) for name, by_size in means.items() if name != first}
    others = {name: ceil(round(size, 6)) for name, size in needed.items() if isfinite(size)}  # a whole size stays so
    parts = [f"{strategy_label(name)} {size:,}" for name, size in others.items() if size < enough]
    score = score_number(level, block.digits)
    about = f"{where}: for the {score} that {strategy_label(first)} reaches with {enough:,} entries"
    return f"{about}, {listed(parts)} are enough (interpolated, without an interval)." if parts else ""
