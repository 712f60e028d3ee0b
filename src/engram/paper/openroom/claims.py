"""The claims about OpenRoom."""

from engram.agents import label_of
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.statistics import mean_interval
from engram.lab.verdicts import Claim, Column, Statement, Verdict, best, judge, share
from engram.paper.grids import AGENTS, FIVE

OPENROOM = "engram/OpenRoom-v0"
WELL = 0.5  # does well: reaches the goal in more than half of the evaluations


def best_in_openroom(evidence: Evidence) -> Verdict:
    """Claim 8: kM is best at 2 and 5, DkM best overall."""
    tiny = best(evidence, "kmeans", _but("kmeans"), [Column(OPENROOM, agent, (2, 5)) for agent in AGENTS])
    columns = [Column(OPENROOM, agent, evidence.sizes(OPENROOM, agent)) for agent in AGENTS]
    overall = best(evidence, "dkm", _but("dkm"), columns)
    pooled = [each for each in overall.statements if each.needed]  # best overall, not at every size
    lacking = [*tiny.lacking, *overall.lacking]
    if not tiny.statements or not pooled:
        lacking.append(tiny.why if not tiny.statements else overall.why)
    return judge([*tiny.statements, *pooled], lacking)


def does_well_from(evidence: Evidence) -> Verdict:
    """Claim 9: DkM does well from 10, LRU from 50."""
    statements, lacking, left_out = [], [], []
    wanted = [("dkm", size, True) for size in (10, 25, 50)] + [
        ("lru", 10, False),
        ("lru", 25, False),
        ("lru", 50, True),
    ]
    for agent in AGENTS:
        for strategy, size, well in wanted:
            where = f"{label_of(agent)}, {strategy_label(strategy)}, {size}"
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
)
