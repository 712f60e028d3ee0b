"""Compiled learning steps against PyTorch's autograd: the same batches lead to the same weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, NEC, load
from engram.agents.learners.keys_torch import TorchKeys
from engram.agents.learners.q_torch import TorchQ
from engram.errors import DivergedError
from engram.networks.mlp import MLP
from engram.replay.returns import ReturnBatch
from engram.replay.transitions import Batch

RATE = 1e-3


def assert_same_weights(ours: dict[str, Any], theirs: dict[str, Any], *, moved: dict[str, Any] | None = None) -> None:
    assert list(ours) == list(theirs)
    for name, weights in ours.items():
        np.testing.assert_allclose(weights, np.asarray(theirs[name]), rtol=1e-3, atol=2e-6, err_msg=name)
        assert moved is None or (weights != moved[name]).any()


@pytest.mark.parametrize("env", ["CartPole-v1", "Acrobot-v1"])
@pytest.mark.parametrize("options", [{}, {"dueling": False}, {"double": False}, {"bootstrap_truncated": True}])
def test_d3qn_learns_as_pytorch_does(env: str, options: dict[str, Any]) -> None:
    agent = D3QN(env, seed=3, learning_rate=RATE, **options)
    ours, actions = agent.learner, agent.spaces.actions
    theirs = TorchQ(ours.front, MLP(), actions, ours.settings, np.random.default_rng(0), "cpu")
    begun = ours.online.state_dict()
    theirs.online.load_state_dict(begun)
    theirs.renew_target()
    rng, sums = np.random.default_rng(1), (np.zeros(3), np.zeros(3))
    for step in range(30):
        batch = Batch(
            observations=rng.standard_normal((32, *agent.spaces.observation_shape)).astype(np.float32),
            actions=rng.integers(actions, size=32),
            rewards=(rng.standard_normal(32) * 3).astype(np.float32),
            next_observations=rng.standard_normal((32, *agent.spaces.observation_shape)).astype(np.float32),
            terminated=rng.random(32) < 0.2,
            truncated=rng.random(32) < 0.2,
        )
        expected = D3QN.q_values(agent, batch.observations)[np.arange(32), batch.actions] - ours.targets(batch)
        before = sums[0].copy()
        for learner, each in zip((ours, theirs), sums, strict=True):
            learner.learn(batch, each)
            if step == 15:
                learner.renew_target()
        huber = np.where(np.abs(expected) <= 1, expected**2 / 2, np.abs(expected) - 0.5).mean()
        assert (sums[0] - before)[1] == pytest.approx(huber, rel=1e-4)
        np.testing.assert_allclose(ours(batch.observations), theirs(batch.observations), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(ours.targets(batch), theirs.targets(batch), rtol=1e-3, atol=1e-5)
    assert sums[0][0] == 30
    np.testing.assert_allclose(*sums, rtol=1e-3)
    assert_same_weights(ours.online.state_dict(), theirs.online.state_dict(), moved=begun)
    assert_same_weights(ours.target.state_dict(), theirs.target.state_dict(), moved=begun)
    assert_same_weights(ours.optimiser.state_dict(), theirs.optimiser.state_dict())


@pytest.mark.parametrize("learn_memory", [False, True])
@pytest.mark.parametrize("entries", [0, 1, 5, 40])
def test_nec_learns_as_pytorch_does(learn_memory: bool, entries: int) -> None:
    """Tables with fewer entries than neighbours, and an empty one, are among those looked up."""
    settings: dict[str, Any] = {"capacity": 40, "neighbours": 11, "learn_memory": learn_memory, "learning_rate": RATE}
    ours, theirs = (NEC("CartPole-v1", seed=2, **settings) for _ in range(2))
    theirs.network = TorchKeys(ours.network.front, MLP(), ours.network.settings, np.random.default_rng(0), "cpu")
    begun = ours.network.state_dict()
    theirs.network.load_state_dict(begun)
    rng = np.random.default_rng(entries)
    for agent in (ours, theirs):
        stored = np.random.default_rng(7).standard_normal((40, 64)).astype(np.float32) * 0.1
        agent.memory.write(1, stored, stored[:, 0] * 10)
        agent.memory.write(0, stored[:entries] + 1, stored[:entries, 1])
        agent.tally.listening = True
    for _ in range(20):
        batch = ReturnBatch(
            observations=rng.standard_normal((32, 4)).astype(np.float32),
            actions=rng.integers(2, size=32),
            returns=rng.standard_normal(32).astype(np.float32) * 5,
        )
        read = ours.memory.read(ours.network(batch.observations))[np.arange(32), batch.actions]
        counted = (batch.actions == 1) | (entries > 0)
        loss, before = ((read - batch.returns)[counted] ** 2).mean(), ours.tally.sums.copy()
        for agent in (ours, theirs):
            agent.learn_batch(batch)
        assert (ours.tally.sums - before)[1] == pytest.approx(loss, rel=1e-4)
    assert ours.tally.sums[0] == 20
    np.testing.assert_allclose(ours.tally.sums, theirs.tally.sums, rtol=1e-3)
    assert_same_weights(ours.network.state_dict(), theirs.network.state_dict(), moved=begun)
    assert_same_weights(ours.network.optimiser.state_dict(), theirs.network.optimiser.state_dict())
    for action in range(2):
        assert_same_weights(ours.memory.entries(action), theirs.memory.entries(action))
    np.testing.assert_allclose(ours.memory.companions, theirs.memory.companions, rtol=2e-3, atol=1e-7)


def test_a_batch_of_nothing_but_empty_tables_changes_nothing() -> None:
    agent = NEC("CartPole-v1", seed=0, learning_rate=RATE, capacity=5)
    before = agent.network.state_dict()
    agent.learn_batch(ReturnBatch(np.ones((4, 4), np.float32), np.zeros(4, np.int64), np.ones(4, np.float32)))
    assert all((before[name] == weights).all() for name, weights in agent.network.state_dict().items())


def test_gradients_that_overflow_are_an_error_and_change_nothing() -> None:
    agent = D3QN("CartPole-v1", seed=0)
    before = agent.online.state_dict()
    far = np.full((4, 4), 1e30, np.float32)
    never = np.zeros(4, np.bool_)
    with pytest.raises(DivergedError, match="learning has diverged"):
        agent.learn_batch(Batch(far, np.zeros(4, np.int64), np.ones(4, np.float32), far, never, never))
    assert all((before[name] == weights).all() for name, weights in agent.online.state_dict().items())
    for learn_memory in (False, True):
        nec = NEC("CartPole-v1", seed=0, capacity=5, learn_memory=learn_memory, delta=1e-12)
        key = nec.network(np.zeros((1, 4), np.float32))
        nec.memory.write(0, np.concatenate([key, key + 1e-7]), np.array([1e17, -1e17]))
        begun = nec.network.state_dict()
        with pytest.raises(DivergedError, match="learning has diverged"):
            nec.learn_batch(ReturnBatch(np.zeros((1, 4), np.float32), np.zeros(1, np.int64), np.zeros(1, np.float32)))
        assert all((begun[name] == weights).all() for name, weights in nec.network.state_dict().items())
        assert nec.memory.entries(0)["values"].tolist() == pytest.approx([1e17, -1e17])


@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_weights_beyond_what_can_be_loaded_are_an_error_and_leave_the_last_good_ones(kind: Any, tmp_path: Path) -> None:
    wild: dict[str, Any] = {"learning_rate": 1.0, "rmsprop_decay": 1.0, "rmsprop_epsilon": 1e-12}
    agent = kind("CartPole-v1", seed=1, learning_start_steps=50, **wild, **({"capacity": 100} if kind is NEC else {}))
    with pytest.raises(DivergedError, match=r"weights pass ±1e\+06"):
        agent.learn(5_000)
    agent.check_valid()
    agent.save(tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors").steps == agent.steps


def test_what_could_not_be_loaded_again_is_not_saved(tmp_path: Path) -> None:
    for kind in (NEC, D3QN):
        agent: Any = kind("CartPole-v1", seed=1).learn(60)
        agent.save(tmp_path / "model.safetensors")
        before = (tmp_path / "model.safetensors").read_bytes()
        (agent.network.dense if kind is NEC else agent.target).parameters[3] = 2e6
        with pytest.raises(DivergedError, match="nothing can be saved"):
            agent.save(tmp_path / "model.safetensors")
        assert (tmp_path / "model.safetensors").read_bytes() == before


def test_entries_that_diverge_say_so() -> None:
    agent = NEC("CartPole-v1", seed=0, capacity=5, learn_memory=True, learning_rate=1.0, rmsprop_epsilon=1e-30)
    key = agent.network(np.zeros((1, 4), np.float32))
    agent.memory.write(0, np.concatenate([key + 0.5, key - 0.5]), np.array([9e16, -9e16]))
    batch = ReturnBatch(np.zeros((1, 4), np.float32), np.zeros(1, np.int64), np.full(1, -1e17, np.float32))

    def learn_on() -> None:
        for _ in range(50):
            agent.learn_batch(batch)

    with pytest.raises(DivergedError):
        learn_on()
    agent.memory.check_valid()
