"""Recorded episodes: what someone saw, did and received, for an agent to learn from as if it had been there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.exploration import Exploration, View
from engram.training.environment import LARGEST_REWARD
from engram.typing import Array

FIELDS = ("observations", "actions", "rewards", "terminations", "truncations")


@dataclass(frozen=True)
class RecordedEpisode:
    """One episode that was checked: T + 1 observations, and T actions and rewards."""

    observations: Array  # [T + 1, …]
    actions: list[int]  # from 0
    rewards: list[float]
    terminated: bool  # it ended by itself, rather than that it was cut off

    @classmethod
    def of(
        cls, episode: Any, number: int, as_batch: Callable[[Any], Array], count: int, first_action: int
    ) -> "RecordedEpisode":
        """The episode, from an object with attributes or a mapping with keys that are named as Minari's are."""
        given = {name: _field(episode, name, number) for name in FIELDS}
        actions, rewards = (_vector(given[name], name, number) for name in ("actions", "rewards"))
        observations = as_batch(given["observations"])
        if len(observations) != len(actions) + 1 or len(rewards) != len(actions):
            raise InvalidInputError(
                f"episode {number} has {len(observations)} observations, {len(actions)} actions and {len(rewards)} "
                "rewards; it must have one observation more than actions, the last being where it ended, and as many "
                "rewards as actions"
            )
        numbers = actions.astype(np.float64) - first_action
        if not len(actions) or not ((numbers == np.rint(numbers)) & (numbers >= 0) & (numbers < count)).all():
            raise InvalidInputError(
                f"the actions of episode {number} must be whole numbers from {first_action} to "
                f"{first_action + count - 1}, at least one of them; got {given['actions']!r:.100}"
            )
        if not (np.abs(rewards.astype(np.float64)) <= LARGEST_REWARD).all():
            raise InvalidInputError(f"the rewards of episode {number} must be numbers, got {given['rewards']!r:.100}")
        ended = _vector(given["terminations"], "terminations", number)
        return cls(observations, numbers.astype(int).tolist(), rewards.tolist(), bool(len(ended) and ended[-1]))


def recorded(
    episodes: Any, as_batch: Callable[[Any], Array], actions: int, first_action: int
) -> Iterator[RecordedEpisode]:
    """Episodes from an iterable of them or from a Minari dataset, each checked before it is used.

    `as_batch` makes arrays of an episode's observations; there are so many actions, and the first has this number.
    """
    if isinstance(episodes, Mapping | str) or not isinstance(episodes, Iterable):
        raise InvalidInputError(
            f"learn_from takes several episodes, such as a list of them or a Minari dataset, got {episodes!r:.100}"
        )
    for number, episode in enumerate(episodes):
        yield RecordedEpisode.of(episode, number, as_batch, actions, first_action)


class Followed(Exploration):
    """Takes the action that was recorded."""

    action = 0

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """The recorded action, whatever the values are."""
        return self.action


def follow(agent: Any, episode: RecordedEpisode) -> None:
    """Let an agent act as it was recorded, and learn from what came of it."""
    loop, followed = agent.loop, Followed()
    before, agent.exploration = agent.exploration, followed
    desk, agent._desk = agent._desk, None  # which asks no exploration
    try:
        for t, (action, reward) in enumerate(zip(episode.actions, episode.rewards, strict=True)):
            followed.action = action
            agent.act(episode.observations[t], loop.step)
            last = t == len(episode.actions) - 1
            loop.step += 1
            terminated, truncated = last and episode.terminated, last and not episode.terminated
            agent.observe(reward, episode.observations[t + 1], terminated, truncated)
        loop.episode += 1
    except BaseException:
        agent.forget_episode()
        raise
    finally:
        agent.exploration, agent._desk = before, desk


def _field(episode: Any, name: str, number: int) -> Any:
    missing = object()
    value = episode.get(name, missing) if isinstance(episode, Mapping) else getattr(episode, name, missing)
    if value is missing:
        raise InvalidInputError(
            f"episode {number} has no {name}; it must be an object or a mapping with {', '.join(FIELDS)}"
        )
    return value


def _vector(values: Any, name: str, number: int) -> Array:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.zeros((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise InvalidInputError(f"the {name} of episode {number} must be a vector of numbers, got {values!r:.100}")
    return array
