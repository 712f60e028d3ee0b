"""RMSprop as the paper's authors ran it, for parameters of PyTorch's: ε stands inside the square root."""

from collections.abc import Iterable
from typing import Any

from engram.devices import put, torch
from engram.envs.observed import LARGEST
from engram.weights import require_finite


class RMSprop:
    """m ← ρ m + (1 − ρ) g², θ ← θ − η g/√(m + ε).

    The paper calls ρ momentum. PyTorch's own RMSprop adds ε outside the root, which at ε = 10⁻² is another
    algorithm. A step never waits for the device: one whose gradients are not finite changes nothing but `diverged`,
    which `check_valid` reads.
    """

    def __init__(
        self, parameters: Iterable[torch.Tensor], *, learning_rate: float, decay: float, epsilon: float
    ) -> None:
        self.parameters: list[torch.Tensor] = list(parameters)
        self.learning_rate, self.decay, self.epsilon = learning_rate, decay, epsilon
        self._squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.diverged = torch.zeros((), dtype=torch.bool, device=self.parameters[0].device)
        self._decay = torch.tensor(decay, device=self.diverged.device)
        self._one, self._yes = torch.ones_like(self._decay), torch.ones_like(self.diverged)

    @property
    def state(self) -> list[torch.Tensor]:
        """All tensors that a step changes."""
        return [*self.parameters, *self._squares, self.diverged]

    @torch.no_grad()
    def step(
        self,
        gradients: Iterable[torch.Tensor],
        *,
        sound: torch.Tensor | None = None,
        due: torch.Tensor | None = None,
    ) -> None:
        """Take one step along the gradients, given in the order of the parameters.

        Unless what they were computed from is `sound`, learning has diverged; unless a step is `due`, none is taken.
        """
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        fine = is_summable(flat) & (self._yes if sound is None else sound)
        due = self._yes if due is None else due
        self.diverged |= due & ~fine
        taken = due & fine
        flat = torch.where(taken, flat, 0.0)
        parts = torch.split_with_sizes(flat, [parameter.numel() for parameter in self.parameters])
        g = [part.view_as(parameter) for part, parameter in zip(parts, self.parameters, strict=True)]
        torch._foreach_mul_(self._squares, torch.where(taken, self._decay, self._one))
        torch._foreach_addcmul_(self._squares, g, g, 1 - self.decay)
        roots = torch._foreach_add(self._squares, self.epsilon)
        torch._foreach_sqrt_(roots)
        torch._foreach_addcdiv_(self.parameters, g, roots, -self.learning_rate)

    def check_valid(self) -> None:
        """Raise DivergedError if a step since the last check could not be taken; waits for the device."""
        if self.diverged.item():
            self.diverged.zero_()
            require_finite(False)

    def state_dict(self) -> dict[str, Any]:
        """The squared averages, by the number of their parameter."""
        return {str(number): square.cpu().numpy().copy() for number, square in enumerate(self._squares)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, square in enumerate(self._squares):
            put(square, state[str(number)], lowest=0.0, highest=LARGEST)


def is_summable(gradient: torch.Tensor) -> torch.Tensor:
    """Whether float32 can hold the sum of the squares of a gradient, on its device."""
    flat = gradient.reshape(-1)
    return torch.isfinite(torch.dot(flat, flat))
