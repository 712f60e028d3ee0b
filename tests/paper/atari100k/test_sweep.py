"""The study of Atari-100k: its games, both ways of playing, its schedules, and parts of it."""

from collections import Counter
from dataclasses import replace

import pytest

from engram.agents.mfec import MFEC
from engram.envs import EnvSource
from engram.envs.names import imports_nothing
from engram.errors import InvalidInputError
from engram.paper.atari100k import sweep
from engram.paper.atari100k.games import BENCHMARK, BESIDE, DEVELOPMENT, MAX_FRAMES, PROTOCOLS, Played, was_cut_off
from engram.paper.registry import STUDIES

STUDY = STUDIES["atari100k"]


def test_every_game_is_played_in_both_ways() -> None:
    assert len(set(BENCHMARK)) == 26
    runs = STUDY.runs()
    played = {name: Counter(Played.of(run.env) for run in runs if run.agent.name == name) for name in STUDY.agents}
    assert played["mfec"] == {Played(game, way): 5 for game in (*BENCHMARK, *BESIDE) for way in PROTOCOLS}
    assert played["nec"] == played["d3qn"] == {Played(game, way): 1 for game in DEVELOPMENT for way in PROTOCOLS}
    assert {(run.steps, run.evaluation_interval_steps, run.evaluation_episodes) for run in runs} == {
        (100_000, 100_000, 20)
    }
    assert all(imports_nothing(run.env) for run in runs)
    assert not set(sweep.SEEDS) & set(sweep.DEVELOPMENT_SEEDS), "what is chosen with some is shown with others"


def test_an_environment_says_how_a_game_is_played() -> None:
    for way, probability in zip(PROTOCOLS, (0.0, 0.25), strict=True):
        played = Played("ms_pacman", way)
        assert Played.of(played.env) == played
        options = EnvSource(played.env).peek().unwrapped.options  # type: ignore[attr-defined]
        assert options["repeat_action_probability"] == probability
        assert (options["max_frames"], options["noop_max"], options["frame_skip"]) == (MAX_FRAMES, 30, 4)
    assert [was_cut_off(length) for length in (4_900, 4_999, 5_000)] == [False, True, True]


def test_mfec_has_the_papers_settings() -> None:
    settings = {replace(run.settings, seed=0) for run in STUDY.runs() if run.agent.name == "mfec"}
    assert settings == {MFEC.Config.from_settings({"preset": "atari", "strategy": "lru", "capacity": 10_000})}


def test_networks_learn_and_stop_exploring_well_within_the_steps() -> None:
    for run in STUDY.only(agents=("nec", "d3qn")).runs():
        settings = run.settings.to_json()
        assert settings["epsilon_anneal_end_steps"] <= run.steps / 4
        assert settings["learning_start_steps"] < settings["epsilon_anneal_start_steps"]
        assert settings["replay_size"] >= run.steps
        assert settings.get("target_update_steps", 1) <= run.steps / 50


def test_a_quick_look_is_four_games_of_one_seed() -> None:
    runs = STUDY.quick().runs()
    assert len(runs) == 8
    assert {run.settings.seed for run in runs} == {sweep.SEEDS[0]}
    assert len({Played.of(run.env).game for run in runs}) == 4


def test_parts_are_chosen_by_game_and_by_label() -> None:
    assert {Played.of(run.env) for run in STUDY.only(games=("ms_pacman",), labels=("sticky",)).runs()} == {
        Played("ms_pacman", "sticky")
    }
    assert len(STUDY.only(agents=("mfec",), labels=("plain", "baseline"), seeds=(0, 1)).runs()) == 2 * 28
    with pytest.raises(InvalidInputError, match=r"labels.*sticky"):
        STUDY.only(labels=("stiky",))


def test_a_variant_is_one_line_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MFEC", {**sweep.MFEC, "five neighbours": {"neighbours": 5}})
    grids = sweep.mfec("pong")
    assert [(grid.variant, grid.labels) for grid in grids] == [
        ("", ("plain", "baseline")),
        ("", ("sticky", "baseline")),
        ("five neighbours", ("plain", "five neighbours")),
        ("five neighbours", ("sticky", "five neighbours")),
    ]
