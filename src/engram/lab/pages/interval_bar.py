"""An interval as a small drawing: the line that it must lie beyond, and where it lies."""

from dataclasses import dataclass
from html import escape
from math import floor, isfinite, log10

from engram.lab.statistics import Interval

WIDTH, HEIGHT, MARGIN = 144, 26, 6  # of the drawing, in pixels


@dataclass(frozen=True)
class IntervalBar:
    """An interval, and the value that decides."""

    interval: Interval
    limit: float = 0.0

    def html(self) -> str:
        """A line for the limit, one for the interval, a dot for the estimate; the numbers are its description."""
        ends = [value for value in (*self.interval, self.limit) if isfinite(value)]
        low, span = min(ends), (max(ends) - min(ends)) or 1.0

        def place(value: float) -> str:
            return f"{MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / span:.1f}"

        middle, limit = HEIGHT / 2, place(self.limit)
        parts = [f'<line x1="{limit}" y1="2" x2="{limit}" y2="{HEIGHT - 2}"/>']
        if isfinite(self.interval.high - self.interval.low):
            left, right = place(self.interval.low), place(self.interval.high)
            parts.append(f'<line class="span" x1="{left}" y1="{middle}" x2="{right}" y2="{middle}"/>')
        parts.append(f'<circle cx="{place(self.interval.estimate)}" cy="{middle}" r="4"/>')
        said = escape(f"{rounded(self.interval)}; the line is at {self.limit:g}")
        box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}"'
        return f'<svg class="bar" {box}><title>{said}</title>{"".join(parts)}</svg>'


def rounded(interval: Interval) -> str:
    """An interval with the digits that it deserves: two that its width is known by."""
    low, estimate, high = interval
    if not isfinite(high - low):
        return _with_digits(estimate, _digits(abs(estimate)))
    digits = _digits(high - low)
    return f"{_with_digits(estimate, digits)} [{_with_digits(low, digits)}, {_with_digits(high, digits)}]"


def _digits(size: float) -> int:
    """Digits after the point that leave two that count."""
    return max(0, 1 - floor(log10(size))) if size > 0 else 0


def _with_digits(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
