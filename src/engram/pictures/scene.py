"""What an environment tells of itself to whoever draws: a floor plan, names of actions and of numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.agents import Agent
from engram.envs.faults import close
from engram.envs.layouts import layout_of
from engram.envs.make import Env
from engram.envs.rooms import WALL, Room
from engram.errors import InvalidInputError
from engram.typing import Floats

ACTIONS = {  # by the class of an environment that does not tell them itself
    "CartPoleEnv": ("left", "right"),
    "AcrobotEnv": ("torque −1", "no torque", "torque +1"),
    "MountainCarEnv": ("left", "coast", "right"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "FrozenLakeEnv": ("left", "down", "right", "up"),
    "CliffWalkingEnv": ("up", "right", "down", "left"),
    "TaxiEnv": ("south", "north", "east", "west", "pick up", "drop off"),
    "BlackjackEnv": ("stick", "hit"),
}
NUMBERS = {  # of an observation
    "CartPoleEnv": ("cart position", "cart velocity", "pole angle", "pole velocity"),
    "AcrobotEnv": ("cos θ₁", "sin θ₁", "cos θ₂", "sin θ₂", "velocity of θ₁", "velocity of θ₂"),
    "MountainCarEnv": ("position", "velocity"),
    "LunarLander": ("x", "y", "x velocity", "y velocity", "angle", "angular velocity", "left leg", "right leg"),
    "Room": ("x", "y"),
}


@dataclass(frozen=True)
class Scene:
    """The names of actions and of the numbers in an observation, and the plan of a room."""

    actions: tuple[str, ...]
    numbers: tuple[str, ...] = ()  # none for images
    plan: tuple[str, ...] | None = None

    @property
    def floor(self) -> Floats:
        """The observations of all cells of the room's floor, [cells, 2]."""
        plan = self.plan or ()
        cells = [(x, y) for y, row in enumerate(plan) for x, mark in enumerate(row) if mark != WALL]
        return np.array(cells, np.float32).reshape(-1, 2)


def scene_of(agent: Agent) -> Scene:
    """What the agent's environment tells of itself; names that are numbers where it cannot be made."""
    shape = agent.spaces.observation_shape
    try:
        env = agent.source.make()
    except InvalidInputError:
        return plain_scene(agent.spaces.actions, shape[0] if len(shape) == 1 else 0)
    try:
        return _describe(env, agent)
    finally:
        if not agent.source.shared:
            close(env)


def _describe(env: Env, agent: Agent) -> Scene:
    inner: Any = env.unwrapped
    kind, shape = type(inner).__name__, agent.spaces.observation_shape
    is_room = isinstance(inner, Room) and env.observation_space == inner.observation_space  # no wrapper changes it
    plan = inner.plan if is_room else None
    actions = _told(inner, "get_action_meanings") or ACTIONS.get(kind, ())
    if len(actions) != agent.spaces.actions:
        first = agent.source.first_action
        actions = [f"action {first + number}" for number in range(agent.spaces.actions)]
    numbers = getattr(inner, "observation_names", None) or NUMBERS.get(kind, ())
    if len(shape) != 1:
        numbers = ()
    elif len(numbers) != shape[0]:
        numbers = _names_of_parts(env.observation_space, shape[0])
    return Scene(tuple(map(_plain, actions)), tuple(map(str, numbers)), plan)


def _names_of_parts(space: Any, width: int) -> list[str]:
    """Names of the numbers of an observation that consists of parts; numbers where it does not."""
    try:
        names = layout_of(space).names()
    except InvalidInputError:
        names = []
    return names if len(names) == width else [f"number {number}" for number in range(width)]


def plain_scene(actions: int, key_size: int) -> Scene:
    """The scene of a memory of which nothing is known but its size."""
    return Scene(
        tuple(f"action {action}" for action in range(actions)), tuple(f"dimension {i}" for i in range(key_size))
    )


def _told(inner: Any, method: str) -> Sequence[str]:
    """What a method of the environment answers, if it has it and if it works."""
    try:
        return list(getattr(inner, method)())
    except Exception:  # of an environment of anyone's making, which owes nothing
        return ()


def _plain(name: Any) -> str:
    """`UPRIGHT` as `up right`."""
    text = str(name)
    parts = re.findall(r"UP|DOWN|LEFT|RIGHT|FIRE|NOOP", text)
    return " ".join(parts).lower() if "".join(parts) == text else text
