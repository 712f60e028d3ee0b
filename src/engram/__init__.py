"""Episodic control: reinforcement learning that acts by looking up similar past states in a small memory."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engram.runs.stopping import heed_signals as _heed_signals
from engram.version import __version__ as __version__

_heed_signals()  # before anything is imported that takes time

from engram import envs as _envs  # noqa: E402, F401 (which registers the rooms and games with Gymnasium)

if TYPE_CHECKING:
    from engram.agents import Agent as Agent
    from engram.agents.common.config import AgentConfig as AgentConfig
    from engram.agents.common.load import load as load
    from engram.agents.d3qn import D3QN as D3QN
    from engram.agents.mfec import MFEC as MFEC
    from engram.agents.nec import NEC as NEC
    from engram.encoders import Encoder as Encoder
    from engram.exploration import Exploration as Exploration
    from engram.exploration import View as View
    from engram.memory import EpisodicMemory as EpisodicMemory
    from engram.memory.strategies import Strategy as Strategy
    from engram.networks import Network as Network
    from engram.parts import Spaces as Spaces
    from engram.training.evaluation import evaluate_policy as evaluate_policy

_HOMES = {  # public name → module; imported when it is asked for, as some need an extra
    "Agent": "engram.agents",
    "AgentConfig": "engram.agents.common.config",
    "D3QN": "engram.agents.d3qn",
    "Encoder": "engram.encoders",
    "EpisodicMemory": "engram.memory",
    "Exploration": "engram.exploration",
    "MFEC": "engram.agents.mfec",
    "NEC": "engram.agents.nec",
    "Network": "engram.networks",
    "Spaces": "engram.parts",
    "Strategy": "engram.memory.strategies",
    "View": "engram.exploration",
    "evaluate_policy": "engram.training.evaluation",
    "load": "engram.agents.common.load",
}

__all__ = [  # noqa: RUF022 (the names are those of _HOMES)
    "Agent",
    "AgentConfig",
    "D3QN",
    "Encoder",
    "EpisodicMemory",
    "Exploration",
    "MFEC",
    "NEC",
    "Network",
    "Spaces",
    "Strategy",
    "View",
    "evaluate_policy",
    "load",
]


def __getattr__(name: str) -> Any:
    """A public name, imported from where it is defined."""
    if name not in _HOMES:
        raise AttributeError(f"module 'engram' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
