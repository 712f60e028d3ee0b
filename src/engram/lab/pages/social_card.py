"""The picture that other sites show beside a link: what came of the claims, and the first findings."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

from engram.lab.verdicts import BEYOND, FAILS, FEW, HOLDS, OPEN, Word
from engram.pictures.canvas import STYLE, Axes, Figure, mpl, png_of

WIDTH, HEIGHT, DPI = 1200, 630, 100  # pixels, as sites that show such pictures ask for
EDGE = 0.06  # of the width, left and right
LETTERS, LINES = 72, 6  # of the findings
COLOURS: dict[Word, str] = {HOLDS: "#116329", FAILS: "#a40e26", OPEN: "#8a6500", BEYOND: "#59636e", FEW: "#7b858f"}


def social_card(title: str, counts: Mapping[Word, int], told: Sequence[str], findings: Sequence[str]) -> bytes:
    """A PNG of 1200 × 630 pixels; `counts` says how many claims came to each verdict, `told` the same in words."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI))
        figure.text(EDGE, 0.87, "Engram", fontsize=44, fontweight="bold", va="center")
        figure.text(EDGE, 0.74, title, fontsize=22, va="center")
        figure.text(EDGE, 0.63, "\n".join(lines_that_fit(findings)), fontsize=20, va="top", linespacing=1.4)
        if sum(counts.values()):
            _bar(figure.add_axes((EDGE, 0.09, 1 - 2 * EDGE, 0.15)), counts, told)
    return png_of(figure, dpi=DPI)


def lines_that_fit(findings: Sequence[str]) -> list[str]:
    """The first findings that have room as a whole; of a first one that has none, its beginning."""
    shown: list[str] = []
    for text in findings:
        lines = wrap(text, LETTERS)
        if not shown and len(lines) > LINES:
            return [*lines[: LINES - 1], lines[LINES - 1] + " …"]
        if len(shown) + len(lines) > LINES:
            break
        shown += lines
    return shown


def _bar(axes: Axes, counts: Mapping[Word, int], told: Sequence[str]) -> None:
    """The verdicts side by side, each as wide as it is frequent, and below them what they are."""
    axes.axis("off")
    axes.set_xlim(0, sum(counts.values()))
    axes.set_ylim(-1, 1)
    start = 0
    for word, count in ((word, count) for word, count in counts.items() if count):
        axes.barh(0.4, count, left=start, height=1.1, color=COLOURS[word], edgecolor="white", linewidth=3)
        axes.text(start + count / 2, 0.38, str(count), color="white", fontsize=24, ha="center", va="center")
        start += count
    axes.text(0, -0.75, f"The paper's claims: {',  '.join(told)}", fontsize=16, va="center")
