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

from engram.errors import RunFolderError, StorageError
from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.block import Block
from engram.lab.pages.columns import columns_of
from engram.lab.pages.curve_panels import CurvePanels
from engram.lab.pages.curves import Curve, CurvePanel, curve_grid
from engram.lab.pages.numbers import digits_for, score_text
from engram.lab.pages.page import Entry
from engram.lab.pages.provenance import how_it_was_made
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import ABOVE, BELOW, UNFILLED, differs, score_table
from engram.lab.pages.scores_csv import scores_csv
from engram.lab.pages.sizes import Panel, memory_needed, score_by_size
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.style import Look, looks
from engram.lab.pages.training_table import training_text
from engram.lab.reference import Score
from engram.lab.reports import find_report
from engram.lab.results import Results
from engram.lab.statistics import difference_from, mean_interval
from engram.lab.study_folder import StudyFolder
from engram.paper.cartpole.published import PAPER
from engram.paper.registry import STUDIES
from engram.pictures.canvas import Figure
from engram.pictures.legend_keys import take_legend
from tests.lab.pages.synthetic import declare, declared, results

SMALL = STUDIES["cartpole"].only(strategies=("lru", "kmeans", "dkm"), sizes=(50, 500, 10_000), seeds=(0, 1, 2))
STRATEGIES = ("lru", "kmeans", "dkm")
NAMES = ("LRU", "kM", "DkM")
SIZES = (50, 500, 10_000)
STEPS = tuple(range(1_000, 13_000, 1_000))
FIGURES = ("curves", "curves-nec-50", "finding", "memory-needed", "score-by-size")
MISSING = ("nec", "dkm", 500, 1)  # the run that is not finished
CAPTIONS = {"mfec": "MFEC after 15,000 training steps, n = 3", "nec": "NEC after 20,000 training steps, n = 3"}


def score(cell: Cell, seed: int) -> float:
    """All that filled differ; those with 10,000 entries are the same for every strategy."""
    if cell.agent == "d3qn":
        return 120.0 + seed
    if cell.capacity == 10_000:
        return 250.0 + 10 * seed
    means = {"lru": 96.0, "kmeans": 300.0, "dkm": 20.0}  # with MFEC at 50: as the paper's, above it, below it
    return means[str(cell.strategy)] + (50 if cell.agent == "nec" else 0) + 20 * (seed - 1)


def curve(cell: Cell, seed: int, value: float) -> tuple[tuple[int, ...], list[float]]:
    """Flat over the last ten evaluations, which make the score."""
    return STEPS, [0.0, 10.0, *[value] * 10]


def is_missing(place: dict[str, Any]) -> bool:
    cell = Cell.of(place)
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
    assert StudyReport(found, out, STUDIES["cartpole"]).write() == out / "index.html"
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
    assert not {"iframe", "object", "embed", "audio", "video"} & reader.tags
    beside = {"evaluations.parquet", "scores.csv", "study.json", "calls.jsonl"}  # to which it leads
    assert all(link.startswith(("#", "data:")) or link in beside for link in reader.links)
    assert beside <= {link for link in reader.links if (written.out / link).is_file()}
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
            scores = [evidence.scores("CartPole-v1", agent, name, size) for name in STRATEGIES]
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
            for name, text in zip(STRATEGIES, row[1:], strict=True):
                cell = Cell("CartPole-v1", agent, name, size)
                scores, theirs = evidence.scores(*cell), PAPER.scores[cell]
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
    whole = {(agent, name, str(size)) for agent in ("mfec", "nec") for name in STRATEGIES for size in SIZES}
    assert set(rows) == whole - {("nec", "dkm", "500")} | {("d3qn", "", "")}
    for (agent, strategy, capacity), row in rows.items():
        cell = Cell("CartPole-v1", agent, strategy or None, int(capacity) if capacity else None)
        runs = [run_id for run_id, place in written.results.declared.items() if Cell.of(place) == cell]
        values = [score(cell, seed) for seed in range(3)]
        assert row["runs"].split() == runs
        assert row["seeds"] == "3"
        assert row["steps"] == ("15000" if agent == "mfec" else "20000")
        assert float(row["mean"]) == pytest.approx(np.mean(values), abs=1e-4)
        assert float(row["std"]) == pytest.approx(np.std(values, ddof=1), abs=1e-4)
        assert float(row["iqm_low"]) <= float(row["iqm"]) <= float(row["iqm_high"])
        assert row["filled"] == ("" if agent == "d3qn" else str(capacity != "10000"))
        assert (float(row["paper_mean"]), float(row["paper_std"])) == PAPER.scores[cell][:2]


def test_below_three_seeds_scores_have_no_interval(tmp_path: Path) -> None:
    study = SMALL.only(agents=["mfec"], seeds=(0, 1))
    found = StudyReport(results(study, score, places=declare(study, tmp_path)), tmp_path, study)
    for row in csv.DictReader(scores_csv(found.evidence, found.runs).splitlines()):
        assert row["iqm"]
        assert row["iqm_low"] == row["iqm_high"] == ""
    assert differs(np.array([1e9, 1e9 + 1]), Score(0.0, 12.0, 5, 15_000), (15_000,)) == ""


def test_training_returns_are_means_over_episodes(tmp_path: Path) -> None:
    study = SMALL.only(agents=["mfec"], strategies=("lru",), sizes=(50,), seeds=(0,))
    found = results(study, score, curve=curve, places=declare(study, tmp_path))
    rows = found.evaluations.height
    returns = [-999.0] * (rows - 10) + [None, *[-500.0] * 8, -100.0]  # of those before the last ten nothing is asked
    episodes = [1] * (rows - 1) + [12]
    changed = found.evaluations.with_columns(
        pl.Series("training_return", returns, pl.Float64), pl.Series("training_episodes", episodes, pl.Int64)
    )
    assert training_text(changed, changed["run"].unique(), 0) == "-260"  # (8 · −500 + 12 · −100) / 20


def test_figures_are_written_as_svg_and_png(written: Written) -> None:
    figures = written.out / "figures"
    files = {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    assert {path.name for path in figures.iterdir()} == files
    for name in FIGURES:
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        texts = texts_of(figures / f"{name}.svg")
        assert set(NAMES) <= texts
        assert ("10k*" in texts) == (name == "score-by-size")
    assert written.html.count('<div class="columns" role="img"') == len(FIGURES)


def texts_of(svg: Path) -> set[str | None]:
    return {text.text for text in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")}


def test_an_exported_study_can_be_read_again_and_gives_the_same_bytes(written: Written, tmp_path: Path) -> None:
    again = Results.read(written.out)
    assert again.evaluations.equals(written.results.evaluations)
    assert replace(again, evaluations=written.results.evaluations, folder=written.results.folder) == written.results
    assert pl.read_csv(written.out / "evaluations.csv").height == again.evaluations.height
    find_report(written.out, tmp_path, STUDIES).write()
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
    assert [row["seeds"] for row in rows] == ["2"] * 8  # MFEC and NEC, two sizes, two strategies
    for row in rows:
        assert [found.declared[run_id]["variant"] for run_id in row["runs"].split()] == ["", ""]
    made = how_it_was_made(found, report.evaluation, report.evidence.env_names).html()
    assert all(run_id in made for run_id in found.runs["run"])
    assert "CartPole, MFEC, DkM, 50, mean kernel" in made


def block(**means: float) -> Block:
    """Of one size, 50, with a mean for each strategy; a strategy with none has no runs."""
    finished = {name: mean for name, mean in means.items() if not np.isnan(mean)}
    found = results(
        *("cartpole", lambda cell, seed: finished[str(cell.strategy)] + seed % 5 - 2),
        places={run_id: place for run_id, place in declared("cartpole").items() if place["capacity"] == 50},
        without=lambda place: Cell.of(place).strategy not in finished,
    )
    return Block(Evidence([found]), "CartPole-v1", "mfec", list(means), [50])


@pytest.mark.parametrize(
    ("means", "best"),
    [
        ({"lru": 10.0, "kmeans": 30.0, "dkm": 20.0}, ("kmeans",)),
        ({"lru": 10.0, "kmeans": 30.0, "dkm": 29.9}, ("kmeans", "dkm")),  # within chance of the highest
        ({"lru": 10.0, "kmeans": 30.0, "dkm": 29.9, "rew": 29.8}, ()),  # most are
        ({"lru": 2.8, "kmeans": 3.0, "dkm": 2.9}, ()),  # all are
        ({"lru": 3.0, "kmeans": 3.0, "dkm": 3.0}, ()),
        ({"lru": 30.0, "kmeans": float("nan"), "dkm": 2.0}, ()),
        ({"lru": 3.0}, ()),
    ],
)
def test_the_best_of_a_row(means: dict[str, float], best: tuple[str, ...]) -> None:
    assert block(**means).best(50) == best


def test_of_many_strategies_a_table_shows_those_of_most_interest_and_all_are_folded(tmp_path: Path) -> None:
    study = STUDIES["forgetting"].only(agents=["mfec"], seeds=(0, 1, 2))
    found = results(study, lambda cell, seed: 90.0 + seed, places=declare(study, tmp_path))
    html = page.Page("", StudyReport(found, tmp_path, study).tables()).html()
    shown, folded = html[: html.index("<details")], html[html.index("<details") :]
    (few,) = Reader(shown).tables.values()
    every = Reader(folded).tables["MFEC, n = 3"]
    assert few[0] == ["entries per action", "LRU", "kM", "DkM", "Fading"]
    assert len(every[0]) == 1 + 10
    assert few[1] == every[1] == ["CartPole, 15,000 training steps"]
    assert [row[0] for row in few[2:6]] == ["50", "150", "500", "3,000"]
    assert few[6] == ["Acrobot, 20,000 training steps"]
    assert "Bold is decided among all ten strategies; a table of all is folded on the page for a browser." in shown


def test_a_table_has_as_many_digits_as_its_largest_score_needs() -> None:
    assert [digits_for(np.array(scores)) for scores in ([0.4, 1.0], [-1.2, 0.1], [-20.9], [0.3, 100])] == [2, 1, 1, 0]
    assert [digits_for(np.array(scores)) for scores in ([0.0], [0.02, 0.01], [-0.004, 0.001], [1e-30])] == [2, 2, 4, 9]
    assert score_text(np.array([1.0, 2.0, 6.0])) == "3.0 ± 2.6"
    assert score_text(np.array([-0.001, 0.0]), 2) == "0.00 ± 0.00"
    assert score_text(np.array([0.001, 0.004])) == "0.0025 ± 0.0021"
    assert score_text(np.array([12.0]), 0) == "12"
    (row,) = score_table([block(lru=4.0, kmeans=300.0)], "").rows
    assert [cell.text for cell in row[1:] if isinstance(cell, Entry)] == ["4 ± 1", "300 ± 1"]


def test_pages_write_numbers_and_names_so_that_they_are_not_torn_apart() -> None:
    html = page.Text("from -3 [-4.5, -inf] to cartpole-mfec-s0-12, 5-9, 95 % and --steps").html()
    assert html == "<p>from −3 [−4.5, −inf] to cartpole-mfec-s0-12, 5-9, 95\u00a0% and --steps</p>"
    names = page.Names(["a-1", "<b>"]).html()
    assert "<span>a-1</span>, <span>&lt;b&gt;</span>" in names
    assert "<span>--seeds</span> <span>-1</span>" in page.Facts({}, ["study --seeds -1"]).html()
    table = page.Table(["size", "LRU"], [["50", Entry("-1", ["-2 ± 1"], True, mark="▲")]], prose=True).html()
    assert '<th scope="row" data-label="size">50</th>' in table
    assert '<td data-label="LRU"><b>−1</b><span class="mark">▲</span><small>−2 ± 1</small></td>' in table
    assert 'class="wide prose marked"' in table


def curves_at(*levels: float) -> list[Curve]:
    steps = np.arange(1, 6) * 1_000
    return [Curve(name, steps, np.full((2, 5), level)) for name, level in zip(NAMES, levels, strict=False)]


LOOKS = {
    name: Look(colour)
    for name, colour in zip((*NAMES, "D3QN"), ("#000000", "#111111", "#222222", "#333333"), strict=True)
}


def test_panels_show_all_of_every_curve_whatever_the_first_one_holds() -> None:
    long = Curve("kM", np.arange(1, 11) * 1_000, np.full((2, 10), 700.0))
    panels = {"50": curves_at(1), "100": curves_at(5, 500), "150": [long]}
    figure = curve_grid({"Return": [CurvePanel(title, curves) for title, curves in panels.items()]}, LOOKS)
    for axes in figure.axes[:3]:
        (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
        assert (left, bottom) == (0, 0)
        assert right >= 10_000
        assert top >= 700
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["LRU", "kM"]
    below = curve_grid({"Return": [CurvePanel("50", curves_at(1)), CurvePanel("100", curves_at(-500))]}, LOOKS)
    assert below.axes[0].get_ylim()[0] <= -500


def test_legends_have_rows_that_fit_the_page() -> None:
    looks = {f"DkM, decay {number}": Look("#000000") for number in range(11)}
    curves = [Curve(name, np.array([500]), np.ones((2, 1))) for name in reversed(looks)]
    (legend,) = curve_grid({"Return": [CurvePanel("50", curves)]}, looks).legends
    assert [text.get_text() for text in legend.get_texts()] == list(looks)
    assert legend._ncols <= 6  # type: ignore[attr-defined]


def test_the_settings_of_the_study_of_forgetting_look_different() -> None:
    places = declared("forgetting").values()
    found = looks(name for place in places if (name := Cell.of(place).strategy) is not None)
    assert len(found) == 10
    assert len(set(found.values())) == 10
    many = looks(["dkm", *(f"dkm:decay={2 + each}" for each in range(20))])
    assert [name for name, look in many.items() if look == many["DkM"]] == ["DkM"]


def test_a_strategy_that_falls_with_memory_is_shown_too() -> None:
    falling = {name: {50: np.array([9.0, 11.0]), 500: np.array([4.0, 6.0])} for name in NAMES}
    panel = Panel("MFEC", falling, {"D3QN": np.array([6.0, 8.0])}, frozenset({500}))
    axes = memory_needed([[panel]], LOOKS, x_label="Score").axes[0]
    assert all(line.get_marker() == "o" for line in axes.lines)
    assert axes.get_ylim()[0] < 50
    assert axes.get_ylim()[1] > 500
    labels = [text.get_text() for text in score_by_size([[panel]], LOOKS, y_label="Score").axes[0].get_xticklabels()]
    assert labels == ["50", "500*"]


def test_figures_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "figures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="it is a symbolic link where a folder should be"):
        write_figure(Figure(), tmp_path / "study", "curve", "A curve")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_axis_of_scores_does_not_go_below_0_where_no_score_does() -> None:
    for lowest, bottom in ((0.5, 0.0), (0.0, 0.0)):
        panel = Panel("MFEC", {"LRU": {50: np.array([lowest, 90.0, 40.0]), 100: np.array([40.0, 80.0])}})
        assert score_by_size([[panel]], LOOKS, y_label="Score").axes[0].get_ylim()[0] == bottom
    panel = Panel("MFEC", {"LRU": {50: np.array([-1.0, 90.0, 40.0]), 100: np.array([40.0, 80.0])}})
    assert score_by_size([[panel]], LOOKS, y_label="Score").axes[0].get_ylim()[0] < -1


def test_an_axis_of_scores_goes_as_far_as_what_is_drawn() -> None:
    lucky = np.array([-500.0] * 19 + [-120.0])  # of which the mean is drawn, and its interval
    panel = Panel("MFEC", {"LRU": {50: lucky, 100: lucky - 1}}, {"D3QN": np.array([-510.0, -520.0])})
    axes = score_by_size([[panel]], LOOKS, y_label="Score").axes[0]
    high = mean_interval(lucky).high
    bottom, top = axes.get_ylim()
    assert high < top < high + 10
    assert -521 < bottom < -515
    assert axes.get_title(loc="left") == "MFEC; D3QN n = 2"
    same = Panel("MFEC", {"LRU": {50: lucky}}, {"D3QN": lucky})
    assert score_by_size([[same]], LOOKS, y_label="Score").axes[0].get_title(loc="left") == "MFEC"


@pytest.mark.parametrize(("seeds", "told"), [(2, "D3QN: n = 2"), (3, "")])
def test_panels_say_how_many_seeds_an_agent_without_a_memory_has_where_they_are_others(
    tmp_path: Path, seeds: int, told: str
) -> None:
    places = {
        run: place
        for run, place in declare(SMALL, tmp_path).items()
        if place["agent"] != "d3qn" or place["seed"] < seeds
    }
    found = results(SMALL, score, filled=lambda cell: cell.capacity != 10_000, curve=curve, places=places)
    panels = CurvePanels(Block(Evidence([found]), "CartPole-v1", "mfec", STRATEGIES, SIZES))
    unfilled = "no table filled:\nall strategies are the same"
    assert [panel.note for panel in panels.every()] == [told, told, f"{told}; {unfilled}" if told else unfilled]
    assert [panel.note for panel in panels.of_env(50)] == [told]


def test_columns_of_a_figure_are_as_wide_as_it_and_hold_what_is_theirs() -> None:
    panels = [CurvePanel(f"{name}, n = 2", curves_at(1), "a note") for name in ("one", "two", "three")]
    figure = curve_grid({"Return, MFEC": panels, "Return, NEC": panels[:2]}, LOOKS)
    take_legend(figure)
    columns = columns_of(figure, 1)
    widths = [float(re.findall(r'width="([\d.]+)pt"', svg)[0]) for svg in columns]
    assert sum(widths) == pytest.approx(9 * 72, abs=0.1)
    assert max(widths) < 1.15 * min(widths)
    for svg, name in zip(columns, ("one", "two", "three"), strict=True):
        texts = {text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}
        assert {each for each in texts if each and each.endswith("n = 2")} == {f"{name}, n = 2"}
        assert {"Return, MFEC", "Training steps", "a note"} <= texts
        assert ("Return, NEC" in texts) == (name != "three")
    assert columns_of(curve_grid({"Return": panels[:1]}, LOOKS), 1) == []
