"""Observations of a replay on a device as well, so that a batch is drawn there from the numbers of its rows."""

from dataclasses import dataclass
from typing import Any
from warnings import warn

import numpy as np

from engram.checks import in_bytes
from engram.devices import free_on, torch
from engram.replay.observations import Observations
from engram.typing import Longs


class Mirror:
    """The ring of a buffer of observations as a tensor, brought up to date before it is read."""

    def __init__(self, observations: Observations, device: torch.device) -> None:
        self._observations = observations
        self.rows = torch.zeros(observations.rows.shape, dtype=dtype_of(observations), device=device)
        self._sent = 0  # rows, of those ever written

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an observation."""
        return self._observations.shape

    def get(self, numbers: Longs) -> "Mirrored":
        """The observations with these numbers, [B]."""
        return Mirrored(self, self._observations.places(numbers))

    def forget(self) -> None:
        """Send everything again, since the buffer was loaded."""
        self._sent = 0

    def follow(self) -> None:
        """Send the rows that were written since the last time."""
        ring, written = self._observations.rows, self._observations.written
        first = max(self._sent, written - len(ring))
        while first < written:
            begin = first % len(ring)
            end = min(begin + written - first, len(ring))
            self.rows[begin:end].copy_(torch.from_numpy(ring[begin:end]), non_blocking=True)
            first += end - begin
        self._sent = written


@dataclass(frozen=True)
class Mirrored:
    """Observations by their rows in a mirror."""

    mirror: Mirror
    places: Longs  # [B] or [B, stack]

    def __len__(self) -> int:
        return len(self.places)


def make_mirror(observations: Observations, device: Any) -> Mirror | None:
    """The mirror of a buffer; None, with a warning, where the device has no room for it."""
    needed, free = observations.rows.nbytes, free_on(device)
    if free is not None and needed > free:
        warn(
            f"the replay's observations take {in_bytes(needed)}, and {in_bytes(free)} are free on {device}: batches "
            "are sent there one by one, which is slower; choose a smaller replay_size",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return Mirror(observations, device)


def dtype_of(observations: Observations) -> torch.dtype:
    """PyTorch's name of the observations' dtype."""
    return torch.from_numpy(np.zeros(0, observations.dtype)).dtype
