"""Marks and legends of figures: pages have them, files do not."""

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from engram.lab.pages.curves import add_legend
from engram.lab.pages.inline_svg import inlined
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.style import Look
from engram.pictures.canvas import Figure, save, svg_of
from engram.pictures.legend_keys import take_legend
from engram.pictures.marks import Key, Mark, mark, read_mark


def two_lines() -> Figure:
    figure = Figure(layout="constrained")
    axes = figure.subplots()
    (solid,) = axes.plot([1, 2, 3], [1, 2, 4], color="#0072b2")
    (dashed,) = axes.plot([1, 2, 3], [1, 3, 9], color="#d55e00", linestyle=(0, (4, 2)))
    band = axes.fill_between([1, 2, 3], [0, 1, 2], [2, 3, 4], color="#0072b2", alpha=0.2)
    mark(solid, 'LRU "old" & <new>', ["1 | 1", "2", "4 [3, 5], n = 5"])
    mark(dashed, "DkM", ["1", "3", "9"], extra=True)
    mark(band, 'LRU "old" & <new>')
    figure.legend([solid, dashed], ["LRU", "DkM"], loc="outside upper center")
    return figure


def test_marks_become_attributes_of_the_page_and_leave_no_trace_in_files(tmp_path: Path) -> None:
    page = ElementTree.fromstring(inlined(svg_of(two_lines()).decode()))
    marked = [each for each in page.iter() if each.get("data-series")]
    assert [each.get("data-series") for each in marked] == ['LRU "old" & <new>', 'LRU "old" & <new>', "DkM"]
    lines = {each.get("data-readings"): each for each in marked if each.get("data-readings")}
    assert list(lines) == ["1 / 1|2|4 [3, 5], n = 5", "1|3|9"]
    assert [line.get("data-form") for line in lines.values()] == [None, "#"]
    assert [each.get("data-extra") for each in marked] == [None, None, ""]
    for readings, line in lines.items():
        title, path = line[0], line[1]
        assert str(title.text).endswith(str(readings).rpartition("|")[2])  # what browsers show without scripts
        assert len(corners(path.get("d", ""))) == 3  # a point for each reading
    unmarked = two_lines()
    for artist in unmarked.axes[0].get_children():
        artist.set_gid(None)
    plain, with_marks = save(unmarked, tmp_path / "plain").svg, save(two_lines(), tmp_path / "marked").svg
    files = [re.sub(r'<g id="[^"]*">', "<g>", path.read_text()) for path in (plain, with_marks)]
    assert files[0] == files[1]
    assert "mark:" not in with_marks.read_text()


def test_readings_that_differ_in_numbers_only_are_told_once() -> None:
    def attributes(*readings: str) -> dict[str, str]:
        figure = Figure()
        (line,) = figure.subplots().plot(range(len(readings)))
        mark(line, "kM", readings)
        found = re.search(r'<g data-series="kM"([^>]*)>', inlined(svg_of(figure).decode()))
        assert found is not None
        return dict(re.findall(r'([a-z-]+)="([^"]*)"', found[1]))

    assert attributes("500 steps: 1.5 [-1, 2], n = 5", "1,000 steps: -3 [-4, 2], n = 5") == {
        "data-form": "# steps: # [#, 2], n = 5",
        "data-readings": "500 1.5 -1|1,000 -3 -4",
    }
    assert attributes("1 run", "1 run", "1 run") == {"data-form": "1 run", "data-readings": "||"}
    assert attributes("1, 2", "1 or 2") == {"data-readings": "1, 2|1 or 2"}
    assert attributes("# 1", "# 2") == {"data-readings": "# 1|# 2"}


def corners(outline: str) -> list[tuple[float, float]]:
    """The points of an outline that begins somewhere and goes on in steps."""
    numbers = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", outline)]
    steps = np.array(numbers).reshape(-1, 2)
    return [tuple(each) for each in steps.cumsum(axis=0).tolist()]


def test_lines_are_drawn_in_short_steps_that_end_where_they_should() -> None:
    rng = np.random.default_rng(0)
    figure = Figure()
    figure.subplots().plot(rng.normal(size=100).cumsum(), color="#123456")
    svg = svg_of(figure).decode()
    path = r'<path d="([^"]*)"[^>]*stroke: #123456'
    whole, short = (re.search(path, text) for text in (svg, inlined(svg)))
    assert whole is not None
    assert short is not None
    assert len(short[1]) < 0.45 * len(whole[1])
    drawn = np.array([[float(each) for each in pair] for pair in re.findall(r"([-\d.]+) ([-\d.]+)", whole[1])])
    np.testing.assert_allclose(corners(short[1]), drawn, atol=0.051)


def test_other_names_are_no_marks() -> None:
    assert read_mark("line2d_7") is None
    assert read_mark("mark:%5B%22kM%22%2C%20%5B%221%22%5D%2C%20false%5D") == Mark("kM", ("1",), False)


def test_a_legend_is_taken_from_the_figure_as_it_was_drawn() -> None:
    figure = two_lines()
    keys = take_legend(figure)
    assert keys == [Key("LRU", "#0072b2"), Key("DkM", "#d55e00", keys[1].dashes)]
    assert re.fullmatch(r"[\d.]+,[\d.]+", keys[1].dashes)
    assert figure.legends == []
    assert take_legend(figure) == []


def test_a_legend_of_dots_has_their_shapes() -> None:
    figure, looks = Figure(), {"a": Look("#0072B2", marker="s"), "b": Look("#666666", marker="D", hollow=True)}
    add_legend(figure, ["a", "b"], looks)
    assert take_legend(figure) == [
        Key("a", "#0072b2", kind="dots", marker="s"),
        Key("b", "#666666", kind="dots", marker="D", hollow=True),
    ]


def test_a_page_has_the_legend_as_text_and_the_files_have_it_in_the_figure(tmp_path: Path) -> None:
    drawing = write_figure(two_lines(), tmp_path, "lines", "Two lines", "DkM rises faster")
    assert [key.name for key in drawing.legend] == ["LRU", "DkM"]
    assert ">DkM<" not in re.sub(r"<title>.*?</title>", "", "".join(drawing.svgs))
    assert ">DkM<" in (tmp_path / "figures" / "lines.svg").read_text()
    html = drawing.html()
    assert '<li data-key="DkM">' in html
    assert 'role="img" aria-label="DkM rises faster"' in html
    assert "<figcaption>Two lines</figcaption>" in html
