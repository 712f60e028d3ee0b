"""Worlds from which runs are drawn, to see what the rules of the paper's claims make of them.

The paper's world has its own means and deviations (Tables 1 to 3). Where it prints none, for the rooms, the stream,
learning curves and costs, the numbers are ours, made so that what its sentences say is true. In two other worlds the
claims are false: what a claim sets apart is alike there, each run drawn from one at random, or exchanged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.paper.acrobot import published as acrobot
from engram.paper.atari import published as atari
from engram.paper.atari.claims import RANDOM
from engram.paper.cartpole import published as cartpole
from engram.paper.grids import AGENTS, FIVE, ROOM_SIZES
from engram.paper.stream.claims import COSTS, DISTANCES, LENGTHS
from engram.typing import Array

OPENROOM, FOURROOM = "engram/OpenRoom-v0", "engram/FourRoom-v0"
POSSIBLE = {  # returns; where there is no highest, far above all that is printed
    "CartPole-v1": (9.0, 500.0),
    "Acrobot-v1": (-500.0, -62.0),
    OPENROOM: (0.0, 1.0),
    FOURROOM: (0.0, 1.0),
    "engram/Bowling-v0": (0.0, 300.0),
    "engram/MsPacman-v0": (0.0, 50_000.0),
    "engram/Pong-v0": (-21.0, 21.0),
    "engram/SpaceInvaders-v0": (0.0, 10_000.0),
    "engram/Qbert-v0": (0.0, 100_000.0),
}
DIGITS = {OPENROOM: 2, FOURROOM: 2, "engram/Pong-v0": 2}  # of scores after the point; elsewhere none, so that some tie
ROOMS = {  # shares of goals reached at sizes 2, 5, 10, 25, 50, 100, 150 and 200
    OPENROOM: {
        "lru": (0.02, 0.05, 0.1, 0.25, 0.85, 0.95, 1.0, 1.0),
        "rew": (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.35, 0.4),
        "sur": (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.35, 0.4),
        "kmeans": (0.5, 0.55, 0.5, 0.5, 0.55, 0.8, 0.9, 1.0),
        "dkm": (0.2, 0.3, 0.9, 0.95, 0.95, 1.0, 1.0, 1.0),
    },
    FOURROOM: {
        "lru": (0.02, 0.05, 0.1, 0.3, 0.6, 0.9, 0.95, 1.0),
        "rew": (0.02, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
        "sur": (0.02, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
        "kmeans": (0.05, 0.1, 0.15, 0.3, 0.4, 0.6, 0.65, 0.7),
        "dkm": (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.75, 0.8),
    },
}
NEVER_FULL = {  # tables that never fill in our runs; in FourRoom the paper's strategies differ at all sizes
    *(("CartPole-v1", "mfec", 10_000), ("Acrobot-v1", "mfec", 10_000), ("Acrobot-v1", "nec", 10_000)),
    *((OPENROOM, agent, size) for agent in AGENTS for size in (100, 150, 200)),
}
DISTANCE = {  # of a method's points to the first half, the second half and the whole of the stream
    "kmeans": (0.005, 0.12, 0.03),
    "lru": (0.15, 0.002, 0.04),
    "dkm": (0.04, 0.03, 0.012),
}
LENGTH_POINTS = (500, 750, 1000, 1500, 2000, 3000, 5000)
KEYS = [(capacity, dimensions) for capacity in (1_000, 10_000) for dimensions in (4, 16, 64, 128)]


@dataclass(frozen=True)
class Contrast:
    """What a claim sets apart: how false worlds are made from the paper's."""

    alternatives: Callable[[Cell], Sequence[Cell]]  # from one of which each run is drawn where all are alike
    exchanged: Callable[[Cell], Cell]  # from which a run is drawn where the claim's winner is a loser


def of_strategies(strategies: Sequence[str], exchange: Mapping[str, str]) -> Contrast:
    """A claim about strategies; those that are exchanged, both ways."""
    other = {**exchange, **{new: old for old, new in exchange.items()}}
    return Contrast(
        lambda cell: [cell._replace(strategy=name) for name in strategies] if cell.strategy in strategies else [cell],
        lambda cell: cell._replace(strategy=other.get(cell.strategy or "", cell.strategy)),
    )


def _large_or_small(cell: Cell) -> list[Cell]:
    return [cell._replace(capacity=size) for size in (10_000, 100_000)] if cell.capacity else [cell]


def _same_game(cell: Cell) -> list[Cell]:
    """All cells of the game, D3QN's among them."""
    return [each for each in paper_scores() if each.env == cell.env]


def _other_kind(cell: Cell) -> Cell:
    """D3QN's cell for an episodic agent's, and MFEC's for D3QN's."""
    if cell.capacity:
        return cell._replace(agent="d3qn", strategy=None, capacity=None)
    return cell._replace(agent="mfec", strategy="lru", capacity=10_000)


FIVE_ALIKE = of_strategies(FIVE, {"dkm": "rew"})
TWO_ALIKE = of_strategies(("lru", "dkm"), {"dkm": "lru"})
CONTRASTS = {
    **dict.fromkeys((1, 2, 3), FIVE_ALIKE),
    4: of_strategies(FIVE, {"dkm": "kmeans"}),
    5: of_strategies(("lru", "kmeans", "dkm"), {"dkm": "lru"}),
    7: of_strategies(FIVE, {"rew": "lru", "sur": "dkm"}),
    8: of_strategies(FIVE, {"dkm": "rew", "kmeans": "sur"}),
    10: of_strategies(FIVE, {"lru": "kmeans"}),
    **dict.fromkeys((6, 9, 11, 12), TWO_ALIKE),
    13: Contrast(_same_game, _other_kind),
    14: of_strategies(("lru", "kmeans", "dkm"), {"kmeans": "lru"}),
    15: Contrast(
        lambda cell: [cell._replace(agent=name) for name in AGENTS] if cell.capacity else [cell],
        lambda cell: cell._replace(agent={"mfec": "nec", "nec": "mfec"}.get(cell.agent, cell.agent)),
    ),
    16: Contrast(
        _large_or_small,
        lambda cell: cell._replace(capacity={10_000: 100_000, 100_000: 10_000}.get(cell.capacity or 0, cell.capacity)),
    ),
    18: of_strategies(("lru", "kmeans", "dkm"), {"dkm": "kmeans"}),
}
EXTRA_COST = {"paper": 0.03, "alike": 0.1, "exchanged": 0.3}  # of a DkM write, in lookups; the limit is 0.1


@cache
def paper_scores() -> dict[Cell, tuple[float, float]]:
    """Mean and standard deviation of every cell."""
    printed = {**cartpole.PAPER.scores, **acrobot.PAPER.scores, **atari.PAPER.scores}
    found = {cell: (score.mean, score.std) for cell, score in printed.items()}
    for env, strategies in ROOMS.items():
        for agent in AGENTS:
            for name, shares in strategies.items():
                for size, share in zip(ROOM_SIZES, shares, strict=True):
                    found[Cell(env, agent, name, size)] = (share, 0.4 * float(np.sqrt(share * (1 - share))))
    return found


def draw_scores(cell: Cell, count: int, rng: np.random.Generator) -> Array:
    """Scores with the cell's mean and deviation, from a beta distribution over the returns that are possible."""
    (mean, std), (lowest, highest) = paper_scores()[cell], POSSIBLE[cell.env]
    if std == 0:
        return np.full(count, mean)
    middle, variance = (mean - lowest) / (highest - lowest), (std / (highest - lowest)) ** 2
    weight = max(middle * (1 - middle) / variance - 1, 1e-3)
    drawn = lowest + (highest - lowest) * rng.beta(middle * weight, (1 - middle) * weight, count)
    return np.round(drawn, DIGITS.get(cell.env, 0))


def draw_curve(cell: Cell, rng: np.random.Generator) -> tuple[Array, Array]:
    """Steps and returns of a run: on CartPole MFEC rises early and NEC to the end; on Atari D3QN rises to the end."""
    final = float(draw_scores(cell, 1, rng)[0])
    if cell.env == "CartPole-v1":
        steps = np.arange(500, (15_000 if cell.agent == "mfec" else 20_000) + 1, 500)
        reached = 1 - np.exp(-steps / 1_200) if cell.agent == "mfec" else steps / steps[-1]
        noise = rng.normal(1, 0.25, len(steps))  # of single evaluations
        return steps, np.clip(final * reached * noise, 9, 500)
    steps = np.arange(50_000, 5_000_001, 250_000)
    reached = np.minimum(steps / (5_000_000 if cell.agent == "d3qn" else 1_000_000), 1)
    first = RANDOM[cell.env]
    return steps, first + (final - first) * reached


@dataclass(frozen=True)
class Drawn(Evidence):
    """Evidence that is drawn when a rule asks for it."""

    sources: Callable[[Cell], Sequence[Cell]] = lambda cell: [cell]
    seeds: Mapping[str, int] = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    known: dict[Cell, Array] = field(default_factory=dict)

    def scores(self, env: str, agent: str, strategy: str | None, capacity: int | None) -> Array | None:
        """One score per seed, of cells that the paper has."""
        cell = Cell(env, agent, strategy, capacity)
        if cell not in paper_scores():
            return None
        if cell not in self.known:
            sources = self.sources(cell)
            counts = self.rng.multinomial(self.seeds[agent], [1 / len(sources)] * len(sources))
            drawn = [draw_scores(source, count, self.rng) for source, count in zip(sources, counts, strict=True)]
            self.known[cell] = np.concatenate(drawn)
        return self.known[cell]

    def source(self, cell: Cell) -> Cell:
        """The cell from which a run of this cell is drawn."""
        sources = self.sources(cell)
        return sources[int(self.rng.integers(len(sources)))]

    @cached_property
    def curves(self) -> dict[Cell, dict[int, tuple[Array, Array]]]:
        """Of CartPole and of the games."""
        return {
            cell: {seed: draw_curve(self.source(cell), self.rng) for seed in range(self.seeds[cell.agent])}
            for cell in paper_scores()
            if cell.agent in self.seeds and cell.env not in ("Acrobot-v1", OPENROOM, FOURROOM)
        }

    @cached_property
    def incomplete(self) -> set[Cell]:
        """None is."""
        return set()

    def filled(self, env: str, agent: str, capacity: int) -> bool:
        """As in our runs."""
        return (env, agent, capacity) not in NEVER_FULL

    def sizes(self, env: str, agent: str) -> list[int]:
        """Those at which tables filled."""
        found = {cell.capacity for cell in paper_scores() if cell[:2] == (env, agent) and cell.capacity}
        return sorted(size for size in found if self.filled(env, agent, size))


def draw_evidence(number: int, world: str, seeds: Mapping[str, int], rng: np.random.Generator) -> Evidence:
    """What all runs of a claim's studies came to in a world."""
    if number == 17:
        return Evidence(tables={COSTS: _costs(EXTRA_COST[world], seeds["stream"], rng)})
    contrast = CONTRASTS[number]
    sources: dict[str, Callable[[Cell], Sequence[Cell]]] = {
        "paper": lambda cell: [cell],
        "alike": contrast.alternatives,
        "exchanged": lambda cell: [contrast.exchanged(cell)],
    }
    drawn = Drawn(sources=sources[world], seeds=seeds, rng=rng)
    if number == 14:
        tables = {DISTANCES: _distances((1_000,), drawn), LENGTHS: _distances(LENGTH_POINTS, drawn)}
        return Evidence(tables=tables)
    return drawn


def _distances(lengths: Sequence[int], drawn: Drawn) -> pl.DataFrame:
    """Distances of all methods after streams of these lengths, with deviations of a quarter."""
    rows = []
    for points in lengths:
        for seed in range(drawn.seeds["stream"]):
            for method in DISTANCE:
                source = drawn.source(Cell("stream", "stream", method, None)).strategy
                found = np.array(DISTANCE[str(source)]) * drawn.rng.lognormal(0, 0.25, 3)
                rows.append((points, seed, method, 1.0, *found))
    columns = ["points", "seed", "method", "fraction", "to_first", "to_second", "to_all"]
    return pl.DataFrame(rows, columns, orient="row")


def _costs(extra: float, rounds: int, rng: np.random.Generator) -> pl.DataFrame:
    """Costs in microseconds; the share of a lookup deviates by 0.03 from round to round."""
    rows = []
    for capacity, dimensions in KEYS:
        for number in range(rounds):
            lookup = capacity / 500
            dearer = lookup * (1.2 + rng.normal(extra, 0.03))
            rows.append((number, capacity, dimensions, 11, lookup, 1.2 * lookup, dearer))
    columns = ["round", "capacity", "dimensions", "neighbours", "lookup_us", "kmeans_us", "dkm_us"]
    return pl.DataFrame(rows, columns, orient="row")
