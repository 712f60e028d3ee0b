"""The page in a browser: nothing goes wrong, something is drawn, and a narrow screen needs no scrolling sideways."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from engram.lab.pages.columns import columns_of
from engram.lab.pages.landing_page import FilmFile
from engram.lab.pages.page import Drawing, Page, Section, Table
from engram.lab.pages.study_page import StudyReport
from engram.paper.registry import STUDIES
from engram.pictures.canvas import Figure, svg_of
from engram.pictures.legend_keys import take_legend
from engram.pictures.marks import mark
from tests.lab.pages.browser import HEIGHT, ask, browse, complaints, needs_browser
from tests.lab.pages.test_study_page import FIGURES, small

WIDTHS = (1280, 390)
MEASURE = """
const beyond = [...document.body.querySelectorAll("*")]
  .filter(each => !each.parentElement.closest(".wide") && each.getBoundingClientRect().right > innerWidth + 0.5);
const cut = [...document.querySelectorAll("td, th")].filter(each => each.scrollWidth > each.clientWidth + 1);
answer({
  inner: innerWidth,
  scroll: document.documentElement.scrollWidth,
  beyond: beyond.map(each => each.outerHTML.slice(0, 80)),
  cut: cut.map(each => each.textContent),
  drawings: [...document.querySelectorAll(".columns > svg")].map(each => each.getBoundingClientRect().width),
  figures: document.querySelectorAll(".columns").length,
  loaded: performance.getEntriesByType("resource").map(each => each.name),
});
"""

pytestmark = needs_browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with all parts, and what is folded is open."""
    found = small(tmp_path_factory.mktemp("study"))
    path = StudyReport(found, tmp_path_factory.mktemp("report"), STUDIES["cartpole"]).write()
    path.write_text(path.read_text().replace("<details>", "<details open>"))
    return path


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_drawn_without_complaints(report: Path, width: int) -> None:
    picture = report.with_name(f"{width}.png")
    done = browse(report, width, f"--screenshot={picture}")
    assert done.returncode == 0, done.stderr
    assert complaints(done) == []
    pixels = np.asarray(imread(picture))[..., :3]
    assert pixels.shape[:2] == (HEIGHT, width)
    ink = (pixels != pixels[0, 0]).any(axis=-1)
    assert ink.any(axis=1).sum() > HEIGHT / 3  # rows
    assert ink[:, width // 2 :].any()
    assert not ink[:, :8].any()  # the margins
    assert not ink[:, -8:].any()
    assert len(np.unique((pixels[::8, ::8].reshape(-1, 3) * 255).astype(int), axis=0)) > 50  # colours


@pytest.mark.parametrize("width", WIDTHS)
def test_only_what_is_meant_to_be_scrolled_is_wider_than_the_screen(report: Path, width: int) -> None:
    found = ask(report.read_text(), MEASURE, report.parent, width=width)
    assert found["inner"] == width
    assert found["scroll"] == width
    assert found["beyond"] == []
    assert found["cut"] == []
    assert found["loaded"] == []
    assert found["figures"] == len(FIGURES)
    assert min(found["drawings"]) > 150  # none is shrunk until it cannot be read; two of the smallest fit a phone
    assert max(found["drawings"]) <= 900


def test_complaints_would_be_seen(tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text("<!DOCTYPE html><title>it</title><script>nobody()</script>")
    (complaint,) = complaints(browse(broken, 390, "--dump-dom"))
    assert "nobody is not defined" in complaint


def interactive() -> str:
    """A page with a figure of two series, one of them extra, and a table of both."""
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(("LRU", "kM")):
        (line,) = axes.plot([1, 2, 3], [number + 1, 4, 2], color=f"#{number}{number}77bb")
        mark(line, name, [f"{name} at {x}" for x in (1, 2, 3)], extra=name == "kM")
    figure.legend(axes.get_lines(), ["LRU", "kM"], loc="outside upper center")
    legend = take_legend(figure)
    rows = [["a", "3 ± 1", "−5"], ["b", "20 ± 1", "1,000"], ["c", "–", "7"]]
    drawing = Drawing([svg_of(figure).decode()], "A figure", legend=legend)
    return Page("Page", [Section("Figure", [drawing]), Table(["cell", "LRU", "kM"], rows)]).html()


def test_series_are_switched_on_and_off_in_figures_and_tables(tmp_path: Path) -> None:
    script = """
const seen = () => [...document.querySelectorAll("svg [data-series], td[data-series]")]
  .filter(each => getComputedStyle(each).display !== "none").map(each => each.dataset.series).join(" ");
const buttons = [...document.querySelectorAll(".legend button")];
const states = [[seen(), buttons.map(each => each.ariaPressed)]];
buttons[1].click();
states.push([seen(), buttons.map(each => each.ariaPressed)]);
buttons[0].click();
states.push([seen(), buttons.map(each => each.ariaPressed)]);
answer(states);
"""
    assert ask(interactive(), script, tmp_path, width=390) == [
        ["LRU LRU LRU LRU", ["true", "false"]],  # kM is extra
        ["LRU kM LRU kM LRU kM LRU kM", ["true", "true"]],
        ["kM kM kM kM", ["false", "true"]],
    ]


def test_points_are_read_by_pointer_and_by_keyboard(tmp_path: Path) -> None:
    script = """
const area = document.querySelector("figure .wide"), tip = document.querySelector(".tip"), read = [];
const press = (key) => { area.dispatchEvent(new KeyboardEvent("keydown", { key })); read.push(tip.textContent); };
["ArrowRight", "ArrowRight", "ArrowDown", "Escape"].forEach(press);
const path = area.querySelector("[data-series] > path"), last = path.getPointAtLength(path.getTotalLength());
const place = last.matrixTransform(path.getScreenCTM());
const at = { clientX: place.x + 3, clientY: place.y - 3 };
area.dispatchEvent(new PointerEvent("pointermove", at));
read.push(tip.textContent);
area.dispatchEvent(new PointerEvent("pointermove", { clientX: 1, clientY: 1 }));
read.push(tip.textContent);
answer([area.tabIndex, read]);
"""
    told = ["LRULRU at 1", "LRULRU at 2", "LRULRU at 2", "", "LRULRU at 3", ""]
    assert ask(interactive(), script, tmp_path, width=1280) == [0, told]


def test_columns_of_a_figure_stand_below_one_another_on_a_phone(tmp_path: Path) -> None:
    figure = Figure(figsize=(9, 3), layout="constrained")
    for number, axes in enumerate(figure.subplots(1, 2)):
        (line,) = axes.plot([1, 2, 3], color="#0077bb")
        mark(line, "kM", [f"{number}: {x}" for x in (1, 2, 3)])
    html = Page("Page", [Drawing(columns_of(figure, 1), "A figure")]).html()
    script = """
const boxes = [...document.querySelectorAll(".columns svg")].map(each => each.getBoundingClientRect());
const area = document.querySelector("figure .wide"), tip = document.querySelector(".tip"), read = [];
for (const path of area.querySelectorAll("[data-series] > path")) {
  const place = path.getPointAtLength(0).matrixTransform(path.getScreenCTM());
  area.dispatchEvent(new PointerEvent("pointermove", { clientX: place.x + 2, clientY: place.y + 2 }));
  read.push(tip.textContent);
}
answer([boxes[0].right <= boxes[1].left, boxes[0].bottom <= boxes[1].top, boxes.every(each => each.right <= innerWidth),
  read]);
"""
    read = ["kM0: 1", "kM1: 1"]
    assert ask(html, script, tmp_path, width=1280) == [True, False, True, read]
    assert ask(html, script, tmp_path, width=390) == [False, True, True, read]


def test_tables_are_sorted_by_a_column_and_back(tmp_path: Path) -> None:
    script = """
const order = () => [...document.querySelectorAll("tbody tr")].map(each => each.cells[0].textContent).join("");
const heads = [...document.querySelectorAll("thead th")], found = [];
for (const column of [1, 1, 1, 2, 0]) {
  heads[column].querySelector("button").click();
  found.push([order(), heads.map(each => each.ariaSort)]);
}
answer(found);
"""
    down, up = "descending", "ascending"
    assert ask(interactive(), script, tmp_path, width=1280) == [
        ["bac", [None, down, None]],  # what has no number comes last, whichever way
        ["abc", [None, up, None]],
        ["abc", [None, None, None]],
        ["bca", [None, None, down]],
        ["cba", [down, None, None]],
    ]


def test_rows_are_sorted_within_their_groups(tmp_path: Path) -> None:
    rows = [[name, str(number)] for name, number in zip("abcdef", (1, 3, 2, 7, 9, 8), strict=True)]
    script = """
document.querySelectorAll("thead button")[1].click();
answer([...document.querySelectorAll("tbody tr")].map(each => each.cells[0].textContent).join(" "));
"""
    html = Page("Page", [Table(["cell", "LRU"], rows, groups={0: "Cart", 3: "Room"})]).html()
    assert ask(html, script, tmp_path, width=390) == "Cart b c a Room e f d"


def test_wide_tables_of_numbers_become_cards_on_a_phone(tmp_path: Path) -> None:
    script = """
const cells = [...document.querySelectorAll("td, tbody th")].filter(each => each.textContent);
answer([Math.max(...cells.map(each => each.getBoundingClientRect().right)),
  getComputedStyle(cells.at(-1), "::before").content,
  document.querySelector("thead").getBoundingClientRect().right > 0]);
"""
    names = ["LRU", "kM", "DkM", "DkM, decay 0.03", "Fading"]
    for columns, wide in ((5, True), (3, False)):
        rows = [["1,000", *["1,234 ± 567"] * columns]] * 3
        html = Page("Page", [Table(["entries per action", *names[:columns]], rows, groups={0: "CartPole"})]).html()
        right, label, head = ask(html, script, tmp_path, width=390)
        assert (label, head) == (('"Fading"', False) if wide else ("none", True))
        assert right <= 390
        assert ask(html, script, tmp_path, width=1280)[1:] == ["none", True]


def test_only_areas_that_can_be_scrolled_or_read_are_stops_of_the_tab_key(tmp_path: Path) -> None:
    wide = Page("Page", [Table(["a", *"bcd"], [["1,234 ± 567 and more"] * 4] * 3), Table(["a"], [["1"]])]).html()
    script = """
new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame)).then(() => answer(
  [...document.querySelectorAll(".wide")].map(each => [each.hasAttribute("tabindex"), each.previousSibling.hidden])));
"""
    assert ask(wide, script, tmp_path, width=390) == [[True, False], [False, True]]


def test_a_film_plays_when_its_link_is_pressed_and_stops(tmp_path: Path) -> None:
    film = FilmFile("data:,film", "data:,still", 40, 30, 1_500_000, "A film")
    script = """
const link = document.querySelector("a.film"), image = link.querySelector("img");
const state = () => [image.getAttribute("src"), link.querySelector("span").textContent];
const states = [state()];
for (let i = 0; i < 2; i++) { link.click(); states.push(state()); }
answer(states);
"""
    before = ["data:,still", "▶ play the film (1.5 MB)"]
    assert ask(Page("Page", [film]).html(), script, tmp_path, width=390) == [
        before,
        ["data:,film", "■ stop the film"],
        before,
    ]
