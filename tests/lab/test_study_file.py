"""Studies of one's own in TOML files: what they describe, and what is said about mistakes in them."""

import sys
from pathlib import Path

import pytest

from engram.errors import EngramError, InvalidInputError
from engram.lab.study_file import read_study
from engram.lab.study_folder import StudyFolder

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
env = "CartPole-v1"
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
    assert (study.name, study.title) == ("my-study", "")
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
        ('agent = "mfec"\nenv = "CartPole-v1"\nstrategies = ["lur"]', "strategy must be one of|unknown strategy 'lur'"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nsettings = { neigbours = 5 }', "unknown setting 'neigbours'"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nsettings = 5', "settings must be a table, got 5"),
        ('agent = "mfec"\nenv = "CartPole-v1"\nsettings = { capacity = [5] }', "capacity must be"),
        ('name = "a/b"', "name must consist of letters"),
        (
            'agent = "mfec"\nenv = "CartPole-v1"\nsizes = [20]\nstrategies = ["lru"]\n[[grids]]\n[[grids]]\n'
            'strategies = ["sur"]\nsettings = { neighbours = 1 }\nvariant = "one"',
            "the variant 'one' of CartPole-v1, mfec, sur, 20 has nothing to be compared with; add a grid",
        ),
        ("grids = 3", "grids must be a list"),
        ("grids = [3]", "grids must be tables"),
        ("name = ", "is not a TOML file"),
    ],
)
def test_mistakes_are_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=rf"my-study\.toml.*{message}"):
        read_study(write(tmp_path, text))


PYTHON = """
from engram.lab.grid import Grid, Study
STUDY = Study("own", "", [Grid("mfec", "CartPole-v1", 500, seeds=range(2), strategies=["lru", "dkm"], sizes=[20])])
"""


def test_a_python_file_defines_a_study(tmp_path: Path) -> None:
    (tmp_path / "own_study_file.py").write_text(PYTHON)
    study = read_study(tmp_path / "own_study_file.py")
    assert (study.name, len(study.runs())) == ("own", 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("STUDY = 3", "it must define STUDY = Study"),
        (PYTHON.replace("range(2)", "2"), "seeds of a grid must be a list, such as .*, got 2"),
        (PYTHON.replace('["lru", "dkm"]', '"lru"'), "strategies of a grid must be a list"),
        (PYTHON.replace("[20]", "20"), "sizes of a grid must be a list"),
        (PYTHON.replace('"own"', '"a/b"'), "name must consist"),
        (PYTHON.replace('"mfec"', '"mefc"'), "did you mean 'mfec'"),
    ],
)
def test_mistakes_in_a_python_file_are_named(
    text: str, message: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / f"own_{abs(hash(request.node.name))}.py"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_study(path)


def test_a_python_file_that_hides_another_module_is_refused(tmp_path: Path) -> None:
    for name in ("json.py", "my-study.py"):
        (tmp_path / name).write_text(PYTHON)
        with pytest.raises(InvalidInputError, match="rename the file"):
            read_study(tmp_path / name)


def test_a_study_without_a_title_gets_one_that_says_what_was_run(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, FULL.replace('title = "Mine"', "")))
    StudyFolder(tmp_path / "out").declare(study, study.runs())
    assert StudyFolder(tmp_path / "out").read()["title"] == (
        "MFEC and D3QN in CartPole-v1 and engram/OpenRoom-v0 with LRU and DkM (decay 0.3) at 20 and 50 "
        "entries per action (few neighbours)"
    )


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngramError, match=r"none\.toml"):
        read_study(tmp_path / "none.toml")
