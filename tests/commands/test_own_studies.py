"""Studies of one's own from the command line: told what is wrong before any run, and reported by what was run."""

import json
import sys
from pathlib import Path

import pytest

from engram.cli import main

PYTHON = """
from engram.lab.grid import Grid, Study
from engram.memory.strategies import Decision, Numbers, Strategy, Write, replace


class First(Strategy):
    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(0)


STUDY = Study("firsts", "", (
    Grid(
        "mfec", "CartPole-v1", 120, seeds=(0, 1), strategies=("lru", First()), sizes=(10,),
        evaluation_interval_steps=60, evaluation_episodes=1,
    ),
))
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder is a new one, and the module path is afterwards what it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.slow
def test_a_study_in_a_python_file_with_a_strategy_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("my_firsts.py").write_text(PYTHON)
    assert main(["study", "my_firsts.py", "--jobs", "2"]) == 0
    assert main(["study", "my_firsts.py", "--jobs", "2"]) == 0
    assert "4 of 4 runs were finished before" in " ".join(capsys.readouterr().out.split())
    study = json.loads(Path("runs/firsts/study.json").read_text())
    assert study["title"] == "MFEC in CartPole-v1 with LRU and First at 10 entries per action"
    assert main(["report", "runs/firsts"]) == 0
    assert f"<h1>{study['title']}</h1>" in Path("runs/firsts/index.html").read_text()
    assert main(["claims", "runs/firsts"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "The study 'firsts' made no claims" in told
    assert "engram report runs/firsts" in told


def test_an_environment_that_cannot_be_made_is_told_before_any_run(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text('agent = "mfec"\nenv = ["CartPole-v1", "CartPol-v1"]\nseeds = 1\n')
    assert main(["study", "mine.toml"]) == 2
    assert "did you mean 'CartPole-v1'" in " ".join(capsys.readouterr().err.split())
    assert not Path("runs").exists()


STUDY = """
agent = "mfec"
env = "CartPole-v1"
steps = 120
seeds = [3, 4, 5]
sizes = [5, 10, 20]
strategies = ["lru"]
evaluation = { interval_steps = 60, episodes = 1 }
"""


def declared(folder: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(Path(folder, "study.json").read_text())["runs"]
    return found


def test_quick_takes_two_seeds_and_two_sizes_of_the_file() -> None:
    Path("mine.toml").write_text(STUDY)
    assert main(["study", "mine.toml", "--quick", "--jobs", "1"]) == 0
    places = [(place["capacity"], place["seed"]) for place in declared("runs/mine").values()]
    assert sorted(places) == [(5, 3), (5, 4), (20, 3), (20, 4)]


@pytest.mark.slow
def test_a_file_that_was_changed_is_told_of_and_versions_are_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    small = STUDY.replace("[3, 4, 5]", "1").replace("[5, 10, 20]", "[5, 10]")
    Path("mine.toml").write_text(small)
    assert main(["study", "mine.toml", "--jobs", "1"]) == 0
    assert main(["study", "mine.toml", "--jobs", "1", "--seeds", "2", "--quick"]) == 0  # a part, and more seeds
    assert "not of the study as it is now" not in capsys.readouterr().out
    first = declared("runs/mine")
    assert not any("earlier" in place for place in first.values())

    Path("mine.toml").write_text(small.replace("steps = 120", "steps = 180").replace("[5, 10]", "[5]"))
    assert main(["study", "mine.toml", "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert (
        "also holds runs that are not of the study as it is now (4); mine.toml, its options or classes of your" in told
    )
    assert "the report leaves them out, as their cells have other runs now" in told
    assert "the report shows them too" in told
    assert "another name or another folder (--out)" in told
    marked = declared("runs/mine")
    assert {run_id for run_id, place in marked.items() if place.get("earlier")} == set(first)

    assert main(["report", "runs/mine"]) == 0
    page = Path("runs/mine/README.md").read_text()
    assert "Some runs in the folder (4) are not of the study as it was last started" in page
    assert "Left out, as their cells have other runs now: 2." in page
    assert "Shown below all the same: 2." in page
    new = next(run_id for run_id, place in marked.items() if place["steps"] == 180)
    (line,) = [line for line in Path("runs/mine/scores.csv").read_text().splitlines() if ",5," in line]
    assert new in line
    assert not any(run_id in line for run_id in first)

    Path("mine.toml").write_text(small)  # as it was: the first runs are the study's again
    assert main(["study", "mine.toml", "--jobs", "1"]) == 0
    assert "not of the study as it is now (1)" in capsys.readouterr().out
    assert [run_id for run_id, place in declared("runs/mine").items() if place.get("earlier")] == [new]


@pytest.mark.slow
def test_parts_that_are_carried_out_one_by_one_with_the_same_options_are_one_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Game by game and agent by agent, each run being shorter than the study's."""
    how = ["--steps", "60", "--seeds", "1", "--sizes", "5", "--jobs", "1", "--out", "runs/parts"]
    for agent, game in (("mfec", "cartpole"), ("mfec", "acrobot"), ("nec", "cartpole"), ("mfec", "cartpole")):
        assert main(["study", "forgetting", "--agents", agent, "--games", game, "--strategies", "lru", *how]) == 0
    assert "not of the study as it is now" not in capsys.readouterr().out
    assert not any("earlier" in place for place in declared("runs/parts").values())


def test_a_python_file_that_ends_the_program_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    Path("my_exit.py").write_text("x = 1\nraise SystemExit(0)\n")
    assert main(["study", "my_exit.py"]) == 2
    told = capsys.readouterr().err
    assert "my_exit.py, line 2, ends the program (SystemExit)" in told
    assert 'if __name__ == "__main__"' in told
