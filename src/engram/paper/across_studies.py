"""The claims that need several studies."""

from collections.abc import Sequence

import numpy as np

from engram.agents import label_of
from engram.envs.names import short_name
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.statistics import pooled_difference, slope, slope_difference
from engram.lab.verdicts import Claim, Statement, Verdict, judge, place_label, share
from engram.paper.grids import AGENTS
from engram.paper.memory_ratio import memory_ratio
from engram.typing import Array

CARTPOLE, ACROBOT = "CartPole-v1", "Acrobot-v1"
ROOMS = ("engram/OpenRoom-v0", "engram/FourRoom-v0")


def improves_with_size(evidence: Evidence) -> Verdict:
    """Claim 5: LRU improves with memory size, clustering does not."""
    statements, lacking = [], []
    places = [(env, agent) for env in (CARTPOLE, ACROBOT) for agent in AGENTS]
    level = share(len(places) * 5)
    for env, agent in places:
        where = place_label(env, agent)
        sizes = evidence.sizes(env, agent)
        points = {name: _against_size(evidence, env, agent, name, sizes) for name in ("lru", "kmeans", "dkm")}
        if len(sizes) < 3 or any(len(x) == 0 for x, _ in points.values()):
            lacking.append(f"{where}: fewer than three sizes with runs of LRU, kM and DkM")
            continue
        rise = slope(*points["lru"], level=level)
        statements.append(Statement.positive(f"LRU rises per doubling ({where})", rise))
        for name in ("kmeans", "dkm"):
            own, gap = slope(*points[name], level=level), slope_difference(*points["lru"], *points[name], level=level)
            text = f"{strategy_label(name)} does not rise ({where}); its slope"
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
    """Claim 6: DkM needs 10 times less memory than LRU."""
    statements, lacking = [], []
    for env in (CARTPOLE, ACROBOT):
        intervals = {agent: memory_ratio(evidence, env, agent, share(4)) for agent in AGENTS}
        there = {agent: interval for agent, interval in intervals.items() if interval is not None}
        if not there:
            lacking.append(f"{short_name(env)}: no runs of LRU and DkM at sizes ten times apart")
            continue
        agent, most = max(there.items(), key=lambda item: item[1].estimate)
        text = (
            f"{short_name(env)}: times the memory that LRU needs for DkM's score ({label_of(agent)}, the better case)"
        )
        refuted = all(each.high < 10 for each in there.values()) and len(there) == len(AGENTS)
        statements.append(Statement(text, most, supported=most.low >= 10, refuted=refuted))
    return judge(statements, lacking)


def rew_and_sur_do_poorly(evidence: Evidence) -> Verdict:
    """Claim 7: REW and SUR do poorly."""
    statements, lacking = [], []
    for env in (CARTPOLE, ACROBOT, *ROOMS):
        for agent in AGENTS:
            sizes = evidence.sizes(env, agent)
            for strategy in ("rew", "sur"):
                pairs = []
                for size in sizes:
                    theirs = [evidence.scores(env, agent, name, size) for name in ("lru", "kmeans", "dkm")]
                    own = evidence.scores(env, agent, strategy, size)
                    if own is not None and all(each is not None for each in theirs):
                        pairs.append((np.concatenate([each for each in theirs if each is not None]), own))
                where = place_label(env, agent)
                if len(pairs) < max(len(sizes), 1):
                    lacking.append(f"{where}: no runs of {strategy_label(strategy)} or of those it is compared with")
                else:
                    text = (
                        f"{strategy_label(strategy)} below LRU, kM and DkM by ({where}, mean over {len(pairs)} sizes)"
                    )
                    statements.append(Statement.positive(text, pooled_difference(pairs, level=share(16))))
    return judge(statements, lacking)


CLAIMS = (
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
)
