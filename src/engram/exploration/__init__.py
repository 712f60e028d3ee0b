"""Exploration: which action to take while learning."""

from engram.exploration.base import Exploration, View
from engram.exploration.boltzmann import Boltzmann
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.exploration.mellowmax import Mellowmax
from engram.exploration.novelty import Novelty
from engram.parts import Family

EXPLORATIONS: Family[Exploration] = Family(
    "exploration",
    Exploration,
    {"epsilon-greedy": EpsilonGreedy, "boltzmann": Boltzmann, "mellowmax": Mellowmax, "novelty": Novelty},
    aliases={"epsilon": "epsilon-greedy", "e-greedy": "epsilon-greedy"},
)

__all__ = ["EXPLORATIONS", "Boltzmann", "EpsilonGreedy", "Exploration", "Mellowmax", "Novelty", "View"]
