"""Vector environments in predict and evaluate_policy; limits of episodes that need not end."""

import logging
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import NormalizeObservation

from engram import MFEC, evaluate_policy
from engram.errors import FaultyEnvironmentError, InvalidInputError
from tests.conftest import Corridor
from tests.envs.own_envs import Masked, Walk

QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 1, "epsilon_anneal_end_steps": 300, "capacity": 50}
MODES = ["NextStep", "SameStep", "Disabled"]


@pytest.fixture(scope="module")
def masked() -> MFEC:
    return MFEC(Masked, **QUICK).learn(150)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_the_result_is_that_of_environments_one_by_one(kind: Any, mode: str, masked: MFEC) -> None:
    env = kind([Masked] * 3, autoreset_mode=mode)
    try:
        found = evaluate_policy(masked, env, 7, return_episode_rewards=True)
    finally:
        env.close()
    assert found == evaluate_policy(masked, Masked, 7, return_episode_rewards=True)
    assert len(set(found[1])) > 1


def test_observations_of_any_kind_are_predicted_from_together() -> None:
    agent = MFEC(Walk, **QUICK).learn(400)
    env = SyncVectorEnv([Walk] * 4)
    observations, _ = env.reset(seed=1)
    assert agent.predict(observations)[0].tolist() == [1] * 4
    assert evaluate_policy(agent, env, 6) == (1, 0)
    made = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="vector_entry_point")
    agent = MFEC("CartPole-v1", **QUICK).learn(100)
    returns, lengths = evaluate_policy(agent, made, 5, return_episode_rewards=True)
    assert returns == [float(length) for length in lengths]


def test_statistics_of_training_are_used_in_vector_environments_too() -> None:
    def make() -> Any:
        return NormalizeObservation(gymnasium.make("CartPole-v1"))

    agent = MFEC(make, **QUICK).learn(500)
    expected = evaluate_policy(agent, make, 4, return_episode_rewards=True)
    assert evaluate_policy(agent, SyncVectorEnv([make] * 2), 4, return_episode_rewards=True) == expected
    plain = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
    with pytest.raises(InvalidInputError, match="wrap it as it was in training"):
        evaluate_policy(agent, plain, 1)
    with pytest.raises(InvalidInputError, match="NormalizeObservation around the vector environment learns"):
        evaluate_policy(agent, gymnasium.wrappers.vector.NormalizeObservation(plain), 1)
    native = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    with pytest.raises(InvalidInputError, match="cannot be put into CartPoleVectorEnv"):
        evaluate_policy(agent, native, 1)


def test_faults_in_vector_environments_are_theirs() -> None:
    class Broken(Corridor):
        def step(self, action: Any) -> Any:
            raise ZeroDivisionError("no luck")

    with pytest.raises(FaultyEnvironmentError, match="vector environment raised an error: ZeroDivisionError: no luck"):
        evaluate_policy(MFEC(Corridor, capacity=5), SyncVectorEnv([Broken]), 1)


def test_agents_do_not_learn_in_vector_environments() -> None:
    with pytest.raises(InvalidInputError, match=r"learns in one environment at a time, got a vector environment"):
        MFEC(SyncVectorEnv([Corridor]))  # type: ignore[arg-type]


class Endless(Corridor):
    """A corridor that does not end."""

    def step(self, action: Any) -> Any:
        observation, *_ = super().step(action)
        return observation, 1.0, False, False, {}


@pytest.mark.parametrize("env", [Endless, Endless(), SyncVectorEnv([Endless] * 2)])
def test_evaluation_ends_where_episodes_do_not_and_says_so(
    env: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram.training.evaluation.MOST_STEPS", 50)
    agent = MFEC(Corridor, capacity=5)
    with caplog.at_level(logging.WARNING, "engram"):
        assert evaluate_policy(agent, env, 3) == (50, 0)
        assert evaluate_policy(agent, env, 3, max_steps=20) == (20, 0)
    assert caplog.messages == [
        "warning: 3 of 3 episodes had not ended after 50 steps, and were cut off there; max_steps=… sets another limit"
    ]
    limited = gymnasium.wrappers.TimeLimit(Endless(), 70)
    assert evaluate_policy(agent, limited, 2) == (70, 0)


class Marked(Corridor):
    """A corridor with a mask of the user's choice."""

    def __init__(self, mask: Any) -> None:
        super().__init__()
        self.mask = mask

    def step(self, action: Any) -> Any:
        *answer, _ = super().step(action)
        return *answer, {"action_mask": self.mask}


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (np.array([0, 0]), "allows no action, though the game goes on"),
        (np.array([5, 0]), r"gave the action_mask .* at step 1; it must be an array of 2 whole numbers, 0 or 1"),
        (np.array([1.0, 0.0]), "must be an array of 2 whole numbers, 0 or 1"),
        (np.array([1, 0, 1]), "must be an array of 2 whole numbers, 0 or 1"),
        ([1, 0, 1], "must be an array of 2 whole numbers, 0 or 1"),
        (1, "must be an array of 2 whole numbers, 0 or 1"),
    ],
)
@pytest.mark.parametrize("vector", [False, True])
def test_masks_must_be_right_in_vector_environments_too(mask: Any, said: str, vector: bool) -> None:
    env: Any = SyncVectorEnv([lambda: Marked(mask)] * 2) if vector else Marked(mask)
    with pytest.raises(FaultyEnvironmentError, match=said):
        evaluate_policy(MFEC(Corridor, capacity=5), env, 2, max_steps=5)
