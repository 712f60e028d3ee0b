"""What a site puts around a page: links to the other pages, and what other sites show when they link to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from engram.lab.pages.links import linked_home


class Link(NamedTuple):
    """A page of the site."""

    name: str  # as the navigation shows it
    address: str  # relative to the site's folder


@dataclass(frozen=True)
class Frame:
    """A site: its pages, the first being the one that a visitor sees first, and its picture."""

    pages: Sequence[Link]
    card: str  # the picture's address, relative to the site's folder
    url: str = ""  # where the site is published, with a slash at its end; empty: not known

    def around(self, html: str, page: Link, *, title: str, description: str) -> str:
        """A page as the site shows it."""
        up = "../" * page.address.count("/")
        head, body = "</head>\n<body>\n", "</body>"
        if html.count(head) != 1 or html.count(body) != 1:
            raise ValueError(f"{page.address} is not a page that Engram has written")
        links = "".join(
            f'<a href="{escape(up + each.address)}"{_CURRENT if each == page else ""}>{escape(each.name)}</a>'
            for each in self.pages
        )
        skip = html.index(head) + len(head)
        first_line = html.index("\n", skip) + 1  # the link that skips to the content stays first
        navigation = f'<header><nav class="site" aria-label="Pages of this site">{links}</nav></header>\n'
        home = up + self.pages[0].address
        framed = html[:first_line] + navigation + html[first_line:]
        return linked_home(framed, home).replace("</head>", f"{self._meta(page, up, title, description)}</head>", 1)

    def _meta(self, page: Link, up: str, title: str, description: str) -> str:
        """What other sites show of the page. They need whole addresses, which only a published site has."""
        image = f"{self.url}{self.card}" if self.url else f"{up}{self.card}"
        shown = {"og:type": "website", "og:title": title, "og:description": description, "og:image": image}
        if self.url:
            shown["og:url"] = f"{self.url}{page.address.removesuffix('index.html')}"
        lines = [f'<meta property="{name}" content="{escape(text)}">' for name, text in shown.items()]
        lines += [f'<meta name="description" content="{escape(description)}">']
        lines += ['<meta name="twitter:card" content="summary_large_image">']
        return "\n".join([*lines, ""])


_CURRENT = ' aria-current="page"'
