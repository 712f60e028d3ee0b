"""The picture that other sites show beside a link: what came of the claims, and the first finding."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

from engram.lab.verdicts import Word
from engram.pictures.canvas import STYLE, Axes, Figure, mpl, png_of
from engram.pictures.colours import INK, SOFT

WIDTH, HEIGHT, DPI = 1200, 630, 100  # pixels, as sites that show such pictures ask for
EDGE = 0.06  # of the width, left and right
LINE = 52  # letters of a finding


def social_card(title: str, counts: Mapping[Word, int], colours: Mapping[Word, str], findings: Sequence[str]) -> bytes:
    """A PNG of 1200 × 630 pixels; `counts` says how many claims came to each verdict."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI))
        figure.text(EDGE, 0.86, "Engram", fontsize=46, fontweight="bold", va="center")
        figure.text(EDGE, 0.73, "\n".join(wrap(title, 56)), fontsize=25, va="center")
        text = "\n".join(wrap(findings[0], LINE)[:4]) if findings else ""
        figure.text(EDGE, 0.62 if sum(counts.values()) else 0.55, text, fontsize=27, va="top", linespacing=1.35)
        if sum(counts.values()):
            axes = figure.add_axes((EDGE, 0.1, 1 - 2 * EDGE, 0.16))
            _bar(axes, counts, colours)
    return png_of(figure, dpi=DPI)


def _bar(axes: Axes, counts: Mapping[Word, int], colours: Mapping[Word, str]) -> None:
    """The verdicts side by side, each as wide as it is frequent, with its number inside and its name below."""
    axes.axis("off")
    axes.set_xlim(0, sum(counts.values()))
    axes.set_ylim(-1, 1)
    start = 0
    for word, count in counts.items():
        if count:
            axes.barh(0.5, count, left=start, height=0.9, color=colours[word], edgecolor="white", linewidth=3)
            axes.text(start + count / 2, 0.5, str(count), color="white", fontsize=24, ha="center", va="center")
            axes.text(start + 0.05, -0.35, word, color=INK if count else SOFT, fontsize=18, va="center")
            start += count
