"""The Atari emulator with a game loaded, which goes back to the game's start as often as a new game begins.

ale-py's own environments load a game anew whenever they are given a seed, which takes as long as hundreds of steps. At
its start nearly every game is the same for all seeds (`ACTING_FIRST` are the others), so it is loaded once, and that
state is restored. What a seed decides is drawn in `Dice`, as ale-py draws it: how long a game idles at first, and which
actions are repeated.
"""

import atexit
from collections import deque
from threading import Lock
from typing import Any
from weakref import WeakSet

import numpy as np

from engram.errors import InvalidInputError

MOST_SPARE = 100  # loaded games that are kept, half a megabyte each: as many as an evaluation plays side by side
ACTING_FIRST = {"adventure", "berzerk", "double_dunk", "video_cube"}  # games that choose their mode by actions
IDLE = 0  # the action that does nothing
WORDS = 2**32  # values of a random number
DRAWN = 1024  # frames for which random numbers are drawn at once


class Emulator:
    """A game in the emulator, at its start.

    Args:
        game: The name of the ROM.
    """

    def __init__(self, game: str) -> None:
        from ale_py import ALEInterface, LoggerMode, roms  # noqa: PLC0415 (an extra)

        self.game = game
        self._rom = str(roms.get_rom_path(game))
        ALEInterface.setLoggerMode(LoggerMode.Error)
        if ALEInterface.isSupportedROM(self._rom) is None:
            raise InvalidInputError(f"the emulator has no rewards for {game!r}, a game for two; choose another game")
        self.ale: Any = ALEInterface()
        self._load()
        _living.add(self)

    def _load(self, seed: int = 0, stickiness: float = 0.0) -> None:
        """Load the game anew."""
        self.ale.setInt("random_seed", seed)
        self.ale.setFloat("repeat_action_probability", stickiness)
        self.ale.loadROM(self._rom)
        self.ale.reset_game()
        self.is_sticky = stickiness > 0  # the emulator itself repeats actions
        self._start = self.ale.cloneState()
        self.first_grey, self.first_picture = self.ale.getScreenGrayscale(), self.ale.getScreenRGB()

    def restart(self, seed: int, stickiness: float) -> None:
        """Go back to the start, which looks as in `first_picture`: the screen is only drawn with the next frame.

        A few games act by themselves before they begin, and with sticky actions a seed decides what comes of it. These
        are loaded anew, and then repeat actions themselves.
        """
        if stickiness > 0 and self.game in ACTING_FIRST:
            self._load(seed, stickiness)
        elif self.is_sticky:
            self._load()
        else:
            self.ale.reset_game()  # what the saved state leaves out is then as it was
            self.ale.restoreState(self._start)


class Dice:
    """What is random in a game, the same for a seed on every machine: numbers of `std::mt19937`, as ale-py's are.

    Args:
        seed: From 0 to 2³² − 1.
        stickiness: The probability that a frame repeats the action of the frame before.
    """

    def __init__(self, seed: int, stickiness: float) -> None:
        self._seed, self._stickiness = seed, float(np.float32(stickiness))
        self._words = np.random.RandomState(seed)
        self._drawn: list[float] = []  # the last one comes next
        self._before = IDLE

    def idle_frames(self, limit: int) -> int:
        """A number below the limit, by Lemire's method."""
        words = np.random.RandomState(self._seed)
        while limit > 1:
            product = int(words.randint(WORDS, dtype=np.uint32)) * limit
            if product % WORDS >= WORDS % limit:
                return product // WORDS
        return 0

    def forget(self) -> None:
        """The game begins again: no action was before."""
        self._before = IDLE

    def action(self, chosen: int) -> int:
        """The action of the next frame: the one that was chosen, or the one before."""
        if not self._stickiness:
            return chosen
        if not self._drawn:  # two for each frame, the second for a second player
            words = self._words.randint(WORDS, size=2 * DRAWN, dtype=np.uint32)
            self._drawn = (words[-2::-2] / WORDS).tolist()
        if self._drawn.pop() >= self._stickiness:
            self._before = chosen
        return self._before


_living: WeakSet[Emulator] = WeakSet()
_spare: deque[Emulator] = deque(maxlen=MOST_SPARE)  # of a full deque the first is dropped
_lock = Lock()


def borrow(game: str) -> Emulator:
    """An emulator with this game: one that was given back, or a new one."""
    with _lock:
        for emulator in reversed(_spare):
            if emulator.game == game:
                _spare.remove(emulator)
                return emulator
    return Emulator(game)


def give_back(emulator: Emulator) -> None:
    """Keep an emulator for the next that plays its game."""
    with _lock:
        if emulator not in _spare:  # a copy of its last user may have given it back
            _spare.append(emulator)


@atexit.register
def _leave() -> None:
    """Let go of what is ale-py's before the interpreter ends: it prints a list of all that is still there then."""
    for emulator in list(_living):
        del emulator.ale, emulator._start
