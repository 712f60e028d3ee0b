"""RMSprop as the paper's authors ran it, for parameters of PyTorch's: ε stands inside the square root."""

from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

from engram.devices import put, torch
from engram.envs.observed import LARGEST
from engram.recording import Exchange, Field
from engram.typing import Doubles
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
    ) -> torch.Tensor:
        """Take one step along the gradients, given in the order of the parameters, without waiting for the device.

        Return the sum of the squares of the gradients.

        If float32 cannot hold the sum of the squares of the gradients, or what they were computed from is not `sound`,
        `healthy` becomes false, and from then on nothing changes; without it, DivergedError is raised. Nor does
        anything change unless a step is `due`.
        """
        g = self._joined(gradients)
        squared = torch.dot(g, g)
        taken = squared < inf
        taken = taken if sound is None else taken.logical_and_(sound)
        if healthy is None:
            require_finite(bool(taken))
        else:
            taken = healthy.logical_and_(taken)
        taken = taken if due is None else taken & due
        g = torch.where(taken, g, self._zero)
        self._m.mul_(torch.where(taken, self._decay, self._one)).addcmul_(g, g, value=1 - self.decay)
        self._theta.addcdiv_(g, (self._m + self.epsilon).sqrt_(), value=-self.learning_rate)
        return squared

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


class Feedback:
    """What comes back from a device after a step: whether all steps so far could be taken and, if asked, its loss."""

    def __init__(self, device: torch.device, *, watched: bool) -> None:
        self.watched = watched
        numbers: dict[str, Field] = {"loss": ((), np.float64), "squared": ((), np.float64)} if watched else {}
        self._exchange = Exchange(device, {"healthy": ((), np.bool_), **numbers})
        self._exchange.here["healthy"][()] = True
        self._exchange.send()
        self._sums: Doubles | None = None  # which are to be told of the step that was begun last

    @property
    def healthy(self) -> torch.Tensor:
        """Whether all steps so far could be taken, on the device."""
        return self._exchange.there["healthy"]

    def note(self, loss: torch.Tensor, squared: torch.Tensor) -> None:
        """Called by a step that is watched, with its loss and the sum of its gradient's squares."""
        self._exchange.there["loss"].copy_(loss)
        self._exchange.there["squared"].copy_(squared)

    def fetch(self) -> None:
        """Called last by a step."""
        self._exchange.fetch()

    def tell(self, sums: Doubles) -> None:
        """When the step that was just begun is done, add 1, its loss and the norm of its gradient to these sums."""
        self._sums = sums if len(sums) else None

    def take(self) -> None:
        """Called when the last step is done: raise DivergedError, once, if it could not be taken."""
        here, sums, self._sums = self._exchange.here, self._sums, None
        if not here["healthy"]:
            here["healthy"][()] = True
            self._exchange.send()
            require_finite(False)
        if sums is not None:
            sums += np.array([1.0, float(here["loss"]), float(here["squared"]) ** 0.5])
