"""Small drawings side by side, as many in a row as the screen has room for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from engram.lab.pages.page import Drawing

GRID = "display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, {width}), 1fr)); column-gap: 1.5rem"


@dataclass(frozen=True)
class Panels:
    """A grid of drawings; `keys` tells once for all of them what colours mean."""

    drawings: Sequence[Drawing]
    keys: Mapping[str, str] = field(default_factory=dict)  # name → colour
    width: str = "18rem"  # of a column, at least

    def html(self) -> str:
        """The keys, and below them the drawings."""
        keys = "".join(
            f'<span style="white-space: nowrap; margin-right: 1.2rem"><span class="key" style="background: {colour}">'
            f"</span>{escape(name)}</span> "
            for name, colour in self.keys.items()
        )
        drawn = "\n".join(drawing.html() for drawing in self.drawings)
        head = f"<p>{keys}</p>\n" if keys else ""
        return f'{head}<div style="{GRID.format(width=self.width)}">\n{drawn}\n</div>'
