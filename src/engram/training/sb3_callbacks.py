"""Callbacks of Stable-Baselines3, as far as they need no more than an agent has."""

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from engram.errors import InvalidInputError
from engram.training.callback import Callback
from engram.training.events import EpisodeEnd, Event, Step

ADVICE = "write it as an engram.callbacks.Callback instead (docs/callbacks.md)"


class LackingError(InvalidInputError, AttributeError, KeyError):
    """Something of Stable-Baselines3's that an agent does not have; `hasattr` and `in` say so too."""

    def __str__(self) -> str:
        """The message as it is, where KeyError would show it in quotes."""
        return str(self.args[0])


def is_sb3(callback: Any) -> bool:
    """Whether it is a callback of Stable-Baselines3, which is imported by whoever has one."""
    module: Any = sys.modules.get("stable_baselines3.common.callbacks")
    return module is not None and isinstance(callback, module.BaseCallback)


class SB3Callback(Callback):
    """Hands events to a callback of Stable-Baselines3, as that library's algorithms do after each step."""

    def __init__(self, callback: Any, steps: int) -> None:
        self._callback, self._steps = callback, steps
        self._name = type(callback).__name__
        self._locals: Locals = Locals(self._name)
        self._info: dict[str, Any] = {}

    def begin(self, agent: Any) -> None:
        """Hand over the agent in the place of a model."""
        self._locals |= {"self": agent, "total_timesteps": agent.num_timesteps + self._steps, "tb_log_name": agent.name}
        self._callback.init_callback(Model(agent, self._name))
        self._callback.on_training_start(self._locals, {})
        self._callback.on_rollout_start()

    def on_event(self, agent: Any, event: Event) -> bool | None:
        """After each step, call `on_step` with what the step brought."""
        if isinstance(event, EpisodeEnd):
            self._info = {"episode": {"r": event.total, "l": event.length}}
        if not isinstance(event, Step):
            return None
        told = {
            "rewards": np.array([event.reward], np.float32),
            "dones": np.array([bool(self._info)]),
            "infos": [self._info],
            "num_collected_steps": 1,
        }
        self._info = {}
        self._callback.update_locals(told)
        return bool(self._callback.on_step())

    def end(self, agent: Any) -> None:
        """Say that training has ended."""
        if getattr(self._callback, "model", None) is not None:
            self._callback.on_rollout_end()
            self._callback.on_training_end()


class Locals(dict[str, Any]):
    """The local variables of Stable-Baselines3's loop that there are here; any other is refused with a word."""

    def __init__(self, callback: str) -> None:
        super().__init__()
        self._callback = callback

    def __missing__(self, name: str) -> NoReturn:
        raise LackingError(
            f"{self._callback} of Stable-Baselines3 asks for locals[{name!r}], which there is not here; there are "
            f"{', '.join(self)}; {ADVICE}"
        )


class Model:
    """An agent as a callback of Stable-Baselines3 sees it."""

    def __init__(self, agent: Any, callback: str) -> None:
        from stable_baselines3.common.logger import Logger  # noqa: PLC0415 (an extra, imported already)

        self._agent, self._callback = agent, callback
        self.logger = Logger(folder=None, output_formats=[])  # keeps what is recorded until the next dump
        self._stage = new_stage(agent, callback)

    def __getattr__(self, name: str) -> Any:
        agent = self.__dict__.get("_agent")
        if agent is not None and not name.startswith("_") and hasattr(agent, name):
            return getattr(agent, name)
        raise LackingError(
            f"{self.__dict__.get('_callback')} of Stable-Baselines3 asks for model.{name}, which no agent of Engram "
            f"has; {ADVICE}"
        )

    def save(self, path: Any) -> None:
        """Save the agent; a name that ends in .zip, or in nothing, gets .safetensors instead."""
        name = Path(os.fspath(path))
        self._agent.save(name.with_suffix(".safetensors") if name.suffix in (".zip", "") else name)

    def get_env(self) -> Any:
        """A stand-in for the environment, which says how many there are: one."""
        return self._stage

    def get_vec_normalize_env(self) -> None:
        """None: there is no VecNormalize here."""

    def dump_logs(self) -> None:
        """Write what was recorded to the logger's outputs."""
        self.logger.dump(self._agent.num_timesteps)


def new_stage(agent: Any, callback: str) -> Any:
    """A stand-in for a vector of one environment, which nobody but the agent may step."""
    from stable_baselines3.common.vec_env import DummyVecEnv  # noqa: PLC0415 (an extra, imported already)

    class Stage(DummyVecEnv):  # type: ignore[misc, unused-ignore]
        """As many as there are, and of which kind; everything else is refused."""

        def __init__(self) -> None:
            self.num_envs = 1

        def __getattribute__(self, name: str) -> Any:
            if name == "num_envs" or name.startswith("__"):
                return super().__getattribute__(name)
            raise LackingError(
                f"{callback} of Stable-Baselines3 asks for training_env.{name}; the environment in which an agent "
                f"learns is its own: give the callback one of its own, or {ADVICE}"
            )

    return Stage()
