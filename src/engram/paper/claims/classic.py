"""The claims about CartPole and Acrobot."""

from collections.abc import Sequence

import numpy as np

from engram.lab.claims import (
    Claim,
    Column,
    Statement,
    Verdict,
    best,
    judge,
    name_of,
    share,
)
from engram.lab.evidence import Evidence
from engram.lab.statistics import (
    mean_interval,
    pooled_difference,
    slope,
    slope_difference,
    stratified_bootstrap,
)
from engram.paper.claims.ratio import memory_ratio
from engram.typing import Array

CARTPOLE, ACROBOT = "CartPole-v1", "Acrobot-v1"
ROOMS = ("engram/OpenRoom-v0", "engram/FourRoom-v0")
AGENTS = ("mfec", "nec")
OTHERS = ("LRU", "REW", "SUR", "kM")  # than DkM
SMALL_ACROBOT, ACROBOT_SIZES = (50, 150, 500, 1000), (50, 150, 500, 1000, 5000, 10_000)
GAIN = 0.1  # of the final return, below which later gains are none
STUCK = -495.0  # a mean score on Acrobot that means the goal is never reached; there is no variance to compare


def only_dkm_exceeds(evidence: Evidence) -> Verdict:
    """Claim 2."""
    statements, lacking = [], []
    for strategy in (*OTHERS, "DkM"):
        scores = evidence.scores(CARTPOLE, "nec", strategy, 50)
        if scores is None:
            lacking.append(f"no runs of {strategy}")
            continue
        sign = 1 if strategy == "DkM" else -1
        interval = mean_interval(sign * (scores - 200), level=share(5))
        statements.append(Statement.positive(f"{strategy} {'above' if sign > 0 else 'below'} 200 by", interval))
    return judge(statements, lacking)


def best_on_acrobot(evidence: Evidence) -> Verdict:
    """Claim 4."""
    small = best(evidence, "DkM", OTHERS, [Column(ACROBOT, agent, SMALL_ACROBOT) for agent in AGENTS])
    if not small.statements and not small.lacking:
        return small  # no table ever filled
    wins, cells = 0, 0
    for agent in AGENTS:
        for size in ACROBOT_SIZES:
            scores = [evidence.scores(ACROBOT, agent, name, size) for name in ("DkM", *OTHERS)]
            means = [float(np.mean(values)) for values in scores if values is not None]
            if len(means) == len(scores):
                cells += 1
                wins += means[0] >= max(means) and means[0] > min(means)
    count = Statement(
        f"DkM has the highest mean in {wins} of {cells} settings", None, wins >= 10, cells == 12 and wins < 10
    )
    lacking = () if cells == 12 else (f"{12 - cells} of 12 settings have no runs",)
    return judge([*small.statements, count], lacking)


def improves_with_size(evidence: Evidence) -> Verdict:
    """Claim 5."""
    statements, lacking = [], []
    places = [(env, agent) for env in (CARTPOLE, ACROBOT) for agent in AGENTS]
    level = share(len(places) * 5)
    for env, agent in places:
        where = f"{name_of(env)}, {agent.upper()}"
        sizes = evidence.sizes(env, agent)
        points = {name: _against_size(evidence, env, agent, name, sizes) for name in ("LRU", "kM", "DkM")}
        if len(sizes) < 3 or any(len(x) == 0 for x, _ in points.values()):
            lacking.append(f"{where}: fewer than three sizes with runs of LRU, kM and DkM")
            continue
        rise = slope(*points["LRU"], level=level)
        statements.append(Statement.positive(f"LRU rises per doubling ({where})", rise))
        for name in ("kM", "DkM"):
            own, gap = slope(*points[name], level=level), slope_difference(*points["LRU"], *points[name], level=level)
            text = f"{name} does not rise ({where}); its slope"
            statements.append(Statement(text, own, supported=not own.above(0) and gap.above(0), refuted=own.above(0)))
    return judge(statements, lacking)


def _against_size(evidence: Evidence, env: str, agent: str, strategy: str, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Doublings of the memory and scores, one of each per run."""
    cells = [(size, evidence.scores(env, agent, strategy, size)) for size in sizes]
    there = [(np.full(len(scores), np.log2(size)), scores) for size, scores in cells if scores is not None]
    if len(there) < len(cells) or not there:
        return np.empty(0), np.empty(0)
    return np.concatenate([x for x, _ in there]), np.concatenate([y for _, y in there])


def needs_less_memory(evidence: Evidence) -> Verdict:
    """Claim 6."""
    statements, lacking = [], []
    for env in (CARTPOLE, ACROBOT):
        intervals = {agent: memory_ratio(evidence, env, agent, share(4)) for agent in AGENTS}
        there = {agent: interval for agent, interval in intervals.items() if interval is not None}
        if not there:
            lacking.append(f"{name_of(env)}: no runs of LRU and DkM at sizes ten times apart")
            continue
        agent, most = max(there.items(), key=lambda item: item[1].estimate)
        text = f"{name_of(env)}: times the memory that LRU needs for DkM's score ({agent.upper()}, the better case)"
        refuted = all(each.high < 10 for each in there.values()) and len(there) == len(AGENTS)
        statements.append(Statement(text, most, supported=most.low >= 10, refuted=refuted))
    return judge(statements, lacking)


def rew_and_sur_do_poorly(evidence: Evidence) -> Verdict:
    """Claim 7."""
    statements, lacking = [], []
    for env in (CARTPOLE, ACROBOT, *ROOMS):
        for agent in AGENTS:
            sizes = evidence.sizes(env, agent)
            for strategy in ("REW", "SUR"):
                pairs = []
                for size in sizes:
                    theirs = [evidence.scores(env, agent, name, size) for name in ("LRU", "kM", "DkM")]
                    own = evidence.scores(env, agent, strategy, size)
                    if own is not None and all(each is not None for each in theirs):
                        pairs.append((np.concatenate([each for each in theirs if each is not None]), own))
                where = f"{name_of(env)}, {agent.upper()}"
                if len(pairs) < max(len(sizes), 1):
                    lacking.append(f"{where}: no runs of {strategy} or of those it is compared with")
                else:
                    text = f"{strategy} below LRU, kM and DkM by ({where}, mean over {len(pairs)} sizes)"
                    statements.append(Statement.positive(text, pooled_difference(pairs, level=share(16))))
    return judge(statements, lacking)


def convergence(evidence: Evidence) -> Verdict:
    """Claim 15."""
    statements, lacking = [], []
    for agent in AGENTS:
        gains = []
        if any(cell[:2] == (CARTPOLE, agent) for cell in evidence.incomplete):
            lacking.append(f"runs of {agent.upper()} are missing")
            continue
        for cell, seeds in evidence.curves.items():
            if cell[:2] != (CARTPOLE, agent) or not cell.capacity:
                continue
            if not evidence.filled(CARTPOLE, agent, cell.capacity):
                continue
            gains += [_gain(agent, *curve) for curve in seeds.values()]
        if not gains or not np.isfinite(gains).all():
            lacking.append(f"no runs of {agent.upper()} that are long enough")
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


def low_variance(evidence: Evidence) -> Verdict:
    """Claim 18."""
    statements, lacking = [], []
    sizes = evidence.sizes(ACROBOT, "nec")
    for rival in ("LRU", "kM"):
        pairs = [
            (evidence.scores(ACROBOT, "nec", "DkM", size), evidence.scores(ACROBOT, "nec", rival, size))
            for size in sizes
        ]
        there = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
        moving = [(ours, theirs) for ours, theirs in there if max(ours.mean(), theirs.mean()) > STUCK]
        if len(there) < max(len(sizes), 1):
            lacking.append(f"no runs of DkM or {rival}")
            continue
        if not moving:
            lacking.append(f"neither DkM nor {rival} reaches the goal at any size")
            continue

        def less(ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
            gaps = [b.std(axis=-1, ddof=1) - a.std(axis=-1, ddof=1) for a, b in zip(ours, theirs, strict=True)]
            mean: Array = np.mean(gaps, axis=0)
            return mean

        interval = stratified_bootstrap(less, [a for a, _ in moving], [b for _, b in moving], level=share(2))
        text = f"DkM's standard deviation over seeds below {rival}'s by (mean over {len(moving)} sizes)"
        statements.append(Statement.positive(text, interval))
    return judge(statements, lacking)


CLAIMS = (
    Claim(
        1,
        "CartPole, NEC: DkM is best at 50–1000 entries per action.",
        "best(DkM) at 50, 100, 150, 500 and 1000.",
        ("cartpole",),
        lambda e: best(e, "DkM", OTHERS, [Column(CARTPOLE, "nec", (50, 100, 150, 500, 1000))]),
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
        lambda e: best(e, "DkM", OTHERS, [Column(CARTPOLE, "mfec", (100, 150))]),
    ),
    Claim(
        4,
        "Acrobot: DkM is best in 10 of 12 settings, and in all below 5000.",
        "best(DkM) at 50, 150, 500 and 1000 for both agents; and the highest mean in at least 10 of the 12 settings.",
        ("acrobot",),
        best_on_acrobot,
    ),
    Claim(
        5,
        "LRU improves with memory size, clustering does not.",
        "Slope of the score over doublings of the memory, at sizes where tables filled, for each agent in CartPole and "
        "Acrobot: LRU's is above 0; that of kM and of DkM is not, and lies below LRU's. A slope of kM or DkM that is "
        "above 0 speaks against it.",
        ("cartpole", "acrobot"),
        improves_with_size,
    ),
    Claim(
        6,
        "DkM needs 10–20 times less memory than LRU for the same score.",
        "In CartPole and in Acrobot, for at least one agent: LRU needs at least 10 times the memory for the score that "
        "DkM has, in the median over DkM's sizes up to a tenth of the largest (sizes where tables filled; bootstrap).",
        ("cartpole", "acrobot"),
        needs_less_memory,
    ),
    Claim(
        7,
        "REW and SUR do poorly in classic control and rooms.",
        "For each agent in CartPole, Acrobot, OpenRoom and FourRoom: each is below the mean of LRU, kM and DkM, in the "
        "mean over sizes where tables filled; 16 intervals.",
        ("cartpole", "acrobot", "openroom", "fourroom"),
        rew_and_sur_do_poorly,
    ),
    Claim(
        15,
        "CartPole: MFEC has converged by 5,000 steps, NEC still improves at 20,000.",
        "Over all runs at sizes where tables filled. MFEC: from steps 5,000–7,000 to the last five evaluations the "
        f"return grows by less than {GAIN:.0%}. NEC: the last five evaluations are above the five before them.",
        ("cartpole",),
        convergence,
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
