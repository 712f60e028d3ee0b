"""Evaluation in Gymnasium's vector environments, in every mode of resetting."""

from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from engram.envs.faults import is_wish_to_stop, said_by
from engram.envs.masks import allowed_actions, is_mask
from engram.envs.wrapper_state import SWITCH, States, frozen
from engram.errors import EngramError, FaultyEnvironmentError, InvalidInputError
from engram.randomness import reset_seed
from engram.typing import Array


def play_vector(
    agent: Any,
    env: Any,
    episodes: int,
    *,
    seed: int,
    deterministic: bool,
    max_steps: int | None,
    states: States | None,
) -> tuple[list[float], list[int]]:
    """Returns and lengths of the episodes, in order of their number.

    They are played in rounds of as many as there are environments, and a round begins with a reset of all to the
    starts of its episodes. What an environment does after its episode has ended, until the others' have, counts for
    nothing: so short episodes are not played more often than long ones, and the result is that of one by one.
    """
    inner = _inner_envs(env, states)
    with frozen(inner, states) as begin_episode:
        returns, lengths = [0.0] * episodes, [0] * episodes
        for first in range(0, episodes, env.num_envs):
            for number in range(len(inner)):
                begin_episode(number)
            try:
                _play_round(agent, env, first, returns, lengths, seed, deterministic, max_steps)
            except EngramError:
                raise
            except BaseException as error:
                if is_wish_to_stop(error):
                    raise
                raise FaultyEnvironmentError(
                    f"the vector environment raised an error: {said_by(error)}; the fault is in the environment"
                ) from error
    return returns, lengths


def _play_round(
    agent: Any,
    env: Any,
    first: int,
    returns: list[float],
    lengths: list[int],
    seed: int,
    deterministic: bool,
    max_steps: int | None,
) -> None:
    """Play the episodes from number `first` on, one in each environment, and note how they ended."""
    count = min(env.num_envs, len(returns) - first)
    seeds = [reset_seed(seed, "evaluation", first + number) for number in range(env.num_envs)]
    one_by_one = isinstance(env.unwrapped, SyncVectorEnv | AsyncVectorEnv)
    observations, infos = env.reset(seed=seeds if one_by_one else seeds[0])
    manual = env.metadata.get("autoreset_mode") == AutoresetMode.DISABLED
    playing = np.arange(env.num_envs) < count
    steps = 0
    masks = _masks(infos, env, playing, steps)
    while playing.any():
        masked = {} if masks is None else {"action_masks": masks}
        actions, _ = agent.predict(observations, deterministic=deterministic, **masked)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        steps += 1
        over = np.logical_or(terminated, truncated)
        for number in np.flatnonzero(playing).tolist():
            returns[first + number] += float(rewards[number])
            lengths[first + number] += 1
            if over[number] or lengths[first + number] == max_steps:
                playing[number] = False
        masks = _masks(infos, env, playing, steps)
        if manual and over.any() and playing.any():
            observations, infos = env.reset(options={"reset_mask": over})
            fresh = _masks(infos, env, np.zeros_like(playing), steps)
            if masks is not None and fresh is not None:
                masks[over] = fresh[over]


def _masks(infos: dict[str, Any], env: Any, playing: Array, step: int) -> Array | None:
    """For each environment, which actions are possible, [B, actions]; None where all are.

    A mask must be right where a game goes on that counts; of others it is heeded if it can be.
    """
    if "action_mask" not in infos:
        return None
    actions = int(env.single_action_space.n)
    masks = np.ones((env.num_envs, actions), np.bool_)
    given = infos.get("_action_mask", np.ones(env.num_envs, np.bool_))
    for number in np.flatnonzero(given).tolist():
        row = infos["action_mask"][number]
        counts = playing[number] or (is_mask(np.asarray(row), (actions,)) and np.any(row))
        if row is None or not counts:  # at the end of a game it may allow nothing
            continue
        allowed = allowed_actions(row, actions, step)
        if allowed is not None:
            masks[number] = False
            masks[number, allowed] = True
    return masks


def _inner_envs(env: Any, states: States | None) -> list[Any]:
    """The environments whose wrappers may keep statistics; InvalidInputError where those cannot be reached."""
    outer = env
    while outer is not env.unwrapped:
        if getattr(outer, SWITCH, False):
            raise InvalidInputError(
                f"{type(outer).__name__} around the vector environment learns while it is evaluated in; wrap the "
                f"single environments as in training instead, or set {SWITCH} = False if its statistics are meant as "
                "they are"
            )
        outer = outer.env
    inner = list(getattr(env.unwrapped, "envs", ()))
    if states and not inner:
        raise InvalidInputError(
            f"the agent was trained with wrappers that keep statistics ({', '.join(states)}), which cannot be put into "
            f"{type(env.unwrapped).__name__}; evaluate in an id, a function or a SyncVectorEnv"
        )
    return inner
