"""A report's folder: the page for a browser, the same for readers of a repository, and figures."""

from pathlib import Path

from engram.files.disk import inside, write_atomically
from engram.lab.pages.markdown import markdown
from engram.lab.pages.page import Drawing, Page
from engram.pictures.canvas import Figure, save, svg_of
from engram.pictures.legend_keys import take_legend


def write_page(page: Page, out: Path) -> Path:
    """Write `index.html`, and `README.md` beside it; return the path of the first."""
    path = out / "index.html"
    write_atomically(out / "README.md", markdown(page).encode())
    write_atomically(path, page.html().encode())
    return path


def write_figure(figure: Figure, out: Path, name: str, caption: str, alt: str = "") -> Drawing:
    """Write a figure as SVG and PNG; return it as a block of the page, where its legend is text above it.

    `alt` says what is to be seen in it, for those who do not see it.
    """
    save(figure, inside(out, "figures") / name)
    legend = take_legend(figure)
    return Drawing(svg_of(figure).decode(), caption, f"figures/{name}.png", alt, legend)
