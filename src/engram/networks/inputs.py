"""Observations as PyTorch's networks take them: float32, bytes scaled to [0, 1]."""

from typing import Any

from engram.devices import torch


def as_input(observations: Any, device: torch.device) -> torch.Tensor:
    """A batch of observations as a tensor on a device."""
    batch = torch.as_tensor(observations, device=device)
    return batch / 255 if batch.dtype == torch.uint8 else batch.float()
