"""Scores of other agents after 100,000 steps, from `published.csv`, and what is known of how they were measured.

The file has a line for each agent and game: the mean score, over how many runs if the source says so, and the public
file that it was read from. Scores become human-normalised ones by those of random play and of a person (0 and 1).
"""

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engram.errors import InvalidInputError
from engram.paper.atari100k.games import MAX_FRAMES
from engram.typing import Doubles

RANDOM, HUMAN = "random", "human"
SILENT = "its source prints scores only"


class Peer(NamedTuple):
    """A published agent."""

    name: str
    scores: dict[str, float]  # by game
    runs: int | None  # that each mean is over; None where the source does not say so
    source: str


class Total(NamedTuple):
    """A published agent of which only totals over the 26 games are known."""

    name: str
    mean: float  # human-normalised score
    median: float
    source: str


NAIT = Total("NAIT", 0.362, 0.312, "Long, Blair and van Hoof (2022)")
MEASURED = {  # how, as far as the sources print it
    "DER": SILENT,
    "SimPLe": SILENT,
    "DrQ(ε)": SILENT,
    "SPR": "no sticky actions, up to 30 no-ops, 100 games of up to 108,000 frames (mila-iqia/spr)",
    "IRIS": "no sticky actions in the environments that its README names (NoFrameskip-v4), at most one no-op and up to "
    "108,000 frames in evaluation, 30 no-ops and 20,000 frames in training (eloialonso/iris)",
    "EfficientZero": "no sticky actions (NoFrameskip-v4), up to 30 no-ops, 3 runs, 32 games of up to 108,000 frames at "
    "the end, 12,000 frames in training (YeWR/EfficientZero); the file of scores has one number per game",
    "MuZero": f"{SILENT}; it is EfficientZero's baseline",
    NAIT.name: "totals only",
}
NOT_COMPARABLE = (
    f"Numbers of others are not of one protocol, and ours is another. Games are cut off after {MAX_FRAMES:,} frames "
    "here, and after 108,000 in the evaluations of the sources that say so; the games of an evaluation are not equally "
    "many. No source that tells how it played has sticky actions, so the columns without them are those to read beside "
    "theirs. Of others only means per game are known here, so they have no interquartile mean over runs and no "
    "interval."
)


@cache
def peers() -> tuple[Peer, ...]:
    """The published agents that learned, in the order of the file."""
    return tuple(peer for peer in _everyone().values() if peer.name not in (RANDOM, HUMAN))


def normalised(game: str, scores: npt.ArrayLike) -> Doubles:
    """Human-normalised scores: 0 for random play, 1 for a person."""
    low, high = (_everyone()[name].scores.get(game) for name in (RANDOM, HUMAN))
    if low is None or high is None:
        raise InvalidInputError(f"there is no human score for the game {game!r}; expected one of published.csv")
    return (np.asarray(scores, np.float64) - low) / (high - low)


def normalised_scores(peer: Peer, games: Sequence[str]) -> Doubles:
    """A published agent's human-normalised scores in these games, [games]."""
    return np.array([float(normalised(game, peer.scores[game])) for game in games])


@cache
def _everyone() -> dict[str, Peer]:
    """Every agent of the file, random play and people included, by name."""
    found: dict[str, Peer] = {}
    text = files(__package__).joinpath("published.csv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines()):
        name = line["agent"]
        runs = int(line["runs"]) if line["runs"] else None
        found.setdefault(name, Peer(name, {}, runs, line["source"])).scores[line["game"]] = float(line["score"])
    return found
