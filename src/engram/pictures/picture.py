"""A picture with its words."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engram.errors import InvalidInputError
from engram.files.disk import write_atomically
from engram.pictures.canvas import Figure, png_of, svg_of


@dataclass(frozen=True)
class Picture:
    """A figure with a title and a caption."""

    name: str  # of its files
    title: str
    caption: str
    figure: Figure

    @cached_property
    def svg(self) -> str:
        """The figure as SVG, on a transparent ground."""
        return svg_of(self.figure).decode()

    @cached_property
    def png(self) -> bytes:
        """The figure as PNG, on white."""
        return png_of(self.figure)

    def save(self, path: str | Path) -> None:
        """Write it as an .svg or a .png."""
        target = Path(path)
        if target.suffix not in (".svg", ".png"):
            raise InvalidInputError(f"a picture must be an .svg or a .png, got {target.name!r}")
        write_atomically(target, self.svg.encode() if target.suffix == ".svg" else self.png)

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg
