"""RMSprop as the paper's authors ran it, for parameters of PyTorch's: ε stands inside the square root."""

from collections.abc import Iterable
from math import inf
from typing import Any

from engram.devices import put, torch
from engram.envs.observed import LARGEST
from engram.recording import Exchange
from engram.weights import require_finite


class RMSprop:
    """m ← ρ m + (1 − ρ) g², θ ← θ − η g/√(m + ε).

    The paper calls ρ momentum. PyTorch's own RMSprop adds ε outside the root, which at ε = 10⁻² is another
    algorithm. All m are one vector: on a GPU one launch for all parameters takes the time of the largest alone.
    """

    def __init__(
        self, parameters: Iterable[torch.Tensor], *, learning_rate: float, decay: float, epsilon: float
    ) -> None:
        self.parameters: list[torch.Tensor] = list(parameters)
        self.learning_rate, self.decay, self.epsilon = learning_rate, decay, epsilon
        device = self.parameters[0].device
        self._m = torch.zeros(sum(parameter.numel() for parameter in self.parameters), device=device)
        self._decay, self._one, self._zero = torch.tensor([decay, 1, 0], device=device)

    @property
    def squares(self) -> list[torch.Tensor]:
        """m, in the shapes of the parameters."""
        return self._shaped(self._m)

    @property
    def state(self) -> list[torch.Tensor]:
        """All tensors that a step changes."""
        return [*self.parameters, self._m]

    @torch.no_grad()
    def step(
        self,
        gradients: Iterable[torch.Tensor],
        *,
        sound: torch.Tensor | None = None,
        due: torch.Tensor | None = None,
        diverged: torch.Tensor | None = None,
    ) -> None:
        """Take one step along the gradients, given in the order of the parameters, without waiting for the device.

        If float32 cannot hold the sum of the squares of the gradients, or what they were computed from is not `sound`,
        nothing changes but `diverged`, which becomes true; without it, DivergedError is raised. Nor does anything
        change unless a step is `due`.
        """
        pairs = zip(gradients, self.parameters, strict=True)
        g = torch.cat([as_vector(gradient, parameter) for gradient, parameter in pairs])
        taken = torch.dot(g, g) < inf
        taken = taken if sound is None else taken & sound
        if diverged is None:
            require_finite(bool(taken))
        else:
            diverged |= ~taken
        taken = taken if due is None else taken & due
        g = torch.where(taken, g, self._zero)
        self._m.mul_(torch.where(taken, self._decay, self._one)).addcmul_(g, g, value=1 - self.decay)
        roots = (self._m + self.epsilon).sqrt_()
        torch._foreach_addcdiv_(self.parameters, self._shaped(g), self._shaped(roots), -self.learning_rate)

    def _shaped(self, vector: torch.Tensor) -> list[torch.Tensor]:
        """Parts of a vector as the parameters lie in memory."""
        parts = torch.split_with_sizes(vector, [parameter.numel() for parameter in self.parameters])
        pairs = zip(parts, self.parameters, strict=True)
        return [part.as_strided(parameter.shape, parameter.stride()) for part, parameter in pairs]

    def state_dict(self) -> dict[str, Any]:
        """The squared averages, by the number of their parameter."""
        return {str(number): square.cpu().numpy().copy() for number, square in enumerate(self.squares)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, square in enumerate(self.squares):
            put(square, state[str(number)], lowest=0.0, highest=LARGEST)


def require_taken(found: Exchange) -> None:
    """Raise DivergedError, once, if what came back from a device has `diverged` set."""
    if found.here["diverged"]:
        found.here["diverged"][()] = False
        found.send()
        require_finite(False)


def as_vector(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """A gradient as a vector, in the order in which its parameter lies in memory."""
    same = gradient if gradient.stride() == parameter.stride() else torch.empty_like(parameter).copy_(gradient)
    return same.as_strided((same.numel(),), (1,))
