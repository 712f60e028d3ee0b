"""Boltzmann exploration: better actions are more likely, the more so the lower the temperature."""

from dataclasses import dataclass

import numpy as np

from engram.exploration.base import Exploration, View, check_steps, linear, sample
from engram.typing import Doubles, Floats


@dataclass(frozen=True)
class Boltzmann(Exploration):
    """π(a) ∝ exp(Q(s, a)/τ), with a temperature τ that falls in a straight line."""

    initial: float = 1.0  # τ at the start, in the unit of returns
    final: float = 0.1  # τ at the end
    start_steps: int = 0  # step from which τ falls
    end_steps: int = 10_000  # step at which it has reached its final value

    name = "boltzmann"

    def __post_init__(self) -> None:
        self.check_numbers({"initial": (1e-9, 1e9), "final": (1e-9, 1e9)})
        check_steps(self)

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """An action drawn from the Boltzmann distribution."""
        temperature = linear(step, self.initial, self.final, self.start_steps, self.end_steps)
        return sample(softmax(view.q_values(), 1 / temperature), generator)


def softmax(q: Floats, inverse_temperature: float) -> Doubles:
    """exp(β Q)/Σ exp(β Q), shifted so that nothing overflows."""
    weights = np.exp(inverse_temperature * (q.astype(np.float64) - q.max()))
    probabilities: Doubles = weights / weights.sum()
    return probabilities
