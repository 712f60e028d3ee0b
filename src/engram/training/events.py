"""What happens while an agent learns. Progress bars, logs and reports are made of these.

`Step` is the last event of a step: when it comes, everything that belongs to the step has been said.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Metrics = Mapping[str, float]  # what explains learning, by name; docs/metrics.md says what each means
NO_METRICS: Metrics = {}


class Step(NamedTuple):
    """The agent took a step; it has now taken `step` of them."""

    step: int
    reward: float


class EpisodeEnd(NamedTuple):
    """An episode of training ended with this step."""

    step: int
    episode: int
    total: float  # undiscounted return
    length: int
    metrics: Metrics = NO_METRICS


class Evaluation(NamedTuple):
    """The agent was evaluated after `step` steps."""

    step: int
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    metrics: Metrics = NO_METRICS

    @property
    def mean(self) -> float:
        """Mean return of the episodes."""
        return mean_of(self.returns)


def total_of(numbers: Sequence[float]) -> float:
    """The sum of numbers from left to right, the same on every Python: `sum` rounds differently from 3.12 on."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def mean_of(numbers: Sequence[float]) -> float:
    """The mean of numbers, the same on every Python."""
    return total_of(numbers) / len(numbers)


Event = Step | EpisodeEnd | Evaluation
