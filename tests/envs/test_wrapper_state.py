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
from engram.runs.cadence import Cadence
from engram.runs.folder import RunFolder
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


@pytest.mark.parametrize("make", MAKERS)
def test_steps_of_the_users_own_count_for_nothing(make: Callable[[], Env], tmp_path: Path) -> None:
    env = make()
    agent = MFEC(env, capacity=30, **QUICK).learn(100)
    learned = agent.wrapper_states()
    agent.save(tmp_path / "before")
    env.reset(seed=0)
    for _ in range(5):
        env.step(0)
    np.testing.assert_equal(agent.wrapper_states(), learned)
    agent.save(tmp_path / "after")
    assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()
    agent.abandon_game()
    np.testing.assert_equal(agent.wrapper_states(), learned)
    other = MFEC(make(), capacity=30, **QUICK).learn(100)
    other.abandon_game()
    assert_same_state(agent.learn(40), other.learn(40))


def test_a_wrapper_that_was_moved_tells_where_the_environment_cannot() -> None:
    class Sealed(gymnasium.Wrapper[Any, Any, Any, Any]):
        def __init__(self) -> None:
            super().__init__(gymnasium.make("CartPole-v1"))
            self.secret = lambda: None  # so that its fingerprint cannot be taken

    env = NormalizeObservation(Sealed())
    agent = MFEC(env, capacity=30, **QUICK).learn(100)
    env.reset(seed=0)
    env.step(0)
    assert_same_state(agent.learn(40), MFEC(NormalizeObservation(Sealed()), capacity=30, **QUICK).learn(140))


def test_an_environment_that_is_handed_out_remembers_what_was_learned(tmp_path: Path) -> None:
    agent = MFEC(normalised, capacity=30, **QUICK).learn(100)
    agent.save(tmp_path / "agent")
    loaded = load(tmp_path / "agent", normalised)
    np.testing.assert_equal(states_of(loaded.get_env()), agent.wrapper_states())
    assert_same_state(loaded.learn(40), agent.learn(40))


def test_another_environment_goes_on_with_what_was_learned(tmp_path: Path) -> None:
    agent = MFEC(normalised, capacity=30, **QUICK).learn(100)
    learned = agent.wrapper_states()
    agent.save(tmp_path / "agent")
    for each in (agent, load(tmp_path / "agent", for_prediction=True)):
        each.set_env(normalised())
        np.testing.assert_equal(each.wrapper_states(), learned)
        np.testing.assert_equal(states_of(each.get_env()), learned)
    with pytest.raises(InvalidInputError, match="no wrapper that keeps statistics; wrap the environment as it was"):
        agent.set_env("CartPole-v1")
    assert agent.learn(10).steps == 110
    fresh = MFEC("CartPole-v1", capacity=30)
    fresh.set_env(normalised)  # which has learned nothing yet
    assert fresh.learn(10).steps == 10


class Odd(Counting):
    """Remembers what JSON does not know."""

    def state_dict(self) -> dict[Any, Any]:
        return {"count": np.int64(self.count), 3: (np.array(1.5), "x"), "seen": [np.arange(2)]}

    def load_state_dict(self, state: dict[Any, Any]) -> None:
        assert type(state["count"]) is np.int64
        assert type(state[3]) is tuple
        assert state[3][0].shape == ()
        assert state["seen"][0].tolist() == [0, 1]
        self.count = int(state["count"])


def test_states_of_any_plain_kind_go_on_exactly(tmp_path: Path) -> None:
    def make() -> Env:
        return Odd(gymnasium.make("CartPole-v1"))

    whole = MFEC(make, capacity=30, seed=3, **QUICK).learn(190)
    MFEC(make, capacity=30, seed=3, **QUICK).learn(130).save(tmp_path / "half.safetensors")
    assert_same_state(whole, load(tmp_path / "half.safetensors", make).learn(60))


def test_states_that_a_file_cannot_hold_are_refused_when_the_agent_is_made() -> None:
    class Unsaved(Counting):
        def state_dict(self) -> dict[str, Any]:
            return {"seen": {1, 2}}

    with pytest.raises(InvalidInputError, match=r"state_dict\(\) of Unsaved\['seen'\] is \{1, 2\}, a set.*use sorted"):
        MFEC(lambda: Unsaved(gymnasium.make("CartPole-v1")), capacity=5)
