"""Wrappers that keep statistics: saved, restored exactly, and used without being changed in evaluations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import NormalizeObservation, NormalizeReward

from engram import D3QN, MFEC, evaluate_policy, load
from engram.agents.mfec import MFECConfig
from engram.envs.wrapper_state import frozen, load_states, states_of
from engram.errors import InvalidInputError
from engram.runs.folder import Cadence, RunFolder
from engram.runs.run import Run
from tests.conftest import assert_same_state
from tests.envs.own_envs import Counting, Hidden

Env = gymnasium.Env[Any, Any]
QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 1, "epsilon_anneal_end_steps": 300}


def normalised() -> Env:
    return NormalizeReward(NormalizeObservation(gymnasium.make("CartPole-v1")))


def counted() -> Env:
    return Counting(gymnasium.make("CartPole-v1"))


MAKERS: list[Callable[[], Env]] = [normalised, counted]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("steps", [130, 131, 132, 140])
def test_going_on_is_exact_wherever_it_was_left(make: Callable[[], Env], steps: int, tmp_path: Path) -> None:
    whole = MFEC(make, capacity=30, seed=3, **QUICK).learn(steps).learn(60)
    MFEC(make, capacity=30, seed=3, **QUICK).learn(steps).save(tmp_path / "half.safetensors")
    assert_same_state(whole, load(tmp_path / "half.safetensors", make).learn(60))


def test_one_environment_of_the_users_own_may_be_used_in_between(tmp_path: Path) -> None:
    whole = MFEC(normalised(), capacity=30, **QUICK).learn(200)
    env = normalised()
    agent = MFEC(env, capacity=30, **QUICK)
    for _ in range(4):
        agent.learn(50)
        before = states_of(env)
        evaluate_policy(agent, env, 2)
        np.testing.assert_equal(states_of(env), before)
        env.reset(seed=0)
        env.step(0)
        agent.save(tmp_path / "model.safetensors")
    agent.learn(1)
    assert_same_state(whole.learn(1), agent)


def test_a_loaded_agent_evaluates_as_before(tmp_path: Path) -> None:
    agent = MFEC(gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1")), capacity=200, **QUICK)
    agent.learn(2500)
    assert agent.source.name == "CartPole-v1|NormalizeObservation"
    played = evaluate_policy(agent, agent.source.name, 5, return_episode_rewards=True)
    agent.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert evaluate_policy(loaded, agent.source.name, 5, return_episode_rewards=True) == played
    assert np.mean(played[0]) > 60
    fresh = gymnasium.wrappers.NormalizeObservation(gymnasium.make("CartPole-v1"))
    fresh.reset(seed=1)
    assert evaluate_policy(loaded, fresh, 5, return_episode_rewards=True) == played


def test_evaluation_uses_the_statistics_of_training_and_changes_none() -> None:
    agent = MFEC(normalised, capacity=30, **QUICK).learn(100)
    env = normalised()
    learned = agent.wrapper_states()
    with frozen([env], learned):
        seen = [env.reset(seed=0)[0] for _ in range(30)]
        np.testing.assert_equal(states_of(env), learned)
    np.testing.assert_equal(states_of(env), states_of(normalised()))
    assert all(np.array_equal(each, seen[0]) for each in seen)
    raw = gymnasium.make("CartPole-v1").reset(seed=0)[0]
    rms = learned["NormalizeObservation"]
    np.testing.assert_allclose(seen[0], (raw - rms["mean"]) / np.sqrt(rms["var"] + 1e-8), rtol=1e-5)


def test_a_run_that_was_interrupted_ends_with_the_same_bytes(tmp_path: Path) -> None:
    config = MFECConfig(capacity=20, seed=1, epsilon_anneal_start_steps=1, epsilon_anneal_end_steps=100)
    run = Run(MFEC, "CartPole-v1|NormalizeObservation|NormalizeReward", config, 300, 100, 2)
    RunFolder(tmp_path / "one").record(run, run.make_agent())

    def stop(event: Any) -> None:
        if event.step == 157:
            raise RuntimeError("the power is gone")

    folder = RunFolder(tmp_path / "two")
    with pytest.raises(RuntimeError, match="power"):
        folder.record(run, run.make_agent(), (stop,), cadence=Cadence(steps=50), tell=str)
    folder.record(run, run.make_agent(), tell=str)
    for name in ("config.json", "progress.jsonl", "model.safetensors", "result.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_what_would_be_silently_wrong_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r'Hidden keeps running statistics \(statistics\).*encoder="scaled"'):
        MFEC(Hidden(gymnasium.make("CartPole-v1")))
    agent = MFEC(normalised, capacity=30).learn(10)
    with pytest.raises(InvalidInputError, match="trained with the wrappers NormalizeObservation, and the environment"):
        evaluate_policy(agent, "CartPole-v1", 1)
    evaluate_policy(agent, "CartPole-v1|NormalizeObservation", 1)  # rewards may be those of the game itself
    plain = MFEC("CartPole-v1", capacity=30).learn(10)
    with pytest.raises(InvalidInputError, match=r"trained without.*set update_running_mean = False"):
        evaluate_policy(plain, "CartPole-v1|NormalizeObservation", 1)
    meant = NormalizeObservation(gymnasium.make("CartPole-v1"))
    meant.update_running_mean = False
    evaluate_policy(plain, meant, 1)
    agent.save(tmp_path / "model.safetensors")
    with pytest.raises(InvalidInputError, match=r"trained with the wrappers .*no wrapper that keeps statistics"):
        load(tmp_path / "model.safetensors", "CartPole-v1")
    plain.save(tmp_path / "plain.safetensors")
    with pytest.raises(InvalidInputError, match=r"trained with no wrapper .*NormalizeObservation"):
        load(tmp_path / "plain.safetensors", "CartPole-v1|NormalizeObservation")


@pytest.mark.parametrize(
    ("name", "value"),
    [("mean", np.zeros(3, np.float32)), ("var", -np.ones(4, np.float32)), ("mean", np.full(4, np.nan)), ("count", 0)],
)
def test_statistics_that_cannot_be_are_refused(name: str, value: Any) -> None:
    env = NormalizeObservation(gymnasium.make("CartPole-v1"))
    state = states_of(env)
    state["NormalizeObservation"][name] = value
    with pytest.raises(InvalidInputError, match="saved statistics of NormalizeObservation are not those"):
        load_states(env, state)
    agent = MFEC(env, capacity=5)
    saved = agent.state_dict()
    saved["wrappers"]["now"] = state
    with pytest.raises(InvalidInputError, match="saved statistics of NormalizeObservation are not those"):
        agent.load_state_dict(saved)


def test_two_wrappers_of_one_kind_are_told_apart_and_others_keep_nothing() -> None:
    twice = NormalizeObservation(NormalizeObservation(gymnasium.make("CartPole-v1")))
    assert list(states_of(twice)) == ["NormalizeObservation", "NormalizeObservation-2"]
    assert states_of(gymnasium.wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1"))) == {}
    assert "wrappers" not in D3QN("CartPole-v1").state_dict()
