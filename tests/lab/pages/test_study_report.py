"""Reports: what stands on the page and in the files is what the runs came to, and nothing is passed over."""

import csv
import json
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from engram.errors import RunFolderError
from engram.lab.evidence import Cell
from engram.lab.pages import page
from engram.lab.pages.cells import scores_csv
from engram.lab.pages.curves import Curve, curve_grid
from engram.lab.pages.page import Entry
from engram.lab.pages.provenance import how_it_was_made
from engram.lab.pages.sizes import Panel, boxes, memory_needed, needed_memory, score_by_size
from engram.lab.pages.study import StudyReport
from engram.lab.pages.style import Look, looks
from engram.lab.pages.tables import ABOVE, BELOW, UNFILLED, Block, differs, digits_for, score_table, score_text
from engram.lab.results import Results
from engram.lab.statistics import difference_from
from engram.lab.study_folder import StudyFolder
from engram.paper.claims import Evidence
from engram.paper.forgetting.report import ForgettingReport, Record, ranked, record
from engram.paper.open.report import OpenReport
from engram.paper.published import PAPER, Score
from engram.paper.reports import read_evidence, write_report
from engram.paper.stream.experiment import Stream, run_stream
from engram.paper.stream.report import StreamReport
from engram.paper.studies import STUDIES
from tests.lab.pages.synthetic import cell_of, declare, declared, results

SMALL = STUDIES["cartpole"].only(strategies=("lru", "kmeans", "dkm"), sizes=(50, 500, 10_000), seeds=(0, 1, 2))
NAMES = ("LRU", "kM", "DkM")
SIZES = (50, 500, 10_000)
STEPS = tuple(range(1_000, 13_000, 1_000))
FIGURES = ("boxes", "curves-mfec", "curves-nec", "curves-nec-50", "memory-needed", "score-by-size")
MISSING = ("nec", "DkM", 500, 1)  # the run that is not finished
CAPTIONS = {"mfec": "MFEC after 15,000 training steps", "nec": "NEC after 20,000 training steps"}


def score(cell: Cell, seed: int) -> float:
    """All that filled differ; those with 10,000 entries are the same for every strategy."""
    if cell.agent == "d3qn":
        return 120.0 + seed
    if cell.capacity == 10_000:
        return 250.0 + 10 * seed
    means = {"LRU": 96.0, "kM": 300.0, "DkM": 20.0}  # with MFEC at 50: as the paper's, above it, below it
    return means[str(cell.strategy)] + (50 if cell.agent == "nec" else 0) + 20 * (seed - 1)


def curve(cell: Cell, seed: int, value: float) -> tuple[tuple[int, ...], list[float]]:
    """Flat over the last ten evaluations, which make the score."""
    return STEPS, [0.0, 10.0, *[value] * 10]


def is_missing(place: dict[str, Any]) -> bool:
    cell = cell_of(place)
    return (cell.agent, cell.strategy, cell.capacity, place["seed"]) == MISSING


def small(folder: Path) -> Results:
    """A study in whose folder everything is but the runs themselves."""
    places = declare(SMALL, folder)
    call = {
        "command": "engram study cartpole --jobs 2",
        "started": "2025-01-02T03:04:05Z",
        "seconds": 90.0,
        "where": "2 processes",
        "runs": {"done": 56, "reused": 0, "failed": 0},
        "platform": "Linux",
        "cores": 2,
        "python": "3.11",
        "versions": {"numpy": "2"},
    }
    (folder / "calls.jsonl").write_text(json.dumps(call) + "\n")
    found = results(
        *(SMALL, score),
        filled=lambda cell: cell.capacity != 10_000,
        curve=curve,
        without=is_missing,
        places=places,
    )
    return replace(found, calls=[call], folder=folder)


@dataclass(frozen=True)
class Written:
    """A report, and what it was made from."""

    results: Results
    out: Path

    @property
    def html(self) -> str:
        return (self.out / "index.html").read_text()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    found = small(tmp_path_factory.mktemp("study"))
    out = tmp_path_factory.mktemp("report")
    assert StudyReport(found, out).write() == out / "index.html"
    return Written(found, out)


class Reader(HTMLParser):
    """A page's text, its tables by caption, and what it would load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.tables: dict[str, list[list[str]]] = {}
        self._rows: list[list[str]] = []
        self._inside: list[str] = []
        self._caption = ""
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "srcset", "data")]
        self._inside.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        elif tag in ("b", "small") and "td" in self._inside:
            self._rows[-1][-1] += f"<{tag}>"

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass
        if tag == "table":
            self.tables.setdefault(self._caption, self._rows)

    def handle_data(self, data: str) -> None:
        if {"style", "script"} & set(self._inside):
            return
        self.words.append(data)
        if "caption" in self._inside:
            self._caption += data
        elif {"td", "th"} & set(self._inside):
            self._rows[-1][-1] += data


def test_the_page_needs_nothing_else(written: Written) -> None:
    reader = Reader(written.html)
    assert not {"script", "iframe", "object", "embed", "audio", "video"} & reader.tags
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert "@import" not in written.html
    assert all(target.startswith(("#", "data:")) for target in re.findall(r"url\(['\"]?([^)'\"]*)", written.html))
    addresses = set(re.findall(r"https?://[^\"'<> ]+", written.html))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of what SVG is


def test_ids_on_the_page_name_one_thing_each(written: Written) -> None:
    found: dict[str, str] = {}
    for element in re.findall(r"<[a-zA-Z]+ [^>]*\bid=\"[^\"]*\"[^>]*>[^<]*", written.html):
        name = re.search(r'\bid="([^"]*)"', element)
        assert name is not None
        assert found.setdefault(name[1], element) == element  # figures may repeat a marker, but not another one


def test_missing_runs_are_named_and_their_cells_have_no_number(written: Written) -> None:
    (gone,) = written.results.missing
    assert gone.startswith("cartpole-nec-dkm-500-s1-")
    reader = Reader(written.html)
    assert "1 of 57 runs are missing" in reader.text
    assert gone in reader.text
    row = reader.tables[CAPTIONS["nec"]][2]
    assert row[0] == "500"
    assert row[3].startswith("missing")
    assert "<b>" not in "".join(row)  # nobody is best of those that happened to finish
    assert "NEC, highest mean score by entries per action: kM at 50." in reader.text


def test_all_missing_runs_are_named_however_many(tmp_path: Path) -> None:
    found = results(SMALL, score, places=declare(SMALL, tmp_path), without=lambda place: place["seed"] == 0)
    assert len(found.missing) == 19
    html = page.Page("", StudyReport(found, tmp_path).warnings()).html()
    assert all(run_id in html for run_id in found.missing)


def test_every_finished_run_is_on_the_page(written: Written) -> None:
    text = Reader(written.html).text
    runs = written.results.runs["run"]
    assert len(runs) == 56
    assert all(run_id in text for run_id in runs)


def test_bold_is_the_highest_mean_and_unfilled_cells_are_marked(written: Written) -> None:
    tables = Reader(written.html).tables
    evidence = Evidence([written.results])
    for agent in ("mfec", "nec"):
        header, *rows = tables[CAPTIONS[agent]]
        assert header == ["entries per action", *NAMES]
        assert [row[0] for row in rows] == ["50", "500", "10,000"]
        for size, row in zip(SIZES, rows, strict=True):
            scores = [evidence.scores("CartPole-v1", agent, name, size) for name in NAMES]
            means = [-np.inf if each is None else each.mean() for each in scores]
            whole = size != 10_000 and all(each is not None for each in scores)
            assert ["<b>" in cell for cell in row[1:]] == [whole and mean == max(means) for mean in means]
            assert [UNFILLED in cell for cell in row[1:]] == [size == 10_000] * 3
            for cell, each in zip(row[1:], scores, strict=True):
                assert cell.replace("<b>", "").startswith("missing" if each is None else score_text(each, 0))


def test_marks_say_where_ours_is_not_theirs(written: Written) -> None:
    tables = Reader(written.html).tables
    evidence = Evidence([written.results])
    marks = []
    for agent in ("mfec", "nec"):
        for size, row in zip(SIZES, tables[CAPTIONS[agent]][1:], strict=True):
            for name, text in zip(NAMES, row[1:], strict=True):
                cell = Cell("CartPole-v1", agent, name, size)
                scores, theirs = evidence.scores(*cell), PAPER[cell]
                mark = next((each for each in (ABOVE, BELOW) if each in text), "")
                assert f"<small>{theirs.mean:g} ± {theirs.std:g}" in text
                if scores is None:
                    assert mark == ""
                    continue
                gap = difference_from(scores, theirs.mean, theirs.std, theirs.seeds)
                assert mark == (ABOVE if gap.low > 0 else BELOW if gap.high < 0 else "")
                assert mark == differs(scores, theirs, (theirs.steps,))
                marks.append(mark)
    assert {"", ABOVE, BELOW} == set(marks)
    theirs = Score(0.0, 12.0, 5, 20_000)
    found = [differs(np.array([-9.0, 0.0, 9.0]) + shift, theirs, (20_000,)) for shift in range(-40, 41)]
    half = difference_from([-9.0, 0.0, 9.0], 0.0, 12.0, 5).high
    assert found == [BELOW if shift < -half else ABOVE if shift > half else "" for shift in range(-40, 41)]
    assert differs(np.array([1e9]), theirs, (20_000,)) == ""  # one seed says nothing of its spread
    for steps in ((10_000,), (10_000, 20_000)):  # after other training it says nothing of the paper
        assert differs(np.array([99.0, 100.0, 101.0]), theirs, steps) == ""


def test_scores_csv_lists_the_runs_of_every_cell(written: Written) -> None:
    with (written.out / "scores.csv").open(newline="") as file:
        rows = {(row["agent"], row["strategy"], row["capacity"]): row for row in csv.DictReader(file)}
    whole = {(agent, name, str(size)) for agent in ("mfec", "nec") for name in NAMES for size in SIZES}
    assert set(rows) == whole - {("nec", "DkM", "500")} | {("d3qn", "", "")}
    for (agent, strategy, capacity), row in rows.items():
        cell = Cell("CartPole-v1", agent, strategy or None, int(capacity) if capacity else None)
        runs = [run_id for run_id, place in written.results.declared.items() if cell_of(place) == cell]
        values = [score(cell, seed) for seed in range(3)]
        assert row["runs"].split() == runs
        assert row["seeds"] == "3"
        assert row["steps"] == ("15000" if agent == "mfec" else "20000")
        assert float(row["mean"]) == pytest.approx(np.mean(values), abs=1e-4)
        assert float(row["std"]) == pytest.approx(np.std(values, ddof=1), abs=1e-4)
        assert float(row["iqm_low"]) <= float(row["iqm"]) <= float(row["iqm_high"])
        assert row["filled"] == ("" if agent == "d3qn" else str(capacity != "10000"))
        assert (float(row["paper_mean"]), float(row["paper_std"])) == PAPER[cell][:2]


def test_figures_are_written_as_svg_and_png(written: Written) -> None:
    figures = written.out / "figures"
    files = {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    assert {path.name for path in figures.iterdir()} == files
    for name in FIGURES:
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        texts = texts_of(figures / f"{name}.svg")
        assert set(NAMES) <= texts
        assert ("10,000*" in texts) == (name in ("boxes", "score-by-size"))
    assert written.html.count("<svg") == len(FIGURES)


def texts_of(svg: Path) -> set[str | None]:
    return {text.text for text in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")}


def test_an_exported_study_can_be_read_again_and_gives_the_same_bytes(written: Written, tmp_path: Path) -> None:
    again = Results.read(written.out)
    assert again.evaluations.equals(written.results.evaluations)
    assert replace(again, evaluations=written.results.evaluations, folder=written.results.folder) == written.results
    assert pl.read_csv(written.out / "evaluations.csv").height == again.evaluations.height
    write_report(written.out, tmp_path)
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {path.relative_to(written.out) for path in written.out.rglob("*") if path.is_file()}
    for path in files:
        assert (tmp_path / path).read_bytes() == (written.out / path).read_bytes(), path


def test_a_report_does_not_take_the_place_of_another_study(written: Written, tmp_path: Path) -> None:
    StudyFolder(tmp_path).declare(STUDIES["acrobot"], [])
    before = (tmp_path / "study.json").read_bytes()
    with pytest.raises(RunFolderError, match="holds the study 'acrobot', not 'cartpole'"):
        written.results.export(tmp_path)
    assert (tmp_path / "study.json").read_bytes() == before


def test_variants_do_not_enter_the_cells(tmp_path: Path) -> None:
    study = STUDIES["open"].only(strategies=("lru", "dkm"), seeds=(0, 1))
    found = results(
        *(study, lambda cell, seed: 100.0 + seed),
        places={run_id: place for run_id, place in declare(study, tmp_path).items() if "CartPole" in place["env"]},
    )
    report = StudyReport(found, tmp_path)
    assert set(found.runs["variant"]) > {"", "mean kernel"}
    assert {len(runs) for runs in report.runs.values()} == {2}
    rows = list(csv.DictReader(scores_csv(report.evidence, report.runs).splitlines()))
    assert [row["seeds"] for row in rows] == ["2"] * 4
    for row in rows:
        assert [found.declared[run_id]["variant"] for run_id in row["runs"].split()] == ["", ""]
    made = how_it_was_made(found, report.evaluation).html()
    assert all(run_id in made for run_id in found.runs["run"])
    assert "CartPole, MFEC, DkM, 50, mean kernel" in made


def test_variants_are_told_from_what_they_vary(tmp_path: Path) -> None:
    study = STUDIES["open"].only(strategies=("lru", "dkm"), games=("cartpole",), seeds=(0, 1, 2))
    places = declare(study, tmp_path)
    gone = ("evaluation every 250 steps", "DkM", 1)

    def part(variant: str) -> pl.DataFrame:
        mean = 150.0 + {"mean kernel": -80.0, "duplicates stored": 80.0, "episodes merged as one": 40.0}.get(
            variant, 0.0
        )
        return results(
            *(study, lambda cell, seed: mean + 5 * seed),
            places={run_id: place for run_id, place in places.items() if place["variant"] == variant},
            without=lambda place: (place["variant"], cell_of(place).strategy, place["seed"]) == gone,
        ).evaluations

    parts = [part(variant) for variant in dict.fromkeys(place["variant"] for place in places.values())]
    found = replace(results(study, score, places=places, without=lambda place: True), evaluations=pl.concat(parts))
    report = OpenReport(found, tmp_path)
    tables = Reader(page.Page("", report.sections()).html()).tables
    table = tables["MFEC, 50 entries per action, after 15,000 training steps"]
    rows = {row[0]: row[1:] for row in table}
    assert rows[""] == ["LRU", "DkM", "mean change"]
    assert rows["as in the other studies"] == ["155 ± 5", "155 ± 5", "–"]
    assert rows["mean kernel"][:2] == [f"75 ± 5{BELOW}", f"75 ± 5{BELOW}"]
    assert rows["mean kernel"][2].startswith("−80 [−")
    assert rows["duplicates stored"][:2] == [f"235 ± 5{ABOVE}", f"235 ± 5{ABOVE}"]
    assert rows["episodes merged as one"][:2] == ["–", f"195 ± 5{ABOVE}"]
    assert rows["episodes merged as one"][2].startswith("40 [")
    assert rows["evaluation every 250 steps"][:2] == ["155 ± 5", "missing"]
    over = "mean return of training episodes (ε-greedy) over the same time as the score"
    trained = {row[0]: row[1:] for row in tables[f"MFEC, 50 entries per action: {over}"]}
    assert trained["as in the other studies"] == ["78 ± 2", "78 ± 2"]
    assert trained["episodes merged as one"] == ["–", "98 ± 2"]
    assert trained["evaluation every 250 steps"] == ["78 ± 2", "missing"], "never a mean over what happens to be there"


def block(**means: float) -> Block:
    """Of one size, 50, with a mean for each strategy; a strategy with none has no runs."""
    finished = {name: mean for name, mean in means.items() if not np.isnan(mean)}
    found = results(
        *("cartpole", lambda cell, seed: finished[str(cell.strategy)] + seed - 2),
        places={run_id: place for run_id, place in declared("cartpole").items() if place["capacity"] == 50},
        without=lambda place: cell_of(place).strategy not in finished,
    )
    return Block(Evidence([found]), "CartPole-v1", "mfec", list(means), [50])


@pytest.mark.parametrize(
    ("means", "best"),
    [
        ({"LRU": 1.0, "kM": 3.0, "DkM": 2.0}, ("kM",)),
        ({"LRU": 3.0, "kM": 3.0, "DkM": 2.0}, ("LRU", "kM")),
        ({"LRU": 3.0, "kM": 3.0, "DkM": 3.0}, ()),
        ({"LRU": 3.0, "kM": float("nan"), "DkM": 2.0}, ()),
        ({"LRU": 3.0}, ()),
    ],
)
def test_the_best_of_a_row(means: dict[str, float], best: tuple[str, ...]) -> None:
    assert block(**means).best(50) == best


def test_a_table_has_as_many_digits_as_its_largest_score_needs() -> None:
    assert [digits_for(np.array(scores)) for scores in ([0.4, 1.0], [-1.2, 0.1], [-20.9], [0.3, 100])] == [2, 1, 1, 0]
    assert score_text(np.array([1.0, 2.0, 6.0])) == "3.0 ± 2.6"
    assert score_text(np.array([-0.001, 0.0])) == "0.00 ± 0.00"
    assert score_text(np.array([12.0]), 0) == "12"
    (row,) = score_table([block(LRU=4.0, kM=300.0)], "").rows
    assert [cell.text for cell in row[1:] if isinstance(cell, Entry)] == ["4 ± 2", "300 ± 2"]


def test_pages_write_numbers_and_names_so_that_they_are_not_torn_apart() -> None:
    html = page.Text("from -3 [-4.5, -inf] to cartpole-mfec-s0-12, 5-9, 95 % and --steps").html()
    assert html == "<p>from −3 [−4.5, −inf] to cartpole-mfec-s0-12, 5-9, 95\u00a0% and --steps</p>"
    names = page.Names(["a-1", "<b>"]).html()
    assert "<span>a-1</span>, <span>&lt;b&gt;</span>" in names
    assert "<span>--seeds</span> <span>-1</span>" in page.Facts({}, ["study --seeds -1"]).html()
    table = page.Table(["size", "LRU"], [["50", Entry("-1", ["-2 ± 1"], True, mark="▲")]], prose=True).html()
    assert '<td data-label="size">50</td>' in table
    assert '<td data-label="LRU"><b>−1</b><span class="mark">▲</span><small>−2 ± 1</small></td>' in table
    assert 'class="wide prose marked"' in table


def curves_at(*levels: float) -> list[Curve]:
    steps = np.arange(1, 6) * 1_000
    return [Curve(name, steps, np.full((2, 5), level)) for name, level in zip(NAMES, levels, strict=False)]


LOOKS = {name: Look(colour) for name, colour in zip(NAMES, ("#000000", "#111111", "#222222"), strict=True)}


def test_panels_show_all_of_every_curve_whatever_the_first_one_holds() -> None:
    long = Curve("kM", np.arange(1, 11) * 1_000, np.full((2, 10), 700.0))
    figure = curve_grid({"50": curves_at(1), "100": curves_at(5, 500), "150": [long]}, LOOKS, y_label="Return")
    for axes in figure.axes[:3]:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        assert (left, bottom) == (0, 0)
        assert right >= 10_000
        assert top >= 700
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["LRU", "kM"]
    below = curve_grid({"50": curves_at(1), "100": curves_at(-500)}, LOOKS, y_label="Return")
    assert below.axes[0].get_ylim()[0] <= -500


def test_legends_have_rows_that_fit_the_page() -> None:
    looks = {f"DkM, decay {number}": Look("#000000") for number in range(11)}
    curves = [Curve(name, np.array([500]), np.ones((2, 1))) for name in reversed(looks)]
    (legend,) = curve_grid({"50": curves}, looks, y_label="Return").legends
    assert [text.get_text() for text in legend.get_texts()] == list(looks)
    assert legend._ncols <= 6  # type: ignore[attr-defined]


def test_the_settings_of_the_study_of_forgetting_look_different() -> None:
    places = declared("forgetting").values()
    found = looks([place["strategy"] for place in places if place["strategy"] is not None])
    assert len(found) == 10
    assert len(set(found.values())) == 10
    many = looks([{"name": "dkm", "decay": 1.0}, *({"name": "dkm", "decay": 2.0 + each} for each in range(20))])
    assert [name for name, look in many.items() if look == many["DkM"]] == ["DkM"]


def test_what_a_score_needs_and_a_strategy_that_falls_with_memory_is_shown_too() -> None:
    levels, needed = needed_memory({50: 10.0, 100: 5.0, 200: 30.0})
    assert (levels[0], levels[-1]) == (10, 30)
    assert needed[0] == pytest.approx(50)
    assert needed[-1] == pytest.approx(200)
    assert np.interp(20, levels, needed) == pytest.approx(100, rel=0.01)  # half-way in the logarithm
    falling = {name: {50: np.array([9.0, 11.0]), 500: np.array([4.0, 6.0])} for name in NAMES}
    panel = Panel("MFEC", falling, falling, 7.0, frozenset({500}))
    axes = memory_needed([panel], LOOKS, x_label="Score").axes[0]
    assert all(line.get_marker() == "o" for line in axes.lines)
    assert axes.get_ylim()[0] < 50
    assert axes.get_ylim()[1] > 500
    for draw in (score_by_size, boxes):
        labels = [text.get_text() for text in draw([panel], LOOKS, y_label="Score").axes[0].get_xticklabels()]
        assert labels == ["50", "500*"]


FORGETTING = STUDIES["forgetting"].only(
    strategies=("lru", "kmeans", "dkm", "dkm:decay=0.1", "fading"), sizes=(50, 500), seeds=(0, 1, 2)
)
FORGETTING = replace(FORGETTING, grids=FORGETTING.grids[:2])  # CartPole
SETTINGS = ("LRU", "kM", "DkM", "DkM, decay 0.1", "Fading")
PLACES = [("CartPole-v1", agent, size) for agent in ("mfec", "nec") for size in (50, 500)]


def forgetting_score(cell: Cell, seed: int) -> float:
    """Fading and kM are never worse, Fading more often above; a decay of 0.1 is worse in one cell; LRU in three."""
    mean = {"LRU": 100.0, "kM": 200.0, "DkM": 150.0, "DkM, decay 0.1": 250.0, "Fading": 250.0}[str(cell.strategy)]
    if (cell.agent, cell.capacity, cell.strategy) == ("mfec", 50, "kM"):
        mean = 150.0
    if (cell.agent, cell.capacity) == ("nec", 500):
        mean = {"LRU": 200.0, "DkM, decay 0.1": 100.0}.get(str(cell.strategy), 200.0)
    return mean + 2 * (seed - 1)


def forgotten(folder: Path, **options: Any) -> Results:
    return results(FORGETTING, forgetting_score, places=declare(FORGETTING, folder), **options)


def test_settings_are_ranked_by_where_they_are_worse_and_then_by_how_often_above(tmp_path: Path) -> None:
    evidence = Evidence([forgotten(tmp_path)])
    found = {name: record(evidence, name, PLACES) for name in SETTINGS}
    assert {name: (len(each.worse), len(each.better), each.cells) for name, each in found.items()} == {
        "LRU": (3, 0, 4),
        "kM": (0, 3, 4),
        "DkM": (2, 1, 4),
        "DkM, decay 0.1": (1, 3, 4),
        "Fading": (0, 3, 4),
    }
    assert found["Fading"].above == pytest.approx((3 * 1 + 0.5) / 4)
    assert found["LRU"].above == pytest.approx((3 * 0 + 0.5) / 4)
    assert found["DkM, decay 0.1"].worse == (Cell("CartPole-v1", "nec", "DkM, decay 0.1", 500),)
    assert [each.setting for each in ranked(list(found.values()))] == ["Fading", "kM", "DkM, decay 0.1", "DkM", "LRU"]


def test_cells_that_never_filled_or_lack_runs_are_not_counted(tmp_path: Path) -> None:
    evidence = Evidence([forgotten(tmp_path, filled=lambda cell: (cell.agent, cell.capacity) != ("nec", 500))])
    assert {(each.cells, len(each.worse)) for each in [record(evidence, "DkM, decay 0.1", PLACES)]} == {(3, 0)}
    lost = Evidence([forgotten(tmp_path, without=lambda place: place["capacity"] == 50 and place["seed"] == 1)])
    assert record(lost, "Fading", PLACES).cells == 2
    nothing = record(Evidence(), "Fading", PLACES)
    assert (nothing.cells, nothing.nearly_everywhere) == (0, False)
    assert ranked([nothing, record(evidence, "LRU", PLACES)])[-1] is nothing


def test_nearly_everywhere_is_nine_cells_of_ten() -> None:
    def worse_in(count: int, cells: int) -> Record:
        return Record("it", cells, (Cell("", "", "", 0),) * count, (), 0.5)

    assert [worse_in(count, 10).nearly_everywhere for count in (0, 1, 2)] == [True, True, False]
    assert [worse_in(count, 32).nearly_everywhere for count in (3, 4)] == [True, False]


def test_the_report_on_forgetting_chooses(tmp_path: Path) -> None:
    report = ForgettingReport(forgotten(tmp_path), tmp_path)
    text = page.Page("", report.claims()).html()
    _, *rows = Reader(text).tables[""]
    assert [row[0] for row in rows] == ["Fading", "kM", "DkM, decay 0.1", "DkM", "LRU"]
    assert rows[0][1:] == ["0 of 4", "3 of 4", "0.88", "yes", "nowhere"]
    assert rows[2][1:] == ["1 of 4", "3 of 4", "0.75", "no", "CartPole NEC 500"]


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stream")
    tiny = Stream(points=80, capacity=10, lengths=(2, 6), cost_capacities=(20,), cost_writes=100, repetitions=2)
    run_stream(folder, stream=tiny, seeds=[5, 6, 7])
    return folder


def test_the_report_on_the_stream(streamed: Path, tmp_path: Path) -> None:
    path = write_report(streamed, tmp_path)
    html = path.read_text()
    reader = Reader(html)
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert html.count("<svg") == 3
    assert {each.name for each in (tmp_path / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("densities", "evolution", "lengths") for kind in ("svg", "png")
    }
    assert [row[0] for row in reader.tables[""][1:]] == ["14", "17"]
    distances = reader.tables["Energy distance, mean ± standard deviation over 3 seeds"]
    assert [row[:2] for row in distances[1:]] == [
        *(["k-means", "100%"], ["kM", "100%"]),
        *(["DkM", part] for part in ("25%", "50%", "75%", "100%")),
        ["LRU", "100%"],
    ]
    again = StreamReport(tmp_path, tmp_path).write()  # from the folder that the first one made
    assert again.read_text() == html


def test_evidence_is_read_from_all_folders(streamed: Path, written: Written) -> None:
    evidence = read_evidence([written.out, streamed])
    assert evidence.distances is not None
    assert [study.study for study in evidence.studies] == ["cartpole"]
    assert evidence.scores("CartPole-v1", "mfec", "kM", 50) is not None
