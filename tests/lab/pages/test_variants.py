"""What runs that differ from the rest of a study change: a figure of differences first, the numbers folded below."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.study_page import StudyReport
from tests.lab.pages.synthetic import declare, results, spread_out

MEANS = {"lru": 60.0, "fading": 160.0}


def report(folder: Path, *, scaled: float, seeds: int = 5, sizes: tuple[int, ...] = (50,)) -> StudyReport:
    """Scaled keys change LRU's scores by so much; one neighbour changes nothing."""
    plain = Grid("mfec", "CartPole-v1", 1_000, range(seeds), tuple(MEANS), sizes)
    one, keys = (
        Grid("mfec", "CartPole-v1", 1_000, range(seeds), tuple(MEANS), sizes, settings, variant=name)
        for name, settings in (("1 neighbour", {"neighbours": 1}), ("scaled keys", {"encoder": "scaled"}))
    )
    study = Study("mine", "Mine", (plain, one, keys))
    places = declare(study, folder)
    changed = {
        run for run, place in places.items() if (place["variant"], Cell.of(place).strategy) == ("scaled keys", "lru")
    }
    found = results(study, spread_out(lambda cell: MEANS[str(cell.strategy)], 5.0), places=places)
    moved = found.evaluations.with_columns(
        **{
            name: found.evaluations[name] + scaled * found.evaluations["run"].is_in(list(changed)).cast(float)
            for name in ("score", "return")
        }
    )
    return StudyReport(replace(found, evaluations=moved), folder, study)


def test_a_study_with_variants_leads_with_what_each_changes(tmp_path: Path) -> None:
    shown = report(tmp_path, scaled=40.0)
    assert shown.finding == (
        "Of four cells with a variant, these differ beyond chance from the same cell without it: scaled keys in one."
    )
    drawing, table, text, *_ = shown.first_figure()
    assert isinstance(drawing, page.Drawing)
    assert drawing.alt == shown.finding
    assert drawing.caption.startswith(
        "Mean scores with each variant less those without it, with 50 entries per action, n = 5: left of the broken"
    )
    assert isinstance(table, page.Folded)
    (numbers,) = table.blocks
    assert isinstance(numbers, page.Table)
    assert [row[1] for row in numbers.rows] == ["1 neighbour", "1 neighbour", "scaled keys", "scaled keys"]
    assert isinstance(text, page.Text)
    assert text.text == (
        "What follows is of runs without any of these changes. "
        "In CartPole, Fading (clusters that fade) scores above LRU."
    )
    (axes,) = shown.variants.figure().axes
    assert axes.get_title(loc="left") == "CartPole, MFEC: ● LRU, ■ Fading"
    dots = [line.get_xydata() for line in axes.lines if line.get_marker() != "None"]
    assert [round(float(np.asarray(each)[0, 0])) for each in dots] == [0, 0, 40, 0]


def test_the_digits_of_a_variant_are_those_of_the_other_tables(tmp_path: Path) -> None:
    shown = report(tmp_path, scaled=0.0)
    (numbers,) = next(block for block in shown.first_figure() if isinstance(block, page.Folded)).blocks
    assert isinstance(numbers, page.Table)
    assert {str(row[4]) for row in numbers.rows} == {"60 ± 6", "160 ± 6"}, "no 60.0 beside a 160"


def test_sizes_are_named_where_there_are_several_and_two_seeds_have_no_interval(tmp_path: Path) -> None:
    shown = report(tmp_path, scaled=0.0, seeds=2, sizes=(50, 500))
    assert [axes.get_title(loc="left") for axes in shown.variants.figure().axes] == [
        "CartPole, MFEC, 50: ● LRU, ■ Fading",
        "CartPole, MFEC, 500: ● LRU, ■ Fading",
    ]
    assert "95 %" not in shown.variants.caption()
    assert "entries per action" not in shown.variants.caption()


def test_an_agent_without_a_memory_has_no_sign(tmp_path: Path) -> None:
    grids = [
        Grid("d3qn", "CartPole-v1", 1_000, range(3), variant=name, settings=settings)
        for name, settings in (("", {}), ("slow", {"learning_rate": 1e-5}))
    ]
    study = Study("mine", "Mine", tuple(grids))
    found = results(study, lambda cell, seed: 9.0 + seed, places=declare(study, tmp_path))
    (axes,) = StudyReport(found, tmp_path, study).variants.figure().axes
    assert axes.get_title(loc="left") == "CartPole, D3QN"
    assert Cell("CartPole-v1", "d3qn", None, None) in {
        each.cell for each in StudyReport(found, tmp_path, study).variants.every
    }


def test_of_one_variant_it_is_not_said_how_many(tmp_path: Path) -> None:
    shown = report(tmp_path, scaled=0.0).variants
    alone = replace(shown, every=[each for each in shown.every if each.name == "1 neighbour"])
    assert alone.in_words() == (
        "The one variant (1 neighbour) changes no score beyond chance; with n = 5 only large changes would show."
    )
    assert alone.in_short() == "The one variant changes no score beyond chance."
    moved = report(tmp_path / "moved", scaled=40.0).variants
    cell = replace(moved, every=[each for each in moved.every if each.name in moved.changed][:1])
    assert cell.in_words() == "Scaled keys changes the score beyond chance in the one cell in which it was tried."
    assert cell.in_short() == "The one variant changes a score beyond chance."
