"""The claims about the Atari games."""

from collections.abc import Sequence
from functools import partial

from engram.agents import label_of
from engram.lab.comparisons import Group, best, of_strategies
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.quantity import Quantity
from engram.lab.statistics import Term, mean_term, total
from engram.lab.verdicts import Claim, Findings, Seeds, Statement, fewest, place_label
from engram.paper.grids import AGENTS
from engram.typing import Array

BOWLING, MS_PACMAN, PONG = "engram/Bowling-v0", "engram/MsPacman-v0", "engram/Pong-v0"
SPACE_INVADERS, QBERT = "engram/SpaceInvaders-v0", "engram/Qbert-v0"
GAMES = (BOWLING, MS_PACMAN, PONG, SPACE_INVADERS, QBERT)
STRATEGIES, SMALL, LARGE = ("lru", "dkm"), 10_000, 100_000
RANDOM = {BOWLING: 23.1, MS_PACMAN: 307.3, PONG: -20.7, SPACE_INVADERS: 148.0, QBERT: 163.9}  # Mnih et al. 2015
HIGHEST = {BOWLING: 62.8, MS_PACMAN: 5245.0, PONG: 18.6, SPACE_INVADERS: 854.0, QBERT: 5093.0}  # the paper's Table 3
RANGES = {game: HIGHEST[game] - RANDOM[game] for game in GAMES}  # from random play to the highest score printed


def dkm_beats_lru(evidence: Evidence) -> Findings:
    """Claim 11: DkM beats LRU at 10⁴ on three games."""
    return best(evidence, "dkm", ["lru"], _by_agent((BOWLING, MS_PACMAN, PONG), SMALL), units=RANGES)


def lru_beats_dkm(evidence: Evidence) -> Findings:
    """Claim 12: LRU beats DkM at 10⁵ on two games."""
    return best(evidence, "lru", ["dkm"], _by_agent((SPACE_INVADERS, QBERT), LARGE), units=RANGES)


def _by_agent(games: Sequence[str], size: int) -> list[Group]:
    """For each agent, the cells of these games."""
    return [Group(f"Atari, {label_of(agent)}, {size:,}", [(game, agent, size) for game in games]) for agent in AGENTS]


def faster_than_d3qn(evidence: Evidence) -> Findings:
    """Claim 13: episodic agents learn faster than D3QN."""
    return sum((_faster(evidence, agent) for agent in AGENTS), Findings())


def _faster(evidence: Evidence, agent: str) -> Findings:
    terms, seeds, lacking = list[Term](), list[Seeds](), []
    for game in GAMES:
        both = ((agent, STRATEGIES), ("d3qn", [None]))
        found, missing = (
            [of_strategies(cells, game, *each) for each in both] for cells in (evidence.curves, evidence.incomplete)
        )
        ours, theirs = ({cell: evidence.curves[cell] for cell in cells} for cells in found)
        if any(missing) or not ours or not theirs:
            lacking.append(f"{place_label(game, agent)} and D3QN: not both run")
            continue
        last = min(int(steps[-1]) for cells in (ours, theirs) for s in cells.values() for steps, _ in s.values())
        for cells, sign in ((ours, 1), (theirs, -1)):
            part = sign / (len(GAMES) * RANGES[game] * len(cells))
            terms += [_mean_until(list(curves.values()), last).times(part) for curves in cells.values()]
            seeds += [{cell.agent: len(curves)} for cell, curves in cells.items()]
    if lacking:
        return Findings((), lacking)
    text = f"over the time that all runs were trained {label_of(agent)} returns"
    return Findings([_in_ranges(text, "D3QN", terms, seeds)])


def _mean_until(curves: Sequence[tuple[Array, Array]], last: int) -> Term:
    """The mean return of the evaluations of a cell's runs up to a step."""
    return mean_term([float(returns[steps <= last].mean()) for steps, returns in curves])


def improves_with_memory(evidence: Evidence) -> Findings:
    """Claim 16: episodic agents improve from 10⁴ to 10⁵."""
    return sum((_improves(evidence, agent) for agent in AGENTS), Findings())


def _improves(evidence: Evidence, agent: str) -> Findings:
    terms, seeds, lacking = list[Term](), list[Seeds](), []
    for game in GAMES:
        part = 1 / (len(GAMES) * len(STRATEGIES) * RANGES[game])
        for strategy in STRATEGIES:
            large, small = (evidence.scores(game, agent, strategy, size) for size in (LARGE, SMALL))
            if large is None or small is None:
                lacking.append(f"{place_label(game, agent)}, {strategy_label(strategy)}: not run at both sizes")
            else:
                terms += [mean_term(large).times(part), mean_term(small).times(-part)]
                seeds.append({agent: min(len(large), len(small))})
    if lacking:
        return Findings((), lacking)
    return Findings([_in_ranges(f"{label_of(agent)} at {LARGE:,} scores", f"that at {SMALL:,}", terms, seeds)])


def _in_ranges(subject: str, other: str, terms: Sequence[Term], seeds: Sequence[Seeds]) -> Statement:
    """A difference in shares of the games' ranges, in the mean over games."""
    return Statement.measured(
        Quantity(
            *(subject, f"above {other}", f"below {other}", "mean over five games"),
            unit="of a game's range",
            percent=True,
        ),
        partial(total, terms),
        fewest(seeds),
        among=len(AGENTS),
    )


CLAIMS = (
    Claim(
        11,
        "Atari, 10⁴: DkM beats LRU on Bowling, Ms. Pac-Man and Pong, with MFEC and NEC.",
        "“In Bowling. Ms. Pac-Man and Pong, DkM achieves the best results, for either MFEC and NEC.” (Section 4, "
        "Table 3)",
        "best(DkM) on the three games, for MFEC and for NEC; scores in shares of the game's range.",
        ("atari",),
        dkm_beats_lru,
        least_seeds=3,
        note="By themselves, three of the paper's six differences are within chance of its three seeds: Bowling with "
        "MFEC, Ms. Pac-Man and Pong with NEC.",
    ),
    Claim(
        12,
        "Atari, 10⁵: LRU beats DkM on Space Invaders and Q*bert, with MFEC and NEC.",
        "“LRU outperforms DkM for high memory size; it always achieves better rewards in Space Invaders and Q*Bert for "
        "both MFEC and NEC.” (Section 4, Table 3)",
        "best(LRU) on the two games, for MFEC and for NEC; scores in shares of the game's range.",
        ("atari",),
        lru_beats_dkm,
        least_seeds=3,
    ),
    Claim(
        13,
        "Atari: episodic agents learn faster than D3QN.",
        "“… they show much better sample efficiency in comparison to fully parametric approaches such as the D3QN … EC "
        "methods are faster in achieving high rewards.” (Section 4)",
        "For each episodic agent, over LRU and DkM at all sizes, in the mean over the five games: the mean return "
        "of the evaluations up to the last step that all runs of the game reached is above D3QN's, in shares of the "
        "game's range.",
        ("atari",),
        faster_than_d3qn,
        least_seeds=3,
    ),
    Claim(
        16,
        "Atari: episodic agents improve from 10⁴ to 10⁵.",
        "“The performance of EC methods increases using a bigger memory size of 10⁵ items per action.” (Section 4, "
        "Table 3)",
        "For each agent, in the mean over the five games and both strategies: the score at 10⁵ is above that at 10⁴, "
        "in shares of the game's range.",
        ("atari",),
        improves_with_memory,
        least_seeds=3,
        note="In the paper's table it is LRU that improves; DkM is lower at 10⁵ in five of its ten cells.",
    ),
)
