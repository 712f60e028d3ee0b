"""Games side by side: compiled ones are Gymnasium's, bit for bit, or they are not used."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from engram import MFEC
from engram.envs import EnvSource
from engram.envs.classic_steps import step_acrobots
from engram.errors import InvalidInputError
from engram.training import side_by_side as module
from engram.training.evaluation import examine
from engram.training.side_by_side import CheckedGames, CompiledGames, games_in

CLASSIC = ("CartPole-v1", "Acrobot-v1")


def several(name: str, count: int = 3, **options: Any) -> list[Any]:
    return [gymnasium.make(name, **options) for _ in range(count)]


@pytest.mark.parametrize("name", CLASSIC)
@pytest.mark.parametrize("held", [1, 7, 40])
def test_games_are_those_of_gymnasium(name: str, held: int) -> None:
    """Whole games to their end or their limit, by actions that are held for a while."""
    envs = several(name)
    quick, plain = games_in(several(name)), CheckedGames(envs)
    assert isinstance(quick, CompiledGames)
    rng = np.random.default_rng(held)
    for round_ in range(4):
        for i in range(3):
            quick.begin(i, 10 * round_ + i)
            plain.begin(i, 10 * round_ + i)
        running, steps = np.arange(3), 0
        while len(running):
            if steps % held == 0:
                actions = rng.integers(envs[0].action_space.n, size=3)
            steps += 1
            lengths = np.full(len(running), steps)
            ours, theirs = (each.step(running, actions[running], lengths) for each in (quick, plain))
            assert quick.observations.dtype == plain.observations.dtype
            assert quick.observations.tobytes() == plain.observations.tobytes()
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one, other)
            for i in running.tolist():
                assert quick._states[i].tobytes() == envs[i].unwrapped.state.tobytes()
            running = running[~ours[1]]
        assert steps <= 500


@pytest.mark.parametrize("name", CLASSIC)
def test_states_that_games_seldom_reach(name: str) -> None:
    """Speeds at their bounds, angles that wrap."""
    quick, plain = games_in(several(name)), gymnasium.make(name).unwrapped
    assert isinstance(quick, CompiledGames)
    rng, games = np.random.default_rng(3), np.arange(3)
    plain.reset(seed=0)
    for states in rng.uniform(-1, 1, (700, 3, 4)) * [3.1, 3.1, 13.0, 29.0]:
        quick._states[:] = states
        actions = rng.integers(plain.action_space.n, size=3)  # type: ignore[attr-defined]
        rewards, ended = quick.step(games, actions, np.ones(3, np.int64))
        for i in games:
            plain.state, plain.steps_beyond_terminated = states[i].copy(), None  # type: ignore[attr-defined]
            observation, reward, terminated, _, _ = plain.step(int(actions[i]))
            assert quick.observations[i].tobytes() == observation.tobytes()
            assert quick._states[i].tobytes() == plain.state.tobytes()  # type: ignore[attr-defined]
            assert (rewards[i], ended[i]) == (reward, terminated)


@pytest.mark.parametrize("name", CLASSIC)
def test_an_evaluation_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = MFEC(name, seed=4, capacity=50)
    agent.learn(600)
    found = []
    for kind in (CompiledGames, CheckedGames):
        envs = EnvSource(name).make_several(3)
        assert isinstance(games_in(envs), kind)
        found.append(examine(agent, envs, 600, 7, epsilon=0.1, max_steps=300))
        monkeypatch.setattr(module, "KERNELS", {})
    assert found[0] == found[1]
    assert len(set(found[0].lengths)) > 1 or name == "Acrobot-v1"


@pytest.mark.parametrize(("name", "constant", "value"), [("CartPole-v1", "gravity", 1.6), ("Acrobot-v1", "dt", 0.1)])
def test_other_constants_are_played_by_gymnasium(name: str, constant: str, value: float) -> None:
    envs = several(name)
    setattr(envs[1].unwrapped, constant, value)
    assert isinstance(games_in(envs), CheckedGames)


@pytest.mark.parametrize(
    "envs",
    [
        several("CartPole-v1", sutton_barto_reward=True),
        several("CartPole-v1", render_mode="rgb_array"),
        [gymnasium.wrappers.FlattenObservation(env) for env in several("Acrobot-v1")],
        several("MountainCar-v0"),
        several("CartPole-v1", 1),
    ],
    ids=["other rewards", "rendered", "wrapped", "another", "alone"],
)
def test_others_are_played_by_gymnasium(envs: list[Any]) -> None:
    assert isinstance(games_in(envs), CheckedGames)


@pytest.mark.parametrize("tried_before", [True, False])
@pytest.mark.parametrize(
    ("constant", "value"), [("LINK_MASS_1", 3.0), ("MAX_VEL_2", 20.0), ("AVAIL_TORQUE", [-2.0, 0.0, 2.0])]
)
def test_constants_of_a_class_that_was_changed_are_played_by_gymnasium(
    constant: str, value: Any, tried_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module._tried_constants.cache_clear()
    if tried_before:
        assert isinstance(games_in(several("Acrobot-v1")), CompiledGames)
    try:
        monkeypatch.setattr(gymnasium.make("Acrobot-v1").unwrapped.__class__, constant, value)
        assert isinstance(games_in(several("Acrobot-v1")), CheckedGames)
    finally:
        module._tried_constants.cache_clear()


def test_steps_that_somebody_replaced_are_taken() -> None:
    envs = several("CartPole-v1")
    envs[2].unwrapped.step = envs[2].unwrapped.step
    assert isinstance(games_in(envs), CheckedGames)


def test_other_limits_hold() -> None:
    games = games_in(several("Acrobot-v1", max_episode_steps=3))
    assert isinstance(games, CompiledGames)
    games.begin(0, 0)
    ends = [games.step(np.zeros(1, np.int64), np.ones(1, np.int64), np.array([n]))[1][0] for n in (1, 2, 3)]
    assert ends == [False, False, True]


def test_other_bits_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(states: Any, games: Any, actions: Any, observations: Any, rewards: Any) -> Any:
        ended = step_acrobots(states, games, actions, observations, rewards, 2.0)
        states[:] = np.nextafter(states, 9.0)
        return ended

    kind: Any = gymnasium.make("Acrobot-v1").unwrapped.__class__
    monkeypatch.setitem(module.KERNELS, kind, nearly)
    module._tried_constants.cache_clear()
    try:
        assert isinstance(games_in(several("Acrobot-v1")), CheckedGames)
    finally:
        module._tried_constants.cache_clear()


@pytest.mark.parametrize("name", CLASSIC)
@pytest.mark.parametrize("action", [-1, 3])
def test_an_action_that_there_is_not_is_refused(name: str, action: int) -> None:
    games = games_in(several(name))
    games.begin(1, 0)
    with pytest.raises(InvalidInputError, match="actions must be whole numbers from 0 to"):
        games.step(np.array([1]), np.array([action]), np.array([1]))
