"""All claims of the paper: those of each study's `claims.py`, and those that need several studies.

`best(X)` in a rule: X is best in all the cells named. A rival that is better in any one of them (Welch intervals, all
comparisons together at 95 %) refutes it; for it to hold, X must be better than each rival in the mean over the cells.
Cells in which no table ever filled do not count: all strategies are the same there.
"""

from importlib import import_module
from importlib.util import find_spec

from engram.lab.verdicts import Claim, ClaimList
from engram.paper import across_studies
from engram.paper.registry import study_folders

NOTE = (
    "best(X): X is best in all the cells named. A rival that is better in any one of them (Welch intervals, "
    "all comparisons together at 95 %) speaks against it; for it to hold, X must be better than each rival in "
    "the mean over the cells. Cells in which no table ever filled do not count. Intervals of one kind within a "
    "claim hold together with 95 % confidence (Bonferroni). The rules were written down before the studies were "
    "run; what was corrected since is how they treat missing runs and tables that never filled."
)


def _claims() -> tuple[Claim, ...]:
    """The claims in order of their numbers."""
    names = [f"engram.paper.{name}.claims" for name in study_folders()]
    found = [import_module(name).CLAIMS for name in names if find_spec(name) is not None]
    return tuple(
        sorted((claim for group in (across_studies.CLAIMS, *found) for claim in group), key=lambda c: c.number)
    )


CLAIMS = ClaimList("The paper's claims", _claims(), NOTE)
