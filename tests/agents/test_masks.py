"""Action masks: only possible actions are taken, evaluated and learned towards, by every agent and exploration."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, MFEC, NEC, Exploration, View, evaluate_policy, load
from engram.errors import FaultyEnvironmentError, InvalidInputError
from engram.replay.transitions import TransitionReplay
from tests.conftest import assert_same_state
from tests.envs.own_envs import Masked

QUICK: dict[str, Any] = {"epsilon_anneal_start_steps": 1, "epsilon_anneal_end_steps": 400}


@dataclass
class Last(Exploration):
    """An exploration of one's own that knows nothing of masks: now the last action in view, now the best."""

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        assert view.allowed is not None
        assert len(view.q_values()) == len(view.distances()) == view.actions == len(view.allowed)
        return view.actions - 1 if generator.random() < 0.5 else view.greedy(generator)


@pytest.mark.parametrize("exploration", [None, "boltzmann", "mellowmax", "novelty", Last()])
def test_every_exploration_chooses_possible_actions_and_learns(exploration: Any) -> None:
    agent = MFEC(Masked, capacity=50, exploration=exploration, **QUICK).learn(800)  # others raise an error
    assert evaluate_policy(agent, Masked, 5) == (1, 0)


@pytest.mark.parametrize("kind", [MFEC, NEC, D3QN])
def test_every_agent_goes_on_exactly_with_masks(kind: Any, tmp_path: Path) -> None:
    settings = {"replay_size": 150, "batch_size": 8, "learning_start_steps": 20} if kind is not MFEC else {}
    whole = kind(Masked, seed=1, **settings, **QUICK).learn(211).learn(100)
    half = kind(Masked, seed=1, **settings, **QUICK).learn(211)
    assert half.loop.allowed is not None
    half.save(tmp_path / "half.safetensors")
    assert_same_state(whole, load(tmp_path / "half.safetensors", Masked).learn(100))


def test_the_compiled_step_takes_the_same_actions_as_the_plain_one() -> None:
    quick, plain = (MFEC(Masked, capacity=20, seed=2, **QUICK) for _ in range(2))
    assert quick._desk is not None
    plain._desk = None
    plain.unfinished._desk = None
    assert_same_state(quick.learn(500), plain.learn(500))


@pytest.mark.parametrize("kind", [MFEC, NEC, D3QN])
@pytest.mark.parametrize("deterministic", [True, False])
def test_predictions_are_possible_actions(kind: Any, deterministic: bool) -> None:
    agent = kind(Masked, **QUICK).learn(50)
    states = np.arange(6, dtype=np.float32)[:, None]
    for possible in range(4):
        masks = np.tile(np.arange(4) == possible, (6, 1))
        assert set(agent.predict(states, deterministic=deterministic, action_masks=masks)[0]) == {possible + 1}
        assert agent.predict(states[0], deterministic=deterministic, action_masks=masks[0])[0] == possible + 1
    free = agent.predict(states)[0]
    assert free.tolist() == agent.predict(states, action_masks=np.ones((6, 4), int))[0].tolist()


@pytest.mark.parametrize(
    ("masks", "said"),
    [
        ([1, 1, 1], r"action_masks must have shape \(4,\)"),
        ([[1, 1, 1, 1]] * 2, r"action_masks must have shape \(4,\)"),
        ([0, 0, 0, 0], "must allow at least one action, but that of observation 0 allows none"),
        ([1, 2, 0, 0], "hold 0 or 1"),
        (np.ones(4), "got float64"),
    ],
)
def test_masks_that_cannot_be_are_refused(masks: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        MFEC(Masked, capacity=5).predict(np.zeros(1, np.float32), action_masks=masks)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("none", "an action_mask at step 1 that allows no action, though the game goes on"),
        ("long", r"gave the action_mask .* at step 1; it must be an array of 4 whole numbers, 0 or 1"),
        ("float", r"gave the action_mask .* at step 1; it must be an array of 4 whole numbers, 0 or 1"),
    ],
)
def test_an_environments_mask_that_cannot_be_is_its_fault(fault: str, said: str) -> None:
    with pytest.raises(FaultyEnvironmentError, match=said):
        MFEC(lambda: Masked(fault), capacity=5).learn(3)


@pytest.mark.parametrize("compiled", [True, False])
def test_returns_of_nec_trust_the_best_possible_action(compiled: bool) -> None:
    agent = NEC(Masked, capacity=50, **QUICK).learn(500)
    agent.abandon_game()
    if not compiled:
        agent._desk = agent.unfinished._desk = None
    seen = np.array([2], np.float32)
    q = agent.q_values(seen[None])[0]
    for allowed in ([0, 1], [2], [1, 3]):
        agent.loop.allowed = np.array(allowed)
        assert agent.act(seen, 10**6) in allowed
        assert agent.unfinished.best[-1] == q[allowed].max()


def test_targets_of_d3qn_choose_among_possible_actions() -> None:
    agent = D3QN(Masked, replay_size=200, learning_start_steps=10**6, double=False, **QUICK).learn(150)
    batch = agent.replay.sample(np.random.default_rng(0), 64)
    assert batch.masks is not None
    told = agent._with_targets(batch, batch.masks)
    q = agent.learner.target_values(batch.next_observations)
    for row in range(64):
        ended = bool(batch.terminated[row] or batch.truncated[row])
        best = max(q[row, action] for action in range(4) if batch.masks[row, action])
        expected = batch.rewards[row] + (0 if ended else agent.config.discount * best)
        assert told.rewards[row] == pytest.approx(expected, rel=1e-6)
        cell = int(batch.next_observations[row, 0])
        if not ended:
            assert set(np.flatnonzero(batch.masks[row])) == {cell % 4, (cell + 1) % 4}
    assert told.terminated.all()
    everything = np.ones_like(batch.masks)
    np.testing.assert_allclose(agent._with_targets(batch, everything).rewards, agent.learner.targets(batch), rtol=1e-6)


def test_a_replay_stores_masks_only_where_there_are_some() -> None:
    replay = TransitionReplay(4, (1,), np.float32)
    replay.begin(np.zeros(1, np.float32))
    replay.add(0, 0.0, np.ones(1, np.float32))
    assert replay.sample(np.random.default_rng(0), 2).masks is None
    assert "masks" not in replay.state_dict()
    for step in range(2, 12):
        replay.add(0, float(step), np.full(1, step, np.float32), mask=np.arange(3) == step % 3 if step % 2 else None)
    other = TransitionReplay(4, (1,), np.float32)
    other.load_state_dict(replay.state_dict())
    for each in (replay, other):
        batch = each.sample(np.random.default_rng(0), 50)
        assert batch.masks is not None
        for row, seen in enumerate(batch.next_observations[:, 0].astype(int)):
            assert batch.masks[row].tolist() == ((np.arange(3) == seen % 3).tolist() if seen % 2 else [True] * 3)
    with pytest.raises(InvalidInputError, match="masks are of 2 actions"):
        other.check_actions(2)
