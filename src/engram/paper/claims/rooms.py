"""The claims about the rooms."""

import numpy as np

from engram.lab.claims import FAILS, HOLDS, OPEN, Claim, Column, Statement, Verdict, best, judge, share
from engram.lab.evidence import Evidence
from engram.lab.statistics import mean_interval

OPENROOM, FOURROOM = "engram/OpenRoom-v0", "engram/FourRoom-v0"
AGENTS = ("mfec", "nec")
WELL = 0.5  # does well: reaches the goal in more than half of the evaluations
FIVE = ("LRU", "REW", "SUR", "kM", "DkM")


def best_in_openroom(evidence: Evidence) -> Verdict:
    """Claim 8."""
    tiny = best(evidence, "kM", _but("kM"), [Column(OPENROOM, agent, (2, 5)) for agent in AGENTS])
    columns = [Column(OPENROOM, agent, evidence.sizes(OPENROOM, agent)) for agent in AGENTS]
    overall = best(evidence, "DkM", _but("DkM"), columns)
    pooled = [each for each in overall.statements if each.needed]  # best overall, not at every size
    lacking = [*tiny.lacking, *overall.lacking]
    if not tiny.statements or not pooled:
        lacking.append(tiny.why if not tiny.statements else overall.why)
    return judge([*tiny.statements, *pooled], lacking)


def does_well_from(evidence: Evidence) -> Verdict:
    """Claim 9."""
    statements, lacking, left_out = [], [], []
    wanted = [("DkM", size, True) for size in (10, 25, 50)] + [
        ("LRU", 10, False),
        ("LRU", 25, False),
        ("LRU", 50, True),
    ]
    for agent in AGENTS:
        for strategy, size, well in wanted:
            where = f"{agent.upper()}, {strategy}, {size}"
            scores = evidence.scores(OPENROOM, agent, strategy, size)
            if scores is None:
                lacking.append(f"{where}: no runs")
            elif not evidence.filled(OPENROOM, agent, size):
                left_out.append(where)
            else:
                sign = 1 if well else -1
                interval = mean_interval(sign * (scores - WELL), level=share(len(wanted) * len(AGENTS)))
                text = f"{where}: share of goals reached {'above' if well else 'below'} one half by"
                statements.append(Statement.positive(text, interval))
    return judge(statements, lacking, left_out)


def only_lru_solves(evidence: Evidence) -> Verdict:
    """Claim 10."""
    solved: dict[str, list[str]] = {strategy: [] for strategy in FIVE}
    lacking, filled = list[str](), list[str]()
    for agent in AGENTS:
        for size in (150, 200):
            where = f"{agent.upper()}, {size}"
            if evidence.filled(FOURROOM, agent, size):
                filled.append(where)
            for strategy in FIVE:
                scores = evidence.scores(FOURROOM, agent, strategy, size)
                if scores is None:
                    lacking.append(f"{where}: no runs of {strategy}")
                elif bool(np.all(scores == 1)):
                    solved[strategy].append(where)
    found = "; ".join(f"{name}: {', '.join(places) or 'nowhere'}" for name, places in solved.items())
    if lacking:
        return Verdict(OPEN, "; ".join(lacking[:3]))
    if not filled:
        return Verdict(
            OPEN, f"no table ever filled at these sizes, so no strategy is at work; solved by every seed: {found}"
        )
    count = {name: len(set(places) & set(filled)) for name, places in solved.items()}
    others = any(count[name] for name in FIVE if name != "LRU")
    word = FAILS if others or not count["LRU"] else HOLDS
    return Verdict(word, f"solved perfectly, by every seed: {found}")


def _but(strategy: str) -> tuple[str, ...]:
    return tuple(name for name in FIVE if name != strategy)


CLAIMS = (
    Claim(
        8,
        "OpenRoom: kM is best at 2 and 5, DkM best overall.",
        "best(kM) at 2 and 5 for both agents; and DkM is above each other strategy in the mean over agents and sizes "
        "where tables filled.",
        ("openroom",),
        best_in_openroom,
    ),
    Claim(
        9,
        "OpenRoom: DkM does well from 10, LRU from 50.",
        "For both agents, with `well` meaning that more than half of the evaluations reach the goal: DkM does at 10, "
        "25 and 50; LRU does not at 10 and 25, and does at 50; 12 intervals.",
        ("openroom",),
        does_well_from,
    ),
    Claim(
        10,
        "FourRoom: only LRU solves it perfectly, above 150.",
        "At 150 and 200 (the paper: bigger than 150), every one of the last ten evaluations of every seed reaches the "
        "goal with LRU, for at least one agent, and with no other strategy. Undecided if no table ever filled there.",
        ("fourroom",),
        only_lru_solves,
    ),
)
