"""What lets a memory learn more from 100,000 steps of Atari: MFEC with one idea at a time, and with several together.

Six games, three seeds that decide nothing else. The rule by which ideas are chosen was written down before any of them
was run at full length: results/atari100k/plan.md. It asks for parts of this study, one after the other: every idea with
seed 0 (`--seeds 0-0 --labels alone`), the best with seeds 1 and 2 (`--labels NAME`); then, once they are named below,
several together (`--labels together`), and what is chosen with sticky actions too (`--labels sticky`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engram.agents import find_agent
from engram.lab.grid import Grid, Study
from engram.paper.atari100k import sweep
from engram.paper.atari100k.games import DEVELOPMENT, Played, Protocol

ALONE: Mapping[str, Mapping[str, Any]] = {  # settings by idea
    "shrinkage": {"shrinkage": "measured"},
    "correct-all": {"correct_neighbours": "all"},
    "correct-new": {"correct_neighbours": "new"},
    "horizon": {"horizon": 20},
    "look-ahead": {"look_ahead": True},
    "pooled": {"pooling": 10.0},
    "pooled-1": {"pooling": 1.0},
    "radius": {"radius": 0.3},
    "lasting": {"exploration": "lasting"},
    "detour": {"exploration": "detour"},
    "detour-10": {"exploration": "detour:length=10"},
    "relative-novelty": {"exploration": "relative-novelty"},
    "difference": {"encoder": "difference"},
    "blurred": {"encoder": "blurred"},
    "foreground": {"encoder": "foreground"},
    "pyramid": {"encoder": "pyramid"},
    "dct": {"encoder": "dct"},
}
TOGETHER: tuple[tuple[str, ...], ...] = ()  # ideas that are run together, as the rule asks for them
WITH_STICKY: tuple[str, ...] = ()  # what is run with sticky actions too, besides the baseline
JOINED = " + "


def settings_of(variant: str) -> dict[str, Any]:
    """The settings of one idea, or of several together; of none, the baseline's."""
    found = dict(find_agent("mfec").Config.preset_for("atari"))
    for idea in filter(None, variant.split(JOINED)):
        found |= ALONE[idea]
    return found


def grids(variant: str, kind: str, protocol: Protocol = "plain") -> tuple[Grid, ...]:
    """A variant in all games; it is chosen by its own name, by its kind, and by how games are played."""
    labels = (variant or sweep.BASELINE, kind, protocol)
    return tuple(
        sweep.grid("mfec", Played(game, protocol), sweep.DEVELOPMENT_SEEDS, settings_of(variant), variant, labels)
        for game in DEVELOPMENT
    )


def everything() -> tuple[Grid, ...]:
    """The baseline first, then every idea alone, then those together."""
    alone = [grids(variant, "alone") for variant in ("", *ALONE)]
    together = [grids(JOINED.join(ideas), "together") for ideas in TOGETHER]
    sticky = [grids(variant, "chosen", "sticky") for variant in ("", *WITH_STICKY)] if WITH_STICKY else []
    return tuple(grid for some in (*alone, *together, *sticky) for grid in some)


STUDY = Study(
    "ideas",
    "Atari-100k: what lets a memory learn more?",
    everything(),
    report="engram.paper.ideas.analysis:IdeasReport",
    brief=tuple(replace(each, seeds=each.seeds[:1]) for each in grids("", "alone")),
)
