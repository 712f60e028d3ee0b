"""Maximum-entropy mellowmax exploration (Asadi & Littman 2017; for episodic control: Sarrico et al. 2019).

Mellowmax is a soft maximum, mm(Q) = ln(mean over actions of exp(ω Q))/ω. Of all policies whose mean Q is mm(Q), the
one with the largest entropy is chosen: a Boltzmann distribution whose inverse temperature β is found for every state.
"""

from dataclasses import dataclass

import numpy as np

from engram.exploration.base import Exploration, View, sample
from engram.exploration.boltzmann import softmax
from engram.typing import Floats

HALVINGS = 60  # of the interval in which β is searched: beyond the precision of a double


@dataclass(frozen=True)
class Mellowmax(Exploration):
    """π(a) ∝ exp(β Q(s, a)), where β solves Σₐ exp(β Aₐ) Aₐ = 0 with Aₐ = Q(s, a) − mm(Q(s, ·))."""

    omega: float = 5.0  # ω: the larger, the greedier; 0 would be uniform

    name = "mellowmax"

    def __post_init__(self) -> None:
        self.check_numbers({"omega": (1e-9, 1e9)})

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """An action drawn from the maximum-entropy policy."""
        q = view.q_values()
        return sample(softmax(q, inverse_temperature(q, self.omega)), generator)


def mellowmax(q: Floats, omega: float) -> float:
    """mm(Q) = ln(mean of exp(ω Q))/ω, shifted so that nothing overflows."""
    top = float(q.max())
    return top + float(np.log(np.mean(np.exp(omega * (q.astype(np.float64) - top))))) / omega


def inverse_temperature(q: Floats, omega: float) -> float:
    """The β of Σₐ exp(β Aₐ) Aₐ = 0, by bisection: the sum never falls with β and is at most 0 at β = 0."""
    advantages = q.astype(np.float64) - mellowmax(q, omega)
    top = advantages.max()
    if np.ptp(advantages) < 1e-12 or top <= 0:
        return 0.0  # all alike: any β gives the uniform policy

    def total(beta: float) -> float:
        return float((np.exp(beta * (advantages - top)) * advantages).sum())

    low, high = 0.0, 1.0
    while total(high) < 0:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < 0 else (low, middle)
    return (low + high) / 2
