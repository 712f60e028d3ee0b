"""FourRoom: the paper prints curves only; sizes, steps and the evaluation interval are ours."""

from engram.lab.grid import Study
from engram.paper.grids import ROOM_SIZES, table

STUDY = Study(
    "fourroom",
    "FourRoom: what should a full memory forget?",
    table("engram/FourRoom-v0", "rooms", ROOM_SIZES),
    claims="engram.paper.claims:CLAIMS",
)
