"""Observations as networks take them: float32, bytes scaled to [0, 1]."""

from typing import Any

import numpy as np

from engram.devices import torch
from engram.typing import Array, Floats


def as_input(observations: Any, device: torch.device) -> torch.Tensor:
    """A batch of observations as a tensor on a device."""
    batch = torch.as_tensor(observations, device=device)
    return batch.float().div_(255) if batch.dtype == torch.uint8 else batch.float()


def as_rows(observations: Array) -> Floats:
    """A batch of vectors as an array that a kernel can take."""
    rows = np.ascontiguousarray(observations, np.float32)
    rows = rows if rows.flags.writeable else rows.copy()  # kernels are compiled for arrays that can be written to
    return rows / np.float32(255) if observations.dtype == np.uint8 else rows
