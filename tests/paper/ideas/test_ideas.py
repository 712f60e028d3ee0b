"""The study of ideas for Atari-100k: its runs, and the rule of results/atari100k/plan.md, computed again by loops."""

from dataclasses import replace
from pathlib import Path
from statistics import mean

import polars as pl
import pytest

from engram.agents.mfec import MFEC
from engram.lab.pages import page
from engram.lab.results import Results
from engram.paper.atari100k.games import DEVELOPMENT, Played
from engram.paper.atari100k.published import normalised
from engram.paper.ideas.analysis import IdeasReport
from engram.paper.ideas.gains import Gains
from engram.paper.ideas.sweep import ALONE, settings_of
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results

STUDY = STUDIES["ideas"]
HNS = {"": 0.2, "shrinkage": 0.3, "dct": 0.25, "detour": 0.21, "radius": 0.1, "lasting": 5.0}


def hns(variant: str, game: str, seed: int) -> float:
    """What a run is given: `lasting` shines in one game and fails in the others, `detour` is lucky with one seed."""
    number = DEVELOPMENT.index(game)
    if variant == "lasting":
        return 5.0 if number == 0 else 0.15
    if variant == "detour":
        return 0.3 if seed == 0 else 0.1
    return HNS.get(variant, 0.0) + 0.01 * number * seed


def made(
    folder: Path, *, seeds: tuple[int, ...], ideas: tuple[str, ...] = tuple(ALONE), once: tuple[str, ...] = ()
) -> Results:
    places = declare(STUDY, folder)
    found = results(
        STUDY,
        lambda cell, seed: 0.0,
        places=places,
        without=lambda place: (
            place["seed"] not in seeds
            or place["variant"] not in ("", *ideas)
            or (place["variant"] in once and place["seed"] > 0)
        ),
    )

    def score(row: dict[str, object]) -> float:
        game = Played.of(str(row["env"])).game
        low, high = normalised(game, [0.0, 1.0]).tolist()
        return float((hns(str(row["variant"]), game, int(str(row["seed"]))) - low) / (high - low))

    frame = found.evaluations
    return replace(
        found, evaluations=frame.with_columns(score=pl.Series([score(row) for row in frame.iter_rows(named=True)]))
    )


def test_one_thing_differs_from_the_papers_settings() -> None:
    plain = MFEC.Config.from_settings(settings_of(""))
    assert plain == MFEC.Config.from_settings({"preset": "atari"})
    for idea in ALONE:
        ours = MFEC.Config.from_settings(settings_of(idea)).to_json()
        assert sum(value != plain.to_json()[name] for name, value in ours.items()) == 1, idea
    assert len(STUDY.runs()) == 6 * 3 * (1 + len(ALONE))
    assert len(STUDY.only(seeds=(0,), labels=("alone",)).runs()) == 6 * (1 + len(ALONE))
    assert len(STUDY.only(labels=("dct",)).runs()) == 18


def test_gains_and_the_rule(tmp_path: Path) -> None:
    gains = Gains(made(tmp_path, seeds=(0, 1, 2), ideas=("shrinkage", "dct", "detour", "radius", "lasting")))
    assert gains.seeds("dct") == [0, 1, 2]
    for name in ("shrinkage", "dct", "detour", "radius", "lasting"):
        runs = [(game, seed) for game in DEVELOPMENT for seed in range(3)]
        by_hand = [max(-0.5, min(0.5, hns(name, *run) - hns("", *run))) for run in runs]
        assert gains.mean_gain(name, [0, 1, 2]) == pytest.approx(mean(by_hand))
    assert gains.gain("lasting", DEVELOPMENT[0], 0) == 0.5
    assert gains.going_on(list(ALONE)) == ["shrinkage", "detour", "dct", "lasting"]
    helping = [name for name in ("shrinkage", "dct", "detour", "radius", "lasting") if gains.helps(name)]
    assert helping == ["shrinkage", "dct"], "one game alone, or one seed alone, is not enough"


def test_the_report_says_what_goes_on_and_then_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "then"):
        (tmp_path / name).mkdir()
    first = IdeasReport(made(tmp_path / "first", seeds=(0,)), tmp_path / "first", STUDY)
    assert first.found.headline.startswith(
        "Of 17 ideas four gain something with seed 0: shrinkage (+0.100, n = 1), detour (+0.100, n = 1)"
    )
    then = IdeasReport(
        made(tmp_path / "then", seeds=(0, 1, 2), ideas=("shrinkage", "dct", "detour")), tmp_path / "then", STUDY
    )
    assert then.found.headline.startswith("Of three ideas two help: shrinkage (+0.100, n = 3) and dct (+0.050, n = 3)")
    (tmp_path / "between").mkdir()
    some = made(tmp_path / "between", seeds=(0, 1, 2), ideas=("shrinkage", "dct", "detour"), once=("dct",))
    between = IdeasReport(some, tmp_path / "between", STUDY)
    assert between.found.headline == "Of three ideas one helps: shrinkage (+0.100, n = 3); dct goes on."
    html = page.Page("", [*then.first_figure(), *then.sections()]).html()
    for text in ("does not help", "6 of 6", "+0.100", "Ms. Pac-Man"):
        assert text in html
    (tmp_path / "many").mkdir()
    everywhere = dict.fromkeys(list(ALONE)[:8], 0.9)
    monkeypatch.setattr("tests.paper.ideas.test_ideas.HNS", {**HNS, **everywhere})
    many = IdeasReport(made(tmp_path / "many", seeds=(0,)), tmp_path / "many", STUDY)
    assert many.found.headline.startswith("Of 17 ideas"), "more gain something than go on"
    assert " gain something with seed 0, and the best six go on: " in many.found.headline
    none = IdeasReport(made(tmp_path / "first", seeds=()), tmp_path / "first", STUDY)
    assert none.found.headline == "No idea has been tried in all games yet."
    assert none.first_figure() == []
