"""Acrobot: the paper's Table 2. Steps and sizes are the paper's, seeds and evaluation interval ours."""

from engram.lab.grid import Study, Task
from engram.paper.acrobot.published import REFERENCES
from engram.paper.grids import table

STUDY = Study(
    "acrobot",
    "Acrobot: what should a full memory forget?",
    table("Acrobot-v1", "classic", (50, 150, 500, 1000, 5000, 10_000)),
    REFERENCES,
    claims="engram.paper.claims:CLAIMS",
    tasks={"Acrobot-v1": Task(nothing=-500, solved=-100)},  # 500 steps at −1 each; Gymnasium's threshold
)
