"""An interval as a small drawing: where it lies, and where it was claimed to lie."""

from dataclasses import dataclass
from html import escape
from math import floor, inf, isfinite, log10

from engram.lab.statistics import Interval

WIDTH, HEIGHT, MARGIN = 144, 26, 8  # of the drawing, in pixels
BEYOND = 0.35  # of what is drawn


@dataclass(frozen=True)
class IntervalBar:
    """An interval, and the bounds between which the claim has it."""

    interval: Interval
    aim: tuple[float, float] = (0.0, inf)

    def html(self) -> str:
        """A shaded field for the claim, a line for the interval, a dot for the estimate; the numbers describe it."""
        low, high = self._range()

        def place(value: float) -> float:
            share = (min(max(value, low), high) - low) / (high - low)
            return round(MARGIN + (WIDTH - 2 * MARGIN) * share, 1)

        left, right = map(place, self.aim)
        parts = [f'<rect x="{left}" y="0" width="{right - left:.1f}" height="{HEIGHT}"/>']
        parts += [f'<path d="M{place(end)} 0V{HEIGHT}"/>' for end in self.aim if isfinite(end)]
        middle = HEIGHT // 2
        if isfinite(self.interval.high - self.interval.low):
            ends_at = f"M{place(self.interval.low)} {middle}H{place(self.interval.high)}"
            parts.append(f'<path class="span" d="{ends_at}"/>')
        parts.append(f'<circle cx="{place(self.interval.estimate)}" cy="{middle}" r="4"/>')
        said = escape(f"{rounded(self.interval)}; claimed: {_bounds(self.aim)}")
        box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}"'
        return f'<svg class="bar" {box}><title>{said}</title>{"".join(parts)}</svg>'

    def _range(self) -> tuple[float, float]:
        """What is drawn: the interval, the bounds, and some of what lies beyond a bound that is claimed without end."""
        ends = [value for value in (*self.interval, *self.aim) if isfinite(value)]
        low, high = min(ends), max(ends)
        beyond = BEYOND * ((high - low) or 1.0)
        return (low if isfinite(self.aim[0]) else low - beyond, high if isfinite(self.aim[1]) else high + beyond)


def rounded(interval: Interval) -> str:
    """An interval with the digits that it deserves: two by which its width is known."""
    low, estimate, high = interval
    if not isfinite(high - low):
        return _number(estimate, _digits(abs(estimate)))
    digits = _digits((high - low) or abs(estimate))
    return f"{_number(estimate, digits)} [{_number(low, digits)}, {_number(high, digits)}]"


def _bounds(aim: tuple[float, float]) -> str:
    low, high = aim
    if isfinite(low) and isfinite(high):
        return f"between {_plain(low)} and {_plain(high)}"
    return f"above {_plain(low)}" if isfinite(low) else f"below {_plain(high)}"


def _plain(value: float) -> str:
    return f"{value:,.4g}".replace("-", "−")


def _digits(size: float) -> int:
    """Digits after the point that leave two that count."""
    return max(0, 1 - floor(log10(size))) if size > 0 else 0


def _number(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}".replace("-", "−")
    return text if any(digit in text for digit in "123456789") else text.removeprefix("−")
