"""The loop: an agent meets its environment, step by step, as a generator of events.

A game lasts from one reset of the environment to the next. It is one episode, unless the environment says in a step's
info that a life was lost (`life_lost`): then an episode ends, and nothing that follows counts for its returns, but
the game goes on.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol

import numpy as np

from engram.checks import MOST_STEPS
from engram.envs.make import Env
from engram.envs.observed import is_usable
from engram.errors import InvalidInputError, NotReproducibleError
from engram.parts import Spaces
from engram.randomness import reset_seed
from engram.training.environment import LARGEST_REWARD, CheckedEnv
from engram.training.events import EpisodeEnd, Event, Metrics, Step
from engram.typing import Array, Longs


class Learner(Protocol):
    """What the loop asks of an agent."""

    def begin_episode(self) -> None:
        """Prepare for the first step of an episode."""

    def act(self, observation: Array, step: int) -> int:
        """Choose an action, by number, for training."""

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Learn of the reward and the observation that followed the action."""

    def take_metrics(self, length: int) -> Metrics:
        """What was measured of the episode of this length that has just ended."""


COUNTERS = ("step", "game", "episode", "total", "length")


@dataclass(slots=True)
class LoopState:
    """All that the loop must remember."""

    seed: int
    step: int = 0  # steps taken
    game: int = 0  # games begun
    episode: int = 0  # episodes ended
    total: float = 0.0  # return of the unfinished episode so far
    length: int = 0  # steps of the unfinished episode so far
    observation: Array | None = None  # what the agent sees; None between games
    allowed: Longs | None = None  # the actions that are possible there; None: all
    actions: list[int] = field(default_factory=list)  # taken in the unfinished game
    chosen: int | None = None  # the action of a step that was begun, and whose outcome has not come yet
    resetting: bool = False  # the environment begins a game, or failed to; not saved

    def state_dict(self) -> dict[str, Any]:
        """The state as plain data and arrays."""
        state: dict[str, Any] = {name: getattr(self, name) for name in COUNTERS}
        state["actions"] = np.array(self.actions, np.int32)
        if self.observation is not None:
            state["observation"] = self.observation.copy()
        if self.allowed is not None:
            state["allowed"] = self.allowed.copy()
        return state | ({} if self.chosen is None else {"chosen": self.chosen})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name in COUNTERS:
            setattr(self, name, state[name])
        self.actions = state["actions"].tolist()
        self.observation, self.chosen = state.get("observation"), state.get("chosen")
        self.allowed = state.get("allowed")

    @property
    def begun(self) -> int:
        """Steps of the unfinished episode that were begun; the last of them may still be going on."""
        return self.length + (self.chosen is not None)

    def check_valid(self, spaces: Spaces) -> None:
        """Raise InvalidInputError unless everything fits together, and to an environment of this kind."""
        for fact, holds in self._facts(spaces):
            if not holds:
                raise InvalidInputError(f"the loop's state is not valid: it should hold that {fact}")

    def _facts(self, spaces: Spaces) -> Iterator[tuple[str, bool]]:
        """Facts, each of which can be looked at if those before it hold."""
        counts, shown = [self.step, self.game, self.episode, self.length], self.observation
        chosen = [] if self.chosen is None else [self.chosen]
        possible = all(type(action) is int and 0 <= action < spaces.actions for action in [*self.actions, *chosen])
        yield (
            f"counts are whole numbers from 0 to {MOST_STEPS:.0e}",
            all(type(count) is int and 0 <= count <= MOST_STEPS for count in counts),
        )
        yield (
            "no more episodes have ended, nor games before this one, than steps were taken",
            (self.episode <= self.step and self.game <= self.step + 1),
        )
        yield "the return so far is a number", type(self.total) is float and isfinite(self.total)
        yield "rewards are not too large", abs(self.total) <= self.length * LARGEST_REWARD * (1 + 1e-9)
        yield f"actions are from 0 to {spaces.actions - 1}", possible
        if shown is None:
            yield "between games nothing is unfinished", not (self.actions or self.begun or self.allowed is not None)
            return
        yield "the observation is an array", isinstance(shown, np.ndarray)
        yield (
            f"the observation is {spaces.observation_dtype} of shape {spaces.observation_shape}",
            shown.shape == spaces.observation_shape and shown.dtype == spaces.observation_dtype,
        )
        yield "the observation is finite", is_usable(shown)
        yield "the possible actions are some of all, in order", self._allows_some(spaces.actions)
        yield "a game was begun", self.game > 0 and self.length <= len(self.actions) <= self.step

    def _allows_some(self, actions: int) -> bool:
        """Whether all actions are possible, or some of them, which are listed in order."""
        if self.allowed is None:
            return True
        listed = self.allowed.tolist() if self.allowed.dtype == np.int64 and self.allowed.ndim == 1 else []
        return bool(listed) and listed == sorted(set(listed)) and set(listed) < set(range(actions))

    def end_episode(self) -> None:
        """Forget the episode; the game may go on."""
        self.total, self.length = 0.0, 0

    def end_game(self) -> None:
        """Forget the game; the next step begins a new one."""
        self.end_episode()
        self.observation, self.allowed, self.actions, self.chosen = None, None, [], None


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
    spaces: Spaces,
    first_action: int = 0,
    lock: AbstractContextManager[Any] | None = None,
    heard: bool = True,
    after_game: Callable[[], object] | None = None,
) -> Generator[Event]:
    """Let the agent act and learn until it has taken `until` steps in all. Everything kept is in `state`.

    Where nobody listens (`heard`) there are no events, and the generator comes back only when all is done.

    The lock is held while the agent works, and not while the environment does. Whatever the environment raises, agent
    and state fit together: the action that was chosen is kept, and is taken when learning goes on. `after_game` is
    called when a game has ended, before the next begins.
    """
    lock = nullcontext() if lock is None else lock
    checked, actions = CheckedEnv(env), spaces.actions
    act, observe, take_action = agent.act, agent.observe, checked.step
    while state.step < until:
        if state.observation is None:
            state.resetting = True
            seen = checked.reset(reset_seed(state.seed, "games", state.game), state.step)
            state.resetting = False
            with lock:
                state.game, state.observation, state.allowed = state.game + 1, seen, checked.allowed
        if state.chosen is None:
            with lock:
                if state.length == 0:
                    agent.begin_episode()
                action = act(state.observation, state.step)
                if type(action) is not int or not 0 <= action < actions:
                    action = check_action(action, actions, state.step)
                state.chosen = action
        seen, reward, terminated, truncated, life_lost = take_action(first_action + state.chosen, state.step + 1)
        end: EpisodeEnd | None = None
        with lock:
            action, state.chosen = state.chosen, None  # first: while there is one, everything else is as it was
            state.actions.append(action)
            state.step, state.length = state.step + 1, state.length + 1
            state.total, state.observation, state.allowed = state.total + reward, seen, checked.allowed
            if terminated or truncated or life_lost:
                end = EpisodeEnd(state.step, state.episode, state.total, state.length)
                state.episode += 1
                state.end_episode()
                if terminated or truncated:
                    state.end_game()
                    if after_game is not None:
                        after_game()
            observe(reward, seen, terminated or life_lost, truncated)
            if heard and end is not None:
                end = end._replace(metrics=agent.take_metrics(end.length))
        if heard:
            if end is not None:
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
