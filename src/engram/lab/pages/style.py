"""How strategies are named and drawn, the same in every table and figure.

The built-in strategies have Okabe and Ito's colours, which people with any kind of colour vision can tell apart;
those chosen show on white and on black. A variant of a strategy keeps its hue and gets another shade and other dashes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engram.memory.strategies import STRATEGIES

INK = "#33363B"  # text and axes; a page replaces it by its own
LABELS = {"lru": "LRU", "rew": "REW", "sur": "SUR", "kmeans": "kM", "dkm": "DkM", "fading": "Fading"}
COLOURS = {
    "lru": "#0072B2",
    "rew": "#CC79A7",
    "sur": "#E69F00",
    "kmeans": "#009E73",
    "dkm": "#D55E00",
    "fading": "#56B4E9",
}
OTHER_COLOURS = ("#882255", "#7F7F7F", "#B8A900")  # for strategies of the user's own, in the order met
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

    @property
    def linestyle(self) -> Literal["solid"] | tuple[float, tuple[float, ...]]:
        """As matplotlib has it."""
        return (0, self.dashes) if self.dashes else "solid"


D3QN = Look("#666666", (1.2, 1.2))  # the agent without a memory


def label(strategy: Mapping[str, Any]) -> str:
    """What tables and figures call a strategy, given as in a run's config: `{"name": "dkm", "decay": 0.1}`."""
    name = strategy["name"]
    built_in = name in STRATEGIES.built_in and "source" not in strategy
    usual = STRATEGIES.built_in_class(name)().options if built_in else {}
    options = {key: value for key, value in strategy.items() if key not in ("name", "source")}
    unusual = [f"{key} {_number(value)}" for key, value in options.items() if usual.get(key) != value]
    return ", ".join([LABELS[name] if built_in else name, *unusual])


def looks(strategies: Iterable[Mapping[str, Any]]) -> dict[str, Look]:
    """A look for each strategy, by label. Built-in ones with their default options always look the same."""
    found: dict[str, Look] = {}
    variants: dict[str, int] = {}
    others: dict[str, str] = {}
    for strategy in strategies:
        name, text = strategy["name"], label(strategy)
        if text in found:
            continue
        if text == LABELS.get(name):
            found[text] = Look(COLOURS[name])
            continue
        colour = COLOURS.get(name) or others.setdefault(name, OTHER_COLOURS[len(others) % len(OTHER_COLOURS)])
        number = variants.get(name, 1 if name in COLOURS else 0)
        variants[name] = number + 1 if number + 1 < len(SHADES) else 1  # never again as the first
        found[text] = Look(_shade(colour, SHADES[number]), DASHES[number])
    return found


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shade(colour: str, amount: float) -> str:
    target = 255 if amount > 0 else 0
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (target - part) * abs(amount)):02X}" for part in parts)
