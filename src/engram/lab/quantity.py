"""A measured number in plain words, with its interval: `DkM scores 122 below kM (CartPole, NEC), …`."""

from dataclasses import dataclass
from math import floor, log10

from engram.lab.statistics import Interval


@dataclass(frozen=True)
class Quantity:
    """What a number is, and how it is said."""

    subject: str  # DkM scores
    above: str  # above kM: what follows the number
    below: str = ""  # below kM: what follows a negative one, said without its sign; without it the sign is said
    where: str = ""  # CartPole, NEC
    unit: str = ""  # of a lookup: between the number and the words above
    percent: bool = False

    def measured(self, interval: Interval) -> str:
        """The number with its value, rounded: `DkM scores 122 below kM (CartPole, NEC)`."""
        estimate = interval.estimate
        return f"{self.subject} {self._number(estimate, interval)} {self._unit}{self._side(estimate)}{self._place}"

    def said(self, interval: Interval) -> str:
        """The number with its value and its 95 % interval, rounded."""
        return f"{self.measured(interval)}, {self._bounds(interval)}"

    @property
    def _unit(self) -> str:
        return f"{self.unit} " if self.unit else ""

    @property
    def _place(self) -> str:
        return f" ({self.where})" if self.where else ""

    def _side(self, value: float) -> str:
        """The words that go with the sign of a value."""
        return self.below if self.below and value < 0 else self.above

    def _bounds(self, interval: Interval) -> str:
        if not interval.bounded:
            return "too few runs for an interval"
        low, high = (self._number(value, interval) for value in (interval.low, interval.high))
        if self.below and interval.low < 0 < interval.high:
            down, up = (self._side(value).split()[0] for value in (interval.low, interval.high))
            return f"95 % interval {low} {down} to {high} {up}"
        if self.below and interval.low < 0:
            low, high = high, low
        return f"95 % interval {low} to {high}"

    def _number(self, value: float, interval: Interval) -> str:
        """Without a sign where words say it, and with two digits of the interval's half width: more mean nothing."""
        value = abs(value) if self.below else value
        factor = 100 if self.percent else 1
        half = (interval.high - interval.low) / 2
        scale = half if interval.bounded and half > 0 else abs(value)
        digits = min(max(1 - floor(log10(factor * scale)), 0), 6) if scale > 0 else 0
        text = f"{factor * value:,.{digits}f}".replace("-", "−")
        return f"{text} %" if self.percent else text
