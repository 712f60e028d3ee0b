"""D3QN: its targets and steps are the paper's, it learns, and it is exact to repeat and to resume."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from engram import evaluate_policy
from engram.agents.d3qn import D3QN, D3QNConfig
from engram.errors import InvalidInputError
from engram.files.arrays import split
from engram.replay.transitions import Batch
from engram.typing import Array, Doubles
from tests.conftest import Corridor

QUICK: dict[str, Any] = {
    "replay_size": 500,
    "learning_rate": 1e-3,
    "rmsprop_epsilon": 1e-5,
    "epsilon_anneal_end_steps": 1000,
    "learning_start_steps": 100,
    "target_update_steps": 50,
}


class Screens(gymnasium.Env[Array, np.int64]):
    """Four stacked 84 × 84 frames of a bar; action 1 moves it right, and 1 is paid for each step on the right half."""

    observation_space = gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.time = int(self.np_random.integers(10)), 0
        self.stack = np.repeat(self._frame()[None], 4, axis=0)
        return self.stack.copy(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self.place = int(np.clip(self.place + (8 if action == 1 else -3), 0, 79))
        self.time += 1
        self.stack = np.concatenate([self.stack[1:], self._frame()[None]])
        return self.stack.copy(), float(self.place > 42), self.time == 40, False, {}

    def _frame(self) -> Array:
        frame = np.zeros((84, 84), np.uint8)
        frame[:, self.place : self.place + 5] = 255
        return frame


def assert_same_state(one: D3QN, other: D3QN) -> None:
    (arrays, plain), (other_arrays, other_plain) = split(one.state_dict()), split(other.state_dict())
    assert plain == other_plain
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        assert array.dtype == other_arrays[name].dtype
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


def random_batch(shape: tuple[int, ...], actions: int, *, size: int = 32, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(
        observations=rng.standard_normal((size, *shape)).astype(np.float32),
        actions=rng.integers(actions, size=size),
        rewards=rng.standard_normal(size).astype(np.float32),
        next_observations=rng.standard_normal((size, *shape)).astype(np.float32),
        terminated=rng.random(size) < 0.2,
        truncated=rng.random(size) < 0.2,
    )


def layers(weights: dict[str, Array]) -> list[Doubles]:
    return [weights[str(number)].astype(np.float64) for number in range(6)]


def oracle_q(weights: dict[str, Array], x: Array, *, dueling: bool) -> Doubles:
    """Two layers with ReLU, then V and A with Q = V + A − mean A, or Q itself."""
    w1, b1, w2, b2, w3, b3 = layers(weights)
    hidden = np.maximum(x @ w1.T + b1, 0)
    heads = np.maximum(hidden @ w2.T + b2, 0) @ w3.T + b3
    if not dueling:
        return heads
    return np.array([[head[0] + a - head[1:].mean() for a in head[1:]] for head in heads])


def test_the_defaults_are_the_papers() -> None:
    """Table 6 of the paper, classic control."""
    config = D3QNConfig()
    assert config.replay_size == 10**5
    assert config.learning_rate == 25e-5
    assert config.rmsprop_decay == 0.95
    assert config.rmsprop_epsilon == 1e-2
    assert config.epsilon_initial == 1
    assert config.epsilon_final == 5e-3
    assert config.epsilon_anneal_start_steps == 1
    assert config.epsilon_anneal_end_steps == 5e4
    assert config.discount == 0.99
    assert config.reward_clip == 1
    assert config.batch_size == 32
    assert config.learning_start_steps == 5e3
    assert config.target_update_steps == 7.5e3
    assert config.learning_interval_steps == 4
    assert config.feature_size == 64
    assert (config.dueling, config.double, config.bootstrap_truncated) == (True, True, False)


@pytest.mark.parametrize("dueling", [True, False])
@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize("bootstrap_truncated", [True, False])
def test_targets_are_those_of_the_equations(dueling: bool, double: bool, bootstrap_truncated: bool) -> None:
    """y = r + γ Q'(s', argmaxₐ Q(s', a)); with both off, DQN's y = r + γ maxₐ Q'(s', a). The end is worth 0."""
    settings: dict[str, Any] = {"dueling": dueling, "double": double, "bootstrap_truncated": bootstrap_truncated}
    agent, other = (D3QN("Acrobot-v1", seed=seed, **settings) for seed in (0, 1))
    agent.target.load_state_dict(other.online.state_dict())
    batch = random_batch((6,), 3)
    online = oracle_q(agent.online.state_dict(), batch.next_observations, dueling=dueling)
    target = oracle_q(other.online.state_dict(), batch.next_observations, dueling=dueling)
    assert (online.argmax(axis=1) != target.argmax(axis=1)).any()
    expected = []
    for row in range(32):
        best = online[row].argmax() if double else target[row].argmax()
        goes_on = not batch.terminated[row] and (bootstrap_truncated or not batch.truncated[row])
        expected.append(batch.rewards[row] + (0.99 * target[row, best] if goes_on else 0))
    np.testing.assert_allclose(agent.learner.targets(batch), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dueling", [True, False])
def test_a_learning_step_is_rmsprop_on_the_huber_loss(dueling: bool) -> None:
    """Backpropagation by hand: the gradient of the summed Huber loss in Q(s, a) is clip(Q(s, a) − y, ±1)."""
    agent = D3QN("Acrobot-v1", seed=0, dueling=dueling)
    for seed in range(2):  # the second step begins with squared averages that are not 0
        batch = random_batch((6,), 3, seed=seed)
        batch.rewards[:10] *= 10  # beyond the bend of the loss
        before, squares = layers(agent.online.state_dict()), layers(agent.optimiser.state_dict())
        errors = oracle_q(agent.online.state_dict(), batch.observations, dueling=dueling)
        w1, b1, w2, b2, w3, _ = before
        x = batch.observations.astype(np.float64)
        first = np.maximum(x @ w1.T + b1, 0)
        second = np.maximum(first @ w2.T + b2, 0)
        by_q = np.zeros((32, 3))
        for row, action in enumerate(batch.actions):
            by_q[row, action] = np.clip(errors[row, action] - agent.learner.targets(batch)[row], -1, 1)
        assert abs(by_q).max() == pytest.approx(1)
        by_heads = np.hstack([by_q.sum(1)[:, None], by_q - by_q.mean(1)[:, None]]) if dueling else by_q
        by_second = (by_heads @ w3) * (second > 0)
        by_first = (by_second @ w2) * (first > 0)
        gradients = []
        for above, below in ((by_first, x), (by_second, first), (by_heads, second)):
            gradients += [above.T @ below, above.sum(0)]
        agent.learn_batch(batch)
        after = layers(agent.online.state_dict())
        for old, new, gradient, square in zip(before, after, gradients, squares, strict=True):
            average = 0.95 * square + 0.05 * gradient**2
            step = 25e-5 * gradient / np.sqrt(average + 1e-2)
            np.testing.assert_allclose(new - old, -step, rtol=1e-3, atol=1e-7)
        np.testing.assert_allclose(
            agent.q_values(batch.observations),
            oracle_q(agent.online.state_dict(), batch.observations, dueling=dueling),
            rtol=1e-4,
            atol=1e-5,
        )


def test_bytes_are_scaled_in_acting_as_in_learning() -> None:
    class Bytes(Corridor):
        observation_space: Any = gymnasium.spaces.Box(0, 255, (6,), np.uint8)

        def _observation(self) -> Any:
            return np.full(6, 40 * self.cell, np.uint8)

    agent = D3QN(Bytes, seed=0)
    batch = np.random.default_rng(0).integers(0, 255, (20, 6), np.uint8)
    expected = oracle_q(agent.online.state_dict(), batch / 255, dueling=True)
    np.testing.assert_allclose(agent.q_values(batch), expected, rtol=1e-4, atol=1e-5)
    rewards, never = np.zeros(20, np.float32), np.zeros(20, np.bool_)
    transitions = Batch(batch, np.zeros(20, np.int64), rewards, batch, never, never)
    np.testing.assert_allclose(agent.learner.targets(transitions), 0.99 * expected.max(axis=1), rtol=1e-4, atol=1e-5)
    assert agent.learn(50).steps == 50


@pytest.mark.parametrize("options", [{}, {"dueling": False}, {"double": False}, {"dueling": False, "double": False}])
def test_it_learns_a_corridor(options: dict[str, Any], corridor: type[Corridor]) -> None:
    agent = D3QN(corridor, seed=0, discount=0.9, **QUICK, **options).learn(2000)
    returns, lengths = evaluate_policy(agent, corridor, 5, return_episode_rewards=True)
    assert returns == [1] * 5
    assert max(lengths) <= 5


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    one, same, other = (D3QN("CartPole-v1", seed=seed, **QUICK).learn(1500) for seed in (5, 5, 6))
    assert_same_state(one, same)
    assert (one.online.state_dict()["0"] != other.online.state_dict()["0"]).any()


def test_the_seed_of_pytorch_is_neither_used_nor_moved() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one = D3QN("CartPole-v1", seed=1, **QUICK).learn(200)
    assert torch.equal(torch.rand(3), expected)
    assert_same_state(one, D3QN("CartPole-v1", seed=1, **QUICK).learn(200))


@pytest.mark.parametrize("env", ["CartPole-v1", "engram/OpenRoom-v0"])
def test_saving_and_loading_mid_episode_changes_nothing(tmp_path: Path, env: str) -> None:
    """learn(a), save, load, learn(b) is learn(a + b), bit for bit, before and after the replay has wrapped."""
    whole = D3QN(env, seed=2, **QUICK).learn(1700)
    part = D3QN(env, seed=2, **QUICK)
    interrupted = []
    for steps in (1, 45, 205, 449):
        part.learn(steps)
        interrupted.append(part.loop.length > 0)
        part.save(tmp_path / "model.safetensors")
        part = D3QN.load(tmp_path / "model.safetensors")
        part.replay.check_valid()
    assert any(interrupted), "an interruption should fall into an episode"
    assert_same_state(whole, part.learn(1000))
    assert (tmp_path / "model.safetensors").stat().st_size < 150_000


def test_predicting_is_a_pure_function_alone_and_in_a_batch() -> None:
    agent = D3QN("CartPole-v1", seed=1, **QUICK).learn(600)
    batch = np.random.default_rng(0).standard_normal((64, 4)).astype(np.float32)
    together = agent.q_values(batch)
    for row, observation in enumerate(batch):
        np.testing.assert_array_equal(agent.q_values(observation[None])[0], together[row])
        assert agent.predict(observation)[0] == agent.predict(batch)[0][row]
    assert_same_state(agent, D3QN("CartPole-v1", seed=1, **QUICK).learn(600))


@pytest.mark.parametrize(("clip", "expected"), [(1.0, {-1, 0.5, 1}), (0.25, {-0.25, 0.25}), (None, {-7, 0.5, 30})])
def test_rewards_are_clipped_for_learning_only(clip: float | None, expected: set[float]) -> None:
    class Paying(Corridor):
        def step(self, action: Any) -> Any:
            observation, _, terminated, truncated, info = super().step(action)
            return observation, 30.0 if terminated else (-7.0 if action == 0 else 0.5), terminated, truncated, info

    agent = D3QN(Paying, seed=0, reward_clip=clip)
    totals: list[float] = []
    agent.learn(200, [lambda event: totals.append(getattr(event, "total", 0))])
    rewards = agent.replay.state_dict()["entries"]["rewards"]
    assert set(rewards.tolist()) == expected
    assert max(totals) > 20


def test_learning_begins_and_the_target_is_renewed_when_it_should() -> None:
    agent = D3QN("CartPole-v1", seed=0, learning_start_steps=98, target_update_steps=150)
    learned, renewed = [], []
    before, target = agent.online.state_dict(), agent.target.state_dict()
    for value in before:
        np.testing.assert_array_equal(before[value], target[value])
    for _ in range(320):
        agent.learn(1)
        if (agent.online.state_dict()["2"] != before["2"]).any():
            learned.append(agent.steps)
        if (agent.target.state_dict()["2"] != target["2"]).any():
            renewed.append(agent.steps)
        before, target = agent.online.state_dict(), agent.target.state_dict()
    assert learned == list(range(100, 321, 4))
    assert renewed == [150, 300]


def test_the_replay_holds_what_happened() -> None:
    """Transitions of recorded episodes, ends and truncations included."""
    steps: list[tuple[Any, ...]] = []

    class Recorded(Corridor):
        def step(self, action: Any) -> Any:
            before = self._observation()
            observation, reward, terminated, _, info = super().step(action)
            truncated = self.np_random.random() < 0.1
            steps.append((before, action, reward, observation, terminated, truncated))
            return observation, reward, terminated, truncated, info

    agent = D3QN(Recorded, seed=0).learn(300)
    batch = agent.replay.sample(np.random.default_rng(0), 3000)
    drawn = {tuple(np.concatenate([np.ravel(value) for value in row]).tolist()) for row in zip(*batch[:6], strict=True)}
    assert drawn == {tuple(np.concatenate([np.ravel(value) for value in row]).tolist()) for row in steps}
    assert sum(row[5] for row in steps) > 10


def test_an_abandoned_game_leaves_the_replay_consistent() -> None:
    agent = D3QN("CartPole-v1", seed=0, **QUICK).learn(150)
    before = agent.replay.in_episode
    agent.abandon_game()
    assert (before, agent.replay.in_episode) == (True, False)
    agent.replay.check_valid()
    assert len(agent.replay) == 150
    assert len(agent.learn(150).replay) == 300
    agent.replay.check_valid()


def test_images_are_stored_as_frames_learned_from_and_resumed(tmp_path: Path) -> None:
    settings: dict[str, Any] = QUICK | {"learning_interval_steps": 8, "feature_size": 128, "seed": 0}
    settings |= {"epsilon_anneal_end_steps": 200, "replay_size": 200}
    part = D3QN(Screens, **settings).learn(125)
    part.save(tmp_path / "model.safetensors")
    part = D3QN.load(tmp_path / "model.safetensors", Screens)
    frames = part.replay.state_dict()["observations"]["frames"].array
    assert len(frames) == 125 + 4 * 4  # each of the four episodes so far begins with a stack
    whole = D3QN(Screens, **settings).learn(300)
    assert_same_state(whole, part.learn(175))
    assert len(whole.replay) >= 180
    assert whole.q_values(np.zeros((2, 4, 84, 84), np.uint8)).shape == (2, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replay_size": 0}, "replay_size must be at least 1, got 0"),
        ({"batch_size": 1.5}, "batch_size must be a whole number"),
        ({"learning_interval_steps": 0}, "learning_interval_steps must be at least 1"),
        ({"target_update_steps": 0}, "target_update_steps must be at least 1"),
        ({"learning_start_steps": -1}, "learning_start_steps must be at least 0"),
        ({"feature_size": 0}, "feature_size must be at least 1"),
        ({"discount": 1.01}, "discount must be a number from 0 to 1"),
        ({"learning_rate": -1}, "learning_rate must be a number from 0 to 1"),
        ({"rmsprop_decay": 2}, "rmsprop_decay must be a number from 0 to 1"),
        ({"rmsprop_epsilon": 0}, "rmsprop_epsilon must be a number from"),
        ({"reward_clip": -1}, "reward_clip must be a number from 0"),
        ({"epsilon_anneal_end_steps": 0}, "epsilon_anneal_end_steps must be at least 1"),
        ({"device": "gpu"}, "device must be one of"),
        ({"duelling": True}, "did you mean 'dueling'"),
        ({"replay_size": 10**12}, "a replay of .* takes .* memory are available.*smaller replay_size"),
    ],
)
def test_bad_settings_are_refused_before_any_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        D3QN("CartPole-v1", **settings)


@pytest.mark.slow
def test_it_balances_the_pole() -> None:
    """Above 195 within 50,000 steps, at the paper's settings, as the mean over five seeds."""
    scores = []
    for seed in range(5):
        agent = D3QN("CartPole-v1", seed=seed).learn(40_000)
        scores.append(np.mean([evaluate_policy(agent.learn(1000), "CartPole-v1")[0] for _ in range(10)]))
    assert np.mean(scores) > 195, scores
