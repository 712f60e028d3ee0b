"""RMSprop as the paper's authors ran it, for parameters of PyTorch's: ε stands inside the square root."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

from engram.devices import put, torch
from engram.envs.observed import LARGEST
from engram.weights import require_finite


class RMSprop:
    """m ← ρ m + (1 − ρ) g², θ ← θ − η g/√(m + ε).

    The paper calls ρ momentum. PyTorch's own RMSprop adds ε outside the root, which at ε = 10⁻² is another
    algorithm.
    """

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], *, learning_rate: float, decay: float, epsilon: float
    ) -> None:
        self.parameters: list[torch.Tensor] = list(parameters)
        self.learning_rate, self.decay, self.epsilon = learning_rate, decay, epsilon
        self._squares = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def step(self, gradients: Iterable[torch.Tensor]) -> None:
        """Take one step along the gradients, given in the order of the parameters."""
        g = list(gradients)
        check_gradients(g)
        torch._foreach_mul_(self._squares, self.decay)
        torch._foreach_addcmul_(self._squares, g, g, 1 - self.decay)
        roots = torch._foreach_add(self._squares, self.epsilon)
        torch._foreach_sqrt_(roots)
        torch._foreach_addcdiv_(self.parameters, g, roots, -self.learning_rate)

    def state_dict(self) -> dict[str, Any]:
        """The squared averages, by the number of their parameter."""
        return {str(number): square.cpu().numpy().copy() for number, square in enumerate(self._squares)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, square in enumerate(self._squares):
            put(square, state[str(number)], lowest=0.0, highest=LARGEST)


def check_gradients(gradients: list[torch.Tensor]) -> None:
    """Raise DivergedError unless float32 can hold the sum of the squares of each gradient."""
    if gradients[0].is_cuda:
        squares = torch.stack(torch._foreach_norm(gradients)).tolist()
    else:
        flat = [gradient.numpy().reshape(-1) for gradient in gradients]
        squares = [float(each.dot(each)) for each in flat]
    require_finite(isfinite(sum(squares)))
