"""Atari games with the paper's preprocessing, which ale-py does inside the emulator."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np

from engram import checks
from engram.errors import InvalidInputError, MissingExtraError
from engram.typing import Array

NEEDS_ALE = 'Atari games need ale-py: pip install "engram-rl[atari]"'
SEEDS = 2**31  # the emulator's seeds have 31 bits
GAMES = {  # the paper's: environment id, and name of the ROM
    "engram/Bowling-v0": "bowling",
    "engram/MsPacman-v0": "ms_pacman",
    "engram/Pong-v0": "pong",
    "engram/SpaceInvaders-v0": "space_invaders",
    "engram/Qbert-v0": "qbert",
}
OPTIONS: dict[str, Any] = {  # with the paper's values
    "frame_skip": 4,  # frames per step, of which the last two are combined by their pixelwise maximum
    "stacked_frames": 4,  # frames in an observation
    "screen_size": 84,  # pixels along each side
    "noop_max": 30,  # most idle steps at the start of a game; their number is random
    "repeat_action_probability": 0.0,  # sticky actions: the probability that the last action is repeated
    "fire_reset": False,  # press the fire button after a reset
    "full_action_space": False,  # all eighteen actions instead of the game's minimal set
    "max_frames": 108_000,  # after which a game is truncated
    "clip_rewards": False,  # replace rewards by their signs
    "life_loss_ends_episode": True,  # in training; the game itself continues
}
LIMITS = {  # lowest and highest value of the options that are whole numbers
    "frame_skip": (1, 1_000),
    "stacked_frames": (1, 64),
    "screen_size": (1, 512),  # the emulator's own screen has 210 × 160 pixels
    "noop_max": (0, 10_000),
    "max_frames": (1, 10**9),
}


class AtariGame(gymnasium.Env[Array, np.int64]):
    """An Atari game whose observations are four stacked grey frames, [4, 84, 84] bytes; a step is four frames.

    When a life is lost and the game continues, the step's info has `life_lost`. Training ends its episode there;
    evaluation plays whole games.

    Args:
        game: The name of the ROM, e.g. "pong", "ms_pacman".
        render_mode: "rgb_array" to render the game's own screen, in colour, for which it is played twice.
        options: Any of OPTIONS whose value is not the paper's.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 (Gymnasium's interface)

    def __init__(self, game: str, *, render_mode: str | None = None, **options: Any) -> None:
        self.options = checked_options(options)
        self.render_mode = render_mode
        self._game = game
        self._games = _emulator(game, self.options)
        self._screen = _emulator(game, self.options, screen=True) if render_mode == "rgb_array" else None
        self.observation_space = self._games.single_observation_space
        self.action_space = self._games.single_action_space
        self._lives = 0
        self._picture: Array | None = None  # of the screen, where it is rendered

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        """Begin a game; the same seed gives the same game, whatever was played before."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(SEEDS)) if seed is None else seed % SEEDS
        observations, infos = self._games.reset(seed=chosen)
        self._lives = int(infos["lives"][0])
        if self._screen is not None:
            self._picture = self._screen.reset(seed=chosen)[0][0, -1]
        return observations[0].copy(), {"lives": self._lives}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Repeat an action for `frame_skip` frames."""
        observations, rewards, terminated, truncated, infos = self._games.step(np.array([action]))
        if self._screen is not None:
            self._picture = self._screen.step(np.array([action]))[0][0, -1]
        lives, before = int(infos["lives"][0]), self._lives
        self._lives = lives
        info: dict[str, Any] = {"lives": lives}
        over = bool(terminated[0]) or bool(truncated[0])
        if self.options["life_loss_ends_episode"] and lives < before and not over:
            info["life_lost"] = True
        return observations[0].copy(), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def get_action_meanings(self) -> list[str]:
        """The names of the actions, such as NOOP or UPRIGHT."""
        emulator = _loaded(self._game)
        full = self.options["full_action_space"]
        return [action.name for action in (emulator.getLegalActionSet() if full else emulator.getMinimalActionSet())]

    def render(self) -> Any:
        """The screen as a person sees it, [height, width, 3]; None without a render mode."""
        return None if self._picture is None else self._picture.copy()

    def close(self) -> None:
        """Close the emulator."""
        self._games.close()
        if self._screen is not None:
            self._screen.close()


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a game, those not given at the paper's values; InvalidInputError for one that cannot be."""
    for name in options:
        if name not in OPTIONS:
            raise InvalidInputError(f"an Atari game has no option {name!r}; its options are {', '.join(OPTIONS)}")
    return {name: _checked_option(name, options.get(name, usual)) for name, usual in OPTIONS.items()}


def _checked_option(name: str, value: Any) -> Any:
    if name == "repeat_action_probability":
        return checks.within(name, value, 0, 1)
    return checks.at_least(name, value, *LIMITS[name]) if name in LIMITS else checks.flag(name, value)


def _emulator(game: str, options: dict[str, Any], *, screen: bool = False) -> Any:
    """The emulator of a game; with `screen` it plays the same, and its observations are the screen in colour."""
    try:
        from ale_py.vector_env import AtariVectorEnv  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise MissingExtraError(NEEDS_ALE) from error
    if not is_game(game):
        raise InvalidInputError(f"there is no Atari game {game!r}; names are those of ROMs: pong, ms_pacman, …")
    height, width = _loaded(game).getScreenDims() if screen else (options["screen_size"],) * 2
    return AtariVectorEnv(
        game,
        num_envs=1,
        frameskip=options["frame_skip"],
        stack_num=1 if screen else options["stacked_frames"],
        img_height=height,
        img_width=width,
        grayscale=not screen,
        noop_max=options["noop_max"],
        repeat_action_probability=options["repeat_action_probability"],
        use_fire_reset=options["fire_reset"],
        full_action_space=options["full_action_space"],
        max_num_frames_per_episode=options["max_frames"],
        reward_clipping=options["clip_rewards"],
        episodic_life=False,
    )


def _loaded(game: str) -> Any:
    """A plain emulator that has loaded a game."""
    from ale_py import ALEInterface, LoggerMode, roms  # noqa: PLC0415 (an extra)

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator: Any = ALEInterface()
    emulator.loadROM(roms.get_rom_path(game))
    return emulator


def may_be_game(name: str) -> bool:
    """Whether this may be the name of a game, which only ale-py would know, and it is not installed."""
    return not has_ale() and (name.startswith("ALE/") or re.fullmatch(r"[a-z0-9_]+", name) is not None)


def has_ale() -> bool:
    """Whether ale-py is installed."""
    try:
        return find_spec("ale_py") is not None
    except ValueError:  # it was ruled out by setting sys.modules["ale_py"] to None
        return False


def is_game(name: str) -> bool:
    """Whether ale-py is installed and has a game of that name."""
    if not re.fullmatch(r"[a-z0-9_]+", name) or not has_ale():
        return False
    from ale_py.roms import get_all_rom_ids  # noqa: PLC0415 (an extra)

    return name in get_all_rom_ids()


def register_games() -> None:
    """Register the paper's games with Gymnasium, with every option; calling it again does nothing."""
    for name, game in GAMES.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="engram.envs.atari:AtariGame",
                kwargs={"game": game, **OPTIONS},
                disable_env_checker=True,
            )
