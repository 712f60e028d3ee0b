"""The claim about FourRoom."""

import numpy as np

from engram.agents import label_of
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.verdicts import FAILS, HOLDS, OPEN, Claim, Verdict
from engram.paper.grids import AGENTS, FIVE

FOURROOM = "engram/FourRoom-v0"


def only_lru_solves(evidence: Evidence) -> Verdict:
    """Claim 10: only LRU solves it."""
    solved: dict[str, list[str]] = {strategy: [] for strategy in FIVE}
    lacking, filled = list[str](), list[str]()
    for agent in AGENTS:
        for size in (150, 200):
            where = f"{label_of(agent)}, {size}"
            if evidence.filled(FOURROOM, agent, size):
                filled.append(where)
            for strategy in FIVE:
                scores = evidence.scores(FOURROOM, agent, strategy, size)
                if scores is None:
                    lacking.append(f"{where}: no runs of {strategy_label(strategy)}")
                elif bool(np.all(scores == 1)):
                    solved[strategy].append(where)
    found = "; ".join(f"{strategy_label(name)}: {', '.join(places) or 'nowhere'}" for name, places in solved.items())
    if lacking:
        return Verdict(OPEN, "; ".join(lacking[:3]))
    if not filled:
        return Verdict(
            OPEN, f"no table ever filled at these sizes, so no strategy is at work; solved by every seed: {found}"
        )
    count = {name: len(set(places) & set(filled)) for name, places in solved.items()}
    others = any(count[name] for name in FIVE if name != "lru")
    word = FAILS if others or not count["lru"] else HOLDS
    return Verdict(word, f"solved perfectly, by every seed: {found}")


CLAIMS = (
    Claim(
        10,
        "FourRoom: only LRU solves it perfectly, above 150.",
        "At 150 and 200 (the paper: bigger than 150), every one of the last ten evaluations of every seed reaches the "
        "goal with LRU, for at least one agent, and with no other strategy. Undecided if no table ever filled there.",
        ("fourroom",),
        only_lru_solves,
    ),
)
