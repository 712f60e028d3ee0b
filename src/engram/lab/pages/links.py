"""Sentences that lead somewhere: to files beside a page, and to the first page of the site that the page is part of."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Self

from engram.files.disk import is_file
from engram.lab.pages.page import text_html

HOME = re.compile(r'<a data-home="([^"]*)">')


@dataclass(frozen=True)
class FilesBeside:
    """The data that lies beside a page."""

    files: Mapping[str, str]  # name → what is in it
    also: str = ""  # what else lies there

    @classmethod
    def there(cls, folder: Path, files: Mapping[str, str], also: str = "") -> Self:
        """Those of some files that a folder has."""
        return cls({name: what for name, what in files.items() if is_file(folder / name)}, also)

    def html(self) -> str:
        """A sentence in small print."""
        links = [f'<a href="{escape(name)}">{escape(name)}</a> {text_html(what)}' for name, what in self.files.items()]
        return f'<p class="note">Beside this page: {self._joined(links)}.</p>'

    def markdown(self) -> str:
        """The same in Markdown."""
        return f"Beside this page: {self._joined([f'[{name}]({name}) {what}' for name, what in self.files.items()])}."

    def _joined(self, parts: list[str]) -> str:
        return ", ".join([*parts, *([self.also] if self.also else [])])


@dataclass(frozen=True)
class HomeNote:
    """A sentence whose end leads to a part of the site's first page; by itself, a page has no such link."""

    text: str
    linked: str
    anchor: str

    def html(self) -> str:
        """A sentence in small print, with a link that leads nowhere until `linked_home` is given the page."""
        link = f'<a data-home="{escape(self.anchor)}">{escape(self.linked)}</a>'
        return f'<p class="note">{text_html(self.text)} {link}.</p>'

    def markdown(self) -> str:
        """The sentence alone."""
        return f"{self.text} {self.linked}."


def linked_home(html: str, home: str) -> str:
    """A page whose links to the first page of its site lead there."""
    return HOME.sub(lambda found: f'<a href="{escape(home)}#{found[1]}">', html)
