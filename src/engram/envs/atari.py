"""Atari games with the preprocessing of the paper, done by ale-py at about the speed of the bare emulator."""

from typing import Any

import gymnasium
import numpy as np

from engram.errors import MissingExtraError
from engram.typing import Array

SEEDS = 2**31  # the emulator's seeds have 31 bits
GAMES = {  # of the paper, by their ids
    "engram/Bowling-v0": "bowling",
    "engram/MsPacman-v0": "ms_pacman",
    "engram/Pong-v0": "pong",
    "engram/SpaceInvaders-v0": "space_invaders",
    "engram/Qbert-v0": "qbert",
}


class AtariGame(gymnasium.Env[Array, np.int64]):
    """A game as four stacked frames [4, 84, 84] of grey bytes; a step is four frames of the game.

    As the paper has it: the maximum of the last two frames, up to 30 no-ops at the start, the game's own actions, and
    neither sticky actions nor clipped rewards, nor a fire button pressed at the start; at most 108,000 frames.

    Args:
        game: The name of its ROM, e.g. "pong", "ms_pacman".
    """

    def __init__(self, game: str) -> None:
        try:
            from ale_py.vector_env import AtariVectorEnv  # noqa: PLC0415 (an extra)
        except ModuleNotFoundError as error:
            raise MissingExtraError('Atari games need ale-py; pip install "engram-rl[atari]"') from error
        self._games = AtariVectorEnv(
            game,
            num_envs=1,
            max_num_frames_per_episode=108_000,
            repeat_action_probability=0.0,
            noop_max=30,
            use_fire_reset=False,
            reward_clipping=False,
            episodic_life=False,
        )
        self.observation_space = self._games.single_observation_space
        self.action_space = self._games.single_action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        """Begin a game; equal seeds begin equal games, whatever was played before."""
        super().reset(seed=seed)
        observations, _ = self._games.reset(seed=None if seed is None else seed % SEEDS)
        return observations[0].copy(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Hold an action for four frames."""
        observations, rewards, terminated, truncated, _ = self._games.step(np.array([action]))
        return observations[0].copy(), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}

    def close(self) -> None:
        """Let the emulator go."""
        self._games.close()


def register_games() -> None:
    """Make the paper's games known to `gymnasium.make`; again is allowed and does nothing."""
    for name, game in GAMES.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name, entry_point="engram.envs.atari:AtariGame", kwargs={"game": game}, disable_env_checker=True
            )
