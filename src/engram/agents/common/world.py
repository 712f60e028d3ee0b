"""The environment that an agent learns in, and whether it is where the unfinished game was left."""

from collections.abc import Iterator
from contextlib import contextmanager

from engram.envs import Env, EnvSource
from engram.envs.faults import close
from engram.envs.fingerprint import fingerprint
from engram.training.loop import LoopState, replay_game


class World:
    """Makes the environment when it is first needed, and replays the unfinished game in it when that is necessary.

    It is necessary where the environment is new, raised an error, or may have been stepped by someone else: one that
    the user passed, or was handed by `lend`. An environment's fingerprint can tell that nobody has, and what its
    wrappers remember can tell that somebody has.
    """

    def __init__(self, source: EnvSource) -> None:
        self.source, self.wrappers = source, source.game_states()
        self._env: Env | None = None
        self._fingerprint: str | None = None  # of an environment that the user may step as well
        self._moved = False  # it may have been stepped since, or is not where the unfinished game was left

    def enter(self, loop: LoopState) -> Env:
        """The environment to learn in, where the unfinished game was left."""
        if self._env is None:
            self._env, self._moved = self.source.make(), True
        elif self._fingerprint is not None:
            self._moved = self._fingerprint != fingerprint(self._env)
        elif self.source.shared:
            self._moved |= not self.wrappers.is_as_left(self._env)
        self._moved |= loop.chosen is not None or loop.resetting  # it raised an error in the middle of a step or reset
        if self._moved:
            self.wrappers.restore(self._env)
            replay_game(self._env, loop, first_action=self.source.first_action)
        loop.resetting = False
        self._fingerprint, self._moved = None, self.source.shared  # until `watched` knows better
        return self._env

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Around steps in an environment of the user's: notes whether it can tell that someone else stepped it."""
        before = fingerprint(self._env) if self.source.shared and self._env is not None else None
        yield
        if self.source.shared and self._env is not None:
            after = fingerprint(self._env)
            self._fingerprint = None if after == before else after  # unchanged by steps: it cannot tell
            self._moved = False

    def lend(self) -> Env:
        """The environment, for whoever may step it; its wrappers remember what the agent's own steps taught them."""
        if self._env is None:
            self._env = self.source.make()
            self.wrappers.put_back(self._env)
        self.mistrust()
        return self._env

    def mistrust(self) -> None:
        """Replay the unfinished game before the next step, whatever the environment looks like."""
        self._moved, self._fingerprint = True, None

    def note_prediction(self) -> None:
        """Whoever predicts may also have stepped an environment of the user's."""
        self._moved |= self.source.shared

    def close(self) -> None:
        """Close the environment, unless it is the user's."""
        if self._env is not None and not self.source.shared:
            close(self._env)
