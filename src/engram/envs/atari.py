"""Atari games with the paper's preprocessing: the same frames, rewards and games as ale-py's `AtariVectorEnv`."""

import re
from collections.abc import Mapping
from importlib.util import find_spec
from operator import index
from typing import Any

import gymnasium
import numpy as np

from engram import checks
from engram.envs.emulator import IDLE, Dice, Emulator, borrow, give_back
from engram.errors import InvalidInputError, MissingExtraError
from engram.typing import Array

NEEDS_ALE = 'Atari games need ale-py: pip install "engram-rl[atari]"'
RENDER_MODES = ["rgb_array"]
FIRE = 1  # the action that presses the button
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
    "screen_size": (1, 160),  # the emulator's own screen has 210 × 160 pixels
    "noop_max": (0, 10_000),
    "max_frames": (1, 10**9),
}


class AtariGame(gymnasium.Env[Array, np.int64]):
    """An Atari game whose observations are four stacked grey frames, [4, 84, 84] bytes; a step is four frames.

    When a life is lost and the game continues, the step's info has `life_lost`. Training ends its episode there;
    evaluation plays whole games.

    Args:
        game: The name of the ROM, e.g. "pong", "ms_pacman".
        render_mode: "rgb_array" to render the game's own screen, in colour.
        options: Any of OPTIONS whose value is not the paper's.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 15}  # noqa: RUF012 (Gymnasium's interface)

    def __init__(self, game: str, *, render_mode: str | None = None, **options: Any) -> None:
        from engram.envs.frame_stack import FrameStack  # noqa: PLC0415 (numba takes long to import)

        self.options = checked_options(options)
        self.render_mode = None if render_mode is None else checks.one_of("render_mode", render_mode, RENDER_MODES)
        self._game = game
        self._lent: Emulator | None = _borrowed(game)
        ale = self._emulator.ale
        self._actions = ale.getLegalActionSet() if self.options["full_action_space"] else ale.getMinimalActionSet()
        self._codes = [action.value for action in self._actions]
        self._can_fire = self.options["fire_reset"] and FIRE in self._codes
        size, stacked = self.options["screen_size"], self.options["stacked_frames"]
        self._frames = FrameStack(ale.getScreenDims(), size, stacked)
        self.observation_space = gymnasium.spaces.Box(0, 255, (stacked, size, size), np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(self._codes))
        in_colour = render_mode == "rgb_array"
        self._colour = np.zeros((*self._frames.grey.shape, 3), np.uint8) if in_colour else None
        self._dice: Dice | None = None  # of the game that has begun
        self._lives = self._played = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        """Begin a game; the same seed gives the same game, whatever was played before."""
        super().reset(seed=seed)
        chosen = int(self.np_random.integers(SEEDS)) if seed is None else seed % SEEDS
        stickiness = self.options["repeat_action_probability"]
        self._emulator.restart(chosen, stickiness)
        self._dice = dice = Dice(chosen, 0.0 if self._emulator.is_sticky else stickiness)
        self._frames.clear()
        self._frames.grey[0] = self._emulator.first_grey
        if self._colour is not None:
            self._colour[0], self._colour[1] = self._emulator.first_picture, 0
        idle = dice.idle_frames(self.options["noop_max"]) - self._can_fire
        first = [FIRE] * self._can_fire + [IDLE] * idle
        for action in first:
            self._frame(action, dice)
            if self._emulator.ale.game_over():
                self._emulator.ale.reset_game()
                dice.forget()
        if first:
            self._look(0)
        self._lives, self._played = self._emulator.ale.lives(), 0
        return self._observation(), {"lives": self._lives}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Repeat an action for `frame_skip` frames."""
        dice, code = self._dice, self._code(action)
        if dice is None:
            raise InvalidInputError("no game has begun; call reset() before step()")
        ale, most = self._emulator.ale, self.options["max_frames"]
        reward, terminated, truncated = 0, False, False
        for left in range(self.options["frame_skip"] - 1, -1, -1):
            reward += self._frame(code, dice)
            self._played += 1
            terminated, truncated = ale.game_over(), self._played >= most
            if terminated or truncated:
                break
            if left < len(self._frames.grey):
                self._look(left)
        lives, before = ale.lives(), self._lives
        self._lives = lives
        info: dict[str, Any] = {"lives": lives}
        if self.options["life_loss_ends_episode"] and lives < before and not (terminated or truncated):
            info["life_lost"] = True
        if self.options["clip_rewards"]:
            reward = int(np.sign(reward))
        return self._observation(), float(reward), terminated, truncated and not terminated, info

    def _code(self, action: Any) -> int:
        """What the emulator calls an action."""
        try:
            number = index(action)
        except TypeError:
            number = -1
        if not 0 <= number < len(self._codes):
            raise InvalidInputError(f"{self._game} has actions from 0 to {len(self._codes) - 1}, got {action!r}")
        code: int = self._codes[number]
        return code

    def _frame(self, action: int, dice: Dice) -> int:
        """Play a frame; return its reward."""
        return int(self._emulator.ale.act(dice.action(action)))

    def _look(self, left: int) -> None:
        """Take in the screen, after which so many frames of the step are left."""
        self._emulator.ale.getScreenGrayscale(self._frames.grey[left])
        if self._colour is not None:
            self._emulator.ale.getScreenRGB(self._colour[left])

    def _observation(self) -> Array:
        """What is seen after a step, of whose last two frames pixels are the brighter ones."""
        if self._colour is not None:
            np.maximum(self._colour[0], self._colour[1], out=self._colour[0])
        return self._frames.push()

    def get_action_meanings(self) -> list[str]:
        """The names of the actions, such as NOOP or UPRIGHT."""
        return [action.name for action in self._actions]

    def render(self) -> Any:
        """The screen as a person sees it, [height, width, 3]; None without a render mode."""
        return None if self._colour is None else self._colour[0].copy()

    def close(self) -> None:
        """Leave the emulator to the next game."""
        if self._lent is not None:
            give_back(self._lent)
            self._lent = None

    @property
    def _emulator(self) -> Emulator:
        if self._lent is None:
            raise InvalidInputError(f"this game of {self._game} was closed; make another")
        return self._lent


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


def _borrowed(game: str) -> Emulator:
    """An emulator with this game."""
    if not has_ale():
        raise MissingExtraError(NEEDS_ALE)
    if not is_game(game):
        raise InvalidInputError(f"there is no Atari game {game!r}; names are those of ROMs: pong, ms_pacman, …")
    return borrow(game)


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
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9_]+", name) or not has_ale():
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
