"""NEC: its returns, its gradients, what it stores, and that it is exact to repeat and to resume."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import NEC, evaluate_policy, load
from engram.agents.learners.keys_torch import Estimate
from engram.agents.learners.rmsprop_torch import RMSprop
from engram.agents.nec import NECConfig, n_step_returns
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.memory.probe import Near
from tests.conftest import Corridor, assert_same_state
from tests.examples import examples

STRATEGIES = ["lru", "rew", "sur", "kmeans", "dkm", "fading"]
QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 200, "epsilon_anneal_end_steps": 1000}
SMALL: dict[str, Any] = {"capacity": 30, "learning_start_steps": 100, **QUICK}


def test_the_defaults_are_the_papers() -> None:
    """Table 5, classic control and rooms."""
    config = NECConfig()
    assert config.neighbours == 11
    assert config.replay_size == 1e5
    assert config.memory_step == 0.1
    assert round(config.learning_rate * 1e6, 2) == 7.92
    assert config.rmsprop_decay == 0.95
    assert config.rmsprop_epsilon == 1e-2
    assert config.epsilon_initial == 1
    assert config.epsilon_final == 5e-3
    assert config.epsilon_anneal_start_steps == 5e3
    assert config.epsilon_anneal_end_steps == 25e3
    assert config.discount == 0.99
    assert config.delta == 1e-3
    assert config.batch_size == 32
    assert config.return_steps == 100
    assert config.key_size == 64
    assert config.learning_start_steps == 1e3


@examples(60)
@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1)
)
def test_returns_sum_n_rewards_and_then_trust_the_memory(
    rewards: list[float], n: int, discount: float, seed: int
) -> None:
    best = np.random.default_rng(seed).standard_normal(len(rewards))
    expected = []
    for t in range(len(rewards)):
        total = sum(discount**i * reward for i, reward in enumerate(rewards[t : t + n]))
        if t + n < len(rewards):
            total += discount**n * best[t + n]
        expected.append(total)
    np.testing.assert_allclose(n_step_returns(np.array(rewards), best, n, discount), expected, rtol=1e-5, atol=1e-4)


def central_differences(function: Callable[[], float], numbers: torch.Tensor, step: float = 1e-6) -> torch.Tensor:
    slopes = torch.zeros_like(numbers)
    flat, out = numbers.view(-1), slopes.view(-1)
    for i in range(len(flat)):
        middle = float(flat[i])
        flat[i] = middle + step
        above = function()
        flat[i] = middle - step
        below = function()
        flat[i] = middle
        out[i] = (above - below) / (2 * step)
    return slopes


def estimate(
    h: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, there: torch.Tensor, delta: float
) -> torch.Tensor:
    """Q(s, a) = Σ wᵢ Qᵢ / Σ wᵢ, wᵢ = 1/(‖h − hᵢ‖² + δ): h [B, d], keys [B, k, d], values and `there` [B, k]."""
    weights = there / ((h.unsqueeze(1) - keys).square().sum(2) + delta)
    return (weights * values).sum(1) / weights.sum(1)


def test_gradients_agree_with_central_differences() -> None:
    """Of the loss with respect to keys, the stored keys and the stored values, in float64."""
    rng = np.random.default_rng(0)
    batch, k, dims = 5, 4, 6
    h = torch.from_numpy(rng.standard_normal((batch, dims)) * 0.3)
    keys = torch.from_numpy(rng.standard_normal((batch, k, dims)) * 0.3)
    values = torch.from_numpy(rng.standard_normal((batch, k)))
    there = torch.ones(batch, k, dtype=torch.bool)
    there[1, 2:] = False  # a table with two entries only
    returns = torch.from_numpy(rng.standard_normal(batch))

    def loss() -> float:
        return float((estimate(h, keys, values, there, 1e-3) - returns).square().mean())

    estimated = Estimate(h, Near(keys, values, there, torch.tensor(True)), torch.zeros(batch, 1), 1e-3)
    torch.testing.assert_close(estimated.q[:, 0], estimate(h, keys, values, there, 1e-3))
    slope = 2 * (estimated.q - returns[:, None]) / batch
    gradients = estimated.slope_of_h(slope), *estimated.slopes_of_entries(slope)
    for numbers, gradient in zip((h, keys, values), gradients, strict=True):
        slopes = central_differences(loss, numbers)
        torch.testing.assert_close(gradient, slopes, rtol=1e-5, atol=1e-7)
        assert gradient.abs().max() > 1e-6, "nothing to compare"


def test_rmsprop_has_epsilon_inside_the_root() -> None:
    parameter = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
    optimiser = RMSprop([parameter], learning_rate=0.1, decay=0.9, epsilon=1e-2)
    theta, square = np.array([1.0, -2.0]), np.zeros(2)
    for gradient in ([0.5, -1.0], [0.1, 3.0]):
        g = np.array(gradient)
        square = 0.9 * square + 0.1 * g**2
        theta = theta - 0.1 * g / np.sqrt(square + 1e-2)
        optimiser.step([torch.tensor(gradient)])
    np.testing.assert_allclose(parameter.detach().numpy(), theta, rtol=1e-6)


def test_learning_reduces_the_residual() -> None:
    agent = NEC("CartPole-v1", seed=0, capacity=200, learning_rate=1e-3, learning_start_steps=10**9, **QUICK)
    agent.learn(3000)

    def residual() -> float:
        batch = agent.replay.sample(np.random.default_rng(1), 500)
        q = agent.q_values(batch.observations)[np.arange(500), batch.actions]
        return float(np.square(q - batch.returns).mean())

    before = residual()
    for _ in range(200):
        agent.learn_batch(agent.replay.sample(agent.replay_rng, 32))
    assert residual() < 0.9 * before


def test_learning_the_memory_moves_stored_keys_and_values() -> None:
    """One step by hand: θ ← θ − η g/√(m + ε) for every entry that was a neighbour, its gradients summed."""
    agent = NEC(
        "CartPole-v1", seed=0, learn_memory=True, learning_rate=1e-2, **{**SMALL, "learning_start_steps": 10**9}
    )
    agent.learn(1500)
    before = [agent.memory.entries(action) for action in range(2)]
    assert (agent.memory.companions == 0).all()
    batch = agent.replay.sample(agent.replay_rng, 32)
    h = torch.from_numpy(agent.network(batch.observations))
    near = agent.memory.look_up(batch.actions, h.numpy())
    stored = [
        (torch.from_numpy(b["keys"]).requires_grad_(), torch.from_numpy(b["values"]).requires_grad_()) for b in before
    ]
    q = torch.stack(
        [
            estimate(
                h[i : i + 1],
                stored[action][0][near.slots[i].astype(np.int64)][None],
                stored[action][1][near.slots[i].astype(np.int64)][None],
                torch.ones(1, near.slots.shape[1]),
                1e-3,
            )[0]
            for i, action in enumerate(batch.actions)
        ]
    )
    (q - torch.from_numpy(batch.returns)).square().mean().backward()  # type: ignore[no-untyped-call]
    agent.learn_batch(batch)
    for action, (keys, values) in enumerate(stored):
        after = agent.memory.entries(action)
        for name, old in (("keys", keys), ("values", values)):
            assert old.grad is not None
            gradient = old.grad.numpy()
            expected = old.detach().numpy() - 1e-2 * gradient / np.sqrt(0.05 * gradient**2 + 1e-2)
            np.testing.assert_allclose(after[name], expected, rtol=1e-4, atol=1e-5)
    assert (agent.memory.companions > 0).any()
    agent.memory.check_valid()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_the_optimiser_knew_is_reset_or_merged_with_its_entry(strategy: str) -> None:
    agent = NEC("CartPole-v1", seed=0, strategy=strategy, learn_memory=True, **SMALL).learn(800)
    memory = agent.memory
    memory._tables.companions[:] = 1
    action, size = 0, int(memory.size[0])
    before = memory.entries(action)
    key = np.full((1, 64), 0.123, np.float32)
    memory.write(action, key, [3.0])
    after = memory.entries(action)
    (changed,) = np.flatnonzero((before["keys"] != after["keys"]).any(axis=1))
    known = memory.companions[action, changed]
    if (after["keys"][changed] == key[0]).all():
        assert (known == 0).all()
    else:
        n = before["n"][changed]
        np.testing.assert_allclose(known, n / (n + 1), rtol=1e-6)
    others = np.delete(memory.companions[action, :size], changed, axis=0)
    assert (others == 1).all()


def test_a_state_is_recognised_by_its_observation_not_by_its_key() -> None:
    """So the rule for states met before does not depend on the bits of a key, which change as the network learns."""
    agent = NEC(Corridor, seed=0, capacity=50, learning_start_steps=10, learning_rate=1e-2, **QUICK).learn(1500)
    assert agent.memory.size.tolist() == [5, 5]  # five cells, however many keys they have had


def test_keys_have_the_same_bits_alone_and_in_a_batch() -> None:
    agent = NEC("CartPole-v1", seed=0, **SMALL).learn(500)
    batch = np.random.default_rng(0).standard_normal((100, 4)).astype(np.float32)
    together = agent.network(batch)
    for observation, key in zip(batch, together, strict=True):
        np.testing.assert_array_equal(agent.network(observation[None])[0], key)
    actions = agent.predict(batch)[0]
    assert all(agent.predict(observation)[0] == action for observation, action in zip(batch, actions, strict=True))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns_a_corridor(strategy: str) -> None:
    agent = NEC(Corridor, strategy=strategy, capacity=10, neighbours=2, seed=0, learning_start_steps=100, **QUICK)
    assert evaluate_policy(agent.learn(3000), Corridor, 5) == (1, 0)


@pytest.mark.parametrize("options", [{}, {"learn_memory": True}, {"strategy": "dkm"}, {"strategy": "rew"}])
def test_the_same_seed_gives_the_same_bits_and_another_does_not(options: dict[str, Any]) -> None:
    one, same, other = (NEC("CartPole-v1", seed=seed, **SMALL, **options).learn(900) for seed in (5, 5, 6))
    assert_same_state(one, same)
    assert not np.array_equal(one.memory.entries(0)["keys"], other.memory.entries(0)["keys"])


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("CartPole-v1", {}),
        ("CartPole-v1", {"learn_memory": True, "strategy": "kmeans"}),
        ("CartPole-v1", {"strategy": "sur", "replay_size": 200}),
        ("engram/OpenRoom-v0", {"strategy": "dkm"}),
        ("Acrobot-v1", {"strategy": "rew"}),
        ("engram/OpenRoom-v0", {"match_key": "older"}),
        ("CartPole-v1", {"strategy": "dkm", "clusters_by": "observations"}),
    ],
)
def test_saving_and_loading_mid_episode_changes_nothing(tmp_path: Path, env: str, options: dict[str, Any]) -> None:
    whole = NEC(env, seed=2, **SMALL, **options).learn(1200)
    part = NEC(env, seed=2, **SMALL, **options)
    interrupted = []
    for steps in (1, 450, 149):
        part.learn(steps)
        interrupted.append(part.loop.length > 0)
        part.save(tmp_path / "model.safetensors")
        loaded = load(tmp_path / "model.safetensors")
        assert isinstance(loaded, NEC)
        part = loaded
    assert any(interrupted)
    assert_same_state(whole, part.learn(600))


def test_evaluation_leaves_the_agent_as_it_was() -> None:
    agent, untouched = (NEC("CartPole-v1", seed=1, **SMALL).learn(600) for _ in range(2))
    evaluate_policy(agent, "CartPole-v1", 3)
    assert_same_state(agent, untouched)


class Screen(Corridor):
    """The corridor as four stacked frames of 84 × 84 pixels."""

    observation_space: Any = gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)

    def reset(self, **options: Any) -> Any:
        self.frames = np.zeros((4, 84, 84), np.uint8)
        return super().reset(**options)

    def _observation(self) -> Any:
        self.frames = np.roll(self.frames, -1, axis=0)
        self.frames[-1] = 0
        self.frames[-1, :, self.cell * 16 : self.cell * 16 + 16] = 200
        return self.frames.copy()


def test_images_go_through_convolutions_and_resume_exactly(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "seed": 0,
        "key_size": 16,
        "replay_size": 300,
        "learning_start_steps": 50,
        "capacity": 40,
    }
    whole = NEC(Screen, **settings).learn(160)
    assert [type(layer).__name__ for layer in whole.network.module.children()][::2][:3] == ["Conv2d"] * 3
    part = NEC(Screen, **settings).learn(90)
    part.save(tmp_path / "model.safetensors")
    assert_same_state(whole, NEC.load(tmp_path / "model.safetensors", Screen).learn(70))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"capacity": 0}, "capacity must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"memory_step": 2}, "memory_step must be a number from 1e-09 to 1, got 2"),
        ({"strategy": "kmean"}, "did you mean 'kmeans'"),
        ({"device": "gpu"}, "device must be one of"),
        ({"keysize": 5}, "did you mean 'key_size'"),
        ({"match_key": "old"}, "match_key must be one of 'newer', 'older', got 'old'"),
        ({"clusters_by": "states"}, "clusters_by must be one of 'keys', 'observations', got 'states'"),
        ({"clusters_by": "observations"}, r"a compiled strategy that merges .*, got 'lru'"),
        (
            {"clusters_by": "observations", "strategy": "dkm", "encoder": "scaled"},
            'clusters_by="observations" needs encoder=None, got .scaled.; leave it out',
        ),
        (
            {"clusters_by": "observations", "strategy": "dkm", "device": "auto"},
            'clusters_by="observations" needs device=.cpu., got .auto.; leave it out',
        ),
    ],
)
def test_bad_settings_are_refused_before_any_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        NEC("CartPole-v1", **settings)


def test_clusters_by_observations_need_vectors_and_whole_episodes() -> None:
    settings: dict[str, Any] = {"strategy": "kmeans", "clusters_by": "observations", "seed": 0}
    with pytest.raises(InvalidInputError, match=r"needs observations that are vectors, got shape \(4, 84, 84\)"):
        NEC(Screen, capacity=5, replay_size=50, **settings)
    with pytest.raises(InvalidInputError, match=r"must fit into the replay: .* replay_size is 8; choose a larger one"):
        NEC("CartPole-v1", capacity=5, replay_size=8, **settings).learn(200)


def test_clusters_are_found_by_what_was_observed() -> None:
    """With a network that makes the same key of everything, observations still tell states apart."""
    settings: dict[str, Any] = {"strategy": "kmeans", "capacity": 10, "seed": 0, "learning_start_steps": 10_000}
    by_keys, by_observations = (NEC("CartPole-v1", clusters_by=by, **settings) for by in ("keys", "observations"))
    for agent in (by_keys, by_observations):
        agent.network.dense.parameters[:] = 0
        agent.learn(600)
    merged = [sorted(agent.memory.entries(0)["n"].tolist()) for agent in (by_keys, by_observations)]
    assert merged[0][:9] == [1] * 9, "all at distance 0: the first takes in everything"
    assert merged[1][5] > 1


def test_a_state_met_again_keeps_its_older_key_only_if_it_is_to() -> None:
    """The network learns, so that the key of a place changes from one visit to the next."""
    options: dict[str, Any] = {"seed": 0, "capacity": 200, "learning_start_steps": 50, "learning_rate": 1e-2}
    newer, older = (NEC(Corridor, match_key=which, **options).learn(150) for which in ("newer", "older"))
    for agent, stays in ((newer, False), (older, True)):
        before = agent.memory.entries(0)
        agent.learn(300)
        after = agent.memory.entries(0)
        there = slice(len(before["states"]))
        assert np.array_equal(before["states"], after["states"][there])
        assert np.array_equal(before["keys"], after["keys"][there]) is stays
        assert not np.array_equal(before["values"], after["values"][there])


def test_a_missing_gpu_is_named() -> None:
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInputError, match=r"PyTorch sees no GPU"):
            NEC("CartPole-v1", device="cuda")
        assert NEC("CartPole-v1", device="auto").device == "cpu"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_it_balances_the_pole(seed: int) -> None:
    """Above 195 within 50,000 steps, of which 30,000 suffice: k-means with 3,000 entries, and a faster network."""
    agent = NEC(
        "CartPole-v1",
        strategy="kmeans",
        capacity=3000,
        learning_rate=1e-4,
        epsilon_anneal_start_steps=1_000,
        epsilon_anneal_end_steps=10_000,
        seed=seed,
    ).learn(20_000)
    scores = [evaluate_policy(agent.learn(1000), "CartPole-v1")[0] for _ in range(10)]
    assert np.mean(scores) > 195, scores


@pytest.mark.slow
def test_lru_with_room_for_every_state_solves_the_open_room() -> None:
    """200 entries, ε annealed from step 2,000 to 12,000: over five seeds, nine of ten evaluations reach the goal."""
    scores = []
    for seed in range(5):
        agent = NEC(
            "engram/OpenRoom-v0",
            strategy="lru",
            capacity=200,
            epsilon_anneal_start_steps=2_000,
            epsilon_anneal_end_steps=12_000,
            seed=seed,
        ).learn(15_000)
        scores.append([evaluate_policy(agent.learn(500), "engram/OpenRoom-v0")[0] for _ in range(10)])
    assert np.mean(scores) > 0.9, scores
