"""Environments from ids, objects and functions, and what is said about those that cannot be used."""

import tracemalloc
from typing import Any

import gymnasium
import numpy as np
import pytest

from engram.envs.make import EnvSource, make_by_id, registered_name, resolved_options
from engram.envs.names import parse_id
from engram.errors import InvalidInputError
from tests.conftest import Corridor
from tests.envs.own_envs import Walk


def test_an_id_makes_new_environments_and_gives_their_spaces() -> None:
    source = EnvSource("CartPole-v1")
    assert (source.name, source.shared) == ("CartPole-v1", False)
    assert (source.observation_shape, source.observation_dtype) == ((4,), np.dtype(np.float32))
    assert (source.actions, source.first_action) == (2, 0)
    assert source.make() is not source.make()


def test_one_environment_is_shared() -> None:
    env = Corridor()
    source = EnvSource(env)
    assert (source.name, source.shared) == (None, True)
    assert source.make() is source.make() is env


def test_a_function_is_called_for_each_environment() -> None:
    made: list[Corridor] = []

    def make() -> Corridor:
        made.append(Corridor())
        return made[-1]

    source = EnvSource(make)
    assert [source.make(), source.make()] == made
    assert not source.shared


def test_actions_may_begin_at_another_number() -> None:
    env = Corridor()
    env.action_space = gymnasium.spaces.Discrete(3, start=-1)
    assert (EnvSource(env).actions, EnvSource(env).first_action) == (3, -1)


def test_an_environment_has_an_id_only_if_the_id_makes_an_equal_one() -> None:
    assert registered_name(gymnasium.make("CartPole-v1", render_mode="rgb_array")) == "CartPole-v1"
    assert registered_name(Corridor()) is None
    assert registered_name(gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), float)) is None
    normalised = gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1"))
    assert registered_name(normalised) == "CartPole-v1|NormalizeObservation"
    normalised.update_running_mean = False
    assert registered_name(normalised) is None, "a file would make one that learns"


@pytest.mark.parametrize(
    "name",
    [
        "CartPole-v1?max_episode_steps=7",
        "CartPole-v1?max_episode_steps=-1",
        "CartPole-v1?sutton_barto_reward=true",
        "CartPole-v1?sutton_barto_reward=true|NormalizeObservation?epsilon=0.1|NormalizeReward",
        "CartPole-v1|FrameStackObservation?stack_size=3|ReshapeObservation?shape=[12]",
        "engram/OpenRoom-v0?render_mode=rgb_array|AddRenderObservation|TimeLimit?max_episode_steps=9",
        "CartPole-v1|TimeLimit?max_episode_steps=999",
    ],
)
def test_an_environment_that_was_wrapped_in_python_has_the_name_that_makes_it_again(name: str) -> None:
    env = make_by_id(name)
    assert registered_name(env) == name
    assert str(make_by_id(name)) == str(env)
    assert EnvSource(env).limited == ("-1" not in name)


def test_an_environment_with_an_option_that_is_no_plain_data_has_no_name() -> None:
    acrobot, ones = gymnasium.make("Acrobot-v1"), np.ones(6, np.float32)
    assert registered_name(gymnasium.wrappers.RescaleObservation(acrobot, -ones, ones)) is None
    make: Any = lambda goal, start: Walk()  # noqa: E731
    gymnasium.register("WithArrays-v0", entry_point=make, kwargs={"goal": np.zeros(2), "start": len})
    try:
        assert registered_name(gymnasium.make("WithArrays-v0")) == "WithArrays-v0"
        assert registered_name(gymnasium.make("WithArrays-v0", goal=np.ones(2), start=None)) is None
        assert resolved_options("WithArrays-v0?size=3") == {
            "goal": "a ndarray",
            "start": "a builtin_function_or_method",
            "size": 3,
        }
    finally:
        del gymnasium.registry["WithArrays-v0"]


def test_limits_of_each_number_can_be_named() -> None:
    env = make_by_id("Acrobot-v1|RescaleObservation?min_obs=[-1,-2,-1,-1,-1,-1]&max_obs=[1,1,1,1,1,5]")
    assert env.observation_space.low.tolist() == [-1, -2, -1, -1, -1, -1]  # type: ignore[attr-defined]
    assert env.observation_space.dtype == np.float32
    with pytest.raises(InvalidInputError, match="cannot wrap the environment in 'RescaleObservation'"):
        make_by_id('Acrobot-v1|RescaleObservation?min_obs=["a"]&max_obs=1')


def test_options_are_read_as_json_or_text() -> None:
    name = "CartPole-v1?a=1&b=0.5&c=true&d=text&e="
    assert parse_id(name) == ("CartPole-v1", {"a": 1, "b": 0.5, "c": True, "d": "text", "e": ""})
    assert resolved_options("engram/OpenRoom-v0")["plan"].count("G") == 1
    assert make_by_id("CartPole-v1?sutton_barto_reward=true").unwrapped._sutton_barto_reward  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("CartPol-v1", r"unknown environment id 'CartPol-v1'; did you mean 'CartPole-v1'\? Otherwise name the module"),
        ("zzz", r"unknown environment id 'zzz'; name the module that registers or makes it \(module:id\), or pass"),
        ("CartPole-v1?wheels=3", r"cannot make environment 'CartPole-v1\?wheels=3': .*wheels"),
        ("CartPole-v1?wheels", r"expected option=value after the question mark, got 'wheels'"),
        (3, "must be an environment id, a Gymnasium environment or a function that makes one, got 3"),
        (lambda: 3, "must return a Gymnasium environment, got 3"),
        ("Pendulum-v1", r"action space .*needs a Discrete one.*a few fixed actions"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(env: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        EnvSource(env)


@pytest.mark.parametrize(
    "name",
    [
        "CartPole-v1|FrameStackObservation?stack_size=200000000",
        "CartPole-v1|FrameStackObservation?stack_size=4|FrameStackObservation?stack_size=2000000",
        "Acrobot-v1|DiscretizeObservation?bins=900000000",
        "Acrobot-v1|DiscretizeObservation?bins=100",
        "Pendulum-v1|DiscretizeAction?bins=2000000000",
        "Pendulum-v1|DiscretizeAction?bins=[2000000000]",
        f"{Walk.__name__}-v0?shown=image|ResizeObservation?shape=[100000,100000]",
    ],
)
def test_observations_and_actions_that_no_memory_could_hold_are_refused_before_they_are_made(name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInputError, match=r"at most 16,777,216 "):
            EnvSource(name)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
