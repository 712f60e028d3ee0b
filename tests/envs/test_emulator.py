"""The emulator between games, beside ale-py's own environment, which loads a game anew for each seed."""

import re
import subprocess
import sys
from collections import deque
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv
from hypothesis import given
from hypothesis import strategies as st

from engram.envs import emulator
from engram.envs.atari import AtariGame
from engram.envs.emulator import ACTING_FIRST, Dice, borrow, give_back
from engram.errors import InvalidInputError
from engram.paper.atari100k.games import BENCHMARK, BESIDE
from tests.examples import examples

SEEDS = (3, 0, 11, 2**31 - 1)


def assert_same_games(game: str, steps: int, **options: Any) -> None:
    """Games of several seeds, one after the other, have ale-py's frames, rewards, ends and lives."""
    ours = AtariGame(game, **options)
    theirs = AtariVectorEnv(
        game,
        num_envs=1,
        num_threads=1,
        reward_clipping=bool(options.get("clip_rewards", False)),
        use_fire_reset=bool(options.get("fire_reset", False)),
        full_action_space=bool(options.get("full_action_space", False)),
        repeat_action_probability=float(options.get("repeat_action_probability", 0)),
        frameskip=int(options.get("frame_skip", 4)),
        noop_max=int(options.get("noop_max", 30)),
        max_num_frames_per_episode=int(options.get("max_frames", 108_000)),
    )
    rng = np.random.default_rng(0)
    for seed in SEEDS:
        (seen, info), (expected, infos) = ours.reset(seed=seed), theirs.reset(seed=seed)
        np.testing.assert_array_equal(seen, expected[0])
        assert info["lives"] == infos["lives"][0]
        for _ in range(steps):
            action = int(rng.integers(ours.action_space.n))  # type: ignore[attr-defined]
            seen, reward, terminated, truncated, info = ours.step(action)
            expected, rewards, ends, cuts, infos = theirs.step(np.array([action]))
            np.testing.assert_array_equal(seen, expected[0])
            assert (reward, terminated, truncated) == (rewards[0], ends[0], cuts[0])
            assert info["lives"] == infos["lives"][0]
            if terminated or truncated:
                break
    ours.close()


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("qbert", {}),
        ("breakout", {"repeat_action_probability": 0.25, "fire_reset": True}),
        ("pong", {"full_action_space": True, "frame_skip": 1, "noop_max": 0}),
        ("double_dunk", {"repeat_action_probability": 0.25}),  # it acts before it begins
        ("freeway", {"frame_skip": 3, "max_frames": 100, "clip_rewards": True, "noop_max": 1}),
    ],
)
def test_games_are_ale_pys(game: str, options: dict[str, Any]) -> None:
    assert_same_games(game, 120, **options)


@pytest.mark.slow
@pytest.mark.parametrize("game", sorted(ACTING_FIRST))
def test_games_that_act_before_they_begin_are_ale_pys_with_sticky_actions(game: str) -> None:
    assert_same_games(game, 100, repeat_action_probability=0.6, noop_max=0)
    assert_same_games(game, 100)  # in the emulator that has been sticky


@pytest.mark.slow
@pytest.mark.parametrize("stickiness", [0.0, 0.25])
@pytest.mark.parametrize("game", [*BENCHMARK, *BESIDE])
def test_all_games_are_ale_pys(game: str, stickiness: float) -> None:
    assert_same_games(game, 1_000, repeat_action_probability=stickiness)


def test_an_emulator_that_was_given_back_begins_as_a_new_one() -> None:
    played = AtariGame("pong")
    played.reset(seed=1)
    for _ in range(30):
        played.step(2)
    lent = played._emulator
    played.close()
    played.close()  # which gives it back once
    again, fresh = borrow("pong"), AtariGame("pong")
    assert again is lent
    give_back(again)
    with AtariGame("pong") as game:
        assert game._emulator is lent
        np.testing.assert_array_equal(game.reset(seed=2)[0], fresh.reset(seed=2)[0])
        for action in range(20):
            np.testing.assert_array_equal(game.step(action % 6)[0], fresh.step(action % 6)[0])
    unbegun = AtariGame("pong")
    with pytest.raises(InvalidInputError, match=r"no game has begun; call reset\(\) before step\(\)"):
        unbegun.step(2)
    for wrong in (-1, 6, "1", 1.0, None, [1]):
        with pytest.raises(InvalidInputError, match=rf"pong has actions from 0 to 5, got {re.escape(repr(wrong))}"):
            fresh.step(wrong)
    with pytest.raises(InvalidInputError, match="this game of pong was closed; make another"):
        played.step(0)


def test_only_so_many_emulators_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "_spare", deque(maxlen=2))
    pong, other = borrow("pong"), borrow("pong")
    breakout = borrow("breakout")
    for each in (pong, breakout, breakout, other):  # given back twice, it is kept once
        give_back(each)
    assert borrow("breakout") is breakout
    assert borrow("pong") is other
    assert borrow("pong") is not pong


def test_a_program_that_ends_says_nothing_of_emulators_that_it_still_has() -> None:
    """PyTorch keeps modules until after ale-py has looked for what outlived it."""
    program = (
        "from engram import D3QN, evaluate_policy; agent = D3QN('engram/Pong-v0', replay_size=1000); agent.learn(5); "
        "evaluate_policy(agent, 'engram/Pong-v0', n_eval_episodes=3, max_steps=10)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("game", ["combat", "warlords"])
def test_a_game_that_the_emulator_cannot_score_is_refused(game: str) -> None:
    with pytest.raises(InvalidInputError, match=f"the emulator has no rewards for '{game}'"):
        AtariGame(game)


@examples(20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 1000))
def test_idle_frames_are_below_their_limit_and_the_same_for_a_seed(seed: int, limit: int) -> None:
    assert Dice(seed, 0.25).idle_frames(limit) == Dice(seed, 0).idle_frames(limit) < limit


def test_idle_frames_are_spread_evenly() -> None:
    counts = np.bincount([Dice(seed, 0).idle_frames(30) for seed in range(3_000)], minlength=30)
    assert len(counts) == 30
    assert abs(counts - 100).max() < 45


def test_actions_are_repeated_as_often_as_was_asked_for() -> None:
    dice, steps = Dice(7, 0.25), 4_000
    taken = [dice.action(1 + step) for step in range(steps)]
    repeated = np.mean([before == after for before, after in pairwise(taken)])
    assert abs(repeated - 0.25) < 0.03
    assert set(np.diff(taken)) >= {0, 1, 2, 3}  # what is repeated is the action taken last, not the one chosen last
    dice.forget()
    assert {Dice(seed, 0.5).action(9) for seed in range(20)} == {0, 9}  # a game begins after idling
    assert [Dice(7, 0).action(code) for code in range(5)] == list(range(5))
