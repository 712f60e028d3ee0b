"""The claims about OpenRoom."""

from functools import partial
from math import inf

from engram.agents import label_of
from engram.lab.comparisons import Cells, Group, above, best
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.quantity import Quantity
from engram.lab.statistics import share_interval
from engram.lab.verdicts import Claim, Findings, Statement
from engram.paper.grids import AGENTS, FIVE
from engram.typing import Array

OPENROOM = "engram/OpenRoom-v0"
WELL = 0.5  # does well: reaches the goal in more than half of the evaluations
TINY_SIZES = (2, 5)
DOES_WELL = {"dkm": {10: True, 25: True, 50: True}, "lru": {10: False, 25: False, 50: True}}  # or does not


def best_in_openroom(evidence: Evidence) -> Findings:
    """Claim 8: kM is best at 2 and 5, DkM best overall."""
    tiny = Group("OpenRoom", [(OPENROOM, agent, size) for agent in AGENTS for size in TINY_SIZES])
    every = [(OPENROOM, agent, size) for agent in AGENTS for size in evidence.sizes(OPENROOM, agent)]
    cells = Cells.read(evidence, Group("OpenRoom", every), FIVE)
    found = best(evidence, "kmeans", _but("kmeans"), [tiny])
    among = len(found.statements) + len(FIVE) - 1
    overall = [above("dkm", [rival], cells.name, cells.there, among=among) for rival in _but("dkm") if cells.there]
    return found + Findings(overall, cells.lacking)


def does_well_from(evidence: Evidence) -> Findings:
    """Claim 9: DkM does well from 10, LRU from 50."""
    statements, lacking, left_out = [], [], []
    for agent in AGENTS:
        for strategy, sizes in DOES_WELL.items():
            for size, well in sizes.items():
                where = f"{strategy_label(strategy)} at {size} with {label_of(agent)}"
                scores = evidence.scores(OPENROOM, agent, strategy, size)
                if scores is None:
                    lacking.append(f"OpenRoom: no runs of {where}")
                elif not evidence.filled(OPENROOM, agent, size):
                    left_out.append(where)
                else:
                    statements.append(_does_well(where, scores, agent, well=well))
    return Findings(statements, lacking, left_out)


def _does_well(where: str, scores: Array, agent: str, *, well: bool) -> Statement:
    return Statement.measured(
        Quantity(f"{where} reaches", "of its goals", where="OpenRoom", percent=True),
        partial(share_interval, scores),
        {agent: len(scores)},
        aim=(WELL, inf) if well else (-inf, WELL),
        among=len(AGENTS) * sum(map(len, DOES_WELL.values())),
    )


def _but(strategy: str) -> tuple[str, ...]:
    return tuple(name for name in FIVE if name != strategy)


CLAIMS = (
    Claim(
        8,
        "OpenRoom: kM is best at 2 and 5, DkM best overall.",
        "“… with kM performing the best at memory sizes 2 and 5, and DkM performing best overall across all settings.” "
        "(Section 4)",
        "best(kM) at 2 and 5, both agents together; and DkM is above each other strategy in the mean over agents and "
        "sizes where tables filled.",
        ("openroom",),
        best_in_openroom,
        least_seeds=5,
        printed=False,
    ),
    Claim(
        9,
        "OpenRoom: DkM does well from 10, LRU from 50.",
        "“DkM performs well with a memory size of 10 (or greater), which is 5 times smaller than what is required for "
        "the LRU method.” (Section 4)",
        "For both agents, with `well` meaning that more than half of the evaluations reach the goal: DkM does at 10, "
        "25 and 50; LRU does not at 10 and 25, and does at 50.",
        ("openroom",),
        does_well_from,
        least_seeds=5,
        printed=False,
    ),
)
