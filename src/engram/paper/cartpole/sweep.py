"""CartPole: the paper's Table 1. Steps and sizes are the paper's, seeds and evaluation interval ours."""

from engram.lab.grid import Study
from engram.paper.cartpole.published import REFERENCES
from engram.paper.grids import table

FIGURE_2 = {("CartPole-v1", "nec", 50): "the paper's Figure 2"}

STUDY = Study(
    "cartpole",
    "CartPole: what should a full memory forget?",
    table("CartPole-v1", "classic", (50, 100, 150, 500, 1000, 3000, 5000, 10_000), mfec_steps=15_000),
    REFERENCES,
    claims="engram.paper.claims:CLAIMS",
    enlarged=FIGURE_2,
)
