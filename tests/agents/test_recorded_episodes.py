"""Learning from recorded episodes."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from engram import D3QN, MFEC, NEC, Agent
from engram.errors import InvalidInputError

SETTINGS: dict[type[Agent], dict[str, Any]] = {
    MFEC: {"capacity": 200},
    NEC: {"capacity": 200, "learning_start_steps": 40, "batch_size": 8},
    D3QN: {"learning_start_steps": 40, "batch_size": 8},
}


def record(episodes: int) -> list[dict[str, Any]]:
    """Episodes of CartPole with random actions."""
    env, rng, made = gymnasium.make("CartPole-v1"), np.random.default_rng(0), []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        observations, actions, rewards, ended = [observation], [], [], False
        while not ended:
            actions.append(int(rng.integers(2)))
            observation, reward, ended, _, _ = env.step(actions[-1])
            observations.append(observation)
            rewards.append(float(reward))
        flags = np.zeros(len(actions), bool)
        made.append(
            {
                "observations": np.array(observations),
                "actions": np.array(actions),
                "rewards": np.array(rewards),
                "terminations": np.append(flags[1:], True),
                "truncations": flags,
            }
        )
    return made


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_agent_learns_from_them_and_goes_on(kind: type[Agent], tmp_path: Path) -> None:
    episodes = record(5)
    agent = kind("CartPole-v1", **SETTINGS[kind])
    start = episodes[0]["observations"][:1]
    before = agent.q_values(start)
    agent.learn_from(episodes)
    assert agent.steps == sum(len(episode["actions"]) for episode in episodes)
    assert agent.loop.episode == 5
    assert (agent.q_values(start) != before).any()
    again = kind("CartPole-v1", **SETTINGS[kind]).learn_from(iter(episodes))
    assert (agent.q_values(start) == again.q_values(start)).all()
    agent.save(tmp_path / "agent.safetensors")
    loaded = kind.load(tmp_path / "agent.safetensors")
    assert (loaded.learn(60).q_values(start) == agent.learn(60).q_values(start)).all()
    agent.check_valid()


@pytest.mark.parametrize("wrapper", ["NormalizeObservation", "NormalizeReward"])
def test_they_are_refused_where_training_sees_them_through_statistics(wrapper: str, tmp_path: Path) -> None:
    agent = MFEC(f"CartPole-v1|{wrapper}", capacity=20)
    with pytest.raises(InvalidInputError, match=rf"the environment has {wrapper}, .*; make the agent without"):
        agent.learn_from(record(1))
    assert agent.steps == 0
    agent.save(tmp_path / "agent.safetensors")
    with pytest.raises(InvalidInputError, match=f"the environment has {wrapper}"):
        MFEC.load(tmp_path / "agent.safetensors", for_prediction=True).learn_from(record(1))


def test_mfec_remembers_the_discounted_returns_that_followed() -> None:
    (episode,) = record(1)
    agent = MFEC("CartPole-v1", capacity=200).learn_from([episode])
    length = len(episode["actions"])
    returns = [sum(0.99**i for i in range(length - t)) for t in range(length)]
    q = agent.q_values(episode["observations"][:-1])
    taken = q[np.arange(length), episode["actions"]]
    np.testing.assert_allclose(taken, returns, rtol=1e-5)


def test_acting_is_as_before_afterwards() -> None:
    """The generator of actions was not drawn from, and exploration is the agent's own again."""
    agent, other = (MFEC("CartPole-v1", capacity=200, seed=3) for _ in range(2))
    agent.learn_from(record(1))
    assert agent.policy_rng.random() == other.policy_rng.random()
    assert repr(agent.exploration) == repr(other.exploration)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # Minari's
def test_minari_datasets_are_taken_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    pytest.importorskip("h5py")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    buffers = [minari.data_collector.EpisodeBuffer(id=n, **episode) for n, episode in enumerate(record(3))]
    with pytest.warns(UserWarning, match="is set to None"):
        dataset = minari.create_dataset_from_buffers("cartpole/test-v0", buffers, env="CartPole-v1")
    agent = MFEC("CartPole-v1", capacity=200).learn_from(dataset)
    assert (agent.steps, agent.loop.episode) == (dataset.total_steps, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": np.zeros((2, 4), np.float32)}, "one observation more than actions"),
        ({"actions": np.array([0, 2])}, "whole numbers from 0 to 1"),
        ({"rewards": np.array([0.0, np.nan])}, "must be numbers"),
        ({"rewards": np.zeros((2, 2))}, "must be a vector of numbers"),
        ({"observations": np.full((4, 4), np.nan, np.float32)}, "observation"),
        ({"terminations": None}, "must be a vector"),
    ],
)
def test_wrong_episodes_are_refused_and_change_nothing(change: dict[str, Any], message: str) -> None:
    episode = {
        "observations": np.zeros((3, 4), np.float32),
        "actions": np.array([0, 1]),
        "rewards": np.ones(2),
        "terminations": np.array([False, True]),
        "truncations": np.zeros(2, bool),
    }
    agent = MFEC("CartPole-v1", capacity=20)
    with pytest.raises(InvalidInputError, match=message):
        agent.learn_from([{**episode, **change}])
    assert agent.steps == 0
    assert agent.memory.size.sum() == 0


def test_what_is_no_episode_and_a_game_in_its_midst_are_refused() -> None:
    agent = MFEC("CartPole-v1", capacity=20)
    with pytest.raises(InvalidInputError, match="episode 0 has no observations"):
        agent.learn_from([1])
    with pytest.raises(InvalidInputError, match="takes several episodes"):
        agent.learn_from("cartpole")
    agent.learn(5)
    with pytest.raises(InvalidInputError, match="abandon_game"):
        agent.learn_from(record(1))
    agent.abandon_game()
    assert agent.learn_from(record(1)).loop.episode == 1
