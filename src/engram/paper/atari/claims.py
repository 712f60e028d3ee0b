"""The claims about the Atari games."""

from collections.abc import Sequence

import numpy as np

from engram.agents import label_of
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.statistics import difference, pooled_difference
from engram.lab.verdicts import Claim, Statement, Verdict, judge, place_label, share
from engram.paper.grids import AGENTS
from engram.typing import Array

BOWLING, MS_PACMAN, PONG = "engram/Bowling-v0", "engram/MsPacman-v0", "engram/Pong-v0"
SPACE_INVADERS, QBERT = "engram/SpaceInvaders-v0", "engram/Qbert-v0"
GAMES = (BOWLING, MS_PACMAN, PONG, SPACE_INVADERS, QBERT)


def beats(evidence: Evidence, winner: str, loser: str, games: Sequence[str], size: int) -> Verdict:
    """Claims 11 and 12: one of the two strategies beats the other on each of these games, for both agents."""
    statements, lacking = [], []
    for game in games:
        for agent in AGENTS:
            where = f"{place_label(game, agent)}, {size:,}"
            ours, theirs = (evidence.scores(game, agent, name, size) for name in (winner, loser))
            if ours is None or theirs is None:
                lacking.append(f"{where}: not run")
            else:
                interval = difference(ours, theirs, level=share(len(games) * len(AGENTS)))
                statements.append(
                    Statement.positive(f"{strategy_label(winner)} above {strategy_label(loser)} ({where})", interval)
                )
    return judge(statements, lacking)


def faster_than_d3qn(evidence: Evidence) -> Verdict:
    """Claim 13: episodic agents learn faster than D3QN."""
    statements, lacking = [], []
    for game in GAMES:
        for agent in AGENTS:
            where = place_label(game, agent)
            episodic = [
                curve
                for cell, seeds in evidence.curves.items()
                if cell[:2] == (game, agent)
                for curve in seeds.values()
            ]
            parametric = [
                curve
                for cell, seeds in evidence.curves.items()
                if cell[:2] == (game, "d3qn")
                for curve in seeds.values()
            ]
            missing = any(cell.env == game and cell.agent in (agent, "d3qn") for cell in evidence.incomplete)
            if missing or not episodic or not parametric:
                lacking.append(f"{where}: not run")
                continue
            common = min(int(steps[-1]) for steps, _ in (*episodic, *parametric))
            areas = [np.array([_mean_until(curve, common) for curve in group]) for group in (episodic, parametric)]
            text = f"mean return over the first {common:,} steps above D3QN's ({where})"
            statements.append(
                Statement.positive(text, difference(areas[0], areas[1], level=share(len(GAMES) * len(AGENTS))))
            )
    return judge(statements, lacking)


def _mean_until(curve: tuple[Array, Array], last: int) -> float:
    steps, returns = curve
    return float(returns[steps <= last].mean())


def improves_with_memory(evidence: Evidence) -> Verdict:
    """Claim 16: episodic agents improve from 10⁴ to 10⁵."""
    statements, lacking = [], []
    for agent in AGENTS:
        pairs = []
        for game in GAMES:
            for strategy in ("lru", "dkm"):
                large, small = (evidence.scores(game, agent, strategy, size) for size in (100_000, 10_000))
                if large is None or small is None:
                    lacking.append(f"{place_label(game, agent)}, {strategy_label(strategy)}: not run at both sizes")
                    continue
                unit = max(abs(float(np.mean(small))), 1.0)  # games have scores of different sizes
                pairs.append((large / unit, small / unit))
        if pairs:
            text = f"{label_of(agent)}: score at 100,000 above that at 10,000, as a share of the latter"
            statements.append(Statement.positive(text, pooled_difference(pairs, level=share(len(AGENTS)))))
    return judge(statements, lacking)


CLAIMS = (
    Claim(
        11,
        "Atari, 10⁴: DkM beats LRU on Bowling, Ms. Pac-Man and Pong, with MFEC and NEC.",
        "DkM's mean score is above LRU's in each of the six cells; six intervals.",
        ("atari",),
        lambda e: beats(e, "dkm", "lru", (BOWLING, MS_PACMAN, PONG), 10_000),
    ),
    Claim(
        12,
        "Atari, 10⁵: LRU beats DkM on Space Invaders and Q*bert.",
        "LRU's mean score is above DkM's in each of the four cells; four intervals.",
        ("atari",),
        lambda e: beats(e, "lru", "dkm", (SPACE_INVADERS, QBERT), 100_000),
    ),
    Claim(
        13,
        "Atari: episodic agents learn faster than D3QN.",
        "For each game and episodic agent, over all its strategies and sizes: the mean return of the evaluations up to "
        "the last step that all runs reached is above D3QN's; ten intervals.",
        ("atari",),
        faster_than_d3qn,
    ),
    Claim(
        16,
        "Atari: episodic agents improve from 10⁴ to 10⁵.",
        "For each agent, in the mean over games and strategies: the score at 10⁵ is above that at 10⁴, in shares of "
        "the latter; two intervals.",
        ("atari",),
        improves_with_memory,
    ),
)
