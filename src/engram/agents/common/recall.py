"""How an episodic agent uses its memory: keys of observations, values at keys, and episodes that are written."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from engram.agents.common.aggregation import Aggregation
from engram.agents.common.calibration import Calibration
from engram.agents.common.episode import Episode, Finished, as_array, stacked
from engram.agents.common.metrics import metrics_of_reads, metrics_of_writes
from engram.agents.common.tally import Tally
from engram.agents.common.waiting import Waiting
from engram.encoders.base import Encoder, checked
from engram.errors import InvalidInputError
from engram.exploration import View
from engram.hashing import state_of
from engram.memory import EpisodicMemory
from engram.memory.arguments import check_keys
from engram.parts import Spaces
from engram.training.loop import LoopState
from engram.typing import Array, Floats


class Encodes(Protocol):
    """What makes keys of observations: an encoder, or NEC's network."""

    @property
    def settled(self) -> bool:
        """Whether keys can be made."""

    def update(self, observation: Array) -> None:
        """Learn from the observation of a training step."""

    def __call__(self, observations: Array) -> Any:
        """[B, …] → [B, key_size]."""


class Glances(Protocol):
    """What looks at an observation on a device: its key, and what is near it there, at once."""

    def begin(self, observation: Array) -> None:
        """Begin to look at an observation; a GPU goes on with it beside the host."""

    def key(self) -> Floats:
        """The key of that observation, [1, key_size], once it is found."""

    def read(self) -> Floats:
        """Q of every action at the key that was last returned, [1, actions]; counts as use."""


class Seen(NamedTuple):
    """The observation of a training step as the memory takes it."""

    keys: Any  # [1, key_size]; before keys have settled, the observation itself
    state: int  # which it is


class Recall:
    """A memory together with what makes its keys.

    Before keys have settled nothing can be read or written: every value is 0, every distance infinite, and episodes
    wait as observations. In the step in which keys settle, all that waited is encoded and written.
    """

    def __init__(
        self,
        encoder: Encodes,
        memory: EpisodicMemory,
        spaces: Spaces,
        *,
        ties: str,
        tally: Tally,
        glance: Glances | None = None,
        calibration: Calibration | None = None,
        aggregation: Aggregation | None = None,
    ) -> None:
        self.encoder, self.memory, self.spaces, self._tally = encoder, memory, spaces, tally
        self._calibration, self._aggregation = calibration, aggregation
        reader: EpisodicMemory | Calibration = memory if calibration is None else calibration
        self._read, self._find_nearest = reader.read, reader.nearest_distances
        self._glance = glance
        self._glanced: Floats | None = None  # the key whose neighbours have been found
        self._encode = checked(encoder) if isinstance(encoder, Encoder) else encoder
        self._fixed = is_fixed(encoder)
        self.unfinished, self.waiting = Episode(), Waiting()
        self.view = View(spaces.actions, q_values=self._look_up, distances=self._measure, ties=ties)

    def see(self, observation: Array) -> Seen:
        """The key of a training step's observation, and which state it is."""
        if self._fixed:
            return self._look(observation)
        encoder, was_settled = self.encoder, self.encoder.settled
        encoder.update(observation)
        if not encoder.settled:
            return Seen(np.array(observation[None]), state_of(observation))
        if not was_settled:
            self._settle()
        return self._look(observation)

    def _look(self, observation: Array) -> Seen:
        """The same where keys have settled; on a device the key's neighbours are found on the way.

        A key that the memory cannot take is refused here, whether the step will read it or not.
        """
        if self._glance is None:
            keys = self._encode(observation[None])
            check_keys(keys)
            return Seen(keys, state_of(observation))
        self._glance.begin(observation)
        state = state_of(observation)  # while the device looks
        self._glanced = self._glance.key()
        return Seen(self._glanced, state)

    def _settle(self) -> None:
        """Encode and write all that waited, and encode the unfinished episode."""
        for waited in self.waiting.episodes:
            self._learn(waited._replace(keys=self._encode(waited.keys)))
        self.waiting.episodes = []
        if len(self.unfinished):
            self._tally.start = 0.0 if self._tally.listening else None  # as it was before
            self.unfinished.keys = stacked([self._encode(seen[None])[0] for seen in self.unfinished.keys])

    def finish(self, returns: Floats, step: int, observations: Array | None = None) -> None:
        """End the episode, and write it with its returns, now or when keys have settled; measure it if that is due.

        `observations` [T, …] are for a memory that finds clusters by them.
        """
        finished, memory, tally = self.unfinished.finish(returns, observations), self.memory, self._tally
        if not self.encoder.settled:
            self.waiting.episodes.append(finished)
        elif tally.is_due(step, len(returns)):
            if tally.start is None:  # nothing was written since, so it is what it was then
                tally.note_start(as_array(self._read(finished.keys[:1]))[0])
            tally.found = metrics_of_reads(memory, finished)
            before = memory.written
            self._learn(finished)
            tally.found |= metrics_of_writes(memory, before)
        else:
            self._learn(finished)

    def _learn(self, episode: Finished) -> None:
        """Learn all that an episode teaches."""
        if self._calibration is not None:
            self._calibration.learn(episode)
        self.write(episode)

    def write(self, episode: Finished) -> None:
        """Write steps of an episode to the memory, each under the state that it counts as."""
        (episode if self._aggregation is None else self._aggregation.renamed(episode)).write_to(self.memory)

    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations, [B, …] → [B, actions]; touches nothing."""
        if not self.encoder.settled:
            return np.zeros((len(observations), self.spaces.actions), np.float32)
        return as_array(self._read(self._encode(observations)))

    def distances(self, observations: Array) -> Floats:
        """d² to the nearest entry of each action's table for a batch of observations, [B, …] → [B, actions]."""
        if not self.encoder.settled:
            return np.full((len(observations), self.spaces.actions), np.inf, np.float32)
        return self._find_nearest(self._encode(observations))

    def _look_up(self, keys: Any) -> Floats:
        """Q of every action at the key of a training step, [1, key_size] → [actions]; counts as use."""
        if not self._fixed and not self.encoder.settled:
            return np.zeros(self.spaces.actions, np.float32)
        if self._glance is not None and keys is self._glanced:
            return np.asarray(self._glance.read()[0])
        values: Floats = as_array(self._read(keys, touch=True))[0]
        return values

    def _measure(self, keys: Any) -> Floats:
        """d² from the key of a training step to the nearest entry of each table, [1, key_size] → [actions]."""
        if not self.encoder.settled:
            return np.full(self.spaces.actions, np.inf, np.float32)
        distances: Floats = self._find_nearest(keys)[0]
        return distances

    def check(self, loop: LoopState, *, has_best: bool = False) -> None:
        """Raise InvalidInputError unless the unfinished episode is the loop's and all that waits can be written."""
        spaces, settled = self.spaces, self.encoder.settled
        seen = spaces.observation_shape, spaces.observation_dtype
        key = ((self.memory.key_size,), np.dtype(np.float32)) if settled else seen
        self.unfinished.check(loop.length, loop.begun, spaces, key=key, has_best=has_best)
        self.waiting.check(spaces)
        if settled and self.waiting.episodes:
            raise InvalidInputError("episodes wait for their encoder to settle, but it has settled")


def is_fixed(encoder: Encodes) -> bool:
    """Whether an encoder learns nothing from what it sees: then there is no need to show it anything."""
    inner = getattr(encoder, "front", encoder)
    inner = getattr(inner, "encoder", inner)
    return inner is None or (isinstance(inner, Encoder) and type(inner).update is Encoder.update and inner.settled)
