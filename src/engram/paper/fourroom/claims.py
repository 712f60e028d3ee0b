"""The claim about FourRoom."""

from functools import partial
from math import inf

from engram.agents import label_of
from engram.lab.comparisons import Cells, Group, Scored, above
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.quantity import Quantity
from engram.lab.statistics import mean_interval
from engram.lab.verdicts import Claim, Findings, Statement, one_of
from engram.paper.grids import AGENTS, FIVE

FOURROOM = "engram/FourRoom-v0"
SIZE = 200  # of ours, the one above 150
SOLVED = 0.95  # of the evaluations reach the goal, or more
OTHERS = tuple(name for name in FIVE if name != "lru")


def only_lru_solves(evidence: Evidence) -> Findings:
    """Claim 10: only LRU solves it."""
    cells = Cells.read(evidence, Group("FourRoom", [(FOURROOM, agent, SIZE) for agent in AGENTS]), FIVE)
    if not cells.there:
        return Findings((), cells.lacking, cells.left_out)
    among = 1 + len(OTHERS) * (1 + len(cells.there))
    return Findings(
        [
            one_of([_solves("lru", cell, among=among, tries=len(cells.there)) for cell in cells.there]),
            *(above("lru", [rival], cells.name, cells.there, among=among) for rival in OTHERS),
            *(_solves(rival, cell, among=among) for cell in cells.there for rival in OTHERS),
        ],
        cells.lacking,
        cells.left_out,
    )


def _solves(strategy: str, cell: Scored, *, among: int, tries: int = 1) -> Statement:
    """That LRU solves the room; that another strategy does, speaks against the claim."""
    own, scores = strategy == "lru", cell.scores[strategy]
    name = f"{strategy_label(strategy)} at {SIZE} with {label_of(cell.place[1])}"
    return Statement.measured(
        Quantity(f"{name} reaches", "of its goals", where="FourRoom", percent=True),
        partial(mean_interval, scores),
        cell.seeds,
        aim=(SOLVED, inf) if own else (-inf, SOLVED),
        among=among,
        tries=tries,
        needed=own,
    )


CLAIMS = (
    Claim(
        10,
        "FourRoom: only LRU solves it perfectly, above 150.",
        "“However, in FourRoom only LRU was capable of perfectly solving the environment using high memory sizes, "
        "bigger than 150 per action.” (Section 4)",
        f"At 200: with LRU more than {SOLVED:.0%} of the evaluations reach the goal, for at least one agent, and LRU "
        "is above each other strategy in the mean over agents. Another strategy that reaches it as often speaks "
        "against it. Undecided if no table ever filled there.",
        ("fourroom",),
        only_lru_solves,
        least_seeds=5,
        note="The room has fewer than 150 places to stand on. If equal states share an entry, a table of 150 never "
        "fills, and all strategies are the same.",
        printed=False,
    ),
)
