"""Colours that people with any kind of colour vision can tell apart; those of actions show on white and on black."""

INK = "#33363B"  # text and axes; a page replaces it by its own
SOFT = "#8A939C"  # what is there, but is not the point
WALL = "#4A5160"
PAPER = "#FAFBFC"  # under dots and arrows
LINE = "#C9CED4"  # between the cells of a floor
VALUES = "viridis"  # from the lowest value to the highest
LETTER = "#222222"  # on paper, also on a dark page
LIT = "#D55E00"  # what a picture points at
ACTIONS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A900", "#882255")  # Okabe and Ito's


def action_colours(count: int) -> list[str]:
    """A colour for each action; one for all where there are too many to tell apart."""
    return list(ACTIONS[:count]) if count <= len(ACTIONS) else [ACTIONS[0]] * count


SHADES = ("#440154", "#46327E", "#365C8D", "#277F8E", "#1FA187", "#4AC16D", "#A0DA39", "#FDE725")  # of viridis


def shade(share: float) -> tuple[int, int, int]:
    """The colour of a value, from 0 for the lowest to 1 for the highest, where matplotlib does not draw."""
    place = min(max(share, 0.0), 1.0) * (len(SHADES) - 1)
    below = min(int(place), len(SHADES) - 2)
    low, high = (rgb(SHADES[below + i]) for i in (0, 1))
    red, green, blue = (round(a + (b - a) * (place - below)) for a, b in zip(low, high, strict=True))
    return red, green, blue


def rgb(colour: str) -> tuple[int, int, int]:
    """`#RRGGBB` as three numbers."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
