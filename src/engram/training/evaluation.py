"""Evaluation: greedy episodes from fixed starts, side by side, that leave the agent as it was."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol, overload

import gymnasium
import numpy as np

from engram import checks
from engram.envs.faults import close
from engram.envs.limits import has_time_limit
from engram.envs.make import Env, EnvLike, EnvSource
from engram.envs.wrapper_state import States, frozen
from engram.randomness import reset_seed
from engram.training.events import Evaluation, Event, Metrics, Step
from engram.training.side_by_side import games_in
from engram.training.vector_evaluation import play_vector
from engram.training.visits import Visits
from engram.typing import Array, Doubles, Longs

VectorEnv = gymnasium.vector.VectorEnv[Any, Any, Any]

SIDE_BY_SIDE = 100  # episodes that are played at a time, each in an environment of its own
MOST_EPISODES = 1_000_000  # of one evaluation, whose returns are all kept
MOST_STEPS = 10_000  # of an evaluation's episode, where neither the user nor the environment sets a limit


def default_max_steps(env: str) -> int | None:
    """After how many steps commands cut off an evaluation's episode: none where the environment has a limit itself."""
    return None if has_time_limit(env) else MOST_STEPS


class Starts:
    """How the episodes of an evaluation began, and the discounted returns that followed."""

    def __init__(self, episodes: int, discount: float) -> None:
        self.observations: list[Any] = [None] * episodes
        self.allowed: list[Longs | None] = [None] * episodes  # the actions that were possible there; None: all
        self.followed = np.zeros(episodes)
        self._discount, self._worth = discount, np.ones(episodes)

    def add(self, numbers: Longs, rewards: Doubles) -> None:
        """A step of each of these episodes was taken."""
        self.followed[numbers] += self._worth[numbers] * rewards
        self._worth[numbers] *= self._discount


class Predictor(Protocol):
    """What evaluation asks of an agent."""

    @property
    def seed(self) -> int:
        """The seed from which the starts are derived."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """Actions for a batch of observations, of those that are possible if masks are given."""


def learned_states(agent: Predictor) -> States | None:
    """What the wrappers of the agent's training environment have learned; None for an agent that cannot tell."""
    ask: Callable[[], States] | None = getattr(agent, "wrapper_states", None)
    return None if ask is None else ask()


class Learning(Predictor, Protocol):
    """What evaluation asks of an agent that is being trained."""

    @property
    def config(self) -> Any:
        """Its settings, of which one is the discount."""

    @property
    def has_memory(self) -> bool:
        """Whether it remembers states, so that those of an evaluation have distances to them."""

    def measure(self, starts: Array, followed: Doubles, masks: Array | None = None) -> Metrics:
        """Metrics of an evaluation whose episodes began so, and their discounted returns."""

    def measure_visits(self, observations: Array, actions: Longs) -> Metrics:
        """Metrics of states that an evaluation visited, and the actions taken in them."""


def play_episodes(
    agent: Predictor,
    envs: list[Env],
    episodes: int,
    *,
    seed: int,
    deterministic: bool = True,
    epsilon: float = 0.0,
    max_steps: int | None = None,
    starts: Starts | None = None,
    visits: Visits | None = None,
) -> tuple[list[float], list[int]]:
    """Returns and lengths of the episodes, in order of their number.

    Each environment plays one episode after the other; all take their steps together, so that the agent sees
    a batch. Episode i always begins from the same seed, and with ε > 0 takes its random actions from it too, so the
    result does not depend on how many environments there are. An episode is cut off after `max_steps`. Wrappers that
    keep statistics use those of the agent's training, and keep them. How episodes began is
    noted in `starts`, and some of the states that they visited in `visits`, if given.
    """
    with frozen(envs, learned_states(agent)) as begin_episode:
        return _play(agent, envs, episodes, seed, deterministic, epsilon, max_steps, begin_episode, starts, visits)


def _play(
    agent: Predictor,
    envs: list[Env],
    episodes: int,
    seed: int,
    deterministic: bool,
    epsilon: float,
    max_steps: int | None,
    begin_episode: Callable[[int], None],
    starts: Starts | None,
    visits: Visits | None,
) -> tuple[list[float], list[int]]:
    games = games_in(envs)
    returns, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    playing = np.full(len(envs), -1)  # the number of each environment's episode
    dice: dict[int, np.random.Generator] = {}
    waiting = iter(range(episodes))
    first_action = int(getattr(envs[0].action_space, "start", 0))

    def begin(i: int) -> None:
        playing[i] = number = next(waiting, -1)
        if number >= 0:
            start = reset_seed(seed, "evaluation", number)
            begin_episode(i)
            games.begin(i, start)
            if starts is not None:
                starts.observations[number], starts.allowed[number] = games.observations[i].copy(), games.allowed(i)
            dice[i] = np.random.default_rng(start)

    for i in range(len(envs)):
        begin(i)
    while len(running := np.flatnonzero(playing >= 0)):
        batch, numbers = games.observations[running], playing[running]
        possible = [games.allowed(i) for i in running.tolist()]
        masked = {} if all(each is None for each in possible) else {"action_masks": _masks(envs[0], possible)}
        chosen, _ = agent.predict(batch, deterministic=deterministic, **masked)
        actions = np.reshape(chosen, -1).astype(np.int64)
        if epsilon:
            for turn, i in enumerate(running.tolist()):
                if dice[i].random() < epsilon:
                    actions[turn] = dice[i].choice(_actions(envs[i], possible[turn]))
        if visits is not None:
            visits.add(batch, actions - first_action)
        lengths[numbers] += 1
        rewards, ended = games.step(running, actions, lengths[numbers])
        returns[numbers] += rewards
        if starts is not None:
            starts.add(numbers, rewards)
        if max_steps is not None:
            ended |= lengths[numbers] == max_steps
        for i in running[ended].tolist():
            begin(i)
    return returns.tolist(), lengths.tolist()


def _actions(env: Env, allowed: Longs | None) -> Longs:
    """The numbers that the environment gives to its actions, or to those that are possible."""
    space: Any = env.action_space
    return int(space.start) + (np.arange(int(space.n)) if allowed is None else allowed)


def _masks(env: Env, possible: list[Longs | None]) -> Array:
    """For each observation, which of all actions are possible, [B, actions]."""
    space: Any = env.action_space
    masks = np.ones((len(possible), int(space.n)), np.bool_)
    for mask, allowed in zip(masks, possible, strict=True):
        if allowed is not None:
            mask[:] = False
            mask[allowed] = True
    return masks


@overload
def evaluate_policy(
    agent: Predictor,
    env: EnvLike | VectorEnv,
    n_eval_episodes: int = 10,
    *,
    deterministic: bool = True,
    return_episode_rewards: Literal[False] = False,
    seed: int | None = None,
    max_steps: int | None = None,
) -> tuple[float, float]: ...


@overload
def evaluate_policy(
    agent: Predictor,
    env: EnvLike | VectorEnv,
    n_eval_episodes: int = 10,
    *,
    deterministic: bool = True,
    return_episode_rewards: Literal[True],
    seed: int | None = None,
    max_steps: int | None = None,
) -> tuple[list[float], list[int]]: ...


def evaluate_policy(
    agent: Predictor,
    env: EnvLike | VectorEnv,
    n_eval_episodes: int = 10,
    *,
    deterministic: bool = True,
    return_episode_rewards: bool = False,
    seed: int | None = None,
    max_steps: int | None = None,
) -> tuple[float, float] | tuple[list[float], list[int]]:
    """Mean and standard deviation of the return over episodes, or all returns and lengths.

    Episode i of a seed (by default the agent's) always begins from the same start. The agent is left bit for
    bit as it was. With an id or a function the episodes are played side by side, with an environment one
    after the other, in a vector environment as many at a time as it has. An episode is cut off after `max_steps`; if
    that is not given, after 10,000 where the environment is not known to end its episodes itself.
    """
    episodes = checks.at_least("n_eval_episodes", n_eval_episodes, 1, MOST_EPISODES)
    if max_steps is not None:
        checks.at_least("max_steps", max_steps, 1)
    seed = agent.seed if seed is None else checks.at_least("seed", seed, 0)
    if isinstance(env, gymnasium.vector.VectorEnv):
        limit = max_steps or (None if env.spec is not None and env.spec.max_episode_steps else MOST_STEPS)
        returns, lengths = play_vector(
            agent, env, episodes, seed=seed, deterministic=deterministic, max_steps=limit, states=learned_states(agent)
        )
    else:
        source = EnvSource(env)
        limit = max_steps or (None if source.limited else MOST_STEPS)
        envs = source.make_several(min(episodes, SIDE_BY_SIDE))
        try:
            returns, lengths = play_episodes(
                agent, envs, episodes, seed=seed, deterministic=deterministic, max_steps=limit
            )
        finally:
            if not source.shared:
                for each in envs:
                    close(each)
    if max_steps is None and limit is not None and (cut := lengths.count(limit)):
        logging.getLogger("engram").warning(
            "warning: %d of %d episodes had not ended after %s steps, and were cut off there; "
            "max_steps=… sets another limit",
            *(cut, episodes, f"{limit:,}"),
        )
    if return_episode_rewards:
        return returns, lengths
    return float(np.mean(returns)), float(np.std(returns))


def examine(
    agent: Learning,
    envs: list[Env],
    step: int,
    episodes: int,
    *,
    epsilon: float = 0.0,
    max_steps: int | None = None,
) -> Evaluation:
    """Evaluate an agent after so many steps of its training, and measure what explains the result."""
    starts, visits = Starts(episodes, float(agent.config.discount)), Visits() if agent.has_memory else None
    returns, lengths = play_episodes(
        agent, envs, episodes, seed=agent.seed, epsilon=epsilon, max_steps=max_steps, starts=starts, visits=visits
    )
    masks = None if all(each is None for each in starts.allowed) else _masks(envs[0], starts.allowed)
    metrics = dict(agent.measure(np.stack(starts.observations), starts.followed, masks))
    if visits is not None:
        metrics |= agent.measure_visits(visits.observations, visits.actions)
    return Evaluation(step, tuple(returns), tuple(lengths), metrics)


def with_evaluations(
    events: Iterable[Event],
    agent: Learning,
    envs: list[Env],
    *,
    every: int,
    episodes: int,
    epsilon: float = 0.0,
    max_steps: int | None = None,
    first_at: int | None = None,
    evaluating: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Iterator[Event]:
    """The same events, with an evaluation after every `every` steps exactly.

    With `first_at`, the steps that the agent has taken already, there is one before all events too. Evaluations take
    place within `evaluating()`.
    """

    def evaluate(step: int) -> Evaluation:
        with evaluating():
            return examine(agent, envs, step, episodes, epsilon=epsilon, max_steps=max_steps)

    if first_at is not None:
        yield evaluate(first_at)
    for event in events:
        if isinstance(event, Step) and event.step % every == 0:
            yield evaluate(event.step)
        yield event
