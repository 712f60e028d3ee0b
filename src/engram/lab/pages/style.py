"""How strategies are drawn, the same in every figure.

The built-in strategies have Okabe and Ito's colours and one of Tol's, which people with any kind of colour vision can
tell apart; those chosen show on white and on black. A variant of a strategy keeps its hue and gets another shade and
other dashes. Strategies of the user's own have a colour each and dashes each, since no six colours more are far enough
from those for every eye.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engram.lab.labels import LABELS, strategy_label
from engram.pictures.colours import INK

COLOURS = {
    "lru": "#0072B2",
    "rew": "#CC79A7",
    "sur": "#E69F00",
    "kmeans": "#009E73",
    "dkm": "#D55E00",
    "fading": "#56B4E9",
    "adaptive": "#882255",
}
OTHER_COLOURS = ("#7F7F7F", "#B8A900", "#9000F0", "#786030", "#78A860", "#C000A8")  # of one's own, in the order met
BASELINE_COLOUR = "#666666"  # of agents without a memory
SHADES = (0.0, -0.3, 0.35, -0.5, 0.2, -0.15)  # of a strategy and its variants: towards white, or black if below 0
DASHES: tuple[tuple[float, ...], ...] = (
    *((), (4, 1.5), (1.2, 1.2), (6, 1.5, 1.2, 1.5)),
    *((9, 2), (4, 1.2, 1.2, 1.2, 1.2, 1.2)),
)


@dataclass(frozen=True)
class Look:
    """How one strategy is drawn."""

    colour: str  # "#rrggbb"
    dashes: tuple[float, ...] = ()  # on and off, in line widths; none: a solid line
    marker: str = ""  # matplotlib's, where it is drawn as dots and not as lines
    hollow: bool = False  # of dots

    @property
    def linestyle(self) -> Literal["solid"] | tuple[float, tuple[float, ...]]:
        """The line style for matplotlib."""
        return (0, self.dashes) if self.dashes else "solid"


PLAIN = Look(INK)  # of lines that are no strategy's


def looks(strategies: Iterable[str]) -> dict[str, Look]:
    """A look for each strategy, by label. Built-in ones with their default options always look the same."""
    found: dict[str, Look] = {}
    variants: dict[str, int] = {}
    own: dict[str, int] = {}
    for strategy in strategies:
        name, text = strategy.partition(":")[0], strategy_label(strategy)
        if text in found:
            continue
        if text == LABELS.get(name):
            found[text] = Look(COLOURS[name])
            continue
        turn, place = divmod(own.setdefault(name, len(own)), len(OTHER_COLOURS)) if name not in COLOURS else (0, 0)
        colour = COLOURS.get(name, OTHER_COLOURS[place])
        number = variants.get(name, 1 if name in COLOURS else 0)
        variants[name] = number + 1 if number + 1 < len(SHADES) else 1  # never again as the first
        found[text] = Look(_shade(colour, SHADES[number]), DASHES[(number + place + turn) % len(DASHES)])
    return found


def baseline_looks(agents: Iterable[str]) -> dict[str, Look]:
    """A look for each agent without a memory, by label: grey, told apart by dashes."""
    dashes = ((1.2, 1.2), *DASHES[1:2], *DASHES[3:])
    return {agent: Look(BASELINE_COLOUR, dashes[i % len(dashes)]) for i, agent in enumerate(agents)}


def _shade(colour: str, amount: float) -> str:
    """A colour moved towards white, or towards black where the amount is below 0."""
    target = 255 if amount > 0 else 0
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (target - part) * abs(amount)):02X}" for part in parts)
