"""RMSprop as the paper's authors ran it, for parameters of PyTorch's: ε stands inside the square root."""

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from engram.devices import put, torch
from engram.envs.observed import LARGEST
from engram.recording import Exchange
from engram.weights import require_finite

ALIGNED = 64  # numbers, at a multiple of which each parameter begins: 256 bytes, as PyTorch's own allocations do


class RMSprop:
    """m ← ρ m + (1 − ρ) g², θ ← θ − η g/√(m + ε).

    The paper calls ρ momentum. PyTorch's own RMSprop adds ε outside the root, which at ε = 10⁻² is another
    algorithm. All θ lie in one vector, of which the parameters become views, and so do all m: on a GPU one launch takes
    the time of the largest parameter alone.
    """

    def __init__(
        self, parameters: Iterable[torch.Tensor], *, learning_rate: float, decay: float, epsilon: float
    ) -> None:
        self.parameters: list[torch.Tensor] = list(parameters)
        self.learning_rate, self.decay, self.epsilon = learning_rate, decay, epsilon
        self._decay, self._one, self._zero = torch.tensor([decay, 1, 0], device=self.parameters[0].device)
        self._join()
        self._m = torch.zeros_like(self._theta)

    def _join(self) -> None:
        """Make the parameters parts of one vector."""
        self._gaps = [self._zero.new_zeros(-parameter.numel() % ALIGNED) for parameter in self.parameters]
        self._theta = self._joined(parameter.detach() for parameter in self.parameters)
        for parameter, part in zip(self.parameters, self._parts(self._theta), strict=True):
            parameter.data = part

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy, whose parameters are copies each by itself."""
        vars(self).update(state)
        self._join()

    @property
    def squares(self) -> list[torch.Tensor]:
        """m, in the shapes of the parameters."""
        return self._parts(self._m)

    @property
    def state(self) -> list[torch.Tensor]:
        """All tensors that a step changes."""
        return [self._theta, self._m]

    @torch.no_grad()
    def step(
        self,
        gradients: Iterable[torch.Tensor],
        *,
        sound: torch.Tensor | None = None,
        due: torch.Tensor | None = None,
        healthy: torch.Tensor | None = None,
    ) -> None:
        """Take one step along the gradients, given in the order of the parameters, without waiting for the device.

        If float32 cannot hold the sum of the squares of the gradients, or what they were computed from is not `sound`,
        `healthy` becomes false, and from then on nothing changes; without it, DivergedError is raised. Nor does
        anything change unless a step is `due`.
        """
        g = self._joined(gradients)
        taken = torch.dot(g, g) < inf
        taken = taken if sound is None else taken.logical_and_(sound)
        if healthy is None:
            require_finite(bool(taken))
        else:
            taken = healthy.logical_and_(taken)
        taken = taken if due is None else taken & due
        g = torch.where(taken, g, self._zero)
        self._m.mul_(torch.where(taken, self._decay, self._one)).addcmul_(g, g, value=1 - self.decay)
        self._theta.addcdiv_(g, (self._m + self.epsilon).sqrt_(), value=-self.learning_rate)

    def _joined(self, tensors: Iterable[torch.Tensor]) -> torch.Tensor:
        """Tensors in the shapes of the parameters as one vector, with zeros in the gaps."""
        pairs = zip(tensors, self._gaps, strict=True)
        return torch.cat([part for tensor, gap in pairs for part in (tensor.reshape(-1), gap) if len(part)])

    def _parts(self, vector: torch.Tensor) -> list[torch.Tensor]:
        """Parts of such a vector, in the shapes of the parameters."""
        sizes = [
            size for each, gap in zip(self.parameters, self._gaps, strict=True) for size in (each.numel(), len(gap))
        ]
        parts = torch.split_with_sizes(vector, sizes)[::2]
        return [part.view(parameter.shape) for part, parameter in zip(parts, self.parameters, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The squared averages, by the number of their parameter."""
        return {str(number): square.cpu().numpy().copy() for number, square in enumerate(self.squares)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, square in enumerate(self.squares):
            put(square, state[str(number)], lowest=0.0, highest=LARGEST)


def health(device: torch.device) -> Exchange:
    """What comes back from a device after a step: whether all steps so far could be taken."""
    found = Exchange(device, {"healthy": ((), np.bool_)})
    found.here["healthy"][()] = True
    found.send()
    return found


def require_healthy(found: Exchange) -> None:
    """Raise DivergedError, once, if a step could not be taken."""
    if not found.here["healthy"]:
        found.here["healthy"][()] = True
        found.send()
        require_finite(False)
