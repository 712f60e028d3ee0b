"""Compiled steps: they are Gymnasium's, bit for bit, or they are not used."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from engram.envs import EnvSource
from engram.envs import quickened as module
from engram.envs.classic_steps import step_acrobot
from engram.envs.quickened import quickened

CLASSIC = ("CartPole-v1", "Acrobot-v1")


def is_quick(env: gymnasium.Env[Any, Any]) -> bool:
    return "step" in vars(env.unwrapped)


@pytest.mark.parametrize("name", CLASSIC)
@pytest.mark.parametrize("held", [1, 7, 40])
def test_games_are_those_of_gymnasium(name: str, held: int) -> None:
    quick, plain = quickened(gymnasium.make(name)), gymnasium.make(name)
    assert is_quick(quick)
    rng = np.random.default_rng(held)
    for seed in range(12):
        observation, _ = quick.reset(seed=seed)
        np.testing.assert_array_equal(observation, plain.reset(seed=seed)[0])
        ended, step = False, 0
        while not ended:
            if step % held == 0:
                action = int(rng.integers(quick.action_space.n))  # type: ignore[attr-defined]
            ours, theirs = quick.step(action), plain.step(action)
            assert ours[0].dtype == theirs[0].dtype
            assert ours[0].tobytes() == theirs[0].tobytes()
            assert ours[1:] == theirs[1:]
            assert np.asarray(quick.unwrapped.state).tobytes() == np.asarray(plain.unwrapped.state).tobytes()  # type: ignore[attr-defined]
            ended, step = ours[2] or ours[3], step + 1


@pytest.mark.parametrize("name", CLASSIC)
def test_fast_states_are_those_of_gymnasium(name: str) -> None:
    """Speeds at their bounds, angles that wrap: states that games seldom reach."""
    quick, plain = (env.unwrapped for env in (quickened(gymnasium.make(name)), gymnasium.make(name)))
    rng = np.random.default_rng(3)
    for env in (quick, plain):
        env.reset(seed=0)
    for state in rng.uniform(-1, 1, (2000, 4)) * [3.1, 3.1, 13.0, 29.0]:
        for env in (quick, plain):
            env.state, env.steps_beyond_terminated = state.copy(), None  # type: ignore[attr-defined]
        action = int(rng.integers(quick.action_space.n))  # type: ignore[attr-defined]
        ours, theirs = quick.step(action), plain.step(action)
        assert ours[0].tobytes() == theirs[0].tobytes()
        assert ours[1:] == theirs[1:]
        assert quick.state.tobytes() == plain.state.tobytes()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "constant", "value"), [("CartPole-v1", "gravity", 1.6), ("Acrobot-v1", "dt", 0.1)])
def test_other_constants_are_left_alone(name: str, constant: str, value: float) -> None:
    env = gymnasium.make(name)
    setattr(env.unwrapped, constant, value)
    assert not is_quick(quickened(env))


@pytest.mark.parametrize(
    "make",
    [
        lambda: gymnasium.make("CartPole-v1", sutton_barto_reward=True),
        lambda: gymnasium.make("CartPole-v1", render_mode="rgb_array"),
        lambda: gymnasium.make("MountainCar-v0"),
    ],
)
def test_others_are_left_alone(make: Any) -> None:
    assert not is_quick(quickened(make()))


def test_other_bits_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(state: Any, action: int, observation: Any, two: float) -> bool:
        reached = step_acrobot(state, action, observation, two)
        state[0] = np.nextafter(state[0], 9.0)
        return bool(reached)

    monkeypatch.setattr(module, "step_acrobot", nearly)
    module._has_same_bits.cache_clear()
    try:
        assert not is_quick(quickened(gymnasium.make("Acrobot-v1")))
    finally:
        module._has_same_bits.cache_clear()


@pytest.mark.parametrize("action", [2, -1, 0.5, None])
def test_a_wrong_action_is_refused_as_by_gymnasium(action: Any) -> None:
    for env in (quickened(gymnasium.make("CartPole-v1")), gymnasium.make("CartPole-v1")):
        env.reset(seed=0)
        with pytest.raises((AssertionError, TypeError)):
            env.unwrapped.step(action)


def test_a_step_after_the_end_is_told_as_by_gymnasium() -> None:
    env = quickened(gymnasium.make("CartPole-v1")).unwrapped
    env.reset(seed=0)
    while not env.step(1)[2]:
        pass
    with pytest.warns(UserWarning, match="has already returned terminated"):
        assert env.step(1)[1] == 0.0


def test_evaluations_are_quick_and_what_the_user_passed_is_not_touched() -> None:
    assert all(map(is_quick, EnvSource("CartPole-v1").make_several(3)))
    assert not is_quick(EnvSource("CartPole-v1").make())
    own = gymnasium.make("CartPole-v1")
    EnvSource(own).make_several(3)
    assert not is_quick(own)
