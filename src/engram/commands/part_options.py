"""Options that name parts of an agent, the same on every command."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tyro.conf import Positional

from engram.commands.env_options import EnvOptions, recorded_env
from engram.commands.options import as_typed
from engram.errors import EngramError
from engram.runs.folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class StrategyOption:
    """The option of agents that have a memory."""

    strategy: str | None = None  # what is forgotten: a name such as lru or dkm:decay=0.3, or module:Class


@dataclass(frozen=True, kw_only=True)
class NetworkOption:
    """The option of agents that have a network."""

    network: str | None = None  # encoded observations to features: a name such as mlp:hidden=32, or module:Class


@dataclass(frozen=True, kw_only=True)
class EncoderOption:
    """The option of agents that encode their observations."""

    encoder: str | None = None  # observations to keys: a name such as scaled or projection:size=64, or module:Class


@dataclass(frozen=True, kw_only=True)
class ExplorationOption:
    """An option of all agents."""

    exploration: str | None = None  # how to act in training: a name such as boltzmann:final=0.2, or module:Class


PART_OPTIONS: dict[str, type] = {
    "strategy": StrategyOption,
    "network": NetworkOption,
    "encoder": EncoderOption,
    "exploration": ExplorationOption,
}


@dataclass(frozen=True, kw_only=True)
class GivenAgain(StrategyOption, NetworkOption, EncoderOption, ExplorationOption, EnvOptions):
    """What a finished or interrupted run was made with that is not Engram's own: a file never imports it."""

    run: Positional[Path]  # the run's folder, or a model file
    agent: str | None = None  # an agent of your own, as module:Class
    env: str | None = None  # the environment, if it is not the run's or cannot be made from its id alone

    def given(self) -> dict[str, Any]:
        """What was given, by option."""
        names = [field.name for field in fields(GivenAgain) if field.name not in ("run", "env_kwargs", "wrapper")]
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.env_kwargs or self.wrapper:
            base = recorded_env(self.run, again=bool(self.wrapper)) if self.env is None else self.env
            given["env"] = self.whole_env(base)
        return given


@contextmanager
def whole_command(prog: str, folder: RunFolder, options: GivenAgain) -> Iterator[None]:
    """Add the whole command that works to errors about what has to be given again, unless it was given.

    It has every other option that was given too.
    """
    given, foreign = options.given(), folder.foreign()
    try:
        yield
    except EngramError as error:
        if not foreign.keys() - given.keys():
            raise
        again: Any = {name: spec for name, spec in foreign.items() if name != "env" or "env" not in given}
        command = as_typed(prog, replace(options, **again))
        raise type(error)(f"{error}; the whole command: {command}") from error
