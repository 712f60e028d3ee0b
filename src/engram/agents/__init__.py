"""The agents: one algorithm, one file. Each file beside the folder `common` is a built-in agent of the file's name."""

from importlib import import_module
from pathlib import Path
from typing import Any, cast

from engram import checks
from engram.agents.common.base import Agent
from engram.errors import InvalidInputError
from engram.parts import import_class

FOLDER = Path(__file__).parent
BUILT_IN = tuple(sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"))

__all__ = ["BUILT_IN", "Agent", "find_agent", "label_of"]


def find_agent(spec: str | type[Agent]) -> type[Agent]:
    """The class of an agent, from a built-in name, from `module:Class`, or from itself."""
    if isinstance(spec, type) and issubclass(spec, Agent):
        return spec
    if not isinstance(spec, str):
        raise InvalidInputError(f"agent must be a name, module:Class or a subclass of Agent, got {spec!r}")
    module, colon, name = spec.partition(":")
    if colon:
        base: Any = Agent
        return cast(type[Agent], import_class(module, name, base, spec))
    checks.one_of("agent", spec, BUILT_IN)
    members = vars(import_module(f"engram.agents.{spec}")).values()
    return next(kind for kind in members if isinstance(kind, type) and getattr(kind, "name", None) == spec)


def label_of(name: str) -> str:
    """What tables and figures call the agent of this name."""
    return name.upper() if name in BUILT_IN else name
