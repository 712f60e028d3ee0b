"""`engram study`, from the command line: killed and started again, extended, with a strategy of the user's own."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from engram.cli import main
from engram.lab.results import Results
from engram.lab.study_folder import StudyFolder

ARGUMENTS = ["study", "cartpole", "--agents", "mfec", "--strategies", "lru", "dkm", "--sizes", "20", "--steps", "3000"]

OWN = '''
from engram.memory.strategies import Decision, Numbers, Strategy, Write, replace


class Oldest(Strategy):
    """Replace the entry that was stored first."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(write.writes % write.capacity)
'''


def study(out: Path, *words: str) -> int:
    return main([*ARGUMENTS, "--jobs", "2", "--out", str(out), *words])


def made(out: Path) -> dict[str, int]:
    """When each finished run was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.glob("*/result.json")}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_killed_started_again_and_extended_equals_uninterrupted(tmp_path: Path) -> None:
    out, whole = tmp_path / "killed", tmp_path / "whole"
    command = [sys.executable, "-m", "engram.cli", *ARGUMENTS, "--jobs", "2", "--out", str(out), "--seeds", "3"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while not made(out):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    before = made(out)
    assert 0 < len(before) < 6, "it should have been killed in the middle"
    assert study(out, "--seeds", "3") == 0
    assert study(out, "--seeds", "4") == 0
    assert study(whole, "--seeds", "4") == 0
    assert {run: when for run, when in made(out).items() if run in before} == before, "a run was done twice"
    ours, theirs = Results.read(out), Results.read(whole)
    assert ours.evaluations.sort("run", "step").equals(theirs.evaluations.sort("run", "step"))
    assert not ours.missing
    counts = [call["runs"] for call in StudyFolder(out).calls()]
    assert [call["reused"] + call["done"] for call in counts] == [6, 8]
    assert counts[1] == {"wanted": 8, "done": 2, "reused": 6, "failed": 0}


def test_a_strategy_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_strategies.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    words = ["--strategies", "lru", "my_strategies:Oldest", "--seeds", "2", "--steps", "600"]
    assert study(tmp_path / "out", *words) == 0
    frame = Results.read(tmp_path / "out").runs
    assert sorted(set(frame["strategy"])) == ["Oldest", "lru"]
    assert "Oldest" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["study", "cartpoles"], "study must be one of"),
        (["study", "cartpole", "--strategies", "nowhere:Oldest"], "cannot import 'nowhere:Oldest'"),
        (["study", "cartpole", "--strategies", "pathlib:Path"], "'pathlib:Path' does not derive from"),
        (["study", "cartpole", "--strategies", "dmk"], "did you mean 'dkm'"),
        (["study", "cartpole", "--seeds", "none"], "seeds must be how many"),
        (["study", "cartpole", "--jobs", "0"], "jobs must be at least 1"),
        (["study", "cartpole", "--agents", "dqn"], "agents must be one of"),
        (["report", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_what_is_wrong_is_told(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_another_studys_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study(tmp_path, "--seeds", "1", "--steps", "500") == 0
    assert main(["study", "acrobot", "--out", str(tmp_path)]) == 2
    assert "holds the study 'cartpole', not 'acrobot'" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_finished_runs_of_other_studies_can_be_reused(tmp_path: Path) -> None:
    assert study(tmp_path / "first", "--seeds", "1", "--steps", "600") == 0
    assert study(tmp_path / "second", "--seeds", "2", "--steps", "600", "--reuse", str(tmp_path / "first")) == 0
    assert StudyFolder(tmp_path / "second").calls()[0]["runs"] == {"wanted": 4, "done": 2, "reused": 2, "failed": 0}
    for name in ("config.json", "progress.jsonl", "result.json", "model.safetensors"):
        for path in tmp_path.glob(f"first/*/{name}"):
            assert (tmp_path / "second" / path.parent.name / name).read_bytes() == path.read_bytes()


def test_a_report_stands_for_runs_whose_folders_are_gone(tmp_path: Path) -> None:
    """What was published is enough to go on with: more seeds, or another study with the same runs."""
    whole, part, published, later = (tmp_path / name for name in ("whole", "part", "published", "later"))
    assert study(part, "--seeds", "1", "--steps", "600") == 0
    Results.read(part).export(published)
    for again in range(2):
        assert study(later, "--seeds", "2", "--steps", "600", "--reuse", str(published)) == 0
        assert StudyFolder(later).calls()[again]["runs"]["reused"] == 2 + 2 * again
    assert study(whole, "--seeds", "2", "--steps", "600", "--reuse", str(later), str(part)) == 0
    assert Results.read(later).evaluations.equals(Results.read(whole).evaluations)
    assert not set(made(later)) & set(made(part))


@pytest.mark.slow
def test_missing_runs_are_named_and_never_averaged_over(tmp_path: Path) -> None:
    assert study(tmp_path, "--seeds", "2", "--steps", "600") == 0
    lost = sorted(made(tmp_path))[0]
    (tmp_path / lost / "result.json").unlink()
    results = Results.read(tmp_path)
    assert results.missing == [lost]
    assert lost not in set(results.evaluations["run"])
    declared = json.loads((tmp_path / "study.json").read_text())["runs"]
    assert len(declared) == 4


def test_a_folder_to_reuse_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a misspelt one would mean that everything is run again."""
    assert study(tmp_path / "new", "--seeds", "1", "--reuse", str(tmp_path / "none")) != 0
    assert "check --reuse" in " ".join(capsys.readouterr().err.split())
    assert not made(tmp_path / "new")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study(tmp_path, "--seeds", "1", "--device", "cuda") == 2
    assert capsys.readouterr().err.count("PyTorch sees no GPU") == 1


AGENT = '''
from engram.agents.mfec import MFEC


class Mine(MFEC):
    """An agent of the user's own."""
'''

EXPLORATION = """
from dataclasses import dataclass

from engram.exploration import Exploration


@dataclass(frozen=True)
class Rarely(Exploration):
    epsilon: float = 0.2

    def choose(self, step, generator, view):
        explores = generator.random() < self.epsilon
        return int(generator.integers(view.actions)) if explores else view.greedy(generator)
"""

STUDY_FILE = """
title = "Mine"
agent = ["mfec", "my_agents:Mine"]
env = "CartPole-v1"
steps = 600
seeds = 2
strategies = ["lru", "my_strategies:Oldest"]
sizes = [20, 30]
evaluation = { interval_steps = 200, episodes = 2 }
"""


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's own with an agent and a strategy, which is the current one."""
    (tmp_path / "my_strategies.py").write_text(OWN)
    (tmp_path / "my_agents.py").write_text(AGENT)
    (tmp_path / "my_exploration.py").write_text(EXPLORATION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("my_strategies", "my_agents", "my_exploration"):  # so that the next test imports its own
        sys.modules.pop(name, None)


@pytest.mark.slow
@pytest.mark.usefixtures("own_files")
def test_an_agent_of_the_users_own_beside_the_studys(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--seeds", "2", "--steps", "600", "--sizes", "20", "--strategies", "lru", "my_strategies:Oldest"]
    agents = ["--agents", "mfec", "my_agents:Mine"]
    assert main(["study", "cartpole", *agents, *words, "--jobs", "2", "--out", "out"]) == 0
    assert "Mine" in capsys.readouterr().out
    assert set(Results.read(Path("out")).runs["agent"]) == {"mfec", "Mine"}
    assert main(["report", "out"]) == 0
    page = Path("out/README.md").read_text()
    assert "**Mine after 600 training steps" in page
    assert "| Oldest |" in page


@pytest.mark.parametrize("file", ["my_agents", "my_strategies"])
def test_versions_of_a_class_of_the_users_own_are_not_mixed(
    file: str, own_files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--agents", "my_agents:Mine", "--strategies", "my_strategies:Oldest", "--sizes", "20", "--steps", "120"]
    first, found = (own_files / f"{file}.py").read_text(), list[Results]()
    for text in (first, first.replace('"""', '"""Now: ', 1), first):
        (own_files / f"{file}.py").write_text(text)
        sys.modules.pop(file, None)
        assert main(["study", "cartpole", *words, "--seeds", "1", "--jobs", "1", "--out", "out"]) == 0
        found.append(Results.read(Path("out")))
        assert ("its options or classes of your own were changed" in capsys.readouterr().out) == (len(found) > 1)
    before, after, again = (set(each.declared) for each in found)
    assert before == again
    assert len(before) == len(after) == 1
    assert [set(each.earlier.replaced) for each in found] == [set(), before, after]


@pytest.mark.slow
@pytest.mark.usefixtures("own_files")
def test_every_part_can_be_chosen() -> None:
    parts = ["--encoder", "scaled:steps=50", "--exploration", "my_exploration:Rarely:epsilon=0.1"]
    words = ["--agents", "mfec", "--strategies", "lru", "--sizes", "20", "--seeds", "2", "--steps", "600"]
    assert main(["study", "cartpole", *words, *parts, "--jobs", "2", "--out", "out"]) == 0
    for config in Path("out").glob("*/config.json"):
        settings = json.loads(config.read_text())["settings"]
        assert (settings["encoder"]["name"], settings["encoder"]["steps"]) == ("scaled", 50)
        assert (settings["exploration"]["name"], settings["exploration"]["epsilon"]) == ("Rarely", 0.1)
        assert settings["exploration"]["source"]
    assert not Results.read(Path("out")).missing
    assert main(["report", "out"]) == 0


@pytest.mark.slow
def test_a_study_file_and_its_report(own_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another folder than the file's, whose modules are found all the same; the report imports none of them."""
    (own_files / "mine.toml").write_text(STUDY_FILE)
    (own_files / "elsewhere").mkdir()
    monkeypatch.chdir(own_files / "elsewhere")
    assert main(["study", "../mine.toml", "--jobs", "2"]) == 0
    results = Results.read(Path("runs/mine"))
    assert (results.title, len(results.declared), results.missing) == ("Mine", 2 * 2 * 2 * 2, [])
    for file in own_files.glob("my_*.py"):
        file.unlink()
    command = [sys.executable, "-m", "engram.cli", "report", "runs/mine"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    page = Path("runs/mine/index.html").read_text()
    assert "Mine after 600 training steps" in page
    assert "paper" not in Path("runs/mine/README.md").read_text().replace("src/engram/paper", "")


@pytest.mark.usefixtures("own_files")
def test_a_study_file_with_a_name_of_engrams_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cartpole.toml").write_text('agent = "mfec"\nenv = "CartPole-v1"\n')
    assert main(["study", "cartpole.toml"]) == 2
    assert "the name 'cartpole' is that of a study of Engram's" in " ".join(capsys.readouterr().err.split())
