"""Colours that people with any kind of colour vision can tell apart; those of actions show on white and on black."""

INK = "#33363B"  # text and axes; a page replaces it by its own
SOFT = "#8A939C"  # what is there, but is not the point
WALL = "#4A5160"
LINE = "#C9CED4"  # between the cells of a floor
VALUES = "viridis"  # from the lowest value to the highest
LIT = "#D55E00"  # what a picture points at
ACTIONS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A900", "#882255")  # Okabe and Ito's


def action_colours(count: int) -> list[str]:
    """A colour for each action; one for all where there are too many to tell apart."""
    return list(ACTIONS[:count]) if count <= len(ACTIONS) else [ACTIONS[0]] * count
