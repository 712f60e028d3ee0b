"""The claims about Acrobot."""

from collections.abc import Sequence

import numpy as np

from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.statistics import stratified_bootstrap
from engram.lab.verdicts import Claim, Column, Statement, Verdict, best, judge, share
from engram.paper.grids import AGENTS
from engram.typing import Array

ACROBOT = "Acrobot-v1"
OTHERS = ("lru", "rew", "sur", "kmeans")  # strategies that DkM is compared with
SMALL_SIZES, SIZES = (50, 150, 500, 1000), (50, 150, 500, 1000, 5000, 10_000)
STUCK = -495.0  # a mean score that means that the goal is never reached; there is no variance to compare


def best_on_acrobot(evidence: Evidence) -> Verdict:
    """Claim 4: DkM is best in 10 of 12 settings, and in all below 5000."""
    small = best(evidence, "dkm", OTHERS, [Column(ACROBOT, agent, SMALL_SIZES) for agent in AGENTS])
    if not small.statements and not small.lacking:
        return small  # no table ever filled
    wins, cells = 0, 0
    for agent in AGENTS:
        for size in SIZES:
            scores = [evidence.scores(ACROBOT, agent, name, size) for name in ("dkm", *OTHERS)]
            means = [float(np.mean(values)) for values in scores if values is not None]
            if len(means) == len(scores):
                cells += 1
                wins += means[0] >= max(means) and means[0] > min(means)
    count = Statement(
        f"DkM has the highest mean in {wins} of {cells} settings", None, wins >= 10, cells == 12 and wins < 10
    )
    lacking = () if cells == 12 else (f"{12 - cells} of 12 settings have no runs",)
    return judge([*small.statements, count], lacking)


def low_variance(evidence: Evidence) -> Verdict:
    """Claim 18: DkM has low variance."""
    statements, lacking = [], []
    sizes = evidence.sizes(ACROBOT, "nec")
    for rival in ("lru", "kmeans"):
        pairs = [
            (evidence.scores(ACROBOT, "nec", "dkm", size), evidence.scores(ACROBOT, "nec", rival, size))
            for size in sizes
        ]
        there = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
        moving = [(ours, theirs) for ours, theirs in there if max(ours.mean(), theirs.mean()) > STUCK]
        if len(there) < max(len(sizes), 1):
            lacking.append(f"no runs of DkM or {strategy_label(rival)}")
            continue
        if not moving:
            lacking.append(f"neither DkM nor {strategy_label(rival)} reaches the goal at any size")
            continue

        def less(ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
            gaps = [b.std(axis=-1, ddof=1) - a.std(axis=-1, ddof=1) for a, b in zip(ours, theirs, strict=True)]
            mean: Array = np.mean(gaps, axis=0)
            return mean

        interval = stratified_bootstrap(less, [a for a, _ in moving], [b for _, b in moving], level=share(2))
        text = f"DkM's standard deviation over seeds below {strategy_label(rival)}'s by (mean over {len(moving)} sizes)"
        statements.append(Statement.positive(text, interval))
    return judge(statements, lacking)


CLAIMS = (
    Claim(
        4,
        "Acrobot: DkM is best in 10 of 12 settings, and in all below 5000.",
        "best(DkM) at 50, 150, 500 and 1000 for both agents; and the highest mean in at least 10 of the 12 settings.",
        ("acrobot",),
        best_on_acrobot,
    ),
    Claim(
        18,
        "Acrobot, NEC: DkM has low variance.",
        "DkM's standard deviation over seeds is below LRU's and kM's, in the mean over sizes where tables filled and "
        "one of the two reaches the goal at all (bootstrap).",
        ("acrobot",),
        low_variance,
    ),
)
