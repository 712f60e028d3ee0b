"""All claims of the paper: those of each study's `claims.py`, and those that need several studies."""

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

from engram.lab.verdicts import Claim, ClaimList
from engram.paper import across_studies
from engram.paper.registry import study_folders
from engram.paper.rule_power import read_power

NOTE = (
    "best(X): X is best in all the cells named. It is above each rival in the mean over the cells; a rival that is "
    "above it in any one of them speaks against it. Cells in which no table ever filled do not count. A statement is "
    "supported if its 95 % interval lies within what is claimed; all that are needed must be. A claim does not hold if "
    "a statement is refuted, at a level at which the intervals of all its statements together hold with 95 % "
    "confidence (Bonferroni). Where neither is so, it is undecided, or, if a true claim would be found with so few "
    "seeds less than eight times in ten, it cannot be decided with them. How often each rule is right was simulated "
    "from the paper's own means and deviations: results/power. The rules were rewritten on 16 November 2026, as some "
    "of the first had refused what the paper's own tables support, and before the seeds were run from which verdicts "
    "are made. What they say has not changed since; how two of their intervals are computed was mended on 17 and 18 "
    "November, which changed no verdict: scores of one seed at several sizes are averaged first, and a share that is 0 "
    "in every run has an interval with a width."
)


def _claims() -> tuple[Claim, ...]:
    """The claims in order of their numbers, each with the simulated power of its rule."""
    names = [f"engram.paper.{name}.claims" for name in study_folders()]
    found = [import_module(name).CLAIMS for name in names if find_spec(name) is not None]
    claims = sorted((claim for group in (across_studies.CLAIMS, *found) for claim in group), key=lambda c: c.number)
    power = read_power()
    return tuple(replace(claim, power=power.get(claim.number, ())) for claim in claims)


ABOUT = (
    "Episodic control acts by looking up similar past states in a memory, one table for each action. MFEC is a memory "
    "and no network; NEC has a network that learns which states are alike; D3QN is a network without a memory, to "
    "compare with. A strategy says what a full table forgets: LRU what was used longest ago, REW the lowest return, "
    "SUR what surprised least; kM merges a new state into the nearest, DkM (the paper's) does so and drops clusters "
    "whose count is used up, and Fading (ours) those whose count has faded. A cell is one agent, one environment "
    "and one memory size."
)
SOURCE = (
    "Agostinelli et al. (2019), Memory-Efficient Episodic Control Reinforcement Learning with Dynamic Online k-means"
)
CLAIMS = ClaimList(
    "The paper's claims", _claims(), NOTE, source=SOURCE, address="https://arxiv.org/abs/1911.09560", about=ABOUT
)
