"""The 2-D stream of the paper's appendix: a study that is not made of runs."""

from engram.lab.grid import Study

STUDY = Study(
    "stream",
    "A stream of points: what is kept, and what is forgotten",
    claims="engram.paper.claims:CLAIMS",
    report="engram.paper.stream.analysis:StreamReport",
    experiment="engram.paper.stream.experiment:run_stream",
)
