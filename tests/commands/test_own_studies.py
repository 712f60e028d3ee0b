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
