"""RMSprop as the paper's authors ran it: ε stands inside the square root."""

from collections.abc import Iterable
from typing import Any

from engram import checks
from engram.devices import put, torch
from engram.errors import InvalidInputError


def check_rmsprop(config: Any) -> None:
    """Raise InvalidInputError unless the settings of a config are such that a step can be taken."""
    for name in ("learning_rate", "rmsprop_decay"):
        checks.within(name, getattr(config, name), 0, 1)
    checks.within("rmsprop_epsilon", config.rmsprop_epsilon, 1e-30, 1)


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
            put(square, state[str(number)])
            if (state[str(number)] < 0).any():
                raise InvalidInputError("an average of squares must not be negative")
