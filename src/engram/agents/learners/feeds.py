"""How the observations of a recorded step come to the device: sent there, or drawn from a mirror that is there."""

from typing import Any

import numpy as np

from engram.agents.learners.front import Front
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.networks.inputs import as_input
from engram.recording import Exchange
from engram.replay.mirror import Mirror, Mirrored
from engram.typing import Array


class Sent:
    """Arrays of observations, encoded by what stands before the network."""

    def __init__(self, count: int, like: Array, device: torch.device) -> None:
        self._exchange, self._device = Exchange(device, {"observations": ((count, *like.shape), like.dtype)}), device

    def take(self, *batches: Array) -> None:
        """Put arrays [B, …], encoded, where they can be sent from."""
        for room, batch in zip(self._exchange.here["observations"], batches, strict=True):
            room[...] = batch

    def __call__(self) -> torch.Tensor:
        """The batches on the device as the network takes them, [count, B, …]."""
        self._exchange.send()
        return as_input(self._exchange.there["observations"], self._device)


class Drawn:
    """Observations that lie in a mirror on the device."""

    def __init__(self, count: int, like: Mirrored, device: torch.device) -> None:
        self._mirror, self._device = like.mirror, device
        self._exchange = Exchange(device, {"places": ((count, *like.places.shape), np.int64)})
        self._shape = count, len(like), *like.mirror.shape

    def take(self, *batches: Mirrored) -> None:
        """Bring the mirror up to date, and note which of its rows are wanted."""
        self._mirror.follow()
        for room, batch in zip(self._exchange.here["places"], batches, strict=True):
            room[...] = batch.places

    def __call__(self) -> torch.Tensor:
        """The batches on the device as the network takes them, [count, B, …]."""
        self._exchange.send()
        rows = self._mirror.rows.index_select(0, self._exchange.there["places"].view(-1))
        return as_input(rows.view(self._shape), self._device)


def encoded(front: Front, observations: Any) -> Any:
    """Observations as a source takes them: encoded if they are an array, where they lie if they are mirrored."""
    if isinstance(observations, Mirrored):
        return observations
    found = front(observations)
    if found.shape[1:] != front.shape:
        raise InvalidInputError(f"the network takes [batch, {front.shape}], got an array of shape {found.shape}")
    return found


def kind_of(batch: Any) -> tuple[Any, ...]:
    """What two batches have in common that the same source can take."""
    if isinstance(batch, Mirrored):
        return (Mirror, id(batch.mirror), batch.places.shape)
    return (batch.shape, batch.dtype)


def source_for(count: int, like: Any, device: torch.device) -> Sent | Drawn:
    """A source of `count` batches like this one."""
    return Drawn(count, like, device) if isinstance(like, Mirrored) else Sent(count, like, device)
