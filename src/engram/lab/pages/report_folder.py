"""A report's folder: the page for a browser, the same for readers of a repository, and figures."""

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path

from engram.files.disk import inside, is_file, read_file, write_atomically
from engram.files.targets import check_replaceable
from engram.lab.pages.columns import columns_of
from engram.lab.pages.markdown import markdown
from engram.lab.pages.page import ABOUT, Drawing, Page
from engram.pictures.canvas import Figure, save, svg_of
from engram.pictures.legend_keys import take_legend

PAGES = ("index.html", "README.md")


def check_page_folder(out: Path, about: str, also: Sequence[str] = ()) -> None:
    """Raise StorageError if writing a page to a folder would replace one about something else, or what is none.

    `also` has the names of files that are written beside it.
    """
    for name in (*PAGES, *also):
        check_replaceable(
            out / name,
            lambda: about != "" and about == _about(out / PAGES[0]),
            "no page about the same; nothing was written",
            "choose another folder with --out",
        )


def _about(path: Path) -> str | None:
    """What a page says that it is about."""
    head = read_file(path).partition(b"<title>")[0].decode(errors="replace") if is_file(path) else ""
    found = re.search(rf'<meta name="{ABOUT}" content="([^"]*)">', head)
    return unescape(found[1]) if found else None


def write_page(page: Page, out: Path) -> Path:
    """Write `index.html`, and `README.md` beside it; return the path of the first."""
    path = out / PAGES[0]
    write_atomically(out / PAGES[1], markdown(page).encode())
    write_atomically(path, page.html().encode())
    return path


def write_figure(figure: Figure, out: Path, name: str, caption: str, alt: str = "", *, across: int = 0) -> Drawing:
    """Write a figure as SVG and PNG; return it as a block of the page, where its legend is text above it.

    `alt` says what is to be seen in it, for those who do not see it. `across` is how many axes of a row make a panel:
    columns of panels then stand below one another on a phone.
    """
    save(figure, inside(out, "figures") / name)
    legend = take_legend(figure)
    columns = columns_of(figure, across) if across else []
    return Drawing(columns or [svg_of(figure).decode()], caption, f"figures/{name}.png", alt, legend)
