"""The loop: an agent meets its environment, step by step, as a generator of events.

A game lasts from one reset of the environment to the next. It is one episode, unless the environment says in a step's
info that a life was lost (`life_lost`): then an episode ends, and nothing that follows counts for its returns, but
the game goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np

from engram.envs.make import Env
from engram.errors import InvalidInputError, NotReproducibleError
from engram.randomness import reset_seed
from engram.training.environment import CheckedEnv
from engram.training.events import EpisodeEnd, Event, Step
from engram.typing import Array


class Learner(Protocol):
    """What the loop asks of an agent."""

    def begin_episode(self) -> None:
        """Prepare for the first step of an episode."""

    def act(self, observation: Array, step: int) -> int:
        """Choose an action, by number, for training."""

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Learn of the reward and the observation that followed the action."""


COUNTERS = ("step", "game", "episode", "total", "length")


@dataclass
class LoopState:
    """All that the loop must remember."""

    seed: int
    step: int = 0  # steps taken
    game: int = 0  # games begun
    episode: int = 0  # episodes ended
    total: float = 0.0  # return of the unfinished episode so far
    length: int = 0  # steps of the unfinished episode so far
    observation: Array | None = None  # what the agent sees; None between games
    actions: list[int] = field(default_factory=list)  # taken in the unfinished game
    pending: int | None = None  # an action that was chosen, while the environment carries it out
    resetting: bool = False  # the environment begins a game; never saved

    def state_dict(self) -> dict[str, Any]:
        """The state as plain data and arrays."""
        state: dict[str, Any] = {name: getattr(self, name) for name in COUNTERS}
        state["actions"] = np.array(self.actions, np.int32)
        if self.pending is not None:
            state["pending"] = self.pending
        if self.observation is not None:
            state["observation"] = self.observation.copy()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name in COUNTERS:
            setattr(self, name, state[name])
        self.actions = state["actions"].tolist()
        self.observation = state.get("observation")
        self.pending = state.get("pending")

    def check_valid(self, shape: tuple[int, ...], dtype: Any, actions: int) -> None:
        """Raise InvalidInputError unless everything fits together, and to an environment of this kind."""
        counts = [self.step, self.game, self.episode, self.length]
        shown, pending = self.observation, self.pending
        facts = {
            "counts are whole numbers from 0": all(type(count) is int and count >= 0 for count in counts),
            "the return so far is a number": type(self.total) is float and isfinite(self.total),
            "actions are there": all(type(action) is int and 0 <= action < actions for action in self.actions),
        }
        facts["an action that was chosen is there"] = pending is None or (
            type(pending) is int and 0 <= pending < actions and shown is not None
        )
        if shown is None:
            facts["between games nothing is unfinished"] = not (self.actions or self.length)
        else:
            facts["the observation is of the environment"] = shown.shape == shape and shown.dtype == dtype
            facts["the observation is finite"] = shown.dtype.kind != "f" or bool(np.isfinite(shown).all())
            facts["a game was begun"] = self.game > 0 and self.length <= len(self.actions) <= self.step
        for fact, holds in facts.items():
            if not holds:
                raise InvalidInputError(f"the loop's state is not valid: it should hold that {fact}")

    def end_episode(self) -> None:
        """Forget the episode; the game may go on."""
        self.total, self.length = 0.0, 0

    def end_game(self) -> None:
        """Forget the game; the next step begins a new one."""
        self.end_episode()
        self.observation, self.actions, self.pending = None, [], None


def check_action(action: Any, actions: int, step: int) -> int:
    """An action as an int; raise InvalidInputError if the environment has no such action."""
    if isinstance(action, int | np.integer) and 0 <= action < actions:
        return int(action)
    raise InvalidInputError(
        f"the agent chose the action {action!r} at step {step}; it must be a whole number from 0 to {actions - 1}: "
        "check its exploration"
    )


def play(
    agent: Learner,
    env: Env,
    state: LoopState,
    *,
    until: int,
    actions: int,
    first_action: int = 0,
) -> Iterator[Event]:
    """Let the agent act and learn until it has taken `until` steps in all. Everything kept is in `state`."""
    checked = CheckedEnv(env)
    while state.step < until:
        if state.observation is None:
            state.resetting = True
            observation = checked.reset(reset_seed(state.seed, "games", state.game), state.step)
            state.resetting = False
            state.game += 1
            state.observation = observation
        if state.pending is None:
            if state.length == 0:
                agent.begin_episode()
            action = agent.act(state.observation, state.step)
            if type(action) is not int or not 0 <= action < actions:
                action = check_action(action, actions, state.step)
            state.pending = action
        observation, reward, terminated, truncated, life_lost = checked.step(
            first_action + state.pending, state.step + 1
        )
        action, state.pending = state.pending, None
        state.step += 1
        state.observation = observation
        state.actions.append(action)
        state.total += reward
        state.length += 1
        agent.observe(reward, observation, terminated or life_lost, truncated)
        if terminated or truncated or life_lost:
            end = EpisodeEnd(state.step, state.episode, state.total, state.length)
            state.episode += 1
            state.end_episode()
            if terminated or truncated:
                state.end_game()
            yield end
        yield Step(state.step, reward)


def replay_game(env: Env, state: LoopState, *, first_action: int = 0) -> None:
    """Bring a fresh environment to where the unfinished game was left, without learning."""
    if state.observation is None:
        return
    checked = CheckedEnv(env)
    observation = checked.reset(reset_seed(state.seed, "games", state.game - 1))
    over = False
    for step, action in enumerate(state.actions, 1):
        if over:
            break
        observation, _, terminated, truncated, _ = checked.step(first_action + action, step)
        over = terminated or truncated
    if over or not np.array_equal(observation, state.observation):
        raise NotReproducibleError(
            f"game {state.game - 1} was replayed from its seed and its {len(state.actions)} actions, but the "
            "environment did not come back to the same observation, so it is not reproducible (or it is not "
            "the environment that the agent was trained in) and learning cannot go on exactly where it was; "
            "call agent.abandon_game() first to drop the unfinished game and go on with a new one"
        )
