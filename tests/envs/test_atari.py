"""Atari games: the paper's preprocessing, games decided by their seed, and exact resumption for every agent."""

from pathlib import Path
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from PIL import Image

from engram import D3QN, MFEC, NEC
from engram.agents import Agent
from engram.envs.atari import GAMES, OPTIONS, AtariGame
from engram.envs.make import EnvSource, make_by_id, resolved_options
from engram.envs.names import parse_id
from engram.errors import InvalidInputError
from engram.training.evaluation import play_episodes
from engram.training.events import EpisodeEnd
from tests.conftest import assert_same_state


def pong() -> AtariGame:
    return AtariGame("pong")


def test_the_same_seed_gives_the_same_game_whatever_was_played_before() -> None:
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


@pytest.mark.parametrize("name", GAMES)
def test_frames_rewards_and_lives_are_those_of_gymnasiums_wrappers(name: str) -> None:
    """Frame skip, pixelwise maximum, grey, 84 × 84, four stacked; minimal actions, no sticky actions, no clipping."""
    gymnasium.register_envs(ale_py)
    ours = AtariGame(GAMES[name], noop_max=0)
    plain = gymnasium.make(f"ALE/{name[7:-3]}-v5", frameskip=1, repeat_action_probability=0.0)
    theirs = FrameStackObservation(AtariPreprocessing(plain, noop_max=0), 4, padding_type="zero")
    assert ours.action_space.n == theirs.action_space.n  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    seen, expected = ours.reset(seed=3)[0], theirs.reset(seed=3)[0]
    lives = int(theirs.unwrapped.ale.lives())  # type: ignore[attr-defined]
    lost = 0
    for _ in range(400):
        np.testing.assert_array_equal(seen, expected)
        action = int(rng.integers(ours.action_space.n))  # type: ignore[attr-defined]
        seen, *ours_rest, info = ours.step(action)
        expected, *theirs_rest, _ = theirs.step(action)
        assert ours_rest == theirs_rest
        before, lives = lives, int(theirs.unwrapped.ale.lives())  # type: ignore[attr-defined]
        assert info["lives"] == lives
        assert info.get("life_lost", False) == (lives < before and not ours_rest[1])
        lost += lives < before
        if ours_rest[1]:
            break
    assert lost > 0 or before == 0, "the game has lives, and none was lost"


def test_the_screen_that_is_rendered_is_that_of_the_game_being_played() -> None:
    game = AtariGame("pong", render_mode="rgb_array", repeat_action_probability=0.25)
    plain = AtariGame("pong", repeat_action_probability=0.25)
    actions = np.random.default_rng(0).integers(6, size=300)
    for env in (game, plain):
        env.reset(seed=5)
    differences = []
    for action in actions.tolist():
        seen, expected = game.step(action)[0], plain.step(action)[0]
        np.testing.assert_array_equal(seen, expected)  # filming changes nothing
        screen = game.render()
        assert screen.shape == (210, 160, 3)
        small = Image.fromarray(screen).convert("L").resize((84, 84), Image.Resampling.BOX)
        differences.append(np.abs(np.asarray(small, np.int64) - seen[-1]).max())
    assert np.median(differences[200:]) < 40  # what moves is mixed in colours there, in greys here; another game: 150
    assert plain.render() is None


def test_a_game_is_truncated_at_its_last_frame() -> None:
    game = AtariGame("pong", max_frames=400, noop_max=0)
    game.reset(seed=0)
    steps = 0
    truncated = False
    while not truncated:
        _, _, terminated, truncated, _ = game.step(0)
        assert not terminated
        steps += 1
    assert steps == 100
    assert OPTIONS["max_frames"] == 108_000


def test_a_lost_life_ends_an_episode_in_training_and_not_in_evaluation() -> None:
    agent = MFEC("engram/MsPacman-v0", capacity=50, seed=0)
    ends = [event for event in agent.events(1_200) if isinstance(event, EpisodeEnd)]
    assert agent.loop.game < agent.loop.episode == len(ends)
    envs = [EnvSource("engram/MsPacman-v0").make()]
    _, (length,) = play_episodes(agent, envs, 1, seed=0)
    reset = envs[0].reset(seed=0)[1]
    assert reset["lives"] == 3
    assert length > max(end.length for end in ends[:3]) / 3
    while True:
        _, _, terminated, _, info = envs[0].step(0)
        if terminated:
            break
    assert info["lives"] == 0


def test_games_are_made_by_name_and_ids_take_options() -> None:
    game = make_by_id("breakout?noop_max=0&life_loss_ends_episode=false")
    assert isinstance(game, AtariGame)
    assert game.options == {**OPTIONS, "noop_max": 0, "life_loss_ends_episode": False}
    assert resolved_options("engram/Pong-v0") == {"game": "pong", **OPTIONS}
    assert parse_id("ALE/Pong-v5?frameskip=4&obs_type=ram") == ("ALE/Pong-v5", {"frameskip": 4, "obs_type": "ram"})
    ram = EnvSource("ALE/Pong-v5?obs_type=ram&frameskip=4")
    assert ram.observation_shape == (128,)
    with pytest.raises(InvalidInputError, match="there is no Atari game 'pongg'"):
        AtariGame("pongg")
    with pytest.raises(InvalidInputError, match="an Atari game has no option 'noops'; its options are frame_skip"):
        AtariGame("pong", noops=3)
    with pytest.raises(InvalidInputError, match="expected option=value"):
        make_by_id("pong?noop_max")


@pytest.mark.slow
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
    whole = kind(game, seed=0, **settings).learn(120)
    kind(game, seed=0, **settings).learn(75).save(tmp_path / "model.safetensors")
    assert_same_state(whole, kind.load(tmp_path / "model.safetensors").learn(45))


@pytest.mark.slow
def test_a_game_is_resumed_after_lost_lives(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"capacity": 200, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 100}
    whole = MFEC("ms_pacman", seed=0, **settings).learn(700)
    part = MFEC("ms_pacman", seed=0, **settings).learn(400)
    assert part.loop.game == 1, "still in the first game"
    assert part.loop.episode > 0, "a life was lost"
    part.save(tmp_path / "model.safetensors")
    assert_same_state(whole, MFEC.load(tmp_path / "model.safetensors").learn(300))


@pytest.mark.parametrize(
    "option",
    [
        *("frame_skip=0", "frame_skip=-1", "frame_skip=2000000000", "stacked_frames=0", "stacked_frames=1000"),
        *("screen_size=0", "screen_size=20000", "screen_size=84.5", 'screen_size="84"', "noop_max=-1", "noop_max=1e12"),
        *("repeat_action_probability=1.5", "repeat_action_probability=NaN", "fire_reset=1", "max_frames=0"),
        *("max_frames=1e30", "clip_rewards=null", "full_action_space=[true]"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_there_is_an_emulator(option: str) -> None:
    name = option.partition("=")[0]
    for game in ("pong", "engram/Pong-v0"):
        with pytest.raises(InvalidInputError, match=f"{name} must be"):
            make_by_id(f"{game}?{option}")
