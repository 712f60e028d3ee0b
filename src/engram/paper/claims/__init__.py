"""The paper's claims, and the rules by which they are decided from the runs.

`best(X)` in a rule: X is best in all the cells named. A rival that is better in any one of them (Welch intervals, all
comparisons together at 95 %) speaks against it; for it to hold, X must be better than each rival in the mean over the
cells. Cells in which no table ever filled do not count: all strategies are the same there.
"""

from engram.lab.claims import Claim, Statement, Verdict
from engram.lab.evidence import Evidence
from engram.paper.claims import atari, classic, rooms, stream

CLAIMS: tuple[Claim, ...] = tuple(
    sorted((*classic.CLAIMS, *rooms.CLAIMS, *atari.CLAIMS, *stream.CLAIMS), key=lambda claim: claim.number)
)

__all__ = ["CLAIMS", "Claim", "Evidence", "Statement", "Verdict"]
