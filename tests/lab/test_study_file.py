"""Studies of one's own in TOML files: what they describe, and what is said about mistakes in them."""

import sys
from pathlib import Path

import pytest

from engram.errors import EngramError, InvalidInputError
from engram.lab.study_file import read_study

FULL = """
name = "mine"
title = "Mine"
seeds = 2
evaluation = { interval_steps = 200, episodes = 3 }

[[grids]]
agent = ["mfec", "d3qn"]
env = ["CartPole-v1", "engram/OpenRoom-v0"]
steps = 600
strategies = ["lru", "dkm:decay=0.3"]
sizes = [20, 50]

[[grids]]
agent = "mfec"
env = "Acrobot-v1"
seeds = "5-7"
strategies = "lru"
sizes = 20
settings = { neighbours = 5 }
variant = "few neighbours"
evaluation = { max_steps = 30, epsilon = 0.05 }
"""


@pytest.fixture(autouse=True)
def same_path_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a file adds its folder to the module path."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def write(folder: Path, text: str) -> Path:
    path = folder / "my-study.toml"
    path.write_text(text)
    return path


def test_a_file_describes_grids(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, FULL))
    assert (study.name, study.title, len(study.grids)) == ("mine", "Mine", 5)
    assert study.agents == ["mfec", "d3qn"]
    first, *_, last = study.grids
    assert (first.agent, first.env, first.steps, first.seeds) == ("mfec", "CartPole-v1", 600, (0, 1))
    assert (first.strategies, first.sizes) == (("lru", "dkm:decay=0.3"), (20, 50))
    assert (first.evaluation_interval_steps, first.evaluation_episodes, first.evaluation_max_steps) == (200, 3, None)
    assert (last.steps, last.seeds, last.settings) == (15_000, (5, 6, 7), {"neighbours": 5})
    assert (last.evaluation_interval_steps, last.evaluation_max_steps, last.evaluation_epsilon) == (500, 30, 0.05)
    assert len(study.runs()) == 2 * (2 * 4 + 2 * 1) + 3
    assert set(study.variants().values()) == {"few neighbours"}


def test_one_grid_needs_no_table(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, 'agent = "nec"\nenv = "CartPole-v1"\nseeds = [3, 1]'))
    assert (study.name, study.title) == ("my-study", "my-study")
    (grid,) = study.grids
    assert (grid.steps, grid.seeds) == (20_000, (3, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('agent = "mfec"\nenvv = "CartPole-v1"', "a key of a study must be one of .*, got 'envv'; did you mean 'env'?"),
        ('[[grids]]\nagent = "mfec"\nsize = 3', "a key of a grid must be one of .*; did you mean 'sizes'?"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nevaluation = { episode = 1 }', "did you mean 'episodes'?"),
        ('agent = "mfec"', "a grid needs 'env'"),
        ('agent = "mefc"\nenv = "CartPole-v1"', "agent must be one of .*; did you mean 'mfec'?"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nsteps = "many"', "steps must be a whole number, got 'many'"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nsizes = ["50"]', "sizes must be a whole number or a list of them"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nseeds = [-1]', "seeds must be how many"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nseeds = 0', "seeds must be how many"),
        ('name = "a/b"', "name must consist of letters"),
        ("grids = 3", "grids must be a list"),
        ("grids = [3]", "grids must be tables"),
        ("name = ", "is not a TOML file"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=rf"my-study\.toml.*{message}"):
        read_study(write(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngramError, match=r"none\.toml"):
        read_study(tmp_path / "none.toml")
