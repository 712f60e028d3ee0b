"""Atari games: begun by seed, played by every agent, and resumed exactly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, MFEC, NEC
from engram.agents import Agent
from engram.envs.atari import AtariGame
from tests.conftest import assert_same_state


def pong() -> AtariGame:
    return AtariGame("pong")


def test_equal_seeds_begin_equal_games_whatever_was_played_before() -> None:
    played, fresh = pong(), pong()
    played.reset(seed=1)
    for action in range(50):
        played.step(action % 6)
    actions = np.random.default_rng(0).integers(6, size=80)
    for game in (played, fresh):
        game.reset(seed=7)
    for action in actions:
        ours, theirs = played.step(action), fresh.step(action)
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:4] == theirs[1:4]
    assert ours[0].shape == (4, 84, 84)
    assert ours[0].dtype == np.uint8
    assert played.action_space.n == 6  # type: ignore[attr-defined]


@pytest.mark.parametrize("game", ["pong", "ms_pacman", "qbert"])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (MFEC, {"capacity": 50, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 60}),
        (NEC, {"capacity": 50, "key_size": 16, "replay_size": 200, "learning_start_steps": 60}),
        (D3QN, {"feature_size": 16, "replay_size": 200, "learning_start_steps": 60}),
    ],
)
def test_an_interrupted_game_is_resumed_exactly(
    game: str, kind: type[Agent], settings: dict[str, Any], tmp_path: Path
) -> None:
    def make() -> AtariGame:
        return AtariGame(game)

    whole = kind(make, seed=0, **settings).learn(120)
    kind(make, seed=0, **settings).learn(75).save(tmp_path / "model.safetensors")
    assert_same_state(whole, kind.load(tmp_path / "model.safetensors", make).learn(45))
