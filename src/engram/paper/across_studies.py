"""The claims that need several studies."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import inf

from engram.lab.comparisons import Cells, above, filled_group, nothing_filled
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.quantity import Quantity
from engram.lab.statistics import Term, rise_terms, total, weighted_terms
from engram.lab.verdicts import Claim, Findings, Statement, fewest, one_of, place_label
from engram.paper.grids import AGENTS

CARTPOLE, ACROBOT = "CartPole-v1", "Acrobot-v1"
ROOMS = ("engram/OpenRoom-v0", "engram/FourRoom-v0")
CLASSIC = tuple((env, agent) for env in (CARTPOLE, ACROBOT) for agent in AGENTS)
BETTER, POOR = ("lru", "kmeans", "dkm"), ("rew", "sur")
CLUSTERING = ("kmeans", "dkm")
TIMES = 10  # less memory


def improves_with_size(evidence: Evidence) -> Findings:
    """Claim 5: LRU improves steadily with memory size, clustering less so."""
    read = [Cells.read(evidence, filled_group(evidence, env, agent), BETTER) for env, agent in CLASSIC]
    if lacking := [text for cells in read for text in cells.lacking]:
        return Findings(lacking=lacking)
    if few := [place for place, cells in zip(CLASSIC, read, strict=True) if len(cells.there) < 2]:
        return sum((nothing_filled(evidence, *place) for place in few), Findings())
    rises = {name: [rise_terms([cell.scores[name] for cell in cells.there]) for cells in read] for name in BETTER}
    among = len(CLASSIC) + len(CLUSTERING)
    statements = []
    for cells, terms in zip(read, rises["lru"], strict=True):
        quantity = Quantity("with LRU the larger of two memories wins", "of the time", where=cells.name, percent=True)
        seeds = fewest(cell.seeds for cell in cells.there)
        statements.append(_share(quantity, terms, seeds, aim=(0.5, inf), among=among))
    every = fewest(cell.seeds for cells in read for cell in cells.there)
    for name in CLUSTERING:
        label = strategy_label(name)
        quantity = Quantity(
            "with LRU the larger of two memories wins",
            f"more often than with {label}",
            f"less often than with {label}",
            f"mean over {len(read)} places",
            percent=True,
        )
        both = ((rises["lru"], 1), (rises[name], -1))
        terms = [term.times(sign / len(read)) for each, sign in both for place in each for term in place]
        statements.append(_share(quantity, terms, every, aim=(0.0, inf), among=among))
    return Findings(statements)


def _share(
    quantity: Quantity, terms: Sequence[Term], seeds: dict[str, int], *, aim: tuple[float, float], among: int
) -> Statement:
    return Statement.measured(quantity, partial(total, terms), seeds, aim=aim, among=among)


def needs_less_memory(evidence: Evidence) -> Findings:
    """Claim 6: DkM needs 10 times less memory than LRU."""
    statements, others = [], Findings()
    for env in (CARTPOLE, ACROBOT):
        read = [_with_a_tenth(evidence, env, agent) for agent in AGENTS]
        others = sum((Findings((), each.lacking, each.left_out) for each in read), others)
        statements.append([statement for each in read for statement in each.statements])
    return Findings([one_of(each) for each in statements] if all(statements) else ()) + others


def _with_a_tenth(evidence: Evidence, env: str, agent: str) -> Findings:
    """That DkM scores above LRU with at least ten times the memory, in the mean over DkM's sizes."""
    name, sizes = place_label(env, agent), evidence.sizes(env, agent)
    pairs = [(size, larger[0]) for size in sizes if (larger := [each for each in sizes if each >= TIMES * size])]
    if not pairs:
        return nothing_filled(evidence, env, agent)
    parts = Counter({("dkm", size): 1 for size, _ in pairs})
    parts.subtract(("lru", larger) for _, larger in pairs)
    read = {(strategy, size): evidence.scores(env, agent, strategy, size) for strategy, size in parts}
    there = {cell: scores for cell, scores in read.items() if scores is not None}
    if len(there) < len(read):
        return Findings(lacking=[f"{name}: no runs of DkM, or of LRU with ten times the memory"])
    terms = [
        term
        for strategy in ("dkm", "lru")
        for term in weighted_terms(
            (parts[cell] / len(pairs), scores) for cell, scores in there.items() if cell[0] == strategy
        )
    ]
    statement = Statement.measured(
        Quantity(
            "DkM scores",
            "above LRU with ten times the memory",
            "below LRU with ten times the memory",
            f"{name}, mean over {len(pairs)} sizes",
        ),
        partial(total, terms),
        {agent: min(map(len, there.values()))},
        among=2,
        tries=len(AGENTS),
    )
    return Findings([statement])


def rew_and_sur_do_poorly(evidence: Evidence) -> Findings:
    """Claim 7: REW and SUR do poorly."""
    places = [(env, agent) for env in (CARTPOLE, ACROBOT, *ROOMS) for agent in AGENTS]
    found = Findings()
    for env, agent in places:
        cells = Cells.read(evidence, filled_group(evidence, env, agent), (*BETTER, *POOR))
        if cells.there:
            statements = [
                above(poor, BETTER, cells.name, cells.there, among=len(places) * len(POOR), aim=(-inf, 0.0))
                for poor in POOR
            ]
            found += Findings(statements, cells.lacking)
        else:
            found += Findings(lacking=cells.lacking) if cells.lacking else nothing_filled(evidence, env, agent)
    return found


CLAIMS = (
    Claim(
        5,
        "LRU improves with memory size, clustering less steadily.",
        "“… while LRU tends to improve monotonically with an increase in the buffer size, the online clustering "
        "methods do not share that property.” (Section 5, Tables 1 and 2)",
        "How often a run with the larger of two memories scores above one with the smaller (ties count half), over all "
        "pairs of sizes at which tables filled: with LRU more than half of the time, for each agent in CartPole and in "
        "Acrobot; and, in the mean over these four, more often than with kM and than with DkM.",
        ("cartpole", "acrobot"),
        improves_with_size,
        least_seeds=5,
        note="Not to improve monotonically does not mean not to rise: in the paper's tables kM rises on CartPole, and "
        "DkM with MFEC on CartPole and with NEC on Acrobot.",
    ),
    Claim(
        6,
        "DkM needs 10–20 times less memory than LRU for the same score.",
        "“In simple environments, it can require 10 to 20 times less memory to effectively train the agent, as "
        "compared to the original LRU strategy.” (Section 5, Tables 1 and 2)",
        "In CartPole and in Acrobot, for at least one agent: DkM scores above LRU with ten times the memory (the "
        "smallest size that is at least so large), in the mean over the sizes of DkM for which there is one. Only "
        "sizes where tables filled count. It does not hold if in one of the two DkM scores below it with both agents.",
        ("cartpole", "acrobot"),
        needs_less_memory,
        least_seeds=5,
        note="In the paper's tables it is so with NEC on CartPole and with MFEC on Acrobot, not the other way round.",
    ),
    Claim(
        7,
        "REW and SUR do poorly in classic control and rooms.",
        "“… preferring either highly rewarding (REW) or highly surprising states (SUR) as the memory storage strategy "
        "achieved poor performance in both Classic Control and Gridworld domains.” (Section 4)",
        "For each agent in CartPole, Acrobot, OpenRoom and FourRoom: each is below the mean of LRU, kM and DkM, in the "
        "mean over sizes where tables filled.",
        ("cartpole", "acrobot", "openroom", "fourroom"),
        rew_and_sur_do_poorly,
        least_seeds=5,
    ),
)
