"""How the site is built: `make docs`. The sources are the repository's own pages, so their links are the site's."""

import json
from pathlib import Path
from typing import Any

import engram

ROOT = Path(__file__).parents[1]

project = "Engram"
author = "The Engram developers"
copyright = author  # noqa: A001 (the name that Sphinx reads)
version = release = engram.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "examples/*.ipynb",
    "results/*.md",
    "results/*/*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
highlight_language = "none"
default_role = "code"  # docstrings have `code` in single backticks

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # a table's page may begin below the first level

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
toc_object_entries = False

ENV = "~gymnasium.core.Env[~typing.Any, ~typing.Any]"
SHORT = {  # long types as Sphinx writes them, and what the source calls them
    f"str | {ENV} | ~collections.abc.Callable[[], {ENV}]": "EnvLike",
    "~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~numpy.float32]]": "Floats",
    "~numpy.ndarray[tuple[~typing.Any, ...], ~numpy.dtype[~typing.Any]]": "Array",
}
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"Engram {release}"
html_static_path = ["_site"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "to-the-home-page.html"}
templates_path = ["_site"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"source_repository": "https://github.com/engram-rl/engram", "source_branch": "main"}


def prepare_page(app: object, name: str, source: list[str]) -> None:
    """A notebook as Markdown: its text, and its code as blocks. In tables, mean ± deviation stays on one line."""
    if (ROOT / f"{name}.ipynb").exists():
        source[0] = "\n\n".join(map(_as_markdown, json.loads(source[0])["cells"]))
    lines = (line.replace(" ± ", "\u00a0±\u00a0") if line.startswith("|") else line for line in source[0].split("\n"))
    source[0] = "\n".join(lines)


def _as_markdown(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"])
    return f"```python\n{text}\n```" if cell["cell_type"] == "code" else text


def short_signature(*given: Any) -> tuple[str | None, str | None]:
    """A signature with short names of types."""
    return _shortened(given[-2]), _shortened(given[-1])


def _shortened(text: str | None) -> str | None:
    for long, short in SHORT.items() if text else ():
        text = text.replace(long, short) if text else text
    return text


def setup(app: Any) -> None:
    """Tell Sphinx of the notebooks and the signatures."""
    app.connect("source-read", prepare_page)
    app.connect("autodoc-process-signature", short_signature)
