"""Marks and legends of figures: pages have them, files do not."""

import re
from pathlib import Path
from xml.etree import ElementTree

from engram.lab.pages.inline_svg import inlined
from engram.lab.pages.report_folder import write_figure
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
    page = ElementTree.fromstring(inlined(svg_of(two_lines()).decode(), "lines"))
    marked = [each for each in page.iter() if each.get("data-series")]
    assert [each.get("data-series") for each in marked] == ['LRU "old" & <new>', 'LRU "old" & <new>', "DkM"]
    lines = {each.get("data-readings"): each for each in marked if each.get("data-readings")}
    assert list(lines) == ["1 / 1|2|4 [3, 5], n = 5", "1|3|9"]
    assert [each.get("data-extra") for each in marked] == [None, None, ""]
    for readings, line in lines.items():
        title, path = line[0], line[1]
        assert str(title.text).endswith(str(readings).rpartition("|")[2])  # what browsers show without scripts
        assert len(re.findall(r"[ML]", path.get("d", ""))) == 3  # a point for each reading
    unmarked = two_lines()
    for artist in unmarked.axes[0].get_children():
        artist.set_gid(None)
    plain, with_marks = save(unmarked, tmp_path / "plain").svg, save(two_lines(), tmp_path / "marked").svg
    files = [re.sub(r'<g id="[^"]*">', "<g>", path.read_text()) for path in (plain, with_marks)]
    assert files[0] == files[1]
    assert "mark:" not in with_marks.read_text()


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


def test_a_page_has_the_legend_as_text_and_the_files_have_it_in_the_figure(tmp_path: Path) -> None:
    drawing = write_figure(two_lines(), tmp_path, "lines", "Two lines", "DkM rises faster")
    assert [key.name for key in drawing.legend] == ["LRU", "DkM"]
    assert ">DkM<" not in re.sub(r"<title>.*?</title>", "", drawing.svg)
    assert ">DkM<" in (tmp_path / "figures" / "lines.svg").read_text()
    html = drawing.html()
    assert '<li data-key="DkM">' in html
    assert 'role="img" aria-label="DkM rises faster"' in html
    assert "<figcaption>Two lines</figcaption>" in html
