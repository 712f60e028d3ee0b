"""The sentence that a page begins with: made from the scores, and modest where they say little."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engram.cli import main
from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.finding import find, read_finding
from engram.lab.pages.study_page import StudyReport
from tests.lab.pages.synthetic import declare, results, spread_out

STRATEGIES = ("lru", "kmeans", "dkm")
MEANS = {"lru": 100.0, "kmeans": 300.0, "dkm": 200.0}


def study(
    *, seeds: int = 5, envs: tuple[str, ...] = ("CartPole-v1",), agents: tuple[str, ...] = ("mfec", "nec")
) -> Study:
    grids = [Grid(agent, env, 1_000, range(seeds), STRATEGIES, (50, 500)) for env in envs for agent in agents]
    return Study("mine", "Mine", tuple(grids))


def report(
    folder: Path, mean: Callable[[Cell], float], *, full: bool = True, spread: float = 5.0, **given: object
) -> StudyReport:
    chosen = study(**given)  # type: ignore[arg-type]
    found = results(
        chosen,
        spread_out(mean, spread),
        places=declare(chosen, folder),
        filled=lambda cell: full or cell.capacity == 50,
    )
    return StudyReport(found, folder, chosen)


def by_strategy(cell: Cell) -> float:
    return MEANS[str(cell.strategy)]


def test_a_strategy_that_is_above_all_others_is_named(tmp_path: Path) -> None:
    found = report(tmp_path, by_strategy).found
    assert found.headline == "In CartPole with MFEC and NEC, kM (online k-means) scores above DkM and LRU."
    assert found.short == "In CartPole with MFEC and NEC, kM (online k-means) scores above the other two strategies."
    first, second = found.details
    assert first.startswith("MFEC: kM lies 100 above DkM, the next (95 % interval 88 to 112")
    assert first.endswith(
        "the mean over two sizes at which tables filled, n = 5), and is the higher of the two at two of two."
    )
    assert second.startswith("NEC: kM lies 100 above DkM")


def test_agents_that_differ_are_told_apart(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return by_strategy(cell) if cell.agent == "mfec" else {"lru": 100, "dkm": 199}.get(str(cell.strategy), 200)

    found = report(tmp_path, mean)
    assert found.found.short == (
        "In CartPole with MFEC, kM (online k-means) scores above the other two strategies; with NEC, kM (online "
        "k-means) scores highest."
    )
    assert found.finding == (
        "In CartPole with MFEC, kM (online k-means) scores above DkM and LRU; with NEC, kM (online k-means) "
        "scores highest: above LRU, within chance of DkM."
    )


def test_strategies_with_the_very_same_mean_are_named_together(tmp_path: Path) -> None:
    found = report(tmp_path, lambda cell: 100.0 if cell.strategy == "lru" else 200.0, agents=("mfec",))
    level = "In CartPole, kM (online k-means) and DkM (dynamic k-means), level, score above LRU."
    assert (found.finding, found.found.short) == (level, level)
    (detail,) = found.found.details
    assert detail.startswith("MFEC: kM and DkM lie 100 above LRU, the next (95 % interval 88 to 112")
    assert detail.endswith("n = 5).")


def test_three_seeds_that_all_score_the_same_are_no_evidence(tmp_path: Path) -> None:
    """Chance divides six scores, three of them higher, like that in one of ten cases."""
    few = report(tmp_path, lambda cell: float(cell.strategy == "dkm"), spread=0.0, seeds=3, agents=("mfec",))
    assert few.finding == "In CartPole, three seeds say little: no strategy can be told from another."
    assert "<b>" not in page.Page("", few.tables()).html()
    more = report(tmp_path / "more", lambda cell: float(cell.strategy == "dkm"), spread=0.0, agents=("mfec",))
    assert more.finding == "In CartPole, DkM (dynamic k-means) scores above LRU and kM."


def test_strategies_that_were_run_at_the_same_sizes_are_compared(tmp_path: Path) -> None:
    sizes = {"lru": (20, 50), "kmeans": (20, 50), "dkm": (100,)}
    grids = tuple(Grid("mfec", "CartPole-v1", 1_000, range(5), (name,), at) for name, at in sizes.items())
    mine = Study("mine", "Mine", grids)
    found = StudyReport(results(mine, spread_out(by_strategy, 5.0), places=declare(mine, tmp_path)), tmp_path, mine)
    assert found.finding == "In CartPole, kM (online k-means) scores above LRU."
    assert found.found.details[1] == "MFEC: DkM was run at other sizes, so it is left out."
    (block,) = found.every_block
    assert block.comparison is not None
    assert (block.comparison.sizes, set(block.comparison.scores)) == ([20, 50], {"lru", "kmeans"})
    lacking = results(
        mine, spread_out(by_strategy), places=declare(mine, tmp_path), without=lambda place: place["capacity"] == 20
    )
    (block,) = StudyReport(lacking, tmp_path, mine).every_block
    assert block.comparison is not None
    assert block.comparison.sizes == [50]


def test_where_nothing_differs_nobody_wins(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return 100.0 + (cell.strategy == "dkm")

    found = report(tmp_path, mean)
    assert found.finding == "In CartPole with MFEC and NEC, no strategy differs from another beyond chance."
    assert found.found.details == []
    html = page.Page("", found.tables()).html()
    assert "<b>" not in html
    flat = report(tmp_path / "flat", lambda cell: 0.0, spread=0.0)
    assert flat.finding == "In CartPole with MFEC and NEC, every run scores 0.00, whatever the strategy."


@pytest.mark.parametrize(("seeds", "said"), [(1, "one seed says little"), (2, "two seeds say little")])
def test_few_seeds_say_little(seeds: int, said: str, tmp_path: Path) -> None:
    found = report(tmp_path, by_strategy, seeds=seeds)
    assert found.finding == f"In CartPole with MFEC and NEC, {said}: no strategy can be told from another."
    html = page.Page("", found.tables()).html()
    assert "<b>" not in html
    assert "[" not in html.partition("<main")[2].partition("<script>")[0]
    drawings = [*found.first_figure(), *found.figures.by_size(), *found.figures.curves()]
    assert len(drawings) == 3
    assert not [each for each in drawings if isinstance(each, page.Drawing) and "95 %" in each.caption]


def test_sizes_at_which_no_table_filled_do_not_count(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return by_strategy(cell) if cell.capacity == 50 else 250.0

    found = report(tmp_path, mean, full=False)
    assert found.found.details[0].startswith("MFEC: kM lies 100 above DkM")
    assert found.found.details[0].endswith("at the one size there is, n = 5).")
    none = find([])
    assert none.headline == "No agent of this study has a memory, so there is nothing to forget."


def test_of_many_places_the_finding_is_a_tally(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return by_strategy(cell) if cell.env == "CartPole-v1" else 0.0

    envs = ("CartPole-v1", "Acrobot-v1")
    found = report(tmp_path, mean, envs=envs).found
    assert found.headline == (
        "In two of four pairs of environment and agent strategies differ beyond chance; highest, and above at least "
        "one other, is kM (online k-means) in two."
    )
    assert found.details[2] == "Acrobot, MFEC: no strategy differs from another beyond chance."
    few = report(tmp_path / "few", mean, envs=envs, seeds=2)
    places = "any of four pairs of environment and agent"
    assert few.finding == f"Two seeds say little: no strategy can be told from another in {places}."


def test_the_terminal_prints_the_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = report(tmp_path / "study", by_strategy, agents=("mfec",))
    found.results.export(tmp_path / "study")
    assert main(["report", str(tmp_path / "study"), "--out", str(tmp_path / "out")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "In CartPole, kM (online k-means) scores above DkM and LRU." in told
    assert read_finding(tmp_path / "out" / "index.html") == found.finding
    assert read_finding(tmp_path / "out" / "index.html", short=True) == found.found.short


def test_titles_and_sentences_say_what_was_run(tmp_path: Path) -> None:
    found = report(tmp_path, by_strategy, agents=("mfec",))
    assert found.what_was_run == (
        "30 runs; MFEC with LRU, kM and DkM; two memory sizes (50 to 500 entries per action); n = 5 seeds in a cell."
    )


def test_a_picture_of_what_memories_hold_is_shown_where_there_is_one(tmp_path: Path) -> None:
    found = report(tmp_path / "study", by_strategy, agents=("mfec",))
    found.results.export(tmp_path / "study")
    (tmp_path / "study" / "held.svg").write_text("<svg width='9pt'><text>what is held</text></svg>")
    (tmp_path / "study" / "held.png").write_bytes(b"png")
    (tmp_path / "study" / "held.json").write_text('{"caption": "Held: LRU 65 cells.", "command": "draw it"}')
    assert main(["report", str(tmp_path / "study"), "--out", str(tmp_path / "out")]) == 0
    html = (tmp_path / "out" / "index.html").read_text()
    assert "What the memories hold" in html
    assert "Held: LRU 65 cells." in html
    assert "what is held" in html
    assert "![Held: LRU 65 cells.](held.png)" in (tmp_path / "out" / "README.md").read_text()
    assert (tmp_path / "out" / "held.png").read_bytes() == b"png"
