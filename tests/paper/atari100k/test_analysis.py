"""The page of Atari-100k: every total is computed again here by loops, games that are not whole do not count."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import mean, median
from typing import Any

import polars as pl
import pytest

from engram.cli import main
from engram.errors import RunFolderError
from engram.lab.cell import Cell
from engram.lab.grid import Study
from engram.lab.pages import page
from engram.lab.pages.wording import number_in_words
from engram.lab.result_files import FACTS
from engram.lab.results import Results
from engram.paper.atari100k.analysis import Atari100kReport
from engram.paper.atari100k.by_game import GamesPart
from engram.paper.atari100k.explanations import ExplanationsPart
from engram.paper.atari100k.games import BENCHMARK, DEVELOPMENT, Played, Protocol
from engram.paper.atari100k.published import normalised, peers
from engram.paper.atari100k.run_facts import METRICS, SCHEMA, Facts
from engram.paper.atari100k.standings import Standings
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader

ROOT = Path(__file__).parents[3]
SOURCE, COMMITTED = ROOT / "src" / "engram" / "paper" / "atari100k", ROOT / "results" / "atari100k"
STUDY = STUDIES["atari100k"].only(seeds=(0, 1, 2))
MFEC = STUDY.only(agents=("mfec",))
SHARES: dict[Protocol, float] = {
    "plain": 0.5,
    "sticky": 0.1,
}  # of a person's score, in the first game; a little more in each other one


def hns(played: Played, agent: str, seed: int) -> float:
    """The human-normalised score that a run is given."""
    number = BENCHMARK.index(played.game) if played.game in BENCHMARK else 100
    share = SHARES[played.protocol] + 0.01 * float(number) ** 1.5
    return float({"mfec": 1.0, "nec": 0.5, "d3qn": 0.25}[agent] * share + 0.02 * (seed - 1))


def score(cell: Cell, seed: int) -> float:
    """The same as the game counts it."""
    played = Played.of(cell.env)
    at_0, at_1 = normalised(played.game, [0.0, 1.0]).tolist()
    return float((hns(played, cell.agent, seed) - at_0) / (at_1 - at_0))


def report(
    study: Study, folder: Path, *, without: Callable[[dict[str, Any]], bool] = lambda place: False, facts: bool = False
) -> Atari100kReport:
    """The report on a study that was never run; its folder has facts of all runs, if so wished."""
    places = declare(study, folder)
    found = results(study, score, places=places, without=without, curve=lambda *_: ((100_000,), (_[2],)))
    if facts:
        rows = [
            (run, 60.0 + place["seed"], 10**7, 2 * 10**7, 20, 4, 1, *(0.1 * i for i in range(len(METRICS))))
            for run, place in places.items()
        ]
        Facts(pl.DataFrame(rows, SCHEMA, orient="row")).write(folder)
    return Atari100kReport(replace(found, folder=folder), folder, study)


def read(blocks: Sequence[page.Block]) -> Reader:
    return Reader(page.Page("", blocks).html())


def totals_of(report: Atari100kReport) -> dict[str, list[str]]:
    """The rows of the first table of totals, by agent, and its caption under no name."""
    ((caption, rows), *_) = read(report.totals()).tables.items()
    return {row[0].removeprefix("<b>"): row[1:] for row in rows} | {"": [caption]}


def expected(games: tuple[str, ...], agent: str, protocol: Protocol) -> list[list[float]]:
    """The scores of every game, one per seed."""
    return [[hns(Played(game, protocol), agent, seed) for seed in range(3)] for game in games]


def numbers(text: str) -> list[float]:
    return [float(each.replace("−", "-")) for each in re.findall(r"[−-]?\d+\.\d+", text)]


def middle(values: list[float]) -> float:
    """The mean without the lowest and the highest quarter."""
    cut = len(values) // 4
    return mean(sorted(values)[cut : len(values) - cut])


@pytest.fixture(scope="module", autouse=True)
def _without_png() -> Iterator[None]:
    """The slower half of writing a figure, which nothing here looks at, is left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engram.pictures.canvas.png_of", lambda figure: b"")
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Atari100kReport:
    return report(STUDY, tmp_path_factory.mktemp("whole"), facts=True)


@pytest.fixture(scope="module")
def shown(whole: Atari100kReport) -> Reader:
    return read(whole.sections())


def test_totals_are_those_of_the_games(shown: Reader) -> None:
    rows = {row[0].removeprefix("<b>"): row[1:] for row in shown.tables["Human-normalised scores over the 26 games"]}
    for column, protocol in enumerate(SHARES):
        scores = expected(BENCHMARK, "mfec", protocol)
        means = [mean(each) for each in scores]
        wanted = (mean(means), median(means), middle([each for game in scores for each in game]))
        for kind, value in enumerate(wanted):
            estimate, low, high = numbers(rows["MFEC"][2 * kind + column])
            assert estimate == pytest.approx(value, abs=6e-4)
            assert low < value < high
    assert rows["MFEC"][-1] == "n = 3"
    assert rows["IRIS"] == ["1.046", "–", "0.289", "–", "–", "–", "5"]
    assert rows["NAIT"] == ["0.362", "–", "0.312", "–", "–", "–", "not said"]


def test_agents_with_fewer_games_are_compared_on_those(shown: Reader) -> None:
    start = "Human-normalised scores over six games of 26: "
    (caption,) = [each for each in shown.tables if each.startswith(start)]
    assert "Ms. Pac-Man" in caption
    rows = {row[0].removeprefix("<b>"): row[1:] for row in shown.tables[caption]}
    games = tuple(game for game in BENCHMARK if game in DEVELOPMENT)
    assert set(rows) == {"", "MFEC", "NEC", "D3QN", *(peer.name for peer in peers())}
    nec = [mean(each) for each in expected(games, "nec", "plain")]
    assert numbers(rows["NEC"][0])[0] == pytest.approx(mean(nec), abs=6e-4)
    spr = next(peer for peer in peers() if peer.name == "SPR")
    theirs = [float(normalised(game, spr.scores[game])) for game in games]
    assert rows["SPR"][0:3:2] == [f"{mean(theirs):.3f}", f"{median(theirs):.3f}"]


def test_the_finding_says_where_it_stands_among_published_agents(whole: Atari100kReport) -> None:
    plain, sticky = ([mean(each) for each in expected(BENCHMARK, "mfec", way)] for way in SHARES)
    assert whole.finding == (
        "After 100,000 training steps, MFEC stands by its median above seven and below EfficientZero, of eight "
        f"published agents, on the 26 games: its human-normalised score is {median(plain):.2f} (n = 3), and theirs "
        "are 0.13 to 1.09, where 0 is random play and 1 a person."
    )
    assert whole.found.short == (
        "After 100,000 training steps, MFEC stands by its median above seven and below EfficientZero, of eight "
        "published agents, on the 26 games."
    )
    details = " ".join(whole.found.details)
    assert (
        f"MFEC has a median human-normalised score of {median(plain):.3f} without sticky actions (mean "
        f"{mean(plain):.3f}) and {median(sticky):.3f} with sticky actions (mean {mean(sticky):.3f}), over the 26 games"
    ) in details
    assert "D3QN stands by its median" in details
    assert "A run of MFEC, evaluation included, takes 1.0 minutes of processor time and 10.0 MB of memory" in details
    above = number_in_words(sum(each > 1 for each in plain))
    assert f"without sticky actions above a person in {above} and not above random play in none;" in details
    assert "than MFEC without sticky actions, on the same games: EfficientZero (one of eight);" in details


def test_games_without_all_their_runs_do_not_count(tmp_path: Path) -> None:
    gone = Played("pong", "sticky").env
    found = report(MFEC, tmp_path, without=lambda place: (place["env"], place["seed"]) == (gone, 2))
    games = tuple(game for game in BENCHMARK if game != "pong")
    assert found.standings.fields == [games]
    rows = totals_of(found)
    assert rows[""] == ["Human-normalised scores over 25 games of 26: all but Pong"]
    assert "NAIT" not in rows, "of which the mean over these games is not known"
    means = [mean(each) for each in expected(games, "mfec", "plain")]
    assert numbers(rows["MFEC"][0])[0] == pytest.approx(mean(means), abs=6e-4)
    assert any(text.startswith("Runs of MFEC are missing in Pong.") for text in found.summary())
    assert "pong" not in GamesPart(found.standings).games


def test_one_or_two_seeds_have_no_interval(tmp_path: Path) -> None:
    two = MFEC.only(seeds=(0, 1), labels=("plain",))
    one = MFEC.only(seeds=(0,), labels=("sticky",))
    found = report(replace(two, grids=(*two.grids, *one.grids)), tmp_path)
    for protocol in found.standings.protocols:
        totals = found.standings.totals(found.standings.contenders[0], protocol, BENCHMARK)
        assert totals is not None
        assert [(each.low, each.high) for each in totals.kinds] == [(-inf, inf)] * 3
    row = totals_of(found)["MFEC"]
    assert not any("[" in cell for cell in row)
    assert row[-1] == "n = 1 to 2"


def test_one_way_of_playing_is_enough_and_nothing_is_said_so(tmp_path: Path) -> None:
    found = report(MFEC.only(labels=("plain",), games=("pong", "qbert", "bowling")), tmp_path / "plain")
    assert found.standings.protocols == ["plain"]
    assert found.standings.fields == [("pong", "qbert")], "Bowling is in no total"
    assert GamesPart(found.standings).games == ["pong", "qbert", "bowling"]
    none = report(MFEC, tmp_path / "none", without=lambda place: True)
    assert none.finding == "No game has all its runs yet, so there is nothing to compare."
    assert none.write().exists()


def test_variants_and_other_memories_are_contenders_of_their_own(tmp_path: Path) -> None:
    plain = MFEC.only(games=("pong", "qbert"))
    variants = tuple(replace(grid, variant="practical", settings={"neighbours": 5}) for grid in plain.grids)
    small = tuple(replace(grid, sizes=(1_000,)) for grid in plain.grids)
    standings = Standings(report(replace(plain, grids=(*plain.grids, *variants)), tmp_path / "variant").results)
    assert [standings.label(each) for each in standings.contenders] == ["MFEC", "MFEC, practical"]
    standings = Standings(report(replace(plain, grids=(*plain.grids, *small)), tmp_path / "small").results)
    assert [standings.label(each) for each in standings.contenders] == ["MFEC, LRU, 10,000", "MFEC, LRU, 1,000"]


def test_costs_and_explanations_are_means_of_the_runs(shown: Reader) -> None:
    costs = {row[0]: row[1:] for row in shown.tables["What a run takes"]}
    assert costs["MFEC"] == ["1.0", "1.0", "10.0 MB", "10.0 MB", "20.0 MB", "20.0 MB", "n = 84"]
    known = {row[0]: row[1:] for row in shown.tables["MFEC: what the memory knew"]}
    assert [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in known["Pong"]] == [
        *("0 %", "0 %", "40 %", "40 %", "0.1", "0.1", "0.5", "0.5", "+0.2", "+0.2", "+0.3", "+0.3"),
        *("4.0 of 20", "4.0 of 20", "n = 3"),
    ]
    assert "cut off: 120 of 2,400 without sticky actions" in shown.text


def test_where_hits_do_not_differ_a_sentence_says_so_and_nothing_is_drawn(tmp_path: Path) -> None:
    made = report(MFEC.only(games=("pong", "qbert", "alien")), tmp_path, facts=True)
    told, table = ExplanationsPart(made.standings, made.facts).blocks(tmp_path)
    assert isinstance(told, page.Text)
    assert told.text == (
        "Exact hits are 0 % in training and 40 % in evaluation, in every game, so no score is drawn over them."
    )
    assert isinstance(table, page.Table)
    rows = made.facts.table.with_columns(reads_exact=pl.int_range(pl.len()) / pl.len())
    told, drawn, _ = ExplanationsPart(made.standings, Facts(rows)).blocks(tmp_path)
    assert isinstance(told, page.Text)
    assert told.text.startswith("Exact hits are 40 % in evaluation, in every game")
    assert isinstance(drawn, page.Drawing)
    texts = re.findall(r">(In [a-z]+)<", "".join(drawn.svgs))
    assert texts == ["In training"]


def check_totals(folder: Path) -> None:
    """Compare the first table of totals of a page with its evaluations, by other code than the report's."""
    printed = [line.split(",") for line in (SOURCE / "published.csv").read_text().splitlines()[1:]]
    ends = {(name, game): float(score) for name, game, score, *_ in printed}
    evaluations = pl.read_parquet(folder / "evaluations.parquet")
    scores = dict(zip(evaluations["run"], evaluations["score"], strict=True))
    cells: dict[tuple[str, str, bool], list[float | None]] = {}
    for run, place in json.loads((folder / "study.json").read_text())["runs"].items():
        label = ", ".join([place["agent"].upper(), *([place["variant"]] if place["variant"] else [])])
        game, sticky = place["env"].partition("?")[0], "repeat_action_probability" in place["env"]
        low, high = ends["random", game], ends["human", game]
        score = (scores[run] - low) / (high - low) if run in scores else None
        cells.setdefault((label, game, sticky), []).append(score)
    unfinished = {(label, game) for (label, game, _), found in cells.items() if None in found}
    tables = Reader((folder / "index.html").read_text()).tables
    caption, (head, *rows) = next(each for each in tables.items() if each[0].startswith("Human-normalised scores over"))
    several = re.search(r"over (?:the )?(\w+)", caption)
    for label in {label for label, _, _ in cells}:
        row = {each[0].removeprefix("<b>"): each[1:] for each in rows}.get(label)
        for column, sticky in enumerate([False, True] if "Mean, sticky" in head else [False]):
            means = [
                mean(each for each in found if each is not None)
                for (who, game, way), found in cells.items()
                if (who, way) == (label, sticky) and game in BENCHMARK and (who, game) not in unfinished
            ]
            if row is not None and several is not None and several[1] in (f"{len(means)}", number_in_words(len(means))):
                assert numbers(row[column])[0] == pytest.approx(mean(means), abs=6e-4)
                assert numbers(row[column + len(head[1:-1]) // 3])[0] == pytest.approx(median(means), abs=6e-4)
                assert len(means) > 0
            else:
                assert label not in ("MFEC",), "the first table has MFEC, over all its games"


@pytest.mark.skipif(not (COMMITTED / "evaluations.parquet").exists(), reason="there is no such page in results/")
def test_the_committed_page_comes_out_again() -> None:
    check_totals(COMMITTED)


def test_the_page_can_be_made_again_without_the_runs(tmp_path: Path) -> None:
    few = MFEC.only(games=("pong", "qbert", "alien"))
    first = report(few, tmp_path, facts=True).write()
    again = Atari100kReport.read(few, tmp_path, tmp_path / "again").write()
    assert again.read_bytes() == first.read_bytes()
    assert "What the memory knew" in first.read_text()
    check_totals(tmp_path)
    (tmp_path / FACTS).write_text("run,cpu_seconds\n1,x\n")
    with pytest.raises(RunFolderError, match=r"runs\.csv.*make the report again from the runs"):
        Facts.read(Results.read(tmp_path))


def test_a_report_that_would_lose_runs_writes_nothing(tmp_path: Path) -> None:
    few = MFEC.only(games=("pong",))
    report(MFEC.only(games=("pong", "qbert")), tmp_path / "more", facts=True).write()
    report(few, tmp_path / "few", facts=True).write()
    before = (tmp_path / "more" / FACTS).read_bytes()
    with pytest.raises(RunFolderError, match="holds finished runs that"):
        Atari100kReport.read(few, tmp_path / "few", tmp_path / "more").write()
    assert (tmp_path / "more" / FACTS).read_bytes() == before


@pytest.mark.slow
def test_a_quick_study_has_a_page_with_costs_and_explanations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ["--steps", "600", "--evaluation-interval-steps", "600", "--evaluation-episodes", "2"]
    folder = str(tmp_path / "runs")
    assert main(["study", "atari100k", "--quick", *short, "--jobs", "1", "--out", folder]) == 0
    assert main(["report", folder]) == 0
    assert "on the same four games of 26: its human-normalised score is" in " ".join(capsys.readouterr().out.split())
    facts = Facts.read(Results.read(tmp_path / "runs")).table
    assert facts.height == 8
    assert (
        facts.select("cpu_seconds", "memory_bytes", "model_bytes", "play_exact").null_count().sum_horizontal()[0] == 0
    )
    assert (facts["cpu_seconds"] > 0).all()
