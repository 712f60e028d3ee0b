"""FourRoom: the paper prints curves only; sizes, steps and the evaluation interval are ours."""

from engram.lab.grid import Study
from engram.paper.grids import ROOM_SIZES, table

STUDY = Study(
    "fourroom",
    "FourRoom: five ways to forget at eight memory sizes",
    table("engram/FourRoom-v0", "rooms", ROOM_SIZES),
    claims="engram.paper.claims:CLAIMS",
)
