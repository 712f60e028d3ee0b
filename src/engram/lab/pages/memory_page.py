"""A page about one memory: its pictures, how it changed as a slider, and what they were made from."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from engram.files.disk import write_atomically
from engram.lab.pages.page import Block, Facts, Page, Section, Text
from engram.lab.pages.report_folder import write_figure
from engram.pictures.picture import Picture

SLIDE = "this.nextElementSibling.value = this.dataset.steps.split(' ')[this.value]"
SHOW = "[...this.closest('figure').querySelectorAll('img')].forEach((each, i) => each.hidden = i != this.value)"


@dataclass(frozen=True)
class Slider:
    """Pictures of which a slider shows one at a time; without scripts the last is to be seen."""

    pngs: Sequence[bytes]
    labels: Sequence[str]
    caption: str

    def html(self) -> str:
        """The pictures inside the page."""
        last = len(self.pngs) - 1
        images = "".join(
            f'<img{"" if number == last else " hidden"} alt="{escape(label)}" '
            f'src="data:image/png;base64,{b64encode(png).decode()}" style="width: 100%; max-width: 50rem">'
            for number, (png, label) in enumerate(zip(self.pngs, self.labels, strict=True))
        )
        steps = escape(" ".join(label.replace(" ", "\N{NO-BREAK SPACE}") for label in self.labels))
        control = (
            f'<label class="note">Drag: <input type="range" min="0" max="{last}" value="{last}" '
            f'style="width: min(30rem, 60%)" data-steps="{steps}" oninput="{SLIDE}; {SHOW}">'
            f" <output>{escape(self.labels[-1])}</output></label>"
        )
        caption = f"<figcaption>{escape(self.caption)}</figcaption>"
        return f'<figure>\n<div class="wide">{images}</div>\n{control}\n{caption}\n</figure>'


def write_memory_page(
    out: Path,
    title: str,
    pictures: Sequence[Picture],
    facts: Facts,
    *,
    lead: str,
    about: str = "",
    slider: Slider | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write `index.html` and the pictures as files; return the path of the page."""
    blocks: list[Block] = [Text(lead), *(Text(note, note=True) for note in notes)]
    for number, picture in enumerate(pictures):
        blocks.append(Section(picture.title, [write_figure(picture.figure, out, picture.name, picture.caption)]))
        if number == 0 and slider is not None:
            blocks.append(Section("How it changed", [slider]))
    blocks.append(Section("What it was made from", [facts]))
    path = out / "index.html"
    write_atomically(path, Page(title, blocks, about).html().encode())
    return path
