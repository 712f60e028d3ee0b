"""OpenRoom: the paper prints curves only; sizes, steps and the evaluation interval are ours."""

from engram.lab.grid import Study
from engram.paper.grids import ROOM_SIZES, table

STUDY = Study(
    "openroom",
    "OpenRoom: what should a full memory forget?",
    table("engram/OpenRoom-v0", "rooms", ROOM_SIZES),
    claims="engram.paper.claims:CLAIMS",
)
