"""How the observations of a recorded step come to the device: sent there, or drawn from a mirror that is there."""

from typing import Any

import numpy as np

from engram.agents.learners.front import Front
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.networks.inputs import as_input
from engram.recording import Exchange, Field
from engram.replay.mirror import Mirror, Mirrored
from engram.typing import Array


class Sent:
    """`count` arrays like this one of encoded observations, which are sent through an exchange with these `fields`."""

    def __init__(self, count: int, like: Array) -> None:
        self.fields: dict[str, Field] = {"observations": ((count, *like.shape), like.dtype)}

    def take(self, exchange: Exchange, *batches: Array) -> None:
        """Put arrays [B, …] where they can be sent from."""
        for room, batch in zip(exchange.here["observations"], batches, strict=True):
            room[...] = batch

    def get(self, exchange: Exchange) -> torch.Tensor:
        """The batches on the device as the network takes them, [count, B, …], once they are sent."""
        return as_input(exchange.there["observations"], exchange.device)


class Drawn:
    """`count` batches like this one of observations in a mirror, whose rows are sent."""

    def __init__(self, count: int, like: Mirrored) -> None:
        self._mirror, self._shape = like.mirror, (count, len(like), *like.mirror.shape)
        self.fields: dict[str, Field] = {"places": ((count, *like.places.shape), np.int64)}

    def take(self, exchange: Exchange, *batches: Mirrored) -> None:
        """Bring the mirror up to date, and put the numbers of rows where they can be sent from."""
        self._mirror.follow()
        for room, batch in zip(exchange.here["places"], batches, strict=True):
            room[...] = batch.places

    def get(self, exchange: Exchange) -> torch.Tensor:
        """The batches on the device as the network takes them, [count, B, …], once their rows are sent."""
        rows = self._mirror.rows.index_select(0, exchange.there["places"].view(-1))
        return as_input(rows.view(self._shape), exchange.device)


def encoded(front: Front, observations: Any) -> Any:
    """Observations as a source takes them: encoded if they are an array, where they lie if they are mirrored."""
    if isinstance(observations, Mirrored):
        return observations
    found = front(observations)
    if found.shape[1:] != front.shape:
        raise InvalidInputError(f"the network takes [batch, {front.shape}], got an array of shape {found.shape}")
    return found


def kind_of(batch: Any) -> tuple[Any, ...]:
    """What batches have in common that the same source can take."""
    if isinstance(batch, Mirrored):
        return (Mirror, id(batch.mirror), batch.places.shape)
    return (batch.shape, batch.dtype)


def source_for(count: int, like: Any) -> Sent | Drawn:
    """A source of `count` batches like this one."""
    return Drawn(count, like) if isinstance(like, Mirrored) else Sent(count, like)
