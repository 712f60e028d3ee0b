"""What is to be seen in learning curves, in words: who ends highest, and whose return falls."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from engram.agents import label_of
from engram.lab.labels import strategy_label
from engram.lab.pages.block import Block
from engram.lab.pages.falls import falls_in_words
from engram.lab.pages.numbers import score_number
from engram.lab.pages.wording import listed, seeds_in_words, sentence
from engram.lab.ranking import Highest, highest_of
from engram.lab.statistics import FEWEST

MOST_GROUPS = 2  # of sizes at which the same strategies end highest


def curves_in_words(blocks: Sequence[Block], drawn: Mapping[str, Collection[int]] | None = None) -> str:
    """Who ends highest and whose return falls, for blocks of one environment; empty if nothing can be said.

    `drawn` are the sizes whose curves are to be seen, by agent, if not all: of others it is not said who ends highest.
    """
    seen = blocks if drawn is None else [replace(block, sizes=sorted(drawn.get(block.agent, ()))) for block in blocks]
    return " ".join(text for text in (ends_in_words(seen), _falls(blocks)) if text)


def curves_of_envs_in_words(blocks: Sequence[Block]) -> str:
    """The same for several environments; those of which the same can be said are named together."""
    by_env: dict[str, list[Block]] = {}
    for block in blocks:
        by_env.setdefault(block.env_name, []).append(block)
    ends: dict[str, list[str]] = {}
    for env, mine in by_env.items():
        ends.setdefault(ends_in_words(mine), []).append(env)
    texts = [f"{listed(envs)}: {text}" for text, envs in ends.items() if text]
    texts += [f"{env}: {text}" for env, mine in by_env.items() if (text := _falls(mine))]
    return " ".join(texts)


def _falls(blocks: Sequence[Block]) -> str:
    return " ".join(text for text in (falls_in_words(blocks), dips_in_words(blocks)) if text)


def ends_in_words(blocks: Sequence[Block]) -> str:
    """Which strategy ends highest beyond chance, or which may, and at which sizes; for blocks of one environment.

    What a curve ends with is the score: the mean of its last evaluations.
    """
    parts = []
    for block in blocks:
        sizes = [size for size in block.filled_sizes if len(block.complete_at(size)) > 1]
        if sizes:
            parts.append(sentence(f"with {label_of(block.agent)} {_ends(block, sizes)}"))
    return " ".join(parts)


def _ends(block: Block, sizes: Sequence[int]) -> str:
    """What is said of one agent: who ends highest at most sizes, and second most often."""
    where: dict[Highest, list[int]] = {}
    for size in sizes:
        found = highest_of(block.complete_at(size))
        if found.below:
            where.setdefault(found, []).append(size)
    several = len(sizes) > 1
    if not where:
        if max(block.seeds) < FEWEST:
            return f"no strategy can be told from another ({seeds_in_words(block.seeds)})"
        return f"no strategy can be told from the one that ends highest{', at any size' if several else ''}"
    parts = []
    for found, there in sorted(where.items(), key=lambda item: -len(item[1]))[:MOST_GROUPS]:
        at = f" at {listed([f'{size:,}' for size in there])} entries" if several else ""
        names, below = (listed([strategy_label(each) for each in some]) for some in (found.names, found.below))
        level = len(found.names) > 1
        if found.alike or level:
            end = f"end highest{at}, with the same mean" if level else f"ends highest{at}"
            parts.append(f"{names} {end}, above {below} beyond chance{_not_told_apart(found)}")
        else:
            lead = _lead_in_words(block, found.names[0], there)
            parts.append(f"{names} ends above all others beyond chance{at} ({lead})")
    return "; ".join(parts)


def _not_told_apart(found: Highest) -> str:
    """A clause on the strategies that chance may have kept below the highest; empty without any."""
    if not found.alike:
        return ""
    labels, are = listed([strategy_label(name) for name in found.alike]), "are" if len(found.alike) > 1 else "is"
    return f"; {labels} {are} not told from {'them' if len(found.names) > 1 else 'it'}"


def _lead_in_words(block: Block, name: str, sizes: Sequence[int]) -> str:
    """What a strategy ends with where it is furthest from the next, and what the next does."""
    leads = {size: _lead(block, name, size) for size in sizes}
    size, lead = max(leads.items(), key=lambda item: item[1].ahead)
    ours, theirs = (score_number(each, block.digits) for each in (lead.score, lead.next_score))
    where = f"at {size:,} " if len(sizes) > 1 else ""
    return f"{where}with {ours}, {strategy_label(lead.next_name)}, the next, with {theirs}"


class Lead(NamedTuple):
    """How far a strategy lies above the next at one size."""

    score: float
    next_name: str
    next_score: float

    @property
    def ahead(self) -> float:
        """The difference of the two."""
        return self.score - self.next_score


def _lead(block: Block, name: str, size: int) -> Lead:
    means = {other: float(scores.mean()) for other, scores in block.complete_at(size).items()}
    second = max((other for other in means if other != name), key=means.__getitem__)
    return Lead(means[name], second, means[second])


def dips_in_words(blocks: Sequence[Block]) -> str:
    """Which strategies fall back in all of so few runs that chance may explain it, for blocks of one environment.

    A strategy falls back if its mean return in the last sixth of training is nearer to where it began than to its peak.
    """
    parts = []
    for block in blocks:
        if len(block.filled_sizes) != 1 or not 1 < max(block.seeds, default=0) < FEWEST:
            continue
        found = {name: dip for name in block.strategies if (dip := _dip(block, name, block.filled_sizes[0]))}
        told = [
            f"{strategy_label(name)} from {score_number(dip.peak, block.digits)} at {dip.step:,} steps to "
            f"{score_number(dip.late, block.digits)}"
            for name, dip in found.items()
        ]
        if told:
            parts.append(f"with {label_of(block.agent)} {listed(told)} ({seeds_in_words(block.seeds)})")
    if not parts:
        return ""
    what = "Mean returns fall back until the last sixth of training, in all runs, which are too few to rule out chance"
    return sentence(f"{what}: {'; '.join(parts)}")


class Dip(NamedTuple):
    """A return that rose and fell back."""

    peak: float
    step: int
    late: float


def _dip(block: Block, name: str, size: int) -> Dip | None:
    """How the mean return of a strategy falls back; None if it does not, in the mean or in one of the runs."""
    curves = list(block.evidence.curves.get(block.cell(name, size), {}).values())
    if not curves or len({len(steps) for steps, _ in curves}) > 1:
        return None
    steps, returns = curves[0][0], np.array([each for _, each in curves])  # [seeds, T]
    mean, last = returns.mean(axis=0), steps > steps[-1] * 5 / 6
    top, late = int(mean[~last].argmax()), returns[:, last].mean(axis=1)
    rose = mean[top] > mean[0]
    if not rose or not (late < returns[:, top]).all() or 2 * late.mean() >= mean[0] + mean[top]:
        return None
    return Dip(float(mean[top]), int(steps[top]), float(late.mean()))
