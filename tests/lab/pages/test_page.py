"""The parts of a page: what they are to those who do not see it, who print it, or whose browser runs no scripts."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import engram.lab.pages
from engram.lab.pages import page
from engram.lab.pages.interval_bar import IntervalBar, rounded
from engram.lab.pages.markdown import markdown
from engram.lab.statistics import Interval
from engram.pictures.canvas import STYLE, Figure, mpl, svg_of
from engram.pictures.colours import SOFT, rgb
from engram.pictures.marks import Key

CSS = (Path(engram.lab.pages.__file__).parent / "page.css").read_text()


class Elements(HTMLParser):
    """The elements of a page with their attributes, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def named(self, tag: str) -> list[dict[str, str]]:
        return [attributes for each, attributes in self.found if each == tag]


def a_figure() -> str:
    with mpl.rc_context(STYLE):
        figure = Figure()
        axes = figure.subplots()
        axes.plot([1.23456789, 2], [1, 2])
        axes.text(1, 1, "aside", color=SOFT)
        return svg_of(figure).decode()


def text_colours(html: str) -> set[str]:
    """The colours of the text of figures, as elements have them or classes of the figure."""
    rules = dict(re.findall(r"\.(s[0-9a-f]{8})\{([^}]*)\}", html))
    texts = re.findall(r"<text ([^>]*)>", html)
    styles = [rules.get(found[1], "") if (found := re.search(r'class="(\w+)"', each)) else each for each in texts]
    return {found[1] if (found := re.search(r"fill: ([^;\"]+)", style)) else "black" for style in styles}


def test_a_page_has_landmarks_and_a_link_to_its_content() -> None:
    found = Elements(page.Page("Title", [page.Section("One & two", [page.Text("text")])]).html())
    assert [tag for tag, _ in found.found if tag in ("a", "main", "h1", "section", "h2")] == [
        *("a", "main", "h1", "section", "h2")
    ]
    assert found.named("a")[0]["href"] == f"#{found.named('main')[0]['id']}"
    assert found.named("section")[0]["id"] == "one-two"
    assert found.named("html")[0]["lang"] == "en"


def test_rows_and_columns_have_heads_and_empty_heads_are_none() -> None:
    html = page.Table(["", "LRU"], [["50", "1"], [page.Entry("100", bold=True), "2"]], "Scores").html()
    found = Elements(html)
    assert [each["scope"] for each in found.named("th")] == ["col", "row", "row"]
    assert '<th scope="row"><b>100</b></th>' in html
    (area,) = (each for each in found.named("div") if each.get("class") == "wide")
    assert (area["tabindex"], area["role"], area["aria-label"]) == ("0", "group", "Scores")


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    table = page.Table(["", "a", "b", "c"], [["–", "–", "1", "–"], ["–", page.Entry("–", ["below"]), "–", "2"]])
    shown = table.without("–")
    assert shown.header == ["", "b", "c"]
    assert shown.rows == [["–", "1", "–"], ["–", "–", "2"]]


def test_legends_show_the_shape_and_whether_it_is_hollow() -> None:
    keys = [Key("a", "#0072b2", kind="dots"), Key("b", "#d55e00", kind="dots", marker="s", hollow=True)]
    html = page.Drawing([a_figure()], "A figure", legend=keys).html()
    assert '<circle cx="13" cy="4" r="3" fill="#0072b2"/></svg>a</li>' in html
    assert re.search(r'<rect [^>]*fill="none" stroke="#d55e00"[^>]*/></svg>b</li>', html)


def test_rows_of_a_group_stand_below_its_head() -> None:
    table = page.Table(["size", "LRU"], [["50", "1"], ["100", "2"], ["50", "3"]], groups={0: "Cart, n = 5", 2: "Room"})
    html = table.html()
    bodies = [re.findall(r"<t[hd] scope=\"row\">(.*?)</th>", body) for body in html.split("<tbody>")[1:]]
    assert bodies == [["50", "100"], ["50"]]
    assert '<th scope="rowgroup" colspan="2"><span>Cart, n = 5</span></th>' in html
    assert "| **Cart, n = 5** |  |\n| 50 | 1 |\n| 100 | 2 |\n| **Room** |  |\n| 50 | 3 |" in markdown(
        page.Page("", [table])
    )


def test_what_is_seen_in_a_figure_is_told_to_those_who_do_not_see_it() -> None:
    told = page.Drawing([a_figure()], "Scores by size.", "a.png", alt="kM is above LRU at every size")
    assert 'aria-label="kM is above LRU at every size"' in told.html()
    assert "![kM is above LRU at every size](a.png)" in markdown(page.Page("", [told]))
    silent = page.Drawing([a_figure()], "Scores by size.", "a.png")
    assert 'aria-label="Scores by size."' in silent.html()
    assert "![Scores by size.](a.png)" in markdown(page.Page("", [silent]))


def test_figures_have_the_colours_of_the_page_and_no_digits_that_nobody_sees() -> None:
    html = page.Drawing([a_figure()], "A figure").html()
    assert text_colours(html) == {"currentColor", "var(--soft)"}
    assert not re.search(r' d="[^"]*\.\d{3}', html)
    assert ' id="line2d_1"' not in html


def test_styles_that_a_figure_repeats_are_told_once() -> None:
    figure = page.Drawing([a_figure()], "A figure").html()
    (rule,) = re.findall(r"\.(s[0-9a-f]{8})\{[^}]*text-anchor: middle[^}]*\}", figure)  # of the numbers at an axis
    assert figure.count(f'class="{rule}"') > 2
    assert figure.count("DejaVu Sans") <= 4


def test_without_scripts_everything_is_shown() -> None:
    keys = [Key("LRU", "#0072b2"), Key("DkM", "#d55e00", "4,2")]
    table = page.Table(["size", "LRU"], [["50", "1"]], about="NEC")
    html = page.Page("", [page.Drawing([a_figure()], "A figure", legend=keys, about="NEC"), table]).html()
    before = html[: html.index("<script>")]
    assert before.count('data-series="NEC"') == 2
    assert 'stroke-dasharray="4,2"/></svg>DkM</li>' in before
    assert "<button" not in before  # nothing that could only be pressed in vain
    assert " hidden" not in before
    assert 'class="off"' not in before
    assert " src=" not in html[html.index("<script>") - 8 :]


def test_an_entry_may_lead_somewhere_look_different_and_hold_blocks() -> None:
    bar = IntervalBar(Interval(-175, -122, -68))
    entry = page.Entry("text", kind="bad", dim=True, link="there.html", blocks=[bar, page.Folded("rule", [])])
    html = entry.html("verdict")
    assert html.startswith('<td class="bad dim" data-label="verdict"><a href="there.html">text</a><svg class="bar"')
    assert "<details><summary>rule</summary>" in html
    assert "| [text](there.html) |" in markdown(page.Page("", [page.Table(["a"], [[entry]])]))


def test_a_finding_is_told_first_and_ornaments_are_for_the_eye() -> None:
    class Star(page.Ornament):
        def html(self) -> str:
            return "*"

    shown = page.Page("Title", [page.Finding("kM wins by -3 %"), Star()])
    assert '<p class="finding">kM wins by −3\N{NO-BREAK SPACE}%</p>\n*' in shown.html()
    assert markdown(shown) == "# Title\n\n**kM wins by −3 %**\n"


def test_signs_that_mean_something_in_markdown_are_escaped_everywhere() -> None:
    entry = page.Entry("a|b", link="a b|c.html")
    table = page.Table(["x|y", "<b>"], [["1", entry]], caption="a_b")
    figure = page.Drawing([a_figure()], "c*", "figures/a (b)|c.png")
    told = markdown(page.Page("", [table, figure, page.Film("", ".gif", "a b.gif")]))
    assert "**a\\_b**\n\n| x\\|y | \\<b> |" in told
    assert "| 1 | [a\\|b](a%20b%7Cc.html) |" in told
    assert "(figures/a%20%28b%29%7Cc.png)" in told
    assert "(a%20b.gif)" in told


def test_a_section_of_which_all_is_folded_is_left_out_of_markdown() -> None:
    folded = page.Folded("more", [page.Text("text")])
    shown = page.Page(
        "",
        [page.Section("Empty", [page.Subsection("Inside", [folded])]), page.Section("Full", [folded, page.Text("x")])],
    )
    assert markdown(shown) == "# \n\n## Full\n\nx\n"
    assert "<h2>Empty</h2>" in shown.html()


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(-175.4, -121.9, -68.2), "−122 [−175, −68]"),
        (Interval(0.806, 1.361, 2.89), "1.4 [0.8, 2.9]"),
        (Interval(-0.0024e-3, 0.0644e-3, 0.131e-3), "0.00006 [0.00000, 0.00013]"),
        (Interval(float("-inf"), 903.2, float("inf")), "903"),
        (Interval(5.0, 5.0, 5.0), "5.0 [5.0, 5.0]"),
        (Interval(-0.5, -0.5, -0.5), "−0.50 [−0.50, −0.50]"),
        (Interval(0.0, 0.0, 0.0), "0 [0, 0]"),
    ],
)
def test_intervals_are_rounded_to_what_they_can_tell(interval: Interval, text: str) -> None:
    assert rounded(interval) == text


def places(html: str, pattern: str) -> list[float]:
    found = re.search(pattern, html)
    assert found is not None
    return [float(each) for each in found.groups()]


def test_an_interval_bar_shows_where_the_interval_lies_and_where_it_should() -> None:
    below = IntervalBar(Interval(-175, -122, -68), (0, float("inf"))).html()
    low, high = places(below, r'class="span" d="M([\d.]+) 13H([\d.]+)"')
    (dot,), (limit,) = places(below, r'cx="([\d.]+)"'), places(below, r'<path d="M([\d.]+) 0V')
    assert low < dot < high < limit
    left, width = places(below, r'<rect x="([\d.]+)" y="0" width="([\d.]+)"')
    assert left == limit
    assert width > 20  # some of what is claimed can be seen
    assert 'aria-label="−122 [−175, −68]; claimed: above 0"' in below
    within = IntervalBar(Interval(-0.05, 0.0, 0.05), (-0.1, 0.1)).html()
    assert "claimed: between −0.1 and 0.1" in within
    alone = IntervalBar(Interval(float("-inf"), 3.0, float("inf")), (float("-inf"), 10.0)).html()
    assert "span" not in alone
    assert "claimed: below 10" in alone


def luminance(colour: str) -> float:
    parts = [each / 255 for each in rgb(colour)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_on_paper_of_either_colour(dark: bool) -> None:
    light_part, dark_part = CSS.split("@media (prefers-color-scheme: dark)")[:2]
    found = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{3,6});", dark_part if dark else light_part))
    whole = {
        name: each if len(each) == 7 else "#" + "".join(2 * digit for digit in each[1:]) for name, each in found.items()
    }
    for name in ("ink", "soft", "link", "good", "bad", "open"):
        for under in ("paper", "tint"):
            assert contrast(whole[name], whole[under]) >= 4.5, (name, under)
