"""The claims about CartPole."""

import numpy as np

from engram.agents import label_of
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.statistics import mean_interval
from engram.lab.verdicts import Claim, Column, Statement, Verdict, best, judge, share
from engram.paper.grids import AGENTS
from engram.typing import Array

CARTPOLE = "CartPole-v1"
OTHERS = ("lru", "rew", "sur", "kmeans")  # strategies that DkM is compared with
GAIN = 0.1  # of the final return, below which later gains are none


def only_dkm_exceeds(evidence: Evidence) -> Verdict:
    """Claim 2: only DkM exceeds 200 with NEC at 50."""
    statements, lacking = [], []
    for strategy in (*OTHERS, "dkm"):
        scores = evidence.scores(CARTPOLE, "nec", strategy, 50)
        if scores is None:
            lacking.append(f"no runs of {strategy_label(strategy)}")
            continue
        sign = 1 if strategy == "dkm" else -1
        interval = mean_interval(sign * (scores - 200), level=share(5))
        statements.append(
            Statement.positive(f"{strategy_label(strategy)} {'above' if sign > 0 else 'below'} 200 by", interval)
        )
    return judge(statements, lacking)


def convergence(evidence: Evidence) -> Verdict:
    """Claim 15: MFEC has converged by 5,000 steps, NEC still improves."""
    statements, lacking = [], []
    for agent in AGENTS:
        gains = []
        if any(cell[:2] == (CARTPOLE, agent) for cell in evidence.incomplete):
            lacking.append(f"runs of {label_of(agent)} are missing")
            continue
        for cell, seeds in evidence.curves.items():
            if cell[:2] != (CARTPOLE, agent) or not cell.capacity:
                continue
            if not evidence.filled(CARTPOLE, agent, cell.capacity):
                continue
            gains += [_gain(agent, *curve) for curve in seeds.values()]
        if not gains or not np.isfinite(gains).all():
            lacking.append(f"no runs of {label_of(agent)} that are long enough")
            continue
        interval = mean_interval(np.array(gains), level=share(2))
        if agent == "mfec":
            text = (
                f"MFEC's return grows by less than {GAIN:.0%} after step 5,000; growth as a share of the final return"
            )
            statements.append(Statement(text, interval, supported=interval.high < GAIN, refuted=interval.low > GAIN))
        else:
            statements.append(Statement.positive("NEC's return over the last 5,000 steps grows by", interval))
    return judge(statements, lacking)


def _gain(agent: str, steps: Array, returns: Array) -> float:
    """MFEC: growth from steps 5,000–7,000 to the last five evaluations, as a share of those. NEC: over the last ten."""
    final = float(returns[-5:].mean())
    if steps[-1] < 10_000 or len(steps) < 10:
        return np.nan
    if agent == "mfec":
        early = returns[(steps >= 5_000) & (steps < 7_500)]
        return (final - float(early.mean())) / max(abs(final), 1.0)
    return final - float(returns[-10:-5].mean())


CLAIMS = (
    Claim(
        1,
        "CartPole, NEC: DkM is best at 50–1000 entries per action.",
        "best(DkM) at 50, 100, 150, 500 and 1000.",
        ("cartpole",),
        lambda e: best(e, "dkm", OTHERS, [Column(CARTPOLE, "nec", (50, 100, 150, 500, 1000))]),
    ),
    Claim(
        2,
        "CartPole, NEC, 50: only DkM exceeds 200.",
        "DkM's mean score is above 200 and every other's below; five intervals.",
        ("cartpole",),
        only_dkm_exceeds,
    ),
    Claim(
        3,
        "CartPole, MFEC: DkM is best at 100 and 150.",
        "best(DkM) at 100 and 150.",
        ("cartpole",),
        lambda e: best(e, "dkm", OTHERS, [Column(CARTPOLE, "mfec", (100, 150))]),
    ),
    Claim(
        15,
        "CartPole: MFEC has converged by 5,000 steps, NEC still improves at 20,000.",
        "Over all runs at sizes where tables filled. MFEC: from steps 5,000–7,000 to the last five evaluations the "
        f"return grows by less than {GAIN:.0%}. NEC: the last five evaluations are above the five before them.",
        ("cartpole",),
        convergence,
    ),
)
