"""Pyramid: the foreground, counted in cells of several sizes.

A thing that moves from one cell to another changes the counts of both, wherever the other is. Counted in larger cells
as well, it is the further from where it was the further it has moved, since each size has a border in between from some
distance on.
"""

from dataclasses import dataclass

from engram.encoders.foreground import Foreground
from engram.errors import InvalidInputError

MOST_LEVELS = 12  # sizes of cells


@dataclass
class Pyramid(Foreground):
    """A random projection of foreground pixels in `cells` × `cells` cells, in half as many along each side, and so on.

    `levels` is the number of sizes. Background, threshold and fading are those of `Foreground`.
    """

    cells: int = 24  # along each side, of the smallest size
    levels: int = 3  # sizes of cells

    name = "pyramid"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_whole({"levels": (1, MOST_LEVELS)})
        largest = 2 ** (self.levels - 1)
        if self.cells % largest:
            raise InvalidInputError(
                f"cells={self.cells} cannot be halved {self.levels - 1} times for levels={self.levels}; choose a "
                f"multiple of {largest}, or fewer levels"
            )

    def _sides(self) -> list[int]:
        return [self.cells >> level for level in range(self.levels)]
