"""A study's folder: filled by several processes at once, and read only if it is what it should be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engram.cli import main
from engram.errors import EngramError, InvalidInputError, RunFolderError
from engram.lab.grid import Grid, Study
from engram.lab.results import Results
from engram.lab.study_folder import StudyFolder
from engram.memory.strategies import Decision, Numbers, Strategy, Write, replace

DECLARE = """
import sys
from pathlib import Path
from engram.lab.grid import Grid, Study
from engram.lab.study_folder import StudyFolder
for seed in range(*map(int, sys.argv[2:])):
    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 200, seeds=[seed]),))
    StudyFolder(Path(sys.argv[1])).declare(study, study.runs())
"""
WORDS = ["study", "cartpole", "--agents", "mfec", "--strategies", "lru", "--sizes", "20", "--steps", "600"]


def test_two_processes_declare_runs_at_once_and_none_is_lost(tmp_path: Path) -> None:
    """Before, both read `study.json`, and the one that wrote last lost the other's runs."""
    command = [sys.executable, "-c", DECLARE, str(tmp_path)]
    both = [subprocess.Popen([*command, *seeds]) for seeds in (("0", "15"), ("15", "30"))]
    assert [process.wait() for process in both] == [0, 0]
    assert len(StudyFolder(tmp_path).read()["runs"]) == 30


@pytest.mark.slow
def test_two_studies_into_one_folder_at_once(tmp_path: Path) -> None:
    out = ["--jobs", "1", "--out", str(tmp_path)]
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "engram.cli", *WORDS, "--seeds", seeds, *out], stdout=subprocess.DEVNULL
        )
        for seeds in ("0-2", "1-3")
    ]
    assert [process.wait() for process in both] == [0, 0]
    assert sorted(place["seed"] for place in StudyFolder(tmp_path).read()["runs"].values()) == [0, 1, 2, 3]
    assert not Results.read(tmp_path).missing
    assert not list(tmp_path.glob("failures/*"))
    calls = StudyFolder(tmp_path).calls()
    assert [call["runs"]["wanted"] for call in calls] == [3, 3]
    # a run that the other ends between a look and the lock may count for both
    assert 4 <= sum(call["runs"]["done"] for call in calls) <= 6


def test_names_in_a_study_never_leave_its_folder(tmp_path: Path) -> None:
    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 200, seeds=[0]),))
    folder = StudyFolder(tmp_path)
    folder.declare(study, study.runs())
    (place,) = folder.read()["runs"].values()
    for run_id in ("../../etc", "/etc", "a\\b", ".hidden", "", "a\nb"):
        folder.write("mine", "Mine", {run_id: place})
        with pytest.raises(RunFolderError, match=r"cannot read .*study\.json: .*a run's id"):
            folder.read()


PLACE = {
    "agent": "mfec",
    "env": "CartPole-v1",
    "strategy": None,
    "capacity": None,
    "seed": 0,
    "steps": 1,
    "variant": "",
}


@pytest.mark.parametrize(
    "content",
    [
        [],
        None,
        3,
        {},
        {"study": 3, "title": "x", "runs": {}},
        {"study": ["x"], "title": "x", "runs": {}},
        {"study": "x", "title": None, "runs": {}},
        {"study": "x", "title": "x", "runs": 3},
        {"study": "x", "title": "x", "runs": {"a": 3}},
        {"study": "x", "title": "x", "runs": {"a": {}}},
        *({"study": "x", "title": "x", "runs": {"a": PLACE | {name: ["odd"]}}} for name in PLACE),
    ],
)
def test_a_damaged_study_file_is_told(content: Any, tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps(content))
    with pytest.raises(RunFolderError, match=r"cannot read .*study\.json: .*start the study again"):
        StudyFolder(tmp_path).read()


@pytest.mark.parametrize("line", ["{", "3", "[]", "{}", '{"command": 3}', "[" * 50_000])
def test_a_damaged_list_of_calls_is_told(line: str, tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_text(line)
    with pytest.raises(RunFolderError, match=r"cannot read line 1 of .*calls\.jsonl"):
        StudyFolder(tmp_path).calls()


@pytest.mark.parametrize("name", ["study.json", "calls.jsonl", "lock"])
def test_links_and_pipes_in_a_study_are_refused(name: str, tmp_path: Path) -> None:
    out, target = tmp_path / "out", tmp_path / "target"
    assert main([*WORDS, "--seeds", "1", "--jobs", "1", "--out", str(out)]) == 0
    shutil.move(out / name, target)
    content = target.read_bytes()
    for kind in ("link", "pipe"):
        if kind == "link":
            (out / name).symlink_to(target)
        else:
            os.mkfifo(out / name)
        with pytest.raises(EngramError, match=rf"cannot use .*{name}: it is a "):
            use(out)
        (out / name).unlink()
    assert target.read_bytes() == content


def use(out: Path) -> None:
    study = Study("cartpole", "x", (Grid("mfec", "CartPole-v1", 200, seeds=[0]),))
    StudyFolder(out).declare(study, study.runs())
    StudyFolder(out).calls()


class Oldest(Strategy):
    """A strategy of the user's own."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(write.writes % write.capacity)


def another() -> Strategy:
    """A strategy of another class of that name."""

    class Oldest(Strategy):
        def when_full(self, write: Write, numbers: Numbers) -> Decision:
            return replace(0)

    return Oldest()


TWINS: dict[str, list[dict[str, Any]]] = {
    r"lru, 20, seed 0: \S+ and \S+; .* a variant": [{}, {"settings": {"neighbours": 1}}],
    r"Oldest, 20, seed 0: \S+ \(\S+:Oldest\) and \S+ \(\S+:another\S+Oldest\); rename one": [
        {"strategies": (Oldest(), another())}
    ],
}


@pytest.mark.parametrize("told", TWINS)
def test_runs_that_tables_could_not_tell_apart_are_refused(told: str, tmp_path: Path) -> None:
    usual: dict[str, Any] = {"seeds": (0, 1), "strategies": ("lru",), "sizes": (20,)}
    study = Study("mine", "Mine", tuple(Grid("mfec", "CartPole-v1", 200, **usual | each) for each in TWINS[told]))
    with pytest.raises(InvalidInputError, match=f"the study has two runs of CartPole-v1, mfec, {told}"):
        StudyFolder(tmp_path / "out").declare(study, study.runs())
    assert not (tmp_path / "out").exists()
